package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What a store has after its machine has lost its power in the middle of a random life: of what was
 * answered nothing is lost that was to be durable, and nothing is wrong that is OK.
 */
class PowerLossTest {
  /** Long enough for the log to be shortened in a life: it has to grow by 4 MiB before. */
  private static final String LONG = "-" + "k".repeat(30_000);

  private static final int KEYS = 24;
  private static final int LONG_KEYS = 34;
  private static final int[] SIZES = {0, 100, 5_000, 20_000, 20_000, 70_000};

  @TempDir Path folder = Path.of("set by JUnit");

  private int directories;

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  void life_ofAFixedSeed_losesNothing(long seed) throws IOException {
    new Life(seed).live();
  }

  @Test
  void lives_atRandom_loseNothing() throws IOException {
    live(Duration.ofSeconds(2));
  }

  @Test
  @Tag("stress")
  void lives_atRandomForLong_loseNothing() throws IOException {
    live(Duration.ofSeconds(Long.getLong("power.seconds", 300)));
  }

  private void live(Duration time) throws IOException {
    Long only = Long.getLong("power.seed");
    if (only != null) {
      new Life(only).live();
      return;
    }
    long begin = System.nanoTime();
    long seed = begin;
    int lives = 0;
    while (System.nanoTime() - begin < time.toNanos()) {
      new Life(seed++).live();
      lives++;
    }
    System.out.println(lives + " lives of stores whose machines lost their power: all well");
  }

  /** What is known of the objects of one key. */
  private static final class Known {
    /** The versions that a get may answer with. */
    final Set<Integer> possible = new HashSet<>();

    /** The version that a put was told OK for, 0 if there is none. */
    int acknowledged;

    Known copy() {
      Known copy = new Known();
      copy.possible.addAll(possible);
      copy.acknowledged = acknowledged;
      return copy;
    }
  }

  /** A machine as it was at one moment, and what was known of its store. */
  private record Moment(Machine machine, Map<String, Known> model) {}

  /** A random life: some processes put, get, remove, clear, evict, until the power is lost. */
  private final class Life {
    private final long seed;
    private final Random random;
    private final boolean flush;
    private final boolean checksum;
    private final boolean watermark;
    private final List<Path> roots = new ArrayList<>();
    private final List<Machine.Program> processes = new ArrayList<>();
    private final List<FileStore> stores = new ArrayList<>();
    private final List<String> done = new ArrayList<>();
    private Map<String, Known> model = new TreeMap<>();
    private int version;

    /** How many steps are left until the power is lost; very many where that is not decided. */
    private long left;

    private @Nullable Moment moment;

    Life(long seed) {
      this.seed = seed;
      random = new Random(seed);
      flush = random.nextInt(4) > 0;
      // Without either of them no document promises anything.
      checksum = !flush || random.nextBoolean();
      watermark = random.nextBoolean();
    }

    private Map<String, String> options() {
      return Map.of(
          "capacity",
          "400KiB",
          "low-watermark",
          watermark ? "150KiB" : "0",
          "durability",
          flush ? "flush" : "none",
          "checksum",
          String.valueOf(checksum),
          "io-threads",
          "1");
    }

    private Tuning tuning() {
      return new Tuning(400 << 10, watermark ? 150 << 10 : 0, 0, 4 << 20, checksum, flush, 1);
    }

    private String where() {
      return "seed %d (-Dpower.seed=%d), flush %s, checksum %s, after %s"
          .formatted(
              seed,
              seed,
              flush,
              checksum,
              done.subList(Math.max(0, done.size() - 40), done.size()));
    }

    void live() throws IOException {
      Machine machine = new Machine();
      for (int generation = 0; generation < 2; generation++) {
        done.add("generation " + generation);
        Moment end = run(machine);
        machine = check(end);
      }
    }

    /** Lives until the power is lost, and returns that moment. */
    private Moment run(Machine machine) throws IOException {
      moment = null;
      left = Long.MAX_VALUE;
      int processes = 1 + random.nextInt(2);
      try {
        for (int i = 0; i < processes; i++) {
          stores.add(open(machine, new Countdown(machine)));
        }
        int operations = 1 + random.nextInt(30);
        for (int i = 0; i < operations && moment == null; i++) {
          if (i == operations - 1 && left == Long.MAX_VALUE) {
            left = random.nextInt(60);
          }
          operate();
        }
        synchronized (this) {
          return moment == null ? now(machine) : moment;
        }
      } finally {
        left = Long.MAX_VALUE;
        closeAll();
      }
    }

    private FileStore open(Machine machine, Machine.@Nullable Hook hook) throws IOException {
      Path root = Files.createDirectory(folder.resolve("process-" + directories++)).toRealPath();
      Machine.Program process = machine.start(root);
      FileStore store = Stores.open(process, root, options());
      process.set(hook);
      processes.add(process);
      roots.add(root);
      return store;
    }

