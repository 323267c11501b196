package io.unifiedcache.api;

import static java.util.concurrent.CompletableFuture.completedFuture;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.Drained;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.LinkerHealth;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.api.store.Verification;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What every record of the contracts keeps: equality by value, copies of collections, no nulls. */
class RecordContractTest {
  /**
   * A record to try.
   *
   * @param args arguments of the canonical constructor
   * @param others for each argument another that it may be replaced by
   */
  record Sample(Class<? extends Record> type, List<Object> args, List<Object> others) {
    @Override
    public String toString() {
      return type.getSimpleName();
    }
  }

  private static Sample of(Class<? extends Record> type, Object... argsThenOthers) {
    int count = type.getRecordComponents().length;
    List<Object> all = List.of(argsThenOthers);
    assertThat(all).as(type + ": arguments and their replacements").hasSize(2 * count);
    return new Sample(type, all.subList(0, count), all.subList(count, 2 * count));
  }

  /** Returns twelve numbers, and twelve others. */
  private static Object[] numbers(int size) {
    return LongStream.concat(LongStream.range(0, size), LongStream.range(100, 100 + size))
        .boxed()
        .toArray();
  }

  /** Returns two samples, one after the other, with one more value at the end of each. */
  private static Object[] insertedAt(int size, Object first, Object second, Object[] samples) {
    List<Object> all = new ArrayList<>(Arrays.asList(samples));
    all.add(size, first);
    all.add(second);
    return all.toArray();
  }

