package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsException;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.pool.PoolLayouts;
import io.unifiedcache.linker.rank.LocalRanks;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two ranks open their linkers, as engines do, or none of them does. */
@Timeout(60)
class RankOpeningTest {
  private static final PoolName SIDE = PoolName.SWA;
  private static final CacheIdentity MODEL =
      CacheIdentity.builder().model("m").pageTokens(64).salt("grain").build();

  /** Each outcome is a linker, or what opening it threw. */
  private record Outcome(Object value) {
    CacheLinker linker() {
      assertThat(value).isInstanceOf(CacheLinker.class);
      return (CacheLinker) value;
    }

    CacheException refusal(FailureCode code) {
      assertThat(value)
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).as("%s", e).isEqualTo(code));
      return (CacheException) value;
    }
  }

  /** What one rank is opened with. */
  private static final class Rank {
    final RankCollective collective;
    final ScriptedStore store = new ScriptedStore();
    UnifiedCache.Builder builder;

    Rank(RankCollective collective) {
      this.collective = collective;
      builder = common().store(store);
    }

    UnifiedCache.Builder common() {
      return UnifiedCache.builder()
          .identity(tensor(MODEL))
          .pools(pools(pool(PoolName.KV, PoolName.KV, 8)))
          .ranks(collective);
    }

    CacheIdentity tensor(CacheIdentity identity) {
      return identity.toBuilder().tensor(collective.rank(), collective.size()).build();
    }

    CacheIdentity stage(CacheIdentity identity) {
      return identity.toBuilder().pipeline(collective.rank(), collective.size()).build();
    }
  }

  private static DevicePools pools(DevicePool... pools) {
    return new DevicePools(List.of(pools), /* rankReplicated= */ false);
  }

  private static DevicePool pool(PoolName name, PoolName source, long pieceBytes) {
    HostMemory memory = HostMemory.of(Arena.ofAuto().allocate(16 * pieceBytes));
    return PoolLayouts.packed(name, source, List.of(new LayerBuffer(0, memory, pieceBytes)));
  }

  private static List<Rank> two() {
    return LocalRanks.of(2).stream().map(Rank::new).toList();
  }

  private static List<Outcome> open(List<Rank> ranks) throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(ranks.size())) {
      List<Future<Outcome>> opening = new ArrayList<>();
      for (Rank rank : ranks) {
        Callable<Outcome> open =
            () -> {
              try {
                return new Outcome(rank.builder.open());
              } catch (RuntimeException e) {
                return new Outcome(e);
              }
            };
        opening.add(threads.submit(open));
      }
      List<Outcome> outcomes = new ArrayList<>();
      for (Future<Outcome> each : opening) {
        outcomes.add(each.get());
      }
      return outcomes;
    }
  }

  /** Opens two ranks, of which the second is another, and returns what each is told. */
  private static void assertRefused(UnaryOperator<Rank> second, String... told) throws Exception {
    List<Rank> ranks = two();
    var unused = second.apply(ranks.get(1));
    for (Outcome outcome : open(ranks)) {
      assertThat(outcome.refusal(FailureCode.REFUSED).getMessage())
          .contains("the ranks do not fit together")
          .contains(told);
    }
    assertThat(ranks).allSatisfy(rank -> assertThat(rank.store.closed).isFalse());
  }

  private static UnaryOperator<Rank> with(UnaryOperator<CacheIdentity.Builder> change) {
    return rank -> {
      rank.builder.identity(rank.tensor(change.apply(MODEL.toBuilder()).build()));
      return rank;
    };
  }

  private static UnaryOperator<Rank> set(String key, String value) {
    return rank -> {
      rank.builder.settings(Map.of(key, value));
      return rank;
    };
  }

  @Test
  @DisplayName("linker.ranks: what differs is named, with who has what, on every rank")
  void open_ranksDiffer_allAreRefusedByName() throws Exception {
    assertRefused(
        with(identity -> identity.pageTokens(16)), "page tokens is 16 on ranks {1} and 64");
    assertRefused(
        with(identity -> identity.model("n")),
        "model is \"m\" on ranks {0} and \"n\" on ranks {1}");
    assertRefused(
        with(identity -> identity.revision("r")), "revision is \"r\" on ranks {1} and none");
    assertRefused(with(identity -> identity.splitHeads(2)), "shares of heads is 2 on ranks {1}");
    assertRefused(set("keys", "sglang-linker"), "keys is ");
    assertRefused(set("linker.load-timeout", "7s"), "linker.load-timeout is PT30S on ranks {0}");
    assertRefused(
        rank -> {
          rank.builder.pools(pools(pool(PoolName.KV, PoolName.KV, 16)));
          return rank;
        },
        "the pools of pipeline stage 0 are kv of kv with layout ");
    assertRefused(
        rank -> {
          rank.builder.pools(
              new DevicePools(
                  List.of(pool(PoolName.KV, PoolName.KV, 8)), /* rankReplicated= */ true));
          return rank;
        },
        "rank-replicated pools is false on ranks {0} and true on ranks {1}");
  }

  @Test
  void open_severalDifferences_areToldTogether() throws Exception {
    assertRefused(
        with(identity -> identity.model("n").pageTokens(16)), "model is ", "; page tokens is ");
  }

  @Test
  void open_saltsDiffer_areToldApartAndNotTold() throws Exception {
    List<Rank> ranks = two();
    var unused = with(identity -> identity.salt("pepper")).apply(ranks.get(1));
    for (Outcome outcome : open(ranks)) {
      assertThat(outcome.refusal(FailureCode.REFUSED).getMessage())
          .contains("salt is one with digest ")
          .doesNotContain("grain", "pepper");
    }
  }

  @Test
  @DisplayName("linker.ranks: two ranks with one identity are refused")
  void open_twoRanksOfOnePlace_areRefused() throws Exception {
    assertRefused(
        rank -> {
          rank.builder.identity(MODEL.toBuilder().tensor(0, 2).build());
          return rank;
        },
        "ranks {0, 1} are all tensor rank 0, pipeline stage 0, context rank 0");
  }

  @Test
  @DisplayName("stages may have other pools, and requests name the sources of all of them")
  void open_stagesWithOtherPools_knowEachOthersSources() throws Exception {
    List<Rank> ranks = two();
    ranks.forEach(rank -> rank.builder.identity(rank.stage(MODEL)));
    ranks.get(1).builder.pools(pools(pool(PoolName.KV, PoolName.KV, 16), pool(SIDE, SIDE, 8)));
    List<CacheLinker> linkers = open(ranks).stream().map(Outcome::linker).toList();

    for (CacheLinker linker : linkers) {
      linker.load(request("a", SIDE));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> linker.load(request("b", new PoolName("mamba"))))
          .withMessageContaining("source mamba; the sources are ")
          .withMessageContaining("kv")
          .withMessageContaining("swa");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> linker.offload(request("b", new PoolName("mamba"))))
          .withMessageContaining("source mamba");
      assertThatIllegalArgumentException()
          .isThrownBy(
              () ->
                  linker.lookup(
                      List.of(new PageKey("p")),
                      List.of(
                          PoolQuery.allPages(PoolName.KV),
                          PoolQuery.allPages(SIDE),
                          PoolQuery.allPages(new PoolName("mamba")))))
          .withMessageContaining("source mamba");
    }
    linkers.forEach(CacheLinker::close);
  }

  private static TransferRequest request(String id, PoolName source) {
    return new TransferRequest(
        id, List.of(new PoolTransfer(source, List.of(new PageKey("p")), Slots.of(0))));
  }

  @Test
  @DisplayName("linker.ranks: a rank that cannot be opened says so to the others")
  void open_oneRankHasWrongSettings_othersLearnWhyAtOnce() throws Exception {
    List<Rank> ranks = two();
    var unused = set("linker.load-timeout", "soon").apply(ranks.get(1));
    List<Outcome> outcomes = open(ranks);

    assertThat(outcomes.get(1).value()).isInstanceOf(SettingsException.class);
    assertThat(outcomes.get(0).refusal(FailureCode.OTHER_RANK).getMessage())
        .contains("rank 1 of 2 could not open its linker: ", "linker.load-timeout");
  }

  @Test
  @DisplayName("linker.ranks: where a rank's store does not open, the others close theirs")
  void open_oneStoreDoesNotOpen_nothingIsLeftOpen() throws Exception {
    List<Rank> ranks = two();
    for (Rank rank : ranks) {
      boolean fails = rank == ranks.get(1);
      rank.builder = rank.common().backends(backend(rank.store, fails)).backend("test");
    }
    List<Outcome> outcomes = open(ranks);

    assertThat(outcomes.get(1).refusal(FailureCode.UNREACHABLE).getMessage()).contains("no server");
    assertThat(outcomes.get(0).refusal(FailureCode.OTHER_RANK).getMessage())
        .contains("rank 1 of 2 could not open its linker: ", "no server");
    assertThat(ranks.get(0).store.closed).isTrue();
  }

  private static Backends backend(CacheStore store, boolean fails) {
    CacheStoreProvider provider =
        new CacheStoreProvider() {
          @Override
          public String name() {
            return "test";
          }

          @Override
          public List<Option<?>> options() {
            return List.of();
          }

          @Override
          public Set<Capability> capabilities() {
            return store.capabilities();
          }

          @Override
          public CacheStore open(Settings settings, StoreContext context) {
            if (fails) {
              throw new CacheException(FailureCode.UNREACHABLE, "no server");
            }
            return store;
          }
        };
    return Backends.of(List.of(new Backends.Found("test", provider, "this test")));
  }

  @Test
  @DisplayName("linker.ranks: a rank that does not come is told by its number, whatever the policy")
  void open_otherRankDoesNotCome_failsByTheRankTimeout() throws Exception {
    for (String policy : List.of("fail-fast", "degraded")) {
      Rank first = two().getFirst();
      first.builder.settings(
          Map.of(
              "linker.start-policy", policy,
              "linker.rank-timeout", "20ms",
              "linker.lookup-timeout", "20ms",
              "linker.load-timeout", "20ms",
              "linker.offload-timeout", "20ms"));
      CacheException refusal = open(List.of(first)).getFirst().refusal(FailureCode.OTHER_RANK);

      assertThat(refusal).hasMessageContaining("rank 0 of 2 is not opened, since a rank is lost");
      assertThat(refusal).hasMessageContaining("did not come by the deadline: {1}");
    }
  }

  @Test
  @DisplayName("linker.ranks: when one rank closes, another that waits for it learns so at once")
  void close_anotherRankWaits_learnsAtOnce() throws Exception {
    List<CacheLinker> linkers = open(two()).stream().map(Outcome::linker).toList();
    try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
      Future<Integer> waits =
          threads.submit(
              () ->
                  linkers
                      .get(0)
                      .lookup(List.of(new PageKey("p")), List.of(PoolQuery.allPages(PoolName.KV)))
                      .usablePages());
      linkers.get(1).close();

      // The default timeouts are 40 s, which this test would not survive twice.
      assertThat(waits.get()).isZero();
      assertThat(linkers.get(0).health(Deadline.after(Duration.ofSeconds(9))))
          .satisfies(
              health -> {
                assertThat(health.state().name()).isEqualTo("DOWN");
                assertThat(health.detail()).contains("a rank is lost: ", "was closed");
              });
    }
    linkers.get(0).close();
  }
}
