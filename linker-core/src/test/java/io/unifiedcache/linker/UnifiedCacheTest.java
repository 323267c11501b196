package io.unifiedcache.linker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.linker.key.CacheIdentity;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class UnifiedCacheTest {
  private static final Option<ByteSize> CAPACITY =
      Option.bytes("capacity", "How much.").withDefault(ByteSize.parse("1GiB"));

  private static final CacheIdentity IDENTITY = CacheIdentity.builder().model("org/m").build();

  private final StubStore store = new StubStore();
  private final StubProvider provider = new StubProvider();

  private UnifiedCache.Builder builder() {
    return UnifiedCache.builder()
        .backend("stub")
        .backends(Backends.of(List.of(new Backends.Found("stub", provider, "this test"))))
        .identity(IDENTITY)
        .pools(hostPools());
  }

  private static DevicePools hostPools() {
    return pools(HostMemory.of(Arena.ofAuto().allocate(64)), "k", "v");
  }

  private static DevicePools pools(Memory memory, String... components) {
    List<Component> all = new ArrayList<>();
    for (String component : components) {
      all.add(new Component(component, List.of(new LayerBuffer(0, memory, 8))));
    }
    return new DevicePools(List.of(new DevicePool(PoolName.KV, all)), false);
  }

  @Test
  void open_givesTheBackendItsOwnSettingsAndContext() {
    MonotonicClock clock = () -> 7;
    try (CacheLinker linker =
        builder()
            .settings(Map.of("capacity", "2GiB", "linker.offload-threads", "3"))
            .instance("cache-a")
            .clock(clock)
            .open()) {
      assertThat(linker).isNotNull();
    }

    Settings settings = provider.opened.getFirst();
    assertThat(settings.options()).containsExactly(CAPACITY);
    assertThat(settings.get(CAPACITY)).isEqualTo(ByteSize.parse("2GiB"));
    StoreContext context = provider.contexts.getFirst();
    assertThat(context.instance()).isEqualTo("cache-a");
    assertThat(context.clock()).isSameAs(clock);
    Thread thread = context.threads().newThread(() -> {});
    assertThat(thread.getName()).startsWith("cache-a");
    assertThat(thread.isDaemon()).isTrue();
  }

  @Test
  void close_closesTheStoreItOpened() {
    builder().open().close();

    assertThat(store.closes).isEqualTo(1);
  }

  @Test
  void close_leavesABorrowedStoreOpen() {
    UnifiedCache.builder().store(store).identity(IDENTITY).pools(hostPools()).open().close();

    assertThat(store.closes).isZero();
    assertThat(provider.opened).isEmpty();
  }

  @Test
  void open_settingsOfTheLinker_reachKeysAndLinker() {
    try (CacheLinker linker =
        builder()
            .pools(pools(HostMemory.of(Arena.ofAuto().allocate(64)), Component.PACKED))
            .identity(CacheIdentity.builder().model("/models/x").build())
            .settings(Map.of("keys", "sglang-linker", "sglang.empty-segments", "filter"))
            .open()) {
      var unused =
          linker.lookup(List.of(new PageKey("page")), List.of(PoolQuery.allPages(PoolName.KV)));
    }

    assertThat(store.asked).singleElement().asString().startsWith("models-x");
  }

  @Test
  void open_mistakesOfBackendAndLinker_areReportedTogether() {
    SettingsException refusal =
        catchThrowableOfType(
            SettingsException.class,
            () ->
                builder()
                    .settings(
                        SettingsSources.none()
                            .commandLine(
                                List.of("capacity=x", "linker.load-path=x", "lonker.groups=on")))
                    .open());

    assertThat(refusal.problems())
        .satisfiesExactly(
            problem -> assertThat(problem).startsWith("command line: capacity: \"x\" is not"),
            problem ->
                assertThat(problem).startsWith("command line: linker.load-path: \"x\" is not"),
            problem -> assertThat(problem).endsWith("did you mean \"linker.groups\"?"));
    assertThat(provider.opened).isEmpty();
  }

  @Test
  void open_optionOfTheBackendThatIsTheLinkers_isRefused() {
    provider.options = List.of(Option.text("keys", "Another."));

    assertThatThrownBy(() -> builder().open())
        .isInstanceOf(SettingsException.class)
        .hasMessage("1 mistake in the settings: two options are called \"keys\"");
  }

  @Test
  void open_borrowedStore_takesNoSettingsOfABackend() {
    assertThatThrownBy(() -> builder().store(store).settings(Map.of("capacity", "1GiB")).open())
        .isInstanceOf(SettingsException.class)
        .hasMessageContaining("unknown key \"capacity\"");
  }

  @Test
  void open_withoutWhatIsRequired_isRefused() {
    assertThatThrownBy(() -> UnifiedCache.builder().pools(hostPools()).open())
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("a linker needs identity: call identity(...)");
    assertThatThrownBy(() -> UnifiedCache.builder().identity(IDENTITY).open())
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("a linker needs pools: call pools(...)");
    assertThatThrownBy(() -> UnifiedCache.builder().instance(" "))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("the name of an instance must not be blank");
  }

  @Test
  void open_unknownBackend_isRefusedByName() {
    assertRefused(() -> builder().backend("stubb").open())
        .hasMessageStartingWith("there is no backend \"stubb\"; did you mean \"stub\"?");
  }

  @Test
  void open_backendThatDoesNotOpen_isNamedWithItsCause() {
    IllegalStateException defect = new IllegalStateException("no idea");
    provider.opening =
        (settings, context) -> {
          throw defect;
        };
    assertThatThrownBy(() -> builder().open())
        .isInstanceOf(CacheException.class)
        .hasMessage("backend stub could not be opened: " + defect)
        .hasCause(defect);

    UnsatisfiedLinkError missing = new UnsatisfiedLinkError("no library");
    provider.opening =
        (settings, context) -> {
          throw missing;
        };
    assertThatThrownBy(() -> builder().open())
        .isInstanceOf(CacheException.class)
        .hasMessage("backend stub could not be opened: " + missing)
        .hasCause(missing);

    CacheException explained = new CacheException(FailureCode.UNREACHABLE, "start the master");
    provider.opening =
        (settings, context) -> {
          throw explained;
        };
    assertThatThrownBy(() -> builder().open()).isSameAs(explained);

    provider.opening = (settings, context) -> null;
    assertThatThrownBy(() -> builder().open())
        .isInstanceOf(CacheException.class)
        .hasMessage("backend stub opened no store, but returned null");
  }

  @Test
  void open_backendThatDoesNotTellItsOptions_isNamedWithItsCause() {
    provider.options = null;

    assertThatThrownBy(() -> builder().open())
        .isInstanceOf(CacheException.class)
        .hasMessageStartingWith("backend stub does not tell its options: ")
        .hasCauseInstanceOf(NullPointerException.class);
  }

  @Test
  void open_deviceMemoryOverAStoreThatCannotAddressIt_isRefusedAndTheStoreClosed() {
    DevicePools device = pools(new DeviceMemory("cuda:0", 64, 64), "k");

    assertRefused(() -> builder().pools(device).open())
        .hasMessageContaining("pool kv lies in device memory");
    assertThat(store.closes).isEqualTo(1);

    assertRefused(() -> builder().store(store).pools(device).open())
        .hasMessageContaining("pool kv lies in device memory");
    assertThat(store.closes).as("a borrowed store").isEqualTo(1);

    store.capabilities = Set.of(Capability.DEVICE_MEMORY);
    builder().pools(device).open().close();
  }

  @Test
  void open_layersFromAStoreWithoutRanges_isRefusedAndTheStoreClosed() {
    Map<String, String> layers = Map.of("linker.load-path", "layers");

    assertRefused(() -> builder().settings(layers).open()).hasMessageContaining("RANGED_READ");
    assertThat(store.closes).isEqualTo(1);

    store.capabilities = Set.of(Capability.RANGED_READ);
    builder().settings(layers).open().close();
  }

  @Test
  void open_componentsThatTheKeysHaveNoNameFor_isRefusedBeforeTheStoreIsOpened() {
    assertRefused(() -> builder().settings(Map.of("keys", "sglang-linker")).open())
        .hasMessageStartingWith("the pools do not fit the keys or the store: ");
    assertThat(provider.opened).isEmpty();
  }

  @Test
  void open_identityThatTheKeysHaveNoPlaceFor_isRefusedBeforeTheStoreIsOpened() {
    CacheIdentity split = CacheIdentity.builder().model("org/m").tensor(0, 2).splitHeads(4).build();

    assertRefused(() -> builder().identity(split).settings(Map.of("keys", "sglang-file")).open())
        .hasMessageStartingWith("the identity does not fit the keys: ");
    assertThat(provider.opened).isEmpty();
  }

  @Test
  void open_closeThatFailsAfterARefusal_doesNotHideIt() {
    store.closing =
        () -> {
          throw new IllegalStateException("stuck");
        };

    assertRefused(() -> builder().settings(Map.of("linker.load-path", "layers")).open())
        .hasMessageContaining("RANGED_READ")
        .satisfies(e -> assertThat(e.getSuppressed()).singleElement().asString().contains("stuck"));
  }

  @Test
  void open_backendThatCannotOfferWhatIsNeeded_isRefusedBeforeItIsOpened() {
    provider.capabilities = Set.of(Capability.REMOVE);
    DevicePools device = pools(new DeviceMemory("cuda:0", 64, 64), "k");
    for (String policy : List.of("fail-fast", "degraded")) {
      Map<String, String> settings = Map.of("linker.start-policy", policy);
      assertRefused(() -> builder().pools(device).settings(settings).open())
          .hasMessageContaining("pool kv lies in device memory");
    }
    assertRefused(() -> builder().settings(Map.of("linker.load-path", "layers")).open())
        .hasMessageContaining("RANGED_READ");
    assertThat(provider.opened).isEmpty();

    provider.capabilities = null;
    assertThatThrownBy(() -> builder().open())
        .isInstanceOf(CacheException.class)
        .hasMessageStartingWith("backend stub does not tell what it offers: ");
  }

  @Test
  @Timeout(60)
  void open_degraded_opensWithoutTheStoreAndFindsItLater() {
    AtomicInteger failures = new AtomicInteger();
    provider.opening =
        (settings, context) -> {
          if (failures.incrementAndGet() <= 3) {
            throw new IllegalStateException("no server yet");
          }
          return store;
        };
    Map<String, String> settings =
        Map.of(
            "capacity", "2GiB", "linker.start-policy", "degraded", "linker.retry-interval", "1ms");
    try (CacheLinker linker = builder().settings(settings).open()) {
      Deadline by = Deadline.after(Duration.ofSeconds(20));
      while (linker.health(by).state() != LinkerHealth.State.UP) {
        assertThat(by.hasPassed()).as("still %s", linker.health(by)).isFalse();
        Thread.onSpinWait();
      }
    }
    assertThat(provider.opened)
        .hasSize(4)
        .allMatch(each -> each.get(CAPACITY).equals(ByteSize.parse("2GiB")));
    assertThat(store.closes).isEqualTo(1);
  }

  @Test
  @Timeout(60)
  void open_degradedBackendWithMistakenSettings_isRefused() {
    provider.opening =
        (settings, context) -> {
          throw new CacheException(FailureCode.REFUSED, "capacity is more than the machine has");
        };

    assertRefused(() -> builder().settings(Map.of("linker.start-policy", "degraded")).open())
        .hasMessage("capacity is more than the machine has");
    assertThat(provider.opened).hasSize(1);
  }

  @Test
  @Timeout(60)
  void open_backendThatHangs_isOneErrorByTheStartTimeout() throws Exception {
    CountDownLatch interrupted = new CountDownLatch(1);
    provider.opening =
        (settings, context) -> {
          try {
            new CountDownLatch(1).await();
          } catch (InterruptedException e) {
            interrupted.countDown();
          }
          return store;
        };

    assertThatThrownBy(() -> builder().settings(Map.of("linker.start-timeout", "500ms")).open())
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("linker.start-timeout");
    assertThat(interrupted.await(20, TimeUnit.SECONDS)).as("it is asked to stop").isTrue();
  }

  @Test
  void openOfBackends_opensAStoreWithoutALinker() {
    Backends backends = Backends.of(List.of(new Backends.Found("stub", provider, "this test")));
    SettingsSources settings = SettingsSources.of(Map.of("capacity", "2GiB"));

    assertThat(backends.open("stub", settings, "mine")).isSameAs(store);

    assertThat(provider.opened.getFirst().get(CAPACITY)).isEqualTo(ByteSize.parse("2GiB"));
    assertThat(provider.contexts.getFirst().instance()).isEqualTo("mine");
    SettingsSources wrong = SettingsSources.of(Map.of("capacty", "3"));
    assertThatThrownBy(() -> backends.open("stub", wrong, "mine"))
        .isInstanceOf(SettingsException.class)
        .hasMessageContaining("capacty");
    assertThat(provider.opened).hasSize(1);

    provider.opening =
        (own, context) -> {
          throw new UnsatisfiedLinkError("libstub.so is not there");
        };
    assertThatThrownBy(() -> backends.open("stub", settings, "mine"))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("backend stub could not be opened")
        .hasMessageContaining("libstub.so is not there");
  }

  private static ThrowableAssert<CacheException> assertRefused(Supplier<CacheLinker> opening) {
    CacheException refusal = catchThrowableOfType(CacheException.class, opening::get);
    assertThat(refusal.code()).isEqualTo(FailureCode.REFUSED);
    return new ThrowableAssert<>(refusal);
  }

  /** A provider of the one store of a test, which notes what it is opened with. */
  private final class StubProvider implements CacheStoreProvider {
    final List<Settings> opened = new ArrayList<>();
    final List<StoreContext> contexts = new ArrayList<>();
    @Nullable List<Option<?>> options = List.of(CAPACITY);
    @Nullable Set<Capability> capabilities = EnumSet.allOf(Capability.class);
    BiFunction<Settings, StoreContext, @Nullable CacheStore> opening = (settings, context) -> store;

    @Override
    public String name() {
      return "stub";
    }

    @Override
    @SuppressWarnings("NullAway") // A third party's provider may return null.
    public List<Option<?>> options() {
      return options;
    }

    @Override
    @SuppressWarnings("NullAway") // A third party's provider may return null.
    public Set<Capability> capabilities() {
      return capabilities;
    }

    @Override
    @SuppressWarnings("NullAway") // A third party's provider may return null.
    public CacheStore open(Settings settings, StoreContext context) {
      opened.add(settings);
      contexts.add(context);
      return opening.apply(settings, context);
    }
  }

  /** A store that holds nothing and notes what it is asked for. */
  private static final class StubStore implements CacheStore {
    final List<ObjectKey> asked = new ArrayList<>();
    Set<Capability> capabilities = Set.of();
    Runnable closing = () -> {};
    int closes;

    @Override
    public Set<Capability> capabilities() {
      return capabilities;
    }

    @Override
    public StoreLimits limits() {
      return StoreLimits.NONE;
    }

    @Override
    public BatchResult exists(List<ObjectKey> keys, Deadline by) {
      asked.addAll(keys);
      return BatchResult.all(keys.size(), ObjectStatus.ABSENT);
    }

    @Override
    public BatchResult put(List<PutOp> ops, Deadline by) {
      return BatchResult.all(ops.size(), ObjectStatus.OK);
    }

    @Override
    public BatchResult get(List<GetOp> ops, Deadline by) {
      return BatchResult.all(ops.size(), ObjectStatus.ABSENT);
    }

    @Override
    public StoreStats stats() {
      return new StoreStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }

    @Override
    public StoreHealth probe(Deadline by) {
      return new StoreHealth(StoreHealth.State.UP, "nothing to keep");
    }

    @Override
    public void close() {
      closes++;
      closing.run();
    }
  }
}
