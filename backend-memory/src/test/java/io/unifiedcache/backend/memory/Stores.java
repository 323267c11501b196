package io.unifiedcache.backend.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreContext;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Stores, memory and single calls for tests. */
final class Stores {
  static final Deadline NEVER = Deadline.never();

  private Stores() {}

  static MemoryStore open(long capacity) {
    return open(capacity, 1 << 20, 2);
  }

  static MemoryStore open(long capacity, long slabBytes, int copyThreads) {
    return new MemoryStore(
        capacity, slabBytes, copyThreads, StoreContext.of("memory-test").threads());
  }

  static ObjectKey key(String value) {
    return new ObjectKey(value);
  }

  static List<ObjectKey> keys(String... values) {
    return Arrays.stream(values).map(ObjectKey::new).toList();
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

  /** Returns native memory of a size, filled with a byte. */
  static HostMemory filled(long size, int value) {
    MemorySegment segment = Arena.ofAuto().allocate(Math.max(1, size), 8).asSlice(0, size);
    segment.fill((byte) value);
    return HostMemory.of(segment);
  }

  static byte[] read(Memory memory) {
    return ((HostMemory) memory).segment().toArray(ValueLayout.JAVA_BYTE);
  }

  /** Cuts memory into pieces at random places, some of them empty. */
  static List<Memory> split(HostMemory memory, int cuts, Random random) {
    long[] at = new long[cuts + 2];
    for (int i = 1; i <= cuts; i++) {
      at[i] = random.nextLong(memory.byteSize() + 1);
    }
    at[cuts + 1] = memory.byteSize();
    Arrays.sort(at);
    List<Memory> pieces = new ArrayList<>();
    for (int i = 0; i <= cuts; i++) {
      pieces.add(memory.slice(at[i], at[i + 1] - at[i]));
    }
    return pieces;
  }

  static PutOp putOp(String key, byte[] bytes) {
    return new PutOp(key(key), List.of(memory(bytes)));
  }

  static BatchResult put(CacheStore store, String key, byte[] bytes) {
    return store.put(List.of(putOp(key, bytes)), NEVER);
  }

  static BatchResult get(CacheStore store, String key, HostMemory target) {
    return store.get(List.of(new GetOp(key(key), List.of(target))), NEVER);
  }

  static ObjectStatus exists(CacheStore store, String key) {
    return store.exists(keys(key), NEVER).status(0);
  }

  static ObjectStatus remove(CacheStore store, String key) {
    return store.remove(keys(key), /* evenIfLeased= */ false, NEVER).status(0);
  }

  /** Checks that a key holds exactly the bytes. */
  static void assertHolds(CacheStore store, String key, byte[] bytes) {
    HostMemory target = filled(bytes.length, 0x5a);
    assertThat(get(store, key, target).isOk(0)).as("get of %s", key).isTrue();
    assertThat(read(target)).as("bytes of %s", key).isEqualTo(bytes);
  }
}
