package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several processes with one folder. */
class ProcessesTest {
  private static final int KEYS = 40;
  private static final int BYTES = 90_000;
  private static final Map<String, String> OPTIONS =
      Map.of("capacity", "2MiB", "segment", "4MiB", "checksum", "off");

  @TempDir Path folder = Path.of("set by JUnit");

  /** Puts, reads and removes the same keys as others; says if something is wrong. */
  static final class Writer {
    private Writer() {}

    public static void main(String[] arguments) {
      Random random = new Random(Long.parseLong(arguments[1]));
      int stored = 0;
      int read = 0;
      try (FileStore store = Stores.open(Path.of(arguments[0]), OPTIONS)) {
        for (int i = 0; i < 400; i++) {
          int key = random.nextInt(KEYS);
          String name = "key-" + key;
          switch (random.nextInt(5)) {
            case 0, 1 -> {
              String put = Stores.describe(Stores.put(store, name, Stores.bytes(BYTES, key)));
              stored += put.equals("OK") ? 1 : 0;
              if (!put.equals("OK") && !put.equals("PRESENT")) {
                Stores.say("wrong: put " + put);
              }
            }
            case 2, 3 -> {
              Stores.Got got = Stores.get(store, name, BYTES);
              String answer = got.described();
              if (answer.equals("OK")) {
                read++;
                if (!Arrays.equals(got.bytes(), Stores.bytes(BYTES, key))) {
                  Stores.say("wrong: bytes of " + name);
                }
              } else if (!answer.equals("ABSENT") && !answer.startsWith("FAILED LEASE_EXPIRED")) {
                Stores.say("wrong: get " + answer);
              }
            }
            default -> Stores.remove(store, name);
          }
          if (store.stats().liveBytes() > 2 << 20) {
            Stores.say("wrong: " + store.stats().liveBytes() + " bytes");
          }
        }
      }
      Stores.say("stored " + stored + " read " + read);
    }
  }

