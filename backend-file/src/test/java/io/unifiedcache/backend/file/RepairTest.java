package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.Verification;
import io.unifiedcache.api.store.Verification.Finding;
import io.unifiedcache.api.store.Verification.Remedy;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A store whose index or superblock is damaged, and what a repair makes of it. */
class RepairTest {
  private static final int BYTES = 70_000;
  private static final int OBJECTS = 70;
  private static final Map<String, String> OPTIONS = Map.of("segment", "4MiB", "io-threads", "1");

  @TempDir Path folder = Path.of("set by JUnit");

  private final List<Finding> findings = new ArrayList<>();

  /** What was stored last under each key that is there, and what was there before. */
  private final Map<String, byte[]> live = new LinkedHashMap<>();

  private final Map<String, byte[]> removed = new LinkedHashMap<>();

  private Path root() {
    return folder.resolve("store");
  }

  private Verification verify(Disk disk, Path root, boolean repair) {
    findings.clear();
    return FileStoreProvider.maintenance(
            disk, Stores.settings(root, Map.of()), StoreContext.of("operator"))
        .verify(repair, findings::add, Stores.soon());
  }

  private Verification verify(boolean repair) {
    return verify(new LocalDisk(), root(), repair);
  }

  private static byte[] content(String key, int version) {
    return Stores.bytes(BYTES + key.hashCode() % 100, 31L * key.hashCode() + version);
  }

  /** Stores objects in two segments; removes some, and stores some of those anew. */
  private void fill(Map<String, String> options) {
    fill(options, OBJECTS);
  }

  private void fill(Map<String, String> options, int objects) {
    try (FileStore store = Stores.open(root(), options)) {
      for (int i = 0; i < objects; i++) {
        put(store, "key-" + i, 0);
      }
      for (int i = 0; i < objects; i += 7) {
        remove(store, "key-" + i);
      }
      for (int i = 0; i < objects; i += 14) {
        put(store, "key-" + i, 1);
      }
      put(store, "empty", new byte[0]);
      put(store, "last", 0);
    }
  }

  private void put(FileStore store, String key, int version) {
    put(store, key, content(key, version));
  }

  private void put(FileStore store, String key, byte[] bytes) {
    Stores.putOk(store, key, bytes);
    live.put(key, bytes);
    removed.remove(key);
  }

  private void remove(FileStore store, String key) {
    assertThat(Stores.remove(store, key)).isEqualTo(ObjectStatus.OK);
    byte[] bytes = live.remove(key);
    assertThat(bytes).isNotNull();
    if (bytes != null) {
      removed.put(key, bytes);
    }
  }

