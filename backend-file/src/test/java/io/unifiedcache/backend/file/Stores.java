package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreContext;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** Stores, memory and single calls for tests. */
final class Stores {
  private Stores() {}

  /** Opens a store with a budget that tests do not meet. */
  static FileStore open(Path root) {
    return open(root, Map.of());
  }

  static FileStore open(Path root, Map<String, String> options) {
    return open(new LocalDisk(), root, options);
  }

  static FileStore open(Disk disk, Path root, Map<String, String> options) {
    return FileStoreProvider.openSegments(
        disk, settings(root, options), StoreContext.of("file-test"));
  }

  static Settings settings(Path root, Map<String, String> options) {
    FileStoreProvider provider = new FileStoreProvider();
    Settings.Builder builder = Settings.builder(provider.options());
    builder.set(FileStoreProvider.ROOT, root.toString());
    for (Option<?> option : provider.options()) {
      String text = options.get(option.name());
      if (text != null) {
        builder.parse(option, text);
      } else if (option == FileStoreProvider.CAPACITY) {
        builder.parse(option, "256MiB");
      } else if (option == FileStoreProvider.MIN_FREE) {
        builder.parse(option, "0");
      }
    }
    return builder.build();
  }

  static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(60));
  }

  static ObjectKey key(String value) {
    return new ObjectKey(value);
  }

  /** Returns bytes that differ from those of another seed. */
  static byte[] bytes(int size, long seed) {
    byte[] bytes = new byte[size];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  /** Returns native memory with the bytes. */
  static HostMemory memory(byte[] bytes) {
    MemorySegment segment = Arena.ofAuto().allocate(Math.max(1, bytes.length), 8);
    MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, bytes.length);
    return HostMemory.of(segment.asSlice(0, bytes.length));
  }

  static byte[] read(Memory memory) {
    return ((HostMemory) memory).segment().toArray(ValueLayout.JAVA_BYTE);
  }

  static BatchResult put(CacheStore store, String key, byte[] bytes) {
    return store.put(List.of(new PutOp(key(key), List.of(memory(bytes)))), soon());
  }

  static void putOk(CacheStore store, String key, byte[] bytes) {
    BatchResult result = put(store, key, bytes);
    assertThat(describe(result)).isEqualTo("OK");
  }

  /** What a get has answered, and the bytes. */
  static final class Got {
    private final BatchResult result;
    private final byte[] bytes;

    private Got(BatchResult result, byte[] bytes) {
      this.result = result;
      this.bytes = bytes;
    }

    BatchResult result() {
      return result;
    }

    byte[] bytes() {
      return bytes;
    }

    ObjectStatus status() {
      return result.status(0);
    }

    String described() {
      return describe(result);
    }
  }

  static Got get(CacheStore store, String key, int size) {
    HostMemory target = memory(new byte[size]);
    BatchResult result = store.get(List.of(new GetOp(key(key), List.of(target))), soon());
    return new Got(result, read(target));
  }

  static void expect(CacheStore store, String key, byte[] bytes) {
    Got got = get(store, key, bytes.length);
    assertThat(got.described()).as("get of " + key).isEqualTo("OK");
    assertThat(got.bytes()).as("bytes of " + key).isEqualTo(bytes);
  }

  static boolean exists(CacheStore store, String key) {
    return store.exists(List.of(key(key)), soon()).isOk(0);
  }

  static ObjectStatus remove(CacheStore store, String key) {
    return store.remove(List.of(key(key)), /* evenIfLeased= */ true, soon()).status(0);
  }

  /** Says a line to the process that has started this one. */
  static void say(String line) {
    System.out.println(Child.MARK + line);
    System.out.flush();
  }

  /** Returns the status of the first entry, and why it failed. */
  static String describe(BatchResult result) {
    return result.status(0) == ObjectStatus.FAILED
        ? "FAILED " + result.failure(0).code() + ": " + result.failure(0).message()
        : result.status(0).toString();
  }
}
