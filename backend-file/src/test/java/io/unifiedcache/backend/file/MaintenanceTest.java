package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.StoreMaintenance;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.api.store.Verification;
import io.unifiedcache.api.store.Verification.Finding;
import io.unifiedcache.api.store.Verification.Remedy;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an operator asks of a store in segments. */
class MaintenanceTest {
  private static final int BYTES = 150_000;

  @TempDir Path folder = Path.of("set by JUnit");

  private final List<Finding> findings = new ArrayList<>();

  private Path root() {
    return folder.resolve("store");
  }

  private StoreMaintenance maintenance(Map<String, String> options) {
    return FileStoreProvider.maintenance(
        new LocalDisk(), Stores.settings(root(), options), StoreContext.of("operator"));
  }

  private Verification verify(boolean repair) {
    findings.clear();
    return maintenance(Map.of()).verify(repair, findings::add, Stores.soon());
  }

  private StoredObject object(String key) {
    StoredObject object = Engines.find(root()).find(Stores.key(key));
    assertThat(object).isNotNull();
    return object;
  }

  private void flip(StoredObject object, long at) throws IOException {
    try (RandomAccessFile file =
        new RandomAccessFile(root().resolve(FileNames.segment(object.segment)).toFile(), "rw")) {
      file.seek(at);
      int before = file.read();
      file.seek(at);
      file.write(before ^ 0x10);
    }
  }

  private Map<String, String> files() throws IOException {
    Map<String, String> files = new TreeMap<>();
    try (Stream<Path> all = Files.list(root())) {
      for (Path file : all.toList()) {
        files.put(
            file.getFileName().toString(),
            Files.size(file) + " " + Files.getLastModifiedTime(file).toMillis());
      }
    }
    // Names who has opened the store last, and changed it last.
    files.remove(Superblock.NAME);
    return files;
  }