  private static void change(Path file, long at, int bytes) throws IOException {
    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
      open.seek(at);
      byte[] before = new byte[bytes];
      open.readFully(before);
      for (int i = 0; i < bytes; i++) {
        before[i] ^= 0x21;
      }
      open.seek(at);
      open.write(before);
    }
  }

  private static void zero(Path file, int bytes) throws IOException {
    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
      open.write(new byte[bytes]);
    }
  }

  private List<Path> files(String pattern) throws IOException {
    try (Stream<Path> files = Files.list(root())) {
      return files
          .filter(file -> String.valueOf(file.getFileName()).matches(pattern))
          .sorted()
          .toList();
    }
  }

  private Path log() throws IOException {
    return files("index-.*\\.log").getFirst();
  }

  /** Returns the lengths and the sums of the files, but for the names of who has opened it last. */
  private Map<String, String> contents() throws IOException {
    Map<String, String> contents = new TreeMap<>();
    for (Path file : files(".*")) {
      String name = String.valueOf(file.getFileName());
      byte[] bytes = Files.readAllBytes(file);
      int compared = name.equals(Superblock.NAME) ? FolderLock.TEXTS : bytes.length;
      CRC32C sum = new CRC32C();
      sum.update(bytes, 0, Math.min(bytes.length, compared));
      contents.put(name, bytes.length + " " + sum.getValue());
    }
    return contents;
  }

  /** What may be there of the objects that were removed. */
  private enum Removed {
    STAYS_AWAY,
    MAY_BE_BACK
  }

  /** Expects that the store opens, and that all that is to be there is, and nothing wrong. */
  private void expectAll(Path root, Removed others) {
    try (FileStore store = Stores.open(root)) {
      live.forEach((key, bytes) -> Stores.expect(store, key, bytes));
      removed.forEach(
          (key, bytes) -> {
            Stores.Got got = Stores.get(store, key, bytes.length);
            if (others == Removed.STAYS_AWAY || got.status() != ObjectStatus.OK) {
              assertThat(got.described()).as(key).isEqualTo("ABSENT");
            } else {
              assertThat(got.bytes()).as(key).isEqualTo(bytes);
            }
          });
      store.list(
          KeyPrefix.EVERYTHING,
          key -> {
            assertThat(live.containsKey(key.value()) || removed.containsKey(key.value()))
                .as(key.value())
                .isTrue();
            return true;
          },
          Stores.soon());
      // It takes more, and the room of others is not given away.
      for (int i = 0; i < 20; i++) {
        Stores.putOk(store, "more-" + i, content("more-" + i, 0));
      }
      live.forEach((key, bytes) -> Stores.expect(store, key, bytes));
    }
    assertThat(verify(new LocalDisk(), root, false).findings()).as(findings.toString()).isZero();
  }

  private Finding mended() {
    assertThat(findings).hasSize(1);
    Finding finding = findings.getFirst();
    assertThat(finding.key()).isEmpty();
    assertThat(finding.code()).isEqualTo(FailureCode.CORRUPT);
    assertThat(finding.remedy()).isEqualTo(Remedy.MENDED);
    return finding;
  }

  private static long sum(Map<String, byte[]> objects) {
    return objects.values().stream().mapToLong(bytes -> bytes.length).sum();
  }

  @Test
  void log_whoseHeaderIsLost_isRebuiltAndNothingThatWasRemovedIsBack() throws IOException {
    fill(OPTIONS);
    zero(log(), IndexLog.HEADER_BYTES);
    byte[] damaged = Files.readAllBytes(log());
    Map<String, String> before = contents();

    assertThat(verify(false)).isEqualTo(new Verification(0, 0, 0, 1));
    assertThat(findings.getFirst().remedy()).isEqualTo(Remedy.NONE);
    assertThat(findings.getFirst().message())
        .contains("index-0000000001.log cannot be read")
        .contains(
            "%,d objects with %,d bytes can be brought back by a repair"
                .formatted(live.size(), sum(live)));
    assertThat(contents()).isEqualTo(before);

    assertThat(verify(true)).isEqualTo(new Verification(live.size(), sum(live), 0, 1));
    assertThat(mended().message())
        .contains("%,d objects with %,d bytes were brought back".formatted(live.size(), sum(live)))
        .contains("extents that the log says are gone");
    assertThat(root().resolve("damaged-index-0000000001.log.replaced")).hasBinaryContent(damaged);
    expectAll(root(), Removed.STAYS_AWAY);
  }

  @Test
  void log_whoseHeaderIsLost_isRebuiltAlsoAfterAStoreHasSetAllAside() throws IOException {
    fill(OPTIONS);
    zero(log(), IndexLog.HEADER_BYTES);
    try (FileStore store = Stores.open(root(), OPTIONS)) {
      assertThat(Stores.exists(store, "last")).isFalse();
      // What is stored, removed or cleared now is so, whatever the old log says.
      byte[] other = content("key-1", 5);
      Stores.putOk(store, "key-1", other);
      live.put("key-1", other);
      Stores.putOk(store, "key-2", content("key-2", 5));
      remove(store, "key-2");
      Stores.putOk(store, "key-31", content("key-31", 5));
      store.clear(KeyPrefix.of("key-3"), Stores.soon());
    }
    removed.remove("key-2");
    live.keySet().removeIf(key -> key.startsWith("key-3"));
    removed.keySet().removeIf(key -> key.startsWith("key-3"));

    assertThat(verify(false).findings()).isEqualTo(1);
    assertThat(findings.getFirst().message()).contains("segments are set aside");
    assertThat(verify(true).findings()).isEqualTo(1);
    mended();
    assertThat(files("damaged-segment-.*")).isEmpty();
    expectAll(root(), Removed.STAYS_AWAY);
  }

  @Test
  void log_withADamagedByte_losesNoObject() throws IOException {
    fill(OPTIONS);
    long length = Files.size(log());
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int round = 0; round < 12; round++) {
      long at = round == 0 ? 0 : round == 1 ? length - 1 : random.nextLong(length);
      Path copy = copy("byte-" + round);
      change(copy.resolve(String.valueOf(log().getFileName())), at, 1);
      String what = "byte " + at + " of " + length + ", seed " + seed;
      assertThat(verify(new LocalDisk(), copy, false).findings()).as(what).isPositive();
      assertThat(verify(new LocalDisk(), copy, true).findings()).as(what).isPositive();
      assertThat(findings.getFirst().remedy()).as(what).isEqualTo(Remedy.MENDED);
      // What the log no longer says may have removed an object whose bytes others have by now.
      assertThat(findings.subList(1, findings.size()))
          .as(what)
          .allMatch(finding -> removed.containsKey(finding.key().orElseThrow().value()))
          .allMatch(finding -> finding.remedy() == Remedy.SET_ASIDE);
      expectAll(copy, Removed.MAY_BE_BACK);
    }
  }

  @Test
  void log_thatIsLost_isRebuiltFromTheSegments() throws IOException {
    fill(OPTIONS);
    Files.delete(log());
    assertThat(verify(false).findings()).isEqualTo(1);
    assertThat(findings.getFirst().message())
        .contains("there is no index log")
        .contains("some that had been removed or evicted");
    assertThat(verify(true).findings()).isEqualTo(1);
    mended();
    expectAll(root(), Removed.MAY_BE_BACK);
  }

  @Test
  void log_thatIsLost_isRebuiltAlsoAfterAStoreHasSetAllAside() throws IOException {
    fill(OPTIONS);
    Files.delete(log());
    Stores.open(root()).close();
    assertThat(files("segment-.*")).isEmpty();
    assertThat(verify(true).findings()).isEqualTo(1);
    mended();
    expectAll(root(), Removed.MAY_BE_BACK);
  }

  @Test
  void log_withACrashedEnd_bringsNothingOldBack() throws IOException {
    Map<String, String> options = Map.of("capacity", "2MiB", "segment", "4MiB", "io-threads", "1");
    try (FileStore store = Stores.open(root(), options)) {
      for (int i = 0; i < OBJECTS; i++) {
        Stores.putOk(store, "key-" + i, content("key-" + i, 0));
      }
      store.list(
          KeyPrefix.EVERYTHING,
          key -> live.put(key.value(), content(key.value(), 0)) == null,
          Stores.soon());
    }
    for (int round = 0; round < 2; round++) {
      Files.write(log(), Stores.bytes(100, round), StandardOpenOption.APPEND);
      assertThat(verify(true)).isEqualTo(new Verification(live.size(), sum(live), 0, 1));
      assertThat(mended().message()).contains("100 bytes").contains(": 0 objects");
    }
    assertThat(verify(false)).isEqualTo(new Verification(live.size(), sum(live), 0, 0));
  }

  @Test
  void log_thatGoesOnInOneWithoutAHeader_isReadOnAndNeverOverwritten() throws IOException {
    fill(OPTIONS);
    LocalDisk disk = new LocalDisk();
    UUID store =
        Superblock.store(ByteBuffer.wrap(Files.readAllBytes(root().resolve(Superblock.NAME))));
    List<LogEntry> entries = new ArrayList<>();
    Path first = log();
    try (IndexLog log =
        Objects.requireNonNull(IndexLog.open(disk, Disk.Access.READ, first, 1, store))) {
      assertThat(log.read(entries::addAll)).isEqualTo(IndexLog.End.CLEAN);
    }
    List<LogEntry> begin = new ArrayList<>(entries.subList(0, entries.size() / 2));
    begin.add(new LogEntry.Continued(2, IndexLog.HEADER_BYTES));
    long length = IndexLog.write(disk, first, 1, store, begin.iterator(), /* flush= */ false);
    assertThat(length).isEqualTo(Files.size(first));
    Path second = root().resolve(FileNames.log(2));
    length = IndexLog.write(disk, second, 2, store, entries.iterator(), /* flush= */ false);
    assertThat(length).isEqualTo(Files.size(second));
    zero(second, IndexLog.HEADER_BYTES);
    byte[] damaged = Files.readAllBytes(second);

    Path opened = copy("opened");
    Stores.open(opened).close();
    assertThat(opened.resolve("damaged-index-0000000002.log")).hasBinaryContent(damaged);

    assertThat(verify(true)).isEqualTo(new Verification(live.size(), sum(live), 0, 1));
    mended();
    expectAll(root(), Removed.STAYS_AWAY);
  }

  /** How a superblock can be damaged. */
  private enum Harm {
    ZEROED,
    CUT,
    EMPTY,
    FLIPPED,
    DELETED;

    void doTo(Path file) throws IOException {
      switch (this) {
        case ZEROED -> zero(file, Superblock.BYTES);
        case CUT -> Files.write(file, Arrays.copyOf(Files.readAllBytes(file), 40));
        case EMPTY -> Files.write(file, new byte[0]);
        case FLIPPED -> change(file, 20, 1);
        case DELETED -> Files.delete(file);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void superblock_thatIsDamaged_isWrittenAnew(Harm harm) throws IOException {
    fill(OPTIONS);
    byte[] whole = Files.readAllBytes(root().resolve(Superblock.NAME));
    for (boolean alsoLog : List.of(false, true)) {
      if (alsoLog) {
        Files.delete(log());
      }
      harm.doTo(root().resolve(Superblock.NAME));
      assertThatThrownBy(() -> Stores.open(root())).isInstanceOf(CacheException.class);
      Map<String, String> before = contents();

      assertThat(verify(false)).isEqualTo(new Verification(0, 0, 0, 1));
      assertThat(findings.getFirst().message()).contains("missing or damaged");
      assertThat(contents()).isEqualTo(before);

      assertThat(verify(true).findings()).isEqualTo(1);
      assertThat(mended().message()).contains("missing or damaged");
      assertThat(Arrays.copyOf(Files.readAllBytes(root().resolve(Superblock.NAME)), 4096))
          .isEqualTo(Arrays.copyOf(whole, 4096));
      assertThat(verify(false).findings()).isZero();
    }
    expectAll(root(), Removed.MAY_BE_BACK);
  }

  @Test
  void superblock_thatNothingProves_isNotMadeUp() throws IOException {
    Path root = Files.createDirectory(root());
    Files.write(root.resolve("segment-000001"), Stores.bytes(100_000, 1));
    assertThatThrownBy(() -> verify(true)).hasMessageContaining("no unified-cache store");
    assertThat(files(".*")).hasSize(1);
  }

  @Test
  void segments_halfOfWhoseExtentsAreDamaged_giveTheOthers() throws IOException {
    fill(OPTIONS);
    List<StoredObject> objects = objects();
    long seed = System.nanoTime();
    Random random = new Random(seed);
    int harmed = 0;
    for (StoredObject object : objects) {
      if (live.containsKey(object.key.value()) && random.nextBoolean()) {
        long at =
            random.nextBoolean() || object.size == 0
                ? object.offset + random.nextInt(object.headerBytes)
                : object.payloadOffset() + random.nextLong(object.size);
        change(root().resolve(FileNames.segment(object.segment)), at, 1);
        live.remove(object.key.value());
        harmed++;
      }
    }
    for (String how : List.of("header", "deleted")) {
      Path copy = copy(how);
      Path log = copy.resolve(String.valueOf(log().getFileName()));
      if (how.equals("header")) {
        zero(log, IndexLog.HEADER_BYTES);
      } else {
        Files.delete(log);
      }
      String what = how + ", seed " + seed;
      assertThat(verify(new LocalDisk(), copy, true).findings()).as(what).isEqualTo(1);
      if (how.equals("header")) {
        assertThat(mended().message())
            .as(what)
            .contains("%,d extents whose bytes are not those".formatted(harmed));
        assertThat(findings.getFirst().message()).contains(live.size() + " objects");
      }
      // Of a key whose extent was damaged an older one may be there, which was removed.
      try (FileStore store = Stores.open(copy)) {
        live.forEach((key, bytes) -> Stores.expect(store, key, bytes));
      }
    }
  }

  private List<StoredObject> objects() {
    try (FileStore store = Stores.open(root())) {
      assertThat(store.stats().objects()).isEqualTo(live.size());
      return Engines.find(root()).objects();
    }
  }

  @Test
  void extents_thatAreEquallyLate_areBothRefused() throws IOException {
    try (FileStore store = Stores.open(root(), OPTIONS)) {
      put(store, "sure", 0);
      put(store, "key", 0);
    }
    StoredObject object =
        objects().stream().filter(each -> each.key.value().equals("key")).findFirst().orElseThrow();
    StoredObject twin =
        new StoredObject(
            object.key,
            object.generation,
            object.segment,
            object.offset + object.extentBytes(),
            object.headerBytes,
            0,
            object.stored);
    twin.know(ExtentHeader.LEAST_BLOCK, new int[0]);
    byte[] block = Files.readAllBytes(root().resolve(Superblock.NAME));
    StoredObject whole =
        new StoredObject(
            twin.key,
            twin.generation,
            twin.segment,
            twin.offset,
            ExtentHeader.bytes(3, 0, ExtentHeader.LEAST_BLOCK),
            0,
            0);
    whole.know(ExtentHeader.LEAST_BLOCK, new int[0]);
    ByteBuffer header = ByteBuffer.allocate(whole.headerBytes);
    ExtentHeader.write(header, whole, Superblock.store(ByteBuffer.wrap(block)));
    try (RandomAccessFile file =
        new RandomAccessFile(root().resolve(FileNames.segment(twin.segment)).toFile(), "rw")) {
      file.seek(twin.offset);
      file.write(header.array());
    }
    Files.delete(log());
    assertThat(verify(true)).isEqualTo(new Verification(1, content("sure", 0).length, 0, 1));
    assertThat(mended().message()).contains("2 extents of which no one is the latest");
    live.remove("key");
    expectAll(root(), Removed.STAYS_AWAY);
  }

  @Test
  void extents_withoutChecksums_areTakenOnlyIfALogNamesThem() throws IOException {
    fill(Map.of("segment", "4MiB", "io-threads", "1", "checksum", "off"));
    Path lost = copy("lost");
    Files.delete(lost.resolve(String.valueOf(log().getFileName())));
    assertThat(verify(new LocalDisk(), lost, true)).isEqualTo(new Verification(1, 0, 0, 1));
    assertThat(mended().message()).contains("extents without checksums");

    zero(log(), IndexLog.HEADER_BYTES);
    assertThat(verify(true))
        .isEqualTo(new Verification(live.size(), sum(live), live.size() - 1, 1));
    expectAll(root(), Removed.STAYS_AWAY);
  }

  @Test
  void bytesOfExtents_inAnObjectOrOfAnotherStore_areNoExtents() throws IOException {
    try (FileStore store = Stores.open(root(), OPTIONS)) {
      put(store, "inner", 0);
    }
    byte[] segment = Files.readAllBytes(root().resolve(FileNames.segment(1)));
    try (FileStore store = Stores.open(root(), OPTIONS)) {
      put(store, "outer", segment);
      remove(store, "inner");
    }
    removed.clear();
    try (FileStore store = Stores.open(folder.resolve("other"), OPTIONS)) {
      for (int i = 0; i < OBJECTS; i++) {
        Stores.putOk(store, "foreign-" + i, content("foreign", 0));
      }
    }
    Files.copy(
        folder.resolve("other").resolve(FileNames.segment(2)),
        root().resolve(FileNames.setAside(FileNames.segment(2))));
    // The extent that has the others in its bytes is damaged at its end.
    StoredObject outer = objects().getFirst();
    change(root().resolve(FileNames.segment(outer.segment)), outer.end() - 1, 1);
    live.clear();
    zero(log(), IndexLog.HEADER_BYTES);
    assertThat(verify(true).objects()).isZero();
    assertThat(mended().message()).contains("0 objects with 0 bytes").contains("another store");
    try (FileStore store = Stores.open(root())) {
      assertThat(store.stats().objects()).isZero();
    }
  }

  @Test
  void store_thatOthersHaveOpen_isNotRebuilt() throws IOException {
    fill(OPTIONS);
    zero(log(), IndexLog.HEADER_BYTES);
    Stores.open(root()).close();
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "new", content("new", 0));
      assertThat(verify(true).findings()).isEqualTo(1);
      assertThat(findings.getFirst().remedy()).isEqualTo(Remedy.NONE);
      assertThat(findings.getFirst().message())
          .contains("once nobody else has the store open")
          .contains("file-test");
      Stores.expect(store, "new", content("new", 0));
    }
    live.put("new", content("new", 0));
    try (Child other = Child.start(TakenAwayTest.Other.class, root(), "shared")) {
      assertThat(other.line()).isEqualTo("open");
      assertThat(verify(true).findings()).isEqualTo(1);
      assertThat(findings.getFirst().remedy()).isEqualTo(Remedy.NONE);
      other.kill();
    }
    assertThat(verify(true).findings()).isEqualTo(1);
    mended();
    expectAll(root(), Removed.STAYS_AWAY);
  }

  @Test
  void superblock_thatIsDamagedUnderAnOpenStore_isNotTouched() throws IOException {
    fill(OPTIONS);
    try (Child other = Child.start(TakenAwayTest.Other.class, root(), "shared")) {
      assertThat(other.line()).isEqualTo("open");
      zero(root().resolve(Superblock.NAME), Superblock.BYTES);
      assertThatThrownBy(() -> verify(true))
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.BUSY))
          .hasMessageContaining("file-test");
      other.kill();
    }
    assertThat(verify(true).findings()).isEqualTo(1);
    mended();
    expectAll(root(), Removed.STAYS_AWAY);
  }

  /** A disk whose process is killed at a step, in the middle of it if it is a write. */
  private static final class DyingDisk extends TestDisk {
    private final int last;

    DyingDisk(int last) {
      this.last = last;
    }

    boolean isDead() {
      return steps.get() >= last;
    }

    @Override
    void before(String step) throws IOException {
      super.before(step);
      if (step() > last || (step() == last && !step.startsWith("write"))) {
        throw new IOException("killed");
      }
    }

    @Override
    int partOf(int bytes) {
      return step() == last ? bytes / 2 : bytes;
    }

    @Override
    void cut() {
      throw new IllegalStateException("killed");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "byte", "aside", "log", "superblock", "both"})
  void repair_killedAtAnyStep_losesNothingAndIsDoneByTheNext(String harm) throws IOException {
    harm(harm);
    boolean reached = true;
    for (int last = 1; reached; last++) {
      reached = killAt(last, /* opened= */ last % 2 == 0 && !harm.equals("byte"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"header", "byte", "aside", "log", "superblock", "both"})
  @Tag("stress")
  void repair_killedAtAnyStepThenOpened_losesNothingAndIsDoneByTheNext(String harm)
      throws IOException {
    harm(harm);
    boolean reached = true;
    for (int last = 1; reached; last++) {
      reached = killAt(last, /* opened= */ false);
      // A store goes on with what it can read of a log that is damaged in the middle.
      reached |= !harm.equals("byte") && killAt(last, /* opened= */ true);
    }
  }

  /** Stores objects, and damages what the repair that is killed is to mend. */
  private void harm(String harm) throws IOException {
    fill(OPTIONS, 15);
    switch (harm) {
      case "header" -> zero(log(), IndexLog.HEADER_BYTES);
      case "byte" -> change(log(), Files.size(log()) / 2, 1);
      case "aside" -> {
        zero(log(), IndexLog.HEADER_BYTES);
        Stores.open(root()).close();
      }
      case "log" -> Files.delete(log());
      case "superblock" -> Harm.DELETED.doTo(root().resolve(Superblock.NAME));
      default -> {
        Files.delete(log());
        Harm.ZEROED.doTo(root().resolve(Superblock.NAME));
      }
    }
  }

  /**
   * Kills a repair of a copy at a step, and has it done again.
   *
   * @param opened whether somebody opens the store in between
   * @return whether there was such a step
   */
  private boolean killAt(int last, boolean opened) throws IOException {
    String what = "killed at step " + last + (opened ? ", then opened" : "");
    Path copy = copy("killed-" + last);
    DyingDisk disk = new DyingDisk(last);
    try {
      verify(disk, copy, true);
    } catch (CacheException e) {
      assertThat(disk.isDead()).as(what + ": " + e).isTrue();
    }
    if (opened) {
      try {
        Stores.open(copy).close();
      } catch (CacheException e) {
        assertThat(e).as(what).hasMessageContaining(Superblock.NAME);
      }
    }
    try {
      assertThat(verify(new LocalDisk(), copy, true).findings()).isLessThanOrEqualTo(1);
      if (!findings.isEmpty()) {
        mended();
      }
      expectAll(copy, Removed.MAY_BE_BACK);
    } catch (AssertionError | CacheException e) {
      throw new AssertionError(what, e);
    }
    delete(copy);
    return disk.isDead();
  }

  private Path copy(String name) throws IOException {
    Path to = Files.createDirectory(folder.resolve(name));
    for (Path file : files(".*")) {
      Files.copy(file, to.resolve(String.valueOf(file.getFileName())));
    }
    return to;
  }

  private static void delete(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(directory);
  }

  @Test
  void generations_areLaterThanAllThatIsKnownWhateverTheClockSays() {
    Generations one = new Generations(7);
    Generations other = new Generations(8);
    Instant now = Instant.ofEpochSecond(1_700_000_000);
    long first = one.next(now, 0);
    assertThat(Generations.seconds(first)).isEqualTo(1_700_000_000);
    long second = other.next(now.minusSeconds(3_600), first);
    assertThat(Long.compareUnsigned(second, first)).isPositive();
    assertThat(one.next(now, first)).isNotEqualTo(second);
    assertThat(Generations.later(first, second)).isEqualTo(second);
    assertThat(Generations.later(-1, 1)).isEqualTo(-1);
  }
}
