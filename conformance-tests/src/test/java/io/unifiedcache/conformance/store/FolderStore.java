package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A store that keeps each object in a file of its own: the length of the key, the key, the bytes.
 *
 * <p>An object is written beside the others and becomes visible with a hard link, which fails where
 * there is one of its name; so the first put wins among processes, too. An exclusive store holds
 * the lock of a file that names its holder; a shared one does not count its objects.
 */
final class FolderStore implements CacheStore {
  /** What is broken about it. */
  enum Defect {
    NONE,
    WRITES_IN_PLACE,
    FORGETS_LAST,
    LISTS_LEFTOVERS,
    COUNTS_FROM_ZERO,
    CACHES_ABSENCE,
    FOLDER_MUST_BE_NEW,
    ONE_TEMPORARY_PER_KEY,
    ANY_HOLDER,
    NAMELESS_HOLDER
  }

  private static final StoreLimits LIMITS =
      new StoreLimits(4096, 4096, 1L << 30, 4096, 1, Duration.ofSeconds(5), Duration.ZERO);

  private final Path objects;
  private final Path temporary;
  private final boolean shared;
  private final Defect defect;
  private final @Nullable FileChannel holder;
  private final Set<ObjectKey> knownAbsent = new HashSet<>();
  private @Nullable Path last;
  private long files;
  private long liveBytes;
  private long stored;
  private long present;
  private long found;
  private long absent;
  private long failed;
  private long removed;
  private long bytesStored;
  private long bytesRead;
  private long temporaries;
  private boolean closed;

  FolderStore(Path root, boolean shared, Defect defect, String instance) {
    this.objects = root.resolve("objects");
    this.temporary = root.resolve("temporary");
    this.shared = shared;
    this.defect = defect;
    try {
      Files.createDirectories(objects);
      Files.createDirectories(temporary);
      holder = shared ? null : hold(root.resolve("holder"), instance);
      if (!shared) {
        dropLeftovers();
        count();
      }
    } catch (IOException e) {
      throw new CacheException(FailureCode.IO, root + " cannot be opened: " + e, e);
    }
  }

  private @Nullable FileChannel hold(Path file, String instance) throws IOException {
    if (defect == Defect.ANY_HOLDER) {
      return null;
    }
    FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    if (!lock(channel)) {
      channel.close();
      String name = Files.readString(Path.of(file + ".name"));
      throw new CacheException(
          FailureCode.BUSY,
          defect == Defect.NAMELESS_HOLDER ? "the folder is in use" : "in use by " + name);
    }
    Files.writeString(
        Path.of(file + ".name"),
        "process " + ProcessHandle.current().pid() + ", instance " + instance);
    return channel;
  }

  private static boolean lock(FileChannel channel) throws IOException {
    try {
      FileLock lock = channel.tryLock();
      return lock != null;
    } catch (OverlappingFileLockException e) {
      // Held within this JVM.
      return false;
    }
  }

  private void dropLeftovers() throws IOException {
    for (Path each : files(temporary)) {
      if (defect == Defect.LISTS_LEFTOVERS) {
        Files.move(each, objects.resolve("left-" + each.getFileName()));
      } else {
        Files.delete(each);
      }
    }
  }