  static Stream<Sample> records() {
    Memory memory = new DeviceMemory("cuda:0", 64, 100);
    Memory otherMemory = new DeviceMemory("cuda:1", 64, 100);
    StoreFailure failure = StoreFailure.of(FailureCode.IO, "disk");
    StoreFailure otherFailure = StoreFailure.of(FailureCode.BUSY, "leased");
    LayerBuffer buffer = new LayerBuffer(0, memory, 10);
    LayerBuffer otherBuffer = new LayerBuffer(1, memory, 10);
    Component component = new Component("k", List.of(buffer));
    Component otherComponent = new Component("v", List.of(buffer));
    DevicePool pool = new DevicePool(PoolName.KV, List.of(component));
    DevicePool otherPool = new DevicePool(new PoolName("swa"), List.of(component));
    PageKey page = new PageKey("p");
    PageKey otherPage = new PageKey("q");
    ObjectKey key = new ObjectKey("o");
    ObjectKey otherKey = new ObjectKey("p");
    PoolName swa = new PoolName("swa");
    PageFailure pageFailure = new PageFailure(PoolName.KV, page, failure);
    PageFailure otherPageFailure = new PageFailure(swa, page, failure);
    Completion completion = new Completion("r", List.of());
    Completion otherCompletion = new Completion("s", List.of());
    PoolTransfer transfer = new PoolTransfer(PoolName.KV, List.of(page), Slots.of(1));
    PoolTransfer otherTransfer = new PoolTransfer(swa, List.of(page), Slots.of(1));
    Range range = new Range(0, memory);
    Range otherRange = new Range(1, memory);
    MonotonicClock clock = () -> 1;
    ThreadFactory threads = Thread.ofPlatform().factory();
    Duration second = Duration.ofSeconds(1);
    return Stream.of(
        of(PageKey.class, "a", "b"),
        of(ObjectKey.class, "a", "b"),
        of(PoolName.class, "a", "b"),
        of(ByteSize.class, 1L, 2L),
        of(
            StoreInventory.Item.class,
            key,
            1L,
            Optional.empty(),
            otherKey,
            2L,
            Optional.of(Instant.EPOCH)),
        of(
            StoreInventory.class,
            1L,
            2L,
            3L,
            true,
            new LinkedHashMap<>(Map.of("a", "b")),
            2L,
            3L,
            4L,
            false,
            new LinkedHashMap<>(Map.of("a", "c"))),
        of(Verification.class, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L),
        of(
            Verification.Finding.class,
            Optional.of(key),
            FailureCode.CORRUPT,
            "bad",
            Verification.Remedy.NONE,
            Optional.empty(),
            FailureCode.IO,
            "worse",
            Verification.Remedy.DROPPED),
        of(DeviceMemory.class, "cuda:0", 64L, 10L, "cuda:1", 65L, 11L),
        of(
            StoreFailure.class,
            FailureCode.IO,
            "disk",
            false,
            MemoryState.UNTOUCHED,
            FailureCode.INTERNAL,
            "tape",
            true,
            MemoryState.DIRTY),
        of(MemoryState.Untouched.class),
        of(MemoryState.Dirty.class),
        of(MemoryState.InUse.class, completedFuture(1), completedFuture(2)),
        of(ClearResult.class, 1L, 2L, 3L, 4L),
        of(GetOp.class, key, List.of(memory), otherKey, List.of(otherMemory)),
        of(
            PutOp.class,
            key,
            List.of(memory),
            Optional.of("g"),
            otherKey,
            List.of(otherMemory),
            Optional.empty()),
        of(Range.class, 1L, memory, 2L, otherMemory),
        of(ReadOp.class, 1, List.of(range), 2, List.of(otherRange)),
        of(
            StoreContext.class,
            "a",
            clock,
            threads,
            "b",
            MonotonicClock.SYSTEM,
            Thread.ofVirtual().factory()),
        of(StoreHealth.class, StoreHealth.State.UP, "fine", StoreHealth.State.DOWN, "gone"),
        of(
            StoreLimits.class,
            1,
            2,
            3L,
            4,
            8L,
            second,
            second,
            10,
            20,
            30L,
            40,
            16L,
            Duration.ZERO,
            Duration.ZERO),
        of(StoreStats.class, numbers(12)),
        of(LinkerHealth.class, LinkerHealth.State.UP, "fine", LinkerHealth.State.DOWN, "gone"),
        of(
            LinkerStats.class,
            insertedAt(13, Map.of(FailureCode.IO, 1L), Map.of(FailureCode.IO, 2L), numbers(13))),
        of(Completion.class, "r", List.of(pageFailure), "s", List.of(otherPageFailure)),
        of(Component.class, "k", List.of(buffer), "v", List.of(otherBuffer)),
        of(
            DevicePool.class,
            PoolName.KV,
            PoolName.KV,
            List.of(component),
            swa,
            swa,
            List.of(otherComponent)),
        of(DevicePools.class, List.of(pool), false, List.of(otherPool), true),
        of(
            Drained.class,
            List.of(completion),
            List.of(completion),
            List.of(memory),
            CompletableFuture.completedFuture("released"),
            List.of(otherCompletion),
            List.of(otherCompletion),
            List.of(otherMemory),
            CompletableFuture.completedFuture("also released")),
        of(LayerBuffer.class, 0, memory, 10L, 9L, 1, otherMemory, 11L, 8L),
        of(LayerProgress.class, 1, Map.of("r", failure), 2, Map.of("r", otherFailure)),
        of(PageFailure.class, PoolName.KV, page, failure, swa, otherPage, otherFailure),
        of(PoolQuery.class, swa, HitPolicy.TRAILING_PAGES, 1, PoolName.KV, HitPolicy.ALL_PAGES, 2),
        of(
            PoolTransfer.class,
            swa,
            List.of(page),
            Slots.of(1),
            PoolName.KV,
            List.of(otherPage),
            Slots.of(2)),
        of(
            PoolTransferResult.class,
            RestorablePrefixes.of(2),
            Map.of(swa, 2),
            RestorablePrefixes.of(3),
            Map.of(swa, 3)),
        of(
            TransferRequest.class,
            "r",
            List.of(transfer),
            completedFuture(1),
            "s",
            List.of(otherTransfer),
            completedFuture(2)));
  }

