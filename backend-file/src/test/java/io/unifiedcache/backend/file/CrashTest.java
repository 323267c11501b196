package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.PutOp;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes that end in the middle of what they do. */
class CrashTest {
  private static final int OBJECT_BYTES = 70_000;

  @TempDir Path folder = Path.of("set by JUnit");

  // At every step.

  /** Puts a batch and removes one object; the process ends in the middle of a given step. */
  static final class Steps {
    private Steps() {}

    public static void main(String[] arguments) {
      int last = Integer.parseInt(arguments[1]);
      TestDisk disk =
          new TestDisk() {
            @Override
            void before(String step) throws IOException {
              super.before(step);
              if (step() == last && !step.startsWith("write")) {
                cut();
              }
            }

            @Override
            int partOf(int bytes) {
              return step() == last ? bytes / 2 : bytes;
            }

            @Override
            void cut() {
              Runtime.getRuntime().halt(9);
            }
          };
      FileStore store =
          Stores.open(disk, Path.of(arguments[0]), Map.of("durability", arguments[2]));
      List<PutOp> ops = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        ops.add(
            new PutOp(
                Stores.key("new-" + i), List.of(Stores.memory(Stores.bytes(OBJECT_BYTES, i)))));
      }
      Stores.say("put " + store.put(ops, Stores.soon()));
      Stores.say("removed " + Stores.remove(store, "old-1"));
      store.close();
      Stores.say("steps " + disk.steps.get());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "flush"})
  void process_endsAtAnyStepOfAPut_leavesEachObjectWholeOrAbsent(String durability)
      throws IOException {
    boolean ended = false;
    int last = 0;
    // How many steps there are depends on how threads share the work; so until one is not reached.
    while (!ended) {
      last++;
      Path root = folder.resolve("store-" + last);
      try (FileStore store = Stores.open(root)) {
        for (int i = 0; i < 3; i++) {
          Stores.putOk(store, "old-" + i, Stores.bytes(OBJECT_BYTES, 10 + i));
        }
      }
      List<String> said;
      try (Child child = Child.start(Steps.class, root, last, durability)) {
        said = child.lines();
        int status = child.awaitEnd();
        assertThat(status).as("exit status; it said " + said).isIn(0, 9);
        ended = status == 0;
      }
      assertThat(said.stream().anyMatch(line -> line.startsWith("steps ")))
          .as("to end whole at step " + last + "; it said " + said)
          .isEqualTo(ended);
      if (ended) {
        int steps = Integer.parseInt(said.getLast().substring("steps ".length()));
        assertThat(steps).as("steps of a process that was to end at " + last).isLessThan(last);
        assertThat(steps).isGreaterThan(15);
      }
      expectWholeOrAbsent(root, said, "process ended at step " + last + ", said " + said);
      deleteAll(root);
    }
  }

  private static void expectWholeOrAbsent(Path root, List<String> said, String when) {
    boolean put = said.stream().anyMatch(line -> line.startsWith("put "));
    boolean removed = said.stream().anyMatch(line -> line.startsWith("removed "));
    try (FileStore store = Stores.open(root)) {
      long objects = 0;
      for (int i = 0; i < 3; i++) {
        if (i != 1) {
          Stores.expect(store, "old-" + i, Stores.bytes(OBJECT_BYTES, 10 + i));
          objects++;
        }
        Stores.Got got = Stores.get(store, "new-" + i, OBJECT_BYTES);
        if (put) {
          assertThat(got.described()).as(when).isEqualTo("OK");
        } else {
          assertThat(got.described()).as(when).isIn("OK", "ABSENT");
        }
        if (got.result().isOk(0)) {
          assertThat(got.bytes()).as(when).isEqualTo(Stores.bytes(OBJECT_BYTES, i));
          objects++;
        }
      }
      if (Stores.exists(store, "old-1")) {
        assertThat(removed).as(when).isFalse();
        objects++;
      }
      assertThat(store.stats().objects()).as(when).isEqualTo(objects);
      assertThat(store.stats().liveBytes()).as(when).isEqualTo(objects * OBJECT_BYTES);
      for (int i = 0; i < 3; i++) {
        Stores.put(store, "new-" + i, Stores.bytes(OBJECT_BYTES, i));
        Stores.expect(store, "new-" + i, Stores.bytes(OBJECT_BYTES, i));
      }
      store.clear(KeyPrefix.EVERYTHING, Stores.soon());
      assertThat(store.stats().liveBytes()).as(when).isZero();
      try (Stream<Path> files = Files.list(root)) {
        Set<String> names =
            files.map(file -> String.valueOf(file.getFileName())).collect(Collectors.toSet());
        assertThat(names).as(when).noneMatch(name -> name.endsWith(FileNames.TEMPORARY));
        assertThat(names.stream().filter(name -> FileNames.asLog(name) >= 0)).as(when).hasSize(1);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void deleteAll(Path root) throws IOException {
    try (Stream<Path> files = Files.list(root)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(root);
  }

  // At any time.

  /** Puts, reads and removes by chance, and tells what it has put. */
  static final class Load {
    private Load() {}

    public static void main(String[] arguments) {
      Random random = new Random(Long.parseLong(arguments[1]));
      FileStore store =
          Stores.open(Path.of(arguments[0]), Map.of("capacity", "4MiB", "segment", "4MiB"));
      for (int i = 0; ; i++) {
        String name = arguments[1] + "-" + i;
        String answer =
            Stores.describe(Stores.put(store, name, Stores.bytes(size(name), name.hashCode())));
        Stores.say(name + " " + answer);
        if (random.nextInt(4) == 0) {
          Stores.remove(store, arguments[1] + "-" + random.nextInt(i + 1));
        }
      }
    }
  }

  private static int size(String name) {
    return 1 + Math.floorMod(name.hashCode() * 31, 200_000);
  }

  @Test
  void process_killedUnderLoad_leavesEachObjectWholeOrAbsent() throws IOException {
    killUnderLoad(20);
  }

  @Test
  @Tag("stress")
  void process_killedUnderLoadManyTimes_leavesEachObjectWholeOrAbsent() throws IOException {
    killUnderLoad(200);
  }

  private void killUnderLoad(int rounds) throws IOException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Path root = folder.resolve("store");
    for (int round = 0; round < rounds; round++) {
      String where = "round " + round + " of seed " + seed;
      try (Child child = Child.start(Load.class, root, round)) {
        int enough = 1 + random.nextInt(60);
        for (int i = 0; i < enough; i++) {
          String line = child.line();
          assertThat(line).as(where).isNotNull().endsWith(" OK");
        }
        child.kill();
      }
      try (FileStore store = Stores.open(root, Map.of("capacity", "4MiB", "segment", "4MiB"))) {
        List<ObjectKey> keys = new ArrayList<>();
        store.list(KeyPrefix.EVERYTHING, keys::add, Stores.soon());
        long bytes = 0;
        for (ObjectKey key : keys) {
          String name = key.value();
          Stores.Got got = Stores.get(store, name, size(name));
          assertThat(got.described()).as(where + ": " + name).isEqualTo("OK");
          assertThat(got.bytes())
              .as(where + ": " + name)
              .isEqualTo(Stores.bytes(size(name), name.hashCode()));
          bytes += size(name);
        }
        assertThat(keys).as(where).isNotEmpty();
        assertThat(store.stats().objects()).as(where).isEqualTo(keys.size());
        assertThat(store.stats().liveBytes()).as(where).isEqualTo(bytes).isLessThan((4 << 20) + 1);
        Stores.putOk(store, "after-" + round, new byte[1000]);
        Stores.remove(store, "after-" + round);
      }
    }
  }
}