    private void closeAll() throws IOException {
      stores.forEach(FileStore::close);
      stores.clear();
      for (Path root : roots) {
        Files.delete(root);
      }
      roots.clear();
      processes.clear();
    }

    /** Counts steps, and keeps the moment of the last. */
    private final class Countdown implements Machine.Hook {
      private final Machine machine;

      Countdown(Machine machine) {
        this.machine = machine;
      }

      @Override
      public void before(Machine.Call call, String file) {
        synchronized (Life.this) {
          if (left == Long.MAX_VALUE
              && call == Machine.Call.MOVE
              && FileNames.asLog(file.replace(FileNames.TEMPORARY, "")) >= 0
              && random.nextBoolean()) {
            // The log is being shortened.
            left = random.nextInt(40);
          }
          if (left != Long.MAX_VALUE && left-- == 0) {
            moment = now(machine);
          }
        }
      }
    }

    private synchronized Moment now(Machine machine) {
      Map<String, Known> known = new TreeMap<>();
      model.forEach((key, each) -> known.put(key, each.copy()));
      return new Moment(machine.copy(), known);
    }

    // What is done.

    private int size(String key) {
      return key.endsWith(LONG) ? 50 : SIZES[Math.floorMod(key.hashCode(), SIZES.length)];
    }

    private byte[] content(String key, int number) {
      return Stores.bytes(size(key), 31L * key.hashCode() + number);
    }

    private Known known(String key) {
      return model.computeIfAbsent(key, name -> new Known());
    }

    private void operate() {
      FileStore store = stores.get(random.nextInt(stores.size()));
      switch (random.nextInt(10)) {
        case 0, 1, 2, 3 -> put(store, someKeys());
        case 4 -> put(store, List.of("long-" + random.nextInt(LONG_KEYS) + LONG));
        case 5, 6 -> get(store, someKeys());
        case 7 -> remove(store, someKeys());
        case 8 -> upkeep();
        default -> {
          if (random.nextInt(4) == 0) {
            grow(store);
          } else if (random.nextInt(4) == 0) {
            clear(store, random.nextBoolean() ? "" : "key-1");
          } else if (random.nextInt(3) == 0) {
            done.add("close and open");
            int index = stores.indexOf(store);
            store.close();
            stores.set(index, Stores.open(processes.get(index), roots.get(index), options()));
          }
        }
      }
    }

    private List<String> someKeys() {
      Set<String> keys = new HashSet<>();
      for (int i = 0; i <= random.nextInt(6); i++) {
        keys.add("key-" + random.nextInt(KEYS));
      }
      return List.copyOf(keys);
    }

    private void put(FileStore store, List<String> keys) {
      int number;
      List<PutOp> ops = new ArrayList<>();
      synchronized (this) {
        number = ++version;
        for (String key : keys) {
          known(key).possible.add(number);
          ops.add(new PutOp(Stores.key(key), List.of(Stores.memory(content(key, number)))));
        }
      }
      BatchResult result = store.put(ops, Stores.soon());
      done.add("put " + number + " " + shorten(keys) + " " + statuses(result));
      synchronized (this) {
        for (int i = 0; i < keys.size(); i++) {
          Known known = known(keys.get(i));
          if (result.status(i) == ObjectStatus.OK) {
            if (flush) {
              known.possible.clear();
            }
            known.possible.add(number);
            known.acknowledged = number;
          } else if (result.status(i) == ObjectStatus.PRESENT) {
            known.possible.remove(number);
          }
        }
      }
    }

    /** Lets the log grow by what lets it be shortened, and shortens it. */
    private void grow(FileStore store) {
      List<String> keys = new ArrayList<>();
      for (int i = 0; i < LONG_KEYS; i++) {
        keys.add("long-" + i + LONG);
      }
      for (int i = 0; i < 3 && moment == null; i++) {
        put(store, keys);
        remove(store, keys);
      }
      upkeep();
    }

    private void get(FileStore store, List<String> keys) {
      for (String key : keys) {
        expectRight(store, key, model, "get");
      }
    }

    private void remove(FileStore store, List<String> keys) {
      BatchResult result =
          store.remove(
              keys.stream().map(Stores::key).toList(), /* evenIfLeased= */ true, Stores.soon());
      done.add("remove " + shorten(keys) + " " + statuses(result));
      synchronized (this) {
        for (int i = 0; i < keys.size(); i++) {
          if (result.status(i) != ObjectStatus.FAILED) {
            forget(known(keys.get(i)));
          }
        }
      }
    }

    private void forget(Known known) {
      known.acknowledged = 0;
      if (flush) {
        // What was removed stays so. Otherwise a loss of power may bring it back.
        known.possible.clear();
      }
    }