  @ParameterizedTest
  @MethodSource("records")
  void equality_isThatOfAllComponents(Sample sample) throws Exception {
    Record one = create(sample, sample.args());

    assertThat(one).isEqualTo(create(sample, sample.args()));
    assertThat(one).hasSameHashCodeAs(create(sample, sample.args()));
    for (int i = 0; i < sample.args().size(); i++) {
      Record other = create(sample, replaced(sample.args(), i, sample.others().get(i)));
      assertThat(one).as("differs in component %d", i).isNotEqualTo(other);
    }
  }

  @ParameterizedTest
  @MethodSource("records")
  void null_isRefused(Sample sample) throws Exception {
    RecordComponent[] components = sample.type().getRecordComponents();
    for (int i = 0; i < components.length; i++) {
      if (!components[i].getType().isPrimitive()) {
        List<@Nullable Object> args = replaced(sample.args(), i, null);
        assertThatExceptionOfType(NullPointerException.class)
            .as("null as %s", components[i].getName())
            .isThrownBy(() -> create(sample, args));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("records")
  void collections_areCopiedAndImmutable(Sample sample) throws Exception {
    RecordComponent[] components = sample.type().getRecordComponents();
    for (int i = 0; i < components.length; i++) {
      Object arg = sample.args().get(i);
      if (arg instanceof List<?> list) {
        List<Object> given = new ArrayList<>(list);
        Record made = create(sample, replaced(sample.args(), i, given));
        given.clear();

        List<?> held = (List<?>) components[i].getAccessor().invoke(made);
        assertThat(held).isEqualTo(list);
        assertThatThrownBy(held::removeFirst).isInstanceOf(UnsupportedOperationException.class);
      } else if (arg instanceof Map<?, ?> map) {
        Map<Object, Object> given = new LinkedHashMap<>(map);
        Record made = create(sample, replaced(sample.args(), i, given));
        given.clear();

        Map<?, ?> held = (Map<?, ?>) components[i].getAccessor().invoke(made);
        assertThat(held).isEqualTo(map);
        assertThatThrownBy(held::clear).isInstanceOf(UnsupportedOperationException.class);
      }
    }
  }

  @Test
  void samples_areOfAllRecords() throws Exception {
    Path classes =
        Path.of(PageKey.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Class<?>> all = new ArrayList<>();
    try (Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(RecordContractTest::isClass).toList()) {
        String name = classes.relativize(file).toString().replace('/', '.').replace('\\', '.');
        Class<?> type = Class.forName(name.substring(0, name.length() - ".class".length()));
        if (type.isRecord()) {
          all.add(type);
        }
      }
    }

    assertThat(records().map(Sample::type)).containsExactlyInAnyOrderElementsOf(cast(all));
  }

  private static boolean isClass(Path file) {
    String name = file.getFileName().toString();
    return name.endsWith(".class") && !name.endsWith("-info.class");
  }

  // Every class in the list was seen to be a record.
  @SuppressWarnings("unchecked")
  private static List<Class<? extends Record>> cast(List<Class<?>> records) {
    return (List<Class<? extends Record>>) (List<?>) records;
  }

  private static List<@Nullable Object> replaced(
      List<Object> args, int index, @Nullable Object value) {
    List<@Nullable Object> changed = new ArrayList<>(args);
    changed.set(index, value);
    return changed;
  }

  private static Record create(Sample sample, List<? extends @Nullable Object> args)
      throws Exception {
    Constructor<? extends Record> constructor =
        sample
            .type()
            .getDeclaredConstructor(
                Arrays.stream(sample.type().getRecordComponents())
                    .map(RecordComponent::getType)
                    .toArray(Class<?>[]::new));
    try {
      return constructor.newInstance(args.toArray());
    } catch (InvocationTargetException e) {
      throw e.getCause() instanceof RuntimeException refusal ? refusal : e;
    }
  }
}