  @Test
  void processes_onTheSameKeys_neverSeeOtherBytes() throws IOException {
    Path root = folder.resolve("store");
    List<Child> children = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      children.add(Child.start(Writer.class, root, i));
    }
    for (Child child : children) {
      List<String> lines = child.lines();
      assertThat(child.awaitEnd()).as(lines.toString()).isZero();
      assertThat(lines)
          .as(lines.toString())
          .hasSize(1)
          .allMatch(line -> line.startsWith("stored "));
    }
    try (FileStore store = Stores.open(root, OPTIONS)) {
      long objects = 0;
      for (int key = 0; key < KEYS; key++) {
        if (Stores.exists(store, "key-" + key)) {
          Stores.expect(store, "key-" + key, Stores.bytes(BYTES, key));
          objects++;
        }
      }
      assertThat(store.stats().objects()).isEqualTo(objects);
      assertThat(store.stats().liveBytes()).isEqualTo(objects * BYTES);
    }
  }

  /** Makes ten thousand calls with few descriptors. */
  static final class Busy {
    private Busy() {}

    public static void main(String[] arguments) {
      Map<String, String> options = Map.of("capacity", "512MiB", "segment", "4MiB");
      try (FileStore store = Stores.open(Path.of(arguments[0]), options)) {
        byte[] bytes = Stores.bytes(20_000, 1);
        for (int i = 0; i < 5_000; i++) {
          Stores.putOk(store, "key-" + i, bytes);
          Stores.expect(store, "key-" + i, bytes);
        }
      }
      Stores.say("done");
    }
  }

  @Test
  void fewDescriptors_areEnough() throws IOException {
    try (Child child = Child.startWithin("ulimit -n 256", Busy.class, folder.resolve("store"))) {
      assertThat(child.lines()).containsExactly("done");
    }
  }

  /** Says that it has put, and waits to be killed. */
  static final class Holder {
    private Holder() {}

    public static void main(String[] arguments) throws IOException {
      FileStore store = Stores.open(Path.of(arguments[0]), OPTIONS);
      Stores.putOk(store, "of-the-holder", Stores.bytes(BYTES, 7));
      Stores.say("put");
      int unused = System.in.read();
    }
  }

  @Test
  void segments_ofADeadWriter_areTakenOverAndOfALivingOneAreNot() throws IOException {
    Path root = folder.resolve("store");
    try (Child child = Child.start(Holder.class, root)) {
      assertThat(child.line()).isEqualTo("put");
      try (FileStore store = Stores.open(root, OPTIONS)) {
        Stores.expect(store, "of-the-holder", Stores.bytes(BYTES, 7));
        Stores.putOk(store, "mine", Stores.bytes(BYTES, 8));
        FileEngine engine = Engines.find(root);
        int theirs = segmentOf(engine, "of-the-holder");
        assertThat(segmentOf(engine, "mine")).isNotEqualTo(theirs);
        child.kill();
        Stores.expect(store, "of-the-holder", Stores.bytes(BYTES, 7));
      }
    }
    try (FileStore store = Stores.open(root, OPTIONS)) {
      Stores.expect(store, "of-the-holder", Stores.bytes(BYTES, 7));
      Stores.expect(store, "mine", Stores.bytes(BYTES, 8));
      int theirs = segmentOf(Engines.find(root), "of-the-holder");
      for (int i = 0; i < 100; i++) {
        Stores.putOk(store, "next-" + i, Stores.bytes(BYTES, i));
      }
      // Nothing new was needed: the two segments of each writer are in use.
      assertThat(theirs).isLessThanOrEqualTo(4);
      assertThat(segmentOf(Engines.find(root), "next-99")).isLessThanOrEqualTo(4);
    }
  }

  /** Reads the objects that it is asked for. */
  static final class Follower {
    private Follower() {}

    public static void main(String[] arguments) throws IOException {
      try (FileStore store = Stores.open(Path.of(arguments[0]), OPTIONS);
          BufferedReader in =
              new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        Stores.say("open");
        for (String key = in.readLine(); key != null; key = in.readLine()) {
          Stores.Got got = Stores.get(store, key, BYTES);
          boolean right =
              !got.result().isOk(0)
                  || Arrays.equals(got.bytes(), Stores.bytes(BYTES, key.hashCode()));
          Stores.say(right ? got.described() : "wrong bytes");
        }
      }
    }
  }

  @Test
  void follower_ofALogThatIsShortenedOrRepaired_seesAllThatIsDone() throws IOException {
    Path root = folder.resolve("store");
    try (FileStore store = Stores.open(root, OPTIONS);
        Child child = Child.start(Follower.class, root)) {
      assertThat(child.line()).isEqualTo("open");
      Stores.putOk(store, "first", Stores.bytes(BYTES, "first".hashCode()));
      assertThat(child.ask("first")).isEqualTo("OK");

      String longName = "k".repeat(20_000);
      String before = logName(root);
      for (int i = 0; i < 150; i++) {
        Stores.putOk(store, longName, new byte[10]);
        Stores.remove(store, longName);
      }
      assertThat(logName(root)).isNotEqualTo(before);
      Stores.putOk(store, "second", Stores.bytes(BYTES, "second".hashCode()));
      assertThat(child.ask("second")).isEqualTo("OK");
      assertThat(child.ask("first")).isEqualTo("OK");

      // As if a process had died while it was adding to the log.
      before = logName(root);
      Files.write(root.resolve(before), new byte[] {7, 0, 0, 0, 1}, StandardOpenOption.APPEND);
      assertThat(child.ask("second")).isEqualTo("OK");
      Stores.remove(store, "first");
      assertThat(logName(root)).isNotEqualTo(before);
      assertThat(child.ask("first")).isEqualTo("ABSENT");
      Stores.putOk(store, "third", Stores.bytes(BYTES, "third".hashCode()));
      assertThat(child.ask("third")).isEqualTo("OK");
      assertThat(child.ask("second")).isEqualTo("OK");
    }
  }

  /** Puts and removes what it is told to. */
  static final class Owner {
    private Owner() {}

    public static void main(String[] arguments) throws IOException {
      try (FileStore store = Stores.open(Path.of(arguments[0]), OPTIONS);
          BufferedReader in =
              new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
        Stores.say("open");
        for (String key = in.readLine(); key != null; key = in.readLine()) {
          Stores.say(
              key.startsWith("-")
                  ? Stores.remove(store, key.substring(1)).toString()
                  : Stores.describe(Stores.put(store, key, Stores.bytes(BYTES, key.hashCode()))));
        }
      }
    }
  }

  @Test
  void extent_givenToAnotherObjectByItsOwnerDuringARead_isNotTakenForTheFirst() throws IOException {
    Path root = folder.resolve("store");
    try (Child owner = Child.start(Owner.class, root)) {
      assertThat(owner.line()).isEqualTo("open");
      assertThat(owner.ask("first")).isEqualTo("OK");
      AtomicBoolean armed = new AtomicBoolean();
      TestDisk disk =
          new TestDisk() {
            @Override
            void beforeRead(String file) throws IOException {
              if (FileNames.asSegment(file) > 0 && armed.compareAndSet(true, false)) {
                assertThat(owner.ask("-first")).isEqualTo("OK");
                assertThat(owner.ask("second")).isEqualTo("OK");
              }
            }
          };
      try (FileStore reader = Stores.open(disk, root, OPTIONS)) {
        Stores.expect(reader, "first", Stores.bytes(BYTES, "first".hashCode()));
        StoredObject before = Engines.find(root).find(Stores.key("first"));
        armed.set(true);
        Stores.Got got = Stores.get(reader, "first", BYTES);
        StoredObject after = Engines.find(root).find(Stores.key("second"));
        assertThat(before).isNotNull();
        assertThat(after).isNotNull();
        assertThat(after.offset).as("the place of the second object").isEqualTo(before.offset);
        assertThat(got.described()).startsWith("FAILED LEASE_EXPIRED");
        Stores.expect(reader, "second", Stores.bytes(BYTES, "second".hashCode()));
        assertThat(Stores.exists(reader, "first")).isFalse();
      }
    }
  }

  private static String logName(Path root) throws IOException {
    try (Stream<Path> files = Files.list(root)) {
      List<String> names =
          files
              .map(file -> String.valueOf(file.getFileName()))
              .filter(name -> FileNames.asLog(name) >= 0)
              .toList();
      assertThat(names).hasSize(1);
      return names.getFirst();
    }
  }

  private static int segmentOf(FileEngine engine, String key) {
    StoredObject object = engine.find(Stores.key(key));
    assertThat(object).isNotNull();
    return object.segment;
  }
}