  private void count() throws IOException {
    if (defect == Defect.COUNTS_FROM_ZERO) {
      return;
    }
    for (Path each : files(objects)) {
      files++;
      liveBytes += sizeOf(each);
    }
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.toList();
    }
  }

  @Override
  public Set<Capability> capabilities() {
    Set<Capability> some =
        EnumSet.of(
            Capability.REMOVE,
            Capability.CLEAR,
            Capability.LIST,
            Capability.DURABLE,
            Capability.REPORTS_PRESENT);
    if (shared) {
      some.add(Capability.SHARED);
    }
    return some;
  }

  @Override
  public StoreLimits limits() {
    return LIMITS;
  }

  /** What one entry of a batch does. */
  private interface Step {
    ObjectStatus run() throws IOException;
  }

  private void answer(
      BatchResult.Builder result, int i, ObjectKey key, int pieces, long bytes, Step step) {
    try {
      long keyBytes = key.value().getBytes(StandardCharsets.UTF_8).length;
      refuse("keyBytes", keyBytes, LIMITS.keyBytes());
      refuse("pieces", pieces, LIMITS.pieces());
      refuse("objectBytes", bytes, LIMITS.objectBytes());
      result.set(i, step.run());
    } catch (EntryFailure e) {
      failed++;
      result.failed(i, e.failure);
    } catch (IOException e) {
      failed++;
      result.failed(i, StoreFailure.of(FailureCode.IO, key + ": " + e));
    }
  }

  private static void refuse(String limit, long value, long most) throws EntryFailure {
    if (value > most) {
      throw new EntryFailure(
          StoreFailure.of(
              FailureCode.REFUSED, "%d is over the limit of %s, %d".formatted(value, limit, most)));
    }
  }

  private static final class EntryFailure extends IOException {
    private static final long serialVersionUID = 1;
    private final transient StoreFailure failure;

    EntryFailure(StoreFailure failure) {
      this.failure = failure;
    }
  }

  @Override
  public synchronized BatchResult exists(List<ObjectKey> keys, Deadline by) {
    begin(keys.size());
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      ObjectKey key = keys.get(i);
      answer(result, i, key, 0, 0, () -> isThere(key) ? ObjectStatus.OK : ObjectStatus.ABSENT);
    }
    return result.build();
  }

  private boolean isThere(ObjectKey key) {
    if (knownAbsent.contains(key)) {
      return false;
    }
    boolean there = Files.exists(file(key));
    if (!there && defect == Defect.CACHES_ABSENCE) {
      knownAbsent.add(key);
    }
    return there;
  }

  @Override
  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
    begin(ops.size());
    BatchResult.Builder result = BatchResult.builder(ops.size());
    for (int i = 0; i < ops.size(); i++) {
      PutOp op = ops.get(i);
      answer(result, i, op.key(), op.pieces().size(), op.byteSize(), () -> put(op));
    }
    return result.build();
  }

  private ObjectStatus put(PutOp op) throws IOException {
    requireUsable(op.pieces(), /* asTarget= */ false);
    Path file = file(op.key());
    knownAbsent.remove(op.key());
    if (Files.exists(file)) {
      present++;
      return ObjectStatus.PRESENT;
    }
    if (defect == Defect.FOLDER_MUST_BE_NEW) {
      claimFolder(op.key());
    }
    if (defect == Defect.WRITES_IN_PLACE) {
      write(file, op);
    } else {
      Path written = temporary.resolve(temporaryName(file));
      write(written, op);
      try {
        Files.createLink(file, written);
      } catch (FileAlreadyExistsException e) {
        present++;
        return ObjectStatus.PRESENT;
      } finally {
        if (defect != Defect.ONE_TEMPORARY_PER_KEY) {
          Files.deleteIfExists(written);
        }
      }
    }
    last = file;
    files++;
    liveBytes += op.byteSize();
    stored++;
    bytesStored += op.byteSize();
    return ObjectStatus.OK;
  }

  /** Makes a folder for the key, for a moment, as if objects were kept in folders. */
  private void claimFolder(ObjectKey key) throws IOException {
    Path folder = temporary.resolve(file(key).getFileName() + ".folder");
    if (!Files.exists(folder)) {
      LockSupport.parkNanos(2_000_000);
      Files.createDirectory(folder);
    }
  }

  private String temporaryName(Path file) {
    return defect == Defect.ONE_TEMPORARY_PER_KEY
        ? file.getFileName().toString()
        : ProcessHandle.current().pid() + "-" + System.identityHashCode(this) + "-" + temporaries++;
  }

  private void write(Path file, PutOp op) throws IOException {
    byte[] key = op.key().value().getBytes(StandardCharsets.UTF_8);
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      write(channel, ByteBuffer.allocate(4 + key.length).putInt(key.length).put(key).flip());
      for (Memory piece : op.pieces()) {
        ByteBuffer bytes = ((HostMemory) piece).segment().asByteBuffer();
        if (defect != Defect.NONE && bytes.remaining() > 32 << 10) {
          // What is broken shows where a write takes its time.
          ByteBuffer half = bytes.slice(0, bytes.remaining() / 2);
          bytes.position(half.remaining());
          write(channel, half);
          LockSupport.parkNanos(defect == Defect.LISTS_LEFTOVERS ? 25_000_000 : 5_000_000);
        }
        write(channel, bytes);
      }
    }
  }

  private static void write(FileChannel channel, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }

  @Override
  public synchronized BatchResult get(List<GetOp> ops, Deadline by) {
    begin(ops.size());
    BatchResult.Builder result = BatchResult.builder(ops.size());
    for (int i = 0; i < ops.size(); i++) {
      GetOp op = ops.get(i);
      answer(result, i, op.key(), op.pieces().size(), 0, () -> get(op));
    }
    return result.build();
  }

  private static void requireUsable(List<Memory> pieces, boolean asTarget) throws EntryFailure {
    for (Memory piece : pieces) {
      if (!(piece instanceof HostMemory host)
          || !host.isAlive()
          || (asTarget && host.segment().isReadOnly())) {
        throw new EntryFailure(
            StoreFailure.of(FailureCode.REFUSED, "a piece of memory cannot be used"));
      }
    }
  }

  private ObjectStatus get(GetOp op) throws IOException {
    byte[] bytes;
    requireUsable(op.pieces(), /* asTarget= */ true);
    try {
      if (knownAbsent.contains(op.key())) {
        throw new NoSuchFileException("known");
      }
      bytes = Files.readAllBytes(file(op.key()));
    } catch (NoSuchFileException e) {
      absent++;
      return ObjectStatus.ABSENT;
    }
    int offset = bytes.length < 4 ? 0 : 4 + ByteBuffer.wrap(bytes).getInt();
    if (op.byteSize() != bytes.length - offset) {
      throw new EntryFailure(
          StoreFailure.of(
              FailureCode.SIZE_MISMATCH,
              op.key() + " has " + (bytes.length - offset) + " bytes, not " + op.byteSize()));
    }
    for (Memory piece : op.pieces()) {
      MemorySegment segment = ((HostMemory) piece).segment();
      MemorySegment.copy(
          bytes, offset, segment, ValueLayout.JAVA_BYTE, 0, (int) segment.byteSize());
      offset += (int) segment.byteSize();
    }
    found++;
    bytesRead += op.byteSize();
    return ObjectStatus.OK;
  }

  @Override
  public synchronized BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    begin(keys.size());
    BatchResult.Builder result = BatchResult.builder(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      ObjectKey key = keys.get(i);
      answer(result, i, key, 0, 0, () -> remove(file(key)) ? ObjectStatus.OK : ObjectStatus.ABSENT);
    }
    return result.build();
  }

  private boolean remove(Path file) throws IOException {
    long bytes;
    try {
      bytes = sizeOf(file);
    } catch (NoSuchFileException e) {
      return false;
    }
    if (!Files.deleteIfExists(file)) {
      return false;
    }
    files--;
    liveBytes -= bytes;
    removed++;
    return true;
  }

  @Override
  public synchronized ClearResult clear(KeyPrefix prefix, Deadline by) {
    begin(1);
    long count = 0;
    try {
      for (Path each : files(objects)) {
        ObjectKey key = keyOf(each);
        if (key != null && prefix.matches(key) && remove(each)) {
          count++;
        }
      }
      return new ClearResult(count, 0);
    } catch (IOException e) {
      throw new CacheException(FailureCode.IO, "cannot clear: " + e, e);
    }
  }

  @Override
  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
    for (ObjectKey key : listed(prefix)) {
      if (!more.test(key)) {
        return;
      }
    }
  }

  private synchronized List<ObjectKey> listed(KeyPrefix prefix) {
    begin(1);
    List<ObjectKey> keys = new ArrayList<>();
    try {
      for (Path each : files(objects)) {
        ObjectKey key = keyOf(each);
        if (key != null && prefix.matches(key)) {
          keys.add(key);
        }
      }
      return keys;
    } catch (IOException e) {
      throw new CacheException(FailureCode.IO, "cannot list: " + e, e);
    }
  }

  /** Returns the key of an object, or null if it has gone meanwhile or is none. */
  private static @Nullable ObjectKey keyOf(Path file) throws IOException {
    try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
      return new ObjectKey(new String(in.readNBytes(in.readInt()), StandardCharsets.UTF_8));
    } catch (NoSuchFileException | EOFException e) {
      return null;
    }
  }

  private static long sizeOf(Path file) throws IOException {
    try (DataInputStream in = new DataInputStream(Files.newInputStream(file))) {
      return Files.size(file) - 4 - in.readInt();
    } catch (EOFException e) {
      return 0;
    }
  }

  @Override
  public synchronized StoreStats stats() {
    return new StoreStats(
        shared ? StoreStats.UNKNOWN : files,
        shared ? StoreStats.UNKNOWN : liveBytes,
        StoreStats.UNKNOWN,
        stored,
        present,
        found,
        absent,
        failed,
        removed,
        0,
        bytesStored,
        bytesRead);
  }

  @Override
  public synchronized StoreHealth probe(Deadline by) {
    begin(1);
    return new StoreHealth(StoreHealth.State.UP, "the folder is there");
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      Path forgotten = last;
      if (defect == Defect.FORGETS_LAST && forgotten != null) {
        Files.deleteIfExists(forgotten);
      }
      if (holder != null) {
        holder.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void begin(int entries) {
    if (closed) {
      throw new CacheException(FailureCode.CLOSED, "the store is closed");
    }
    if (entries > LIMITS.batch()) {
      throw new CacheException(
          FailureCode.REFUSED, entries + " entries are over the limit of batch, " + LIMITS.batch());
    }
  }

  private Path file(ObjectKey key) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(key.value().getBytes(StandardCharsets.UTF_8));
      return objects.resolve(HexFormat.of().formatHex(digest));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
