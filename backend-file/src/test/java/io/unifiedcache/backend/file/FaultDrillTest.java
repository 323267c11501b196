package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Each call of the system that an operation makes fails once, or from then on until the operation
 * has ended. Then all is well again: nothing acknowledged is lost, nothing wrong is OK, nothing
 * sound is called bad, for this process, another one, and after reopening; and the room comes back.
 */
@Timeout(value = 10, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class FaultDrillTest {
  private static final int SMALL = 300;
  private static final int LARGE = 70_000;
  private static final int OBJECTS = 4;
  private static final long CAPACITY = 2 << 20;
  private static final String LONG = "-" + "k".repeat(30_000);

  @TempDir Path folder = Path.of("set by JUnit");

  private int directories;

  /** What happens to a call. */
  private enum Fault {
    EIO(all(), false),
    EIO_FROM_THEN_ON(all(), true),
    /** It is done, and an error is told all the same. */
    DONE_AND_EIO(
        EnumSet.of(
            Machine.Call.WRITE,
            Machine.Call.TRUNCATE,
            Machine.Call.MOVE,
            Machine.Call.LINK,
            Machine.Call.DELETE),
        false),
    FULL(EnumSet.of(Machine.Call.WRITE, Machine.Call.OPEN, Machine.Call.MOVE), false),
    FULL_FROM_THEN_ON(EnumSet.of(Machine.Call.WRITE, Machine.Call.OPEN, Machine.Call.MOVE), true),
    /** Less is done than was asked for, which is no error. */
    SHORT(EnumSet.of(Machine.Call.READ, Machine.Call.WRITE), false),
    /** A part is done, and then an error is told. */
    PART_AND_FULL(EnumSet.of(Machine.Call.WRITE), false),
    EXCEPTION(all(), false),
    /** As where the memory for the buffers of the system is short for a moment. */
    NO_MEMORY(all(), false);

    @SuppressWarnings("ImmutableEnumChecker") // Nothing changes it.
    final Set<Machine.Call> calls;

    final boolean lasts;

    /** To unlock a lock that is held does not fail. */
    private static Set<Machine.Call> all() {
      return EnumSet.complementOf(EnumSet.of(Machine.Call.UNLOCK));
    }

    Fault(Set<Machine.Call> calls, boolean lasts) {
      this.calls = calls;
      this.lasts = lasts;
    }
  }

  /** Lets one call fail, or all from one on. */
  private static final class Failing implements Machine.Hook {
    private final Fault fault;
    private final int nth;
    private int count;
    private volatile String failed = "";
    private Machine.@Nullable Call partly;

    Failing(Fault fault, int nth) {
      this.fault = fault;
      this.nth = nth;
    }

    private boolean isHit(Machine.Call call) {
      if (!fault.calls.contains(call)) {
        return false;
      }
      count++;
      return fault.lasts ? count >= nth : count == nth;
    }

    @Override
    public synchronized void before(Machine.Call call, String file) throws IOException {
      partly = null;
      if (!isHit(call)) {
        return;
      }
      if (failed.isEmpty()) {
        failed = call + " of " + file;
      }
      switch (fault) {
        case EIO, EIO_FROM_THEN_ON -> throw new IOException("Input/output error");
        case FULL, FULL_FROM_THEN_ON -> throw new IOException("No space left on device");
        case EXCEPTION -> throw new IllegalStateException("a fault");
        case NO_MEMORY ->
            throw new OutOfMemoryError("Cannot reserve direct buffer memory: a fault");
        case SHORT, PART_AND_FULL, DONE_AND_EIO -> partly = call;
      }
    }

    @Override
    public synchronized int partOf(Machine.Call call, String file, int bytes) {
      return partly == call && fault != Fault.DONE_AND_EIO ? (bytes + 1) / 2 : bytes;
    }

    @Override
    public synchronized void after(Machine.Call call, String file) throws IOException {
      if (partly == call && fault == Fault.PART_AND_FULL) {
        throw new IOException("No space left on device");
      } else if (partly == call && fault == Fault.DONE_AND_EIO) {
        throw new IOException("Input/output error");
      }
    }

    boolean wasReached() {
      return !failed.isEmpty();
    }
  }

  /** What an operation does, and from what state. */
  enum Operation {
    OPEN_NEW,
    OPEN_AGAIN,
    PUT_FIRST,
    PUT,
    PUT_PRESENT,
    PUT_EVICTS,
    GET,
    EXISTS,
    REMOVE,
    CLEAR,
    UPKEEP,
    SHORTEN,
    CLOSE;

    boolean isOfSegmentsOnly() {
      return this == PUT_EVICTS || this == UPKEEP || this == SHORTEN;
    }
  }

  @ParameterizedTest
  @EnumSource(Operation.class)
  void someCallsFail_afterwardsAllIsWell(Operation operation) throws IOException {
    long seed = Long.getLong("drill.seed", System.nanoTime());
    Random random = new Random(seed);
    // A part of what is tried under stress.
    drill(operation, "segments", true, random, 20, seed);
    if (!operation.isOfSegmentsOnly()) {
      drill(operation, "sglang", true, random, 20, seed);
    }
  }

  @ParameterizedTest
  @EnumSource(Operation.class)
  @Tag("stress")
  void eachCallFails_afterwardsAllIsWell(Operation operation) throws IOException {
    for (boolean flush : new boolean[] {true, false}) {
      drill(operation, "segments", flush, new Random(0), 1, 0);
      if (!operation.isOfSegmentsOnly()) {
        drill(operation, "sglang", flush, new Random(0), 1, 0);
      }
    }
  }

  /** Lets one of so many calls fail in each way, each call where that is 1. */
  private void drill(
      Operation operation, String format, boolean flush, Random random, int oneOf, long seed)
      throws IOException {
    Run base = new Run(operation, format, flush, new Machine());
    base.prepare();
    int runs = 0;
    List<String> problems = new ArrayList<>();
    for (Fault fault : Fault.values()) {
      boolean reached = true;
      for (int nth = 1 + random.nextInt(oneOf); reached; nth += 1 + random.nextInt(2 * oneOf - 1)) {
        Run run = base.copy();
        Failing failing = new Failing(fault, nth);
        String what =
            "%s of %s, flush %s, %s at call %d".formatted(operation, format, flush, fault, nth);
        try {
          run.perform(failing);
          reached = failing.wasReached();
          if (reached) {
            runs++;
            run.expectAllIsWell();
          }
        } catch (AssertionError | RuntimeException | OutOfMemoryError e) {
          reached = failing.wasReached();
          problems.add(what + " (" + failing.failed + ", seed " + seed + "): " + text(e));
          if (!reached || Boolean.getBoolean("drill.trace")) {
            throw new AssertionError(what + " (" + failing.failed + ")", e);
          }
        } finally {
          run.end();
        }
      }
    }
    base.end();
    assertThat(problems).as(problems.size() + " of " + runs + " runs of " + operation).isEmpty();
    if (oneOf == 1) {
      System.out.printf(
          "%s of %s, flush %s: %d failing calls, all well%n", operation, format, flush, runs);
    }
  }

  private static String text(Throwable e) {
    return String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
  }

  /** One operation on one store, and what is known of the objects. */
  private final class Run {
    private final Operation operation;
    private final String format;
    private final boolean flush;
    private final Machine machine;
    private final Map<String, byte[]> acknowledged = new TreeMap<>();

    /** What may be there or not, with these bytes. */
    private final Map<String, byte[]> inDoubt = new TreeMap<>();

    private final List<CacheStore> stores = new ArrayList<>();
    private final List<Path> roots = new ArrayList<>();
    private boolean mayEvict;

    Run(Operation operation, String format, boolean flush, Machine machine) {
      this.operation = operation;
      this.format = format;
      this.flush = flush;
      this.machine = machine;
    }

    Run copy() {
      Run copy = new Run(operation, format, flush, machine.copy());
      copy.acknowledged.putAll(acknowledged);
      copy.inDoubt.putAll(inDoubt);
      copy.mayEvict = mayEvict;
      return copy;
    }

    private boolean isSegments() {
      return format.equals("segments");
    }

    /** Makes the state in which the operation begins. */
    void prepare() throws IOException {
      if (operation == Operation.OPEN_NEW || operation == Operation.PUT_FIRST) {
        if (operation == Operation.PUT_FIRST) {
          start(null).close();
        }
        return;
      }
      CacheStore store = start(null);
      for (int i = 0; i < OBJECTS; i++) {
        put(store, key(i), i % 2 == 0 ? SMALL : LARGE);
      }
      if (operation == Operation.SHORTEN) {
        for (int i = 0; i < 69; i++) {
          String key = "long-" + i + LONG;
          Stores.putOk(store, key, new byte[10]);
          assertThat(Stores.remove(store, key)).isEqualTo(ObjectStatus.OK);
        }
      } else if (operation == Operation.PUT_EVICTS || operation == Operation.UPKEEP) {
        mayEvict = true;
        for (int i = 0; i < 28; i++) {
          put(store, "more-" + i + ".bin", LARGE);
        }
      }
      if (operation == Operation.OPEN_AGAIN) {
        // The process is killed: what it has locked and begun is left.
        return;
      }
      end();
    }

    private String key(int i) {
      return "key-" + i + ".bin";
    }

    private byte[] content(String key, int size) {
      return Stores.bytes(size, key.hashCode());
    }

    private Tuning tuning(long lowWatermark) {
      return new Tuning(CAPACITY, lowWatermark, 0, 4 << 20, true, flush, 1);
    }

    private CacheStore start(Machine.@Nullable Hook whileOpening) throws IOException {
      Path root = Files.createDirectory(folder.resolve("process-" + directories++)).toRealPath();
      roots.add(root);
      Machine.Program process = machine.start(root);
      process.set(whileOpening);
      CacheStore store = open(process, root);
      stores.add(store);
      processes.put(store, process);
      return store;
    }

    private final Map<CacheStore, Machine.Program> processes = new HashMap<>();

    private CacheStore open(Disk disk, Path root) {
      Map<String, String> options = new HashMap<>();
      options.put("io-threads", "1");
      options.put("durability", flush ? "flush" : "none");
      if (isSegments()) {
        options.put("capacity", CAPACITY + "B");
        return FileStoreProvider.open(
            disk, Stores.settings(root, options), StoreContext.of("drill"));
      }
      options.put("format", "sglang");
      return FileStoreProvider.open(disk, sglang(root, options), StoreContext.of("drill"));
    }

    private Settings sglang(Path root, Map<String, String> options) {
      FileStoreProvider provider = new FileStoreProvider();
      Settings.Builder builder = Settings.builder(provider.options());
      builder.set(FileStoreProvider.ROOT, root.toString());
      provider
          .options()
          .forEach(
              option -> {
                String text =
                    option == FileStoreProvider.MIN_FREE ? "0" : options.get(option.name());
                if (text != null) {
                  builder.parse(option, text);
                }
              });
      return builder.build();
    }

    void end() throws IOException {
      for (CacheStore store : stores) {
        store.close();
      }
      stores.clear();
      for (Path root : roots) {
        try (Stream<Path> paths = Files.walk(root)) {
          for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
            Files.delete(path);
          }
        }
      }
      roots.clear();
    }

    private BatchResult put(CacheStore store, String key, int size) {
      byte[] bytes = content(key, size);
      if (!acknowledged.containsKey(key)) {
        inDoubt.put(key, bytes);
      }
      BatchResult result = Stores.put(store, key, bytes);
      note(key, bytes, result.status(0));
      return result;
    }

    private void note(String key, byte[] bytes, ObjectStatus status) {
      if (status == ObjectStatus.OK || status == ObjectStatus.PRESENT) {
        acknowledged.put(key, bytes);
        inDoubt.remove(key);
      }
    }

    /** Does the operation while calls fail. */
    void perform(Failing failing) throws IOException {
      if (operation == Operation.OPEN_NEW || operation == Operation.OPEN_AGAIN) {
        try {
          start(failing);
        } catch (CacheException e) {
          // It says why, and the next one opens.
        }
        processes.values().forEach(process -> process.set(null));
        return;
      }
      CacheStore store = start(null);
      Machine.Program process = process(store);
      process.set(failing);
      try {
        perform(store);
      } finally {
        process.set(null);
      }
    }

    private Machine.Program process(CacheStore store) {
      Machine.Program process = processes.get(store);
      assertThat(process).isNotNull();
      return Objects.requireNonNull(process);
    }

    private void perform(CacheStore store) {
      switch (operation) {
        case OPEN_NEW, OPEN_AGAIN -> throw new IllegalStateException("opened already");
        case PUT_FIRST, PUT, PUT_EVICTS -> {
          List<String> keys = List.of("new-0.bin", "new-1.bin", "new-2.bin");
          List<PutOp> ops = new ArrayList<>();
          for (String key : keys) {
            byte[] bytes = content(key, newSize(key));
            inDoubt.put(key, bytes);
            ops.add(new PutOp(Stores.key(key), List.of(Stores.memory(bytes))));
          }
          BatchResult result = store.put(ops, Stores.soon());
          for (int i = 0; i < keys.size(); i++) {
            note(keys.get(i), content(keys.get(i), newSize(keys.get(i))), result.status(i));
          }
        }
        case PUT_PRESENT -> {
          BatchResult result = Stores.put(store, key(1), content(key(1), LARGE));
          assertThat(result.status(0)).isIn(ObjectStatus.PRESENT, ObjectStatus.FAILED);
        }
        case GET -> {
          for (int i = 0; i < OBJECTS; i++) {
            byte[] bytes = content(key(i), i % 2 == 0 ? SMALL : LARGE);
            Stores.Got got = Stores.get(store, key(i), bytes.length);
            assertThat(got.status()).isIn(ObjectStatus.OK, ObjectStatus.FAILED);
            if (got.status() == ObjectStatus.OK) {
              assertThat(Arrays.equals(got.bytes(), bytes)).as("right bytes").isTrue();
            } else {
              assertThat(got.result().failure(0).code().toString())
                  .as("code of a failure of " + key(i))
                  .isNotIn("CORRUPT", "SIZE_MISMATCH");
            }
          }
        }
        case EXISTS -> {
          BatchResult result =
              store.exists(List.of(Stores.key(key(0)), Stores.key("never.bin")), Stores.soon());
          assertThat(result.status(0)).isIn(ObjectStatus.OK, ObjectStatus.FAILED);
          assertThat(result.status(1)).isIn(ObjectStatus.ABSENT, ObjectStatus.FAILED);
        }
        case REMOVE, SHORTEN -> {
          ObjectStatus status = remove(store, key(1));
          if (operation == Operation.SHORTEN) {
            String last = "last" + LONG;
            byte[] bytes = new byte[10];
            inDoubt.put(last, bytes);
            note(last, bytes, Stores.put(store, last, bytes).status(0));
          }
          assertThat(status).isIn(ObjectStatus.OK, ObjectStatus.FAILED);
        }
        case CLEAR -> {
          Map<String, byte[]> before = new TreeMap<>(acknowledged);
          acknowledged.clear();
          inDoubt.putAll(before);
          try {
            long removed = store.clear(KeyPrefix.EVERYTHING, Stores.soon()).removed();
            if (isSegments()) {
              assertThat(removed).isEqualTo(before.size());
              inDoubt.clear();
            }
          } catch (CacheException e) {
            // Then each may be there.
          }
        }
        case UPKEEP -> {
          try {
            Engines.find(roots.getLast()).upkeep().run(tuning(CAPACITY / 2));
          } catch (RuntimeException | OutOfMemoryError e) {
            // As the threads of the store do, which log it.
            assertThat(e).hasMessageContaining("a fault");
          }
        }
        case CLOSE -> {
          store.close();
          stores.remove(store);
        }
      }
    }

    private int newSize(String key) {
      return key.startsWith("new-1") ? SMALL : LARGE;
    }

    private ObjectStatus remove(CacheStore store, String key) {
      byte[] bytes = acknowledged.remove(key);
      if (bytes != null) {
        inDoubt.put(key, bytes);
      }
      ObjectStatus status = Stores.remove(store, key);
      if (status != ObjectStatus.FAILED) {
        inDoubt.remove(key);
      }
      return status;
    }

    // What is well.

    void expectAllIsWell() throws IOException {
      CacheStore first = stores.isEmpty() ? start(null) : stores.getFirst();
      expectServes(first, "the same process");
      healthyPut(first, "healthy-1.bin");
      CacheStore second = start(null);
      expectServes(second, "another process");
      healthyPut(second, "healthy-2.bin");
      expectServes(first, "the same process, after another one");
      assertThat(first.probe(Stores.soon()).state()).as("health").isEqualTo(StoreHealth.State.UP);
      if (flush) {
        Run lost =
            new Run(operation, format, true, machine.remains(Machine.Names.ANY, new Random(1)));
        lost.acknowledged.putAll(acknowledged);
        lost.inDoubt.putAll(inDoubt);
        lost.mayEvict = mayEvict;
        try {
          lost.expectServes(lost.start(null), "after a loss of power");
        } finally {
          lost.end();
        }
      }
      end();
      CacheStore third = start(null);
      expectServes(third, "opened again");
      expectRoom(third);
    }

    private void healthyPut(CacheStore store, String key) {
      BatchResult result = put(store, key, LARGE);
      assertThat(Stores.describe(result)).as("put of " + key).isEqualTo("OK");
      Stores.expect(store, key, content(key, LARGE));
    }

    private void expectServes(CacheStore store, String who) {
      acknowledged.forEach((key, bytes) -> expect(store, key, bytes, mayEvict, who));
      inDoubt.forEach((key, bytes) -> expect(store, key, bytes, true, who));
      store.list(
          KeyPrefix.EVERYTHING,
          key -> {
            assertThat(acknowledged.containsKey(key.value()) || inDoubt.containsKey(key.value()))
                .as("%s: %s is listed", who, shorten(key.value()))
                .isTrue();
            return true;
          },
          Stores.soon());
    }

    private void expect(
        CacheStore store, String key, byte[] bytes, boolean mayBeAbsent, String who) {
      boolean exists = Stores.exists(store, key);
      HostMemory target = Stores.memory(new byte[bytes.length]);
      BatchResult result =
          store.get(List.of(new GetOp(Stores.key(key), List.of(target))), Stores.soon());
      String name = who + ": " + shorten(key);
      if (mayBeAbsent) {
        assertThat(Stores.describe(result)).as(name).isIn("OK", "ABSENT");
      } else {
        assertThat(Stores.describe(result)).as(name).isEqualTo("OK");
      }
      assertThat(exists).as(name + " exists").isEqualTo(result.isOk(0));
      if (result.isOk(0)) {
        assertThat(Arrays.equals(Stores.read(target), bytes)).as(name + ": bytes").isTrue();
      }
    }

    private static String shorten(String key) {
      return key.replace(LONG, "...");
    }

    /** Puts as much as the store is to hold, once it is cleared. */
    private void expectRoom(CacheStore store) {
      store.clear(KeyPrefix.EVERYTHING, Stores.soon());
      if (!isSegments()) {
        assertThat(machine.fileNames())
            .as("files that are left")
            .allMatch(name -> name.endsWith(".lock"));
        return;
      }
      AtomicInteger count = new AtomicInteger();
      int size = (int) (CAPACITY / 20);
      for (int i = 0; i < 20; i++) {
        assertThat(Stores.describe(Stores.put(store, "full-" + i, content("full-" + i, size))))
            .as("put " + i + " of 20 into a store that was cleared")
            .isEqualTo("OK");
      }
      store.list(KeyPrefix.EVERYTHING, key -> count.incrementAndGet() > 0, Stores.soon());
      assertThat(count.get()).as("objects in a full store").isEqualTo(20);
      assertThat(store.stats().liveBytes()).isEqualTo(20L * size);
    }
  }
}