    private void clear(FileStore store, String prefix) {
      long count =
          store
              .clear(prefix.isEmpty() ? KeyPrefix.EVERYTHING : KeyPrefix.of(prefix), Stores.soon())
              .removed();
      done.add("clear '" + prefix + "' " + count);
      synchronized (this) {
        model.forEach(
            (key, known) -> {
              if (key.startsWith(prefix)) {
                forget(known);
              }
            });
      }
    }

    /** Does what a store does in the background, which evicts. */
    private void upkeep() {
      done.add("upkeep");
      Engines.find(roots.get(random.nextInt(roots.size()))).upkeep().run(tuning());
    }

    private static List<ObjectStatus> statuses(BatchResult result) {
      return IntStream.range(0, result.size()).mapToObj(result::status).toList();
    }

    private static List<String> shorten(List<String> keys) {
      return keys.stream().map(key -> key.replace(LONG, "...")).toList();
    }

    // What is checked.

    /** Returns the version that a store has of a key, 0 if it has none. */
    private int expectRight(FileStore store, String key, Map<String, Known> known, String when) {
      HostMemory target = Stores.memory(new byte[size(key)]);
      BatchResult result =
          store.get(List.of(new GetOp(Stores.key(key), List.of(target))), Stores.soon());
      String name = key.replace(LONG, "...");
      if (result.status(0) == ObjectStatus.ABSENT) {
        return 0;
      } else if (result.status(0) == ObjectStatus.FAILED) {
        if (flush) {
          fail("%s: %s of %s: %s", when, Stores.describe(result), name, where());
        }
        return 0;
      }
      byte[] bytes = Stores.read(target);
      Known each = known.get(key);
      if (each != null) {
        for (int number : each.possible) {
          if (Arrays.equals(bytes, content(key, number))) {
            return number;
          }
        }
      }
      fail(
          "%s: an impossible answer for %s, known %s: %s",
          when, name, each == null ? "nothing" : each.possible, where());
      return 0;
    }

    /**
     * Opens what may be left, and holds it against what was known.
     *
     * @return one of the machines that may be left
     */
    private Machine check(Moment end) throws IOException {
      // What every process sees that is started now, without a loss of power.
      Map<String, Integer> before = contents(end.machine.copy(), end.model, "killed", null);
      Machine next = end.machine;
      for (int i = 0; i < 6; i++) {
        Machine.Names names = i % 2 == 0 ? Machine.Names.ANY : Machine.Names.ORDERED;
        long draw = random.nextLong();
        Machine remains = end.machine.remains(names, new Random(draw));
        next = remains.copy();
        contents(remains, end.model, "power lost, names " + names + ", draw " + i, before);
      }
      model = new TreeMap<>(end.model);
      Map<String, Integer> after = contents(next.copy(), end.model, "power lost", before);
      model.forEach(
          (key, known) -> {
            // What is not there now may be on the disk all the same, only where nothing was forced.
            int there = Objects.requireNonNullElse(after.get(key), 0);
            known.acknowledged = flush ? there : 0;
            if (there != 0) {
              known.possible.retainAll(Set.of(there));
            }
          });
      return next;
    }

    /** Opens a store on a machine, and returns the version that it has of each key. */
    private Map<String, Integer> contents(
        Machine machine,
        Map<String, Known> known,
        String when,
        @Nullable Map<String, Integer> before)
        throws IOException {
      Map<String, Integer> found = new HashMap<>();
      String files = machine.describe();
      try {
        FileStore store;
        try {
          store = open(machine, null);
        } catch (RuntimeException e) {
          throw new AssertionError(when + ": does not open: " + files + where(), e);
        }
        stores.add(store);
        for (String key : known.keySet()) {
          int number = expectRight(store, key, known, when + ", files " + files);
          if (number != 0) {
            found.put(key, number);
          }
        }
        if (before != null && flush) {
          known.forEach(
              (key, each) -> {
                Integer was = before.get(key);
                if (each.acknowledged != 0 && was != null) {
                  assertThat(found.get(key))
                      .as(
                          "%s: version of %s, which was acknowledged; files %s; %s",
                          when, key.replace(LONG, "..."), files, where())
                      .isEqualTo(was);
                }
              });
        }
        expectServes(store, found, known, when);
      } finally {
        closeAll();
      }
      return found;
    }

    private void expectServes(
        FileStore store, Map<String, Integer> found, Map<String, Known> known, String when) {
      for (int i = 0; i < 3; i++) {
        byte[] bytes = Stores.bytes(SIZES[i + 2], i);
        assertThat(Stores.describe(Stores.put(store, "new-" + i, bytes)))
            .as("%s: put; %s", when, where())
            .isEqualTo("OK");
        Stores.expect(store, "new-" + i, bytes);
      }
      for (String key : found.keySet()) {
        expectRight(store, key, known, when + ", after puts");
      }
      for (int i = 0; i < 3; i++) {
        assertThat(Stores.remove(store, "new-" + i)).isIn(ObjectStatus.OK, ObjectStatus.ABSENT);
      }
    }
  }
}