  @Test
  void verify_ofASoundStore_findsNothingAndChangesNothing() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "empty", new byte[0]);
      Stores.putOk(store, "small", Stores.bytes(10, 1));
      Stores.putOk(store, "large", Stores.bytes(5 << 20, 2));
      assertThat(verify(false)).isEqualTo(new Verification(3, 10 + (5 << 20), 0, 0));
      // Nothing was used.
      assertThat(store.stats().found()).isZero();
    }
    Map<String, String> before = files();
    assertThat(verify(false)).isEqualTo(new Verification(3, 10 + (5 << 20), 0, 0));
    assertThat(files()).isEqualTo(before);
    assertThat(verify(true).findings()).isZero();
    assertThat(findings).isEmpty();
  }

  @Test
  void verify_ofObjectsWithoutChecksums_saysThatTheyAreUnproven() {
    try (FileStore store = Stores.open(root(), Map.of("checksum", "off"))) {
      Stores.putOk(store, "key", new byte[100]);
    }
    assertThat(verify(false)).isEqualTo(new Verification(1, 100, 1, 0));
  }

  @Test
  void verify_ofABudgetThatIsOver_evictsNothing() {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[BYTES]);
    }
    Verification done =
        maintenance(Map.of("capacity", "4KiB")).verify(true, findings::add, Stores.soon());
    assertThat(done.objects()).isEqualTo(1);
    try (FileStore store = Stores.open(root())) {
      assertThat(Stores.exists(store, "key")).isTrue();
    }
  }

  @Test
  void verify_seesEveryDamageAndRepairSetsItAside() throws IOException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    byte[] bytes = Stores.bytes(BYTES, 1);
    for (boolean open : List.of(true, false)) {
      FileStore store = Stores.open(root());
      try {
        for (int i = 0; i < 40; i++) {
          Stores.put(store, "key-" + i, bytes);
        }
        Set<String> bad = new TreeSet<>();
        while (bad.size() < 10) {
          String key = "key-" + random.nextInt(40);
          if (bad.add(key)) {
            StoredObject object = object(key);
            long header = ExtentHeader.padded(object.headerBytes);
            flip(
                object,
                bad.size() % 2 == 0
                    ? object.offset + random.nextInt(object.headerBytes)
                    : object.offset + header + random.nextInt(BYTES));
          }
        }
        if (!open) {
          store.close();
        }
        String when = "seed " + seed + ", open " + open;

        assertThat(verify(false).findings()).as(when).isEqualTo(10);
        assertThat(keys(findings)).as(when).isEqualTo(bad);
        assertThat(findings)
            .as(when)
            .allMatch(finding -> finding.code() == FailureCode.CORRUPT)
            .allMatch(finding -> finding.remedy() == Remedy.NONE);

        assertThat(verify(true)).as(when).isEqualTo(new Verification(40, 40L * BYTES, 0, 10));
        assertThat(keys(findings)).as(when).isEqualTo(bad);
        assertThat(findings)
            .as(when)
            .allMatch(finding -> finding.remedy() == Remedy.SET_ASIDE)
            .allMatch(
                finding -> {
                  String message = finding.message();
                  Path kept = Path.of(message.substring(message.indexOf("kept as ") + 8));
                  return Files.exists(kept) && kept.toFile().length() > BYTES;
                });
        assertThat(verify(false)).as(when).isEqualTo(new Verification(30, 30L * BYTES, 0, 0));

        if (!open) {
          store = Stores.open(root());
        }
        for (String key : bad) {
          assertThat(Stores.exists(store, key)).as(when + key).isFalse();
          Stores.putOk(store, key, bytes);
          Stores.expect(store, key, bytes);
        }
      } finally {
        store.close();
      }
    }
  }

  private static Set<String> keys(List<Finding> findings) {
    Set<String> keys = new TreeSet<>();
    findings.forEach(finding -> keys.add(finding.key().orElseThrow().value()));
    return keys;
  }

  @Test
  void whatIsSetAside_saysWhatItIsAndHasABound() throws IOException {
    byte[] bytes = Stores.bytes(BYTES, 1);
    StoredObject object;
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "one", bytes);
      Stores.putOk(store, "two", bytes);
      object = object("one");
      flip(object, object.payloadOffset() + 70_000);
      verify(true);
      String name = SetAside.PREFIX + String.format("%016x", object.generation);
      byte[] kept = Files.readAllBytes(root().resolve(name + ".extent"));
      int payload = (int) ExtentHeader.padded(object.headerBytes);
      assertThat(kept).hasSize(payload + BYTES);
      assertThat(kept[payload + 70_000]).isEqualTo((byte) (bytes[70_000] ^ 0x10));
      assertThat(root().resolve(name + ".txt"))
          .content()
          .contains("one", "150000", "its bytes from 65,536 to 131,072 are not those");

      try (RandomAccessFile other =
          new RandomAccessFile(root().resolve(SetAside.PREFIX + "other").toFile(), "rw")) {
        other.setLength(SetAside.MOST_BYTES);
      }
      flip(object("two"), object("two").payloadOffset());
      verify(true);
      assertThat(findings).singleElement().extracting(Finding::remedy).isEqualTo(Remedy.DROPPED);
      assertThat(Stores.exists(store, "two")).isFalse();
    }
    // Opening again leaves it alone.
    Stores.open(root()).close();
    assertThat(root().resolve(SetAside.PREFIX + "other")).exists();
  }

  @Test
  void verify_whereSegmentsAreGoneOrCut_findsTheirObjects() throws IOException {
    Map<String, String> options = Map.of("segment", "4MiB");
    byte[] large = Stores.bytes(3 << 20, 1);
    StoredObject gone;
    StoredObject cut;
    try (FileStore store = Stores.open(root(), options)) {
      Stores.putOk(store, "gone", large);
      Stores.putOk(store, "cut", large);
      Stores.putOk(store, "good", large);
      gone = object("gone");
      cut = object("cut");
    }
    Files.delete(root().resolve(FileNames.segment(gone.segment)));
    try (RandomAccessFile file =
        new RandomAccessFile(root().resolve(FileNames.segment(cut.segment)).toFile(), "rw")) {
      file.setLength(cut.end() - 1);
    }
    for (boolean repair : List.of(false, true)) {
      assertThat(verify(repair).objects()).isEqualTo(3);
      assertThat(findings)
          .extracting(finding -> finding.key().orElseThrow().value())
          .containsExactlyInAnyOrder("gone", "cut");
      assertThat(findings)
          .extracting(Finding::message)
          .anyMatch(message -> message.startsWith("its segment file is gone"))
          .anyMatch(message -> message.startsWith("its segment file ends early"));
    }
    assertThat(verify(false)).isEqualTo(new Verification(1, 3 << 20, 0, 0));
  }

  @Test
  void verify_whatCannotBeReadForNow_isFoundAndLeft() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[BYTES]);
    }
    TestDisk failing =
        new TestDisk() {
          @Override
          void beforeRead(String file) throws IOException {
            if (file.startsWith("segment-")) {
              throw new IOException("Input/output error");
            }
          }
        };
    Verification done =
        FileStoreProvider.maintenance(
                failing, Stores.settings(root(), Map.of()), StoreContext.of("operator"))
            .verify(true, findings::add, Stores.soon());
    assertThat(done.findings()).isEqualTo(1);
    assertThat(findings.getFirst().code()).isEqualTo(FailureCode.IO);
    assertThat(findings.getFirst().remedy()).isEqualTo(Remedy.NONE);
    assertThat(verify(false)).isEqualTo(new Verification(1, BYTES, 0, 0));
  }

  @Test
  void verify_ofATornLog_findsItAndRepairMendsIt() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[10]);
    }
    Path log;
    try (Stream<Path> all = Files.list(root())) {
      log = all.filter(file -> file.toString().endsWith(".log")).findFirst().orElseThrow();
    }
    Files.write(log, new byte[77], StandardOpenOption.APPEND);
    for (boolean repair : List.of(false, true)) {
      assertThat(verify(repair)).isEqualTo(new Verification(1, 10, 0, 1));
      assertThat(findings.getFirst().key()).isEmpty();
      assertThat(findings.getFirst().message()).contains("77 bytes");
    }
    assertThat(verify(false)).isEqualTo(new Verification(1, 10, 0, 0));
  }

  @Test
  void looking_whereNoStoreIs_isRefusedAndMakesNone() throws IOException {
    assertThatThrownBy(() -> verify(true))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining(root() + " cannot be used: it is not there");
    assertThat(root()).doesNotExist();
    Files.createDirectory(root());
    assertThatThrownBy(() -> verify(true)).hasMessageContaining("it is no unified-cache store");
    assertThat(root()).isEmptyDirectory();
  }

  @Test
  void looking_whereNoLogCanBeRead_isAFindingOrRefused() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[10]);
    }
    try (Stream<Path> all = Files.list(root())) {
      for (Path log : all.filter(file -> file.toString().endsWith(".log")).toList()) {
        Files.delete(log);
      }
    }
    assertThat(verify(false)).isEqualTo(new Verification(0, 0, 0, 1));
    assertThat(findings.getFirst().message()).contains("there is no index log");
    assertThatThrownBy(() -> maintenance(Map.of()).stat(item -> {}, Stores.soon()))
        .hasMessageContaining("none of its index logs")
        .hasMessageContaining("verify --repair");
  }

  @Test
  void exclusive_keepsOperatorsOutNamingTheHolder() {
    try (FileStore holder = Stores.open(root(), Map.of("mode", "exclusive"))) {
      assertThatThrownBy(() -> verify(false))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.BUSY))
          .hasMessageContaining("file-test, exclusive");
      Stores.putOk(holder, "key", new byte[1]);
    }
    try (FileStore shared = Stores.open(root())) {
      assertThat(verify(false).objects()).isEqualTo(1);
      assertThatThrownBy(
              () ->
                  maintenance(Map.of("mode", "exclusive"))
                      .verify(false, findings::add, Stores.soon()))
          .hasMessageContaining("file-test, shared");
      Stores.expect(shared, "key", new byte[1]);
    }
  }

  /** Holds a store exclusively until it is told to go on. */
  static final class Holder {
    private Holder() {}

    public static void main(String[] arguments) throws IOException {
      try (FileStore store = Stores.open(Path.of(arguments[0]), Map.of("mode", "exclusive"))) {
        Stores.putOk(store, "key", new byte[1]);
        Stores.say("held");
        assertThat(System.in.read()).isNotNegative();
      }
    }
  }

  @Test
  void exclusive_inAnotherProcess_isNamed() throws IOException {
    try (Child holder = Child.start(Holder.class, root())) {
      assertThat(holder.line()).isEqualTo("held");
      assertThatThrownBy(() -> verify(false)).hasMessageContaining("file-test, exclusive");
      holder.kill();
    }
    assertThat(verify(false).objects()).isEqualTo(1);
  }

  @Test
  void verify_whileAnotherProcessWritesAndEvicts_findsNothing() throws IOException {
    Stores.open(root()).close();
    long rounds = 0;
    try (Child writer = Child.start(ProcessesTest.Writer.class, root(), 5)) {
      boolean ended = false;
      while (!ended) {
        assertThat(verify(true).findings()).as(findings.toString()).isZero();
        rounds++;
        ended = !writer.isAlive();
      }
      assertThat(writer.lines()).hasSize(1).allMatch(line -> line.startsWith("stored "));
    }
    assertThat(rounds).isPositive();
  }

  @Test
  void verify_pastItsDeadline_saysSo() {
    Stores.open(root()).close();
    assertThatThrownBy(
            () ->
                maintenance(Map.of())
                    .verify(false, findings::add, Deadline.after(Duration.ofNanos(1))))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT));
  }

  @Test
  void verify_byAnInterruptedThread_isCancelledAndTheInterruptKept() {
    Stores.open(root()).close();
    Thread.currentThread().interrupt();
    try {
      assertThatThrownBy(() -> verify(false))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.CANCELLED));
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  @Test
  void verify_whatTheConsumerThrows_reachesTheCallerAndLeavesNothingOpen() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[100]);
      flip(object("key"), object("key").payloadOffset());
    }
    assertThatThrownBy(
            () ->
                maintenance(Map.of())
                    .verify(
                        false,
                        finding -> {
                          throw new IllegalStateException("enough");
                        },
                        Stores.soon()))
        .hasMessage("enough");
    Stores.open(root(), Map.of("mode", "exclusive")).close();
  }

  @Test
  void stat_tellsOfEveryObjectAndOfTheFolder() {
    Instant before = Instant.now().minusSeconds(1);
    List<StoreInventory.Item> items = new ArrayList<>();
    try (FileStore store = Stores.open(root(), Map.of("io-threads", "1"))) {
      Stores.putOk(store, "a", new byte[10]);
      Stores.putOk(store, "gone", new byte[100_000]);
      Stores.putOk(store, "b", new byte[BYTES]);
      Stores.remove(store, "gone");
      StoreInventory inventory =
          FileStoreProvider.maintenance(
                  new LocalDisk(),
                  Stores.settings(root(), Map.of("capacity", "1GiB")),
                  StoreContext.of("operator"))
              .stat(items::add, Stores.soon());

      assertThat(inventory.objects()).isEqualTo(2);
      assertThat(inventory.bytes()).isEqualTo(10 + BYTES);
      assertThat(inventory.capacityBytes()).isEqualTo(1 << 30);
      assertThat(inventory.listed()).isTrue();
      assertThat(inventory.details())
          .containsEntry("segments", "1, may take 268,435,456 bytes, have taken 251,120 bytes")
          .containsEntry("free extents", "2, 268,284,672 bytes, the largest 268,184,320 bytes")
          .containsEntry("writers", "1")
          .containsEntry("leftovers", "0 files, 0 bytes")
          .containsEntry("set aside", "0 files, 0 bytes");
    }
    assertThat(items).extracting(StoreInventory.Item::bytes).containsExactly(10L, (long) BYTES);
    assertThat(items)
        .allSatisfy(
            item ->
                assertThat(item.stored().orElseThrow())
                    .isBetween(before, Instant.now().plusSeconds(1)));
  }

  @Test
  void stat_ofADeadWriter_saysSoAndLeavesItAlone() throws IOException {
    try (Child holder = Child.start(Holder.class, root())) {
      assertThat(holder.line()).isEqualTo("held");
      holder.kill();
    }
    Map<String, String> before = files();
    StoreInventory inventory = maintenance(Map.of()).stat(item -> {}, Stores.soon());
    assertThat(inventory.details().get("writers")).startsWith("1, of which 1 have ended");
    assertThat(files()).isEqualTo(before);
  }

  @Test
  void stat_withoutABudget_doesNotKnowIt() {
    Stores.open(root()).close();
    Settings settings =
        Settings.builder(new FileStoreProvider().options())
            .set(FileStoreProvider.ROOT, root().toString())
            .build();
    StoreInventory inventory =
        new FileStoreProvider()
            .maintenance(settings, StoreContext.of("operator"))
            .orElseThrow()
            .stat(item -> {}, Stores.soon());
    assertThat(inventory.objects()).isZero();
    assertThat(inventory.capacityBytes()).isEqualTo(StoreStats.UNKNOWN);
  }
}
