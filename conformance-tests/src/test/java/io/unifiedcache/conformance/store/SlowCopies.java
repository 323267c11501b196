package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.store.Capability;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Set;

/**
 * Lets other calls in while it copies the bytes of a large object: right, as arrays never change.
 */
class SlowCopies extends ReferenceStore {
  private static final int LARGE = 64 << 10;

  /** How many reads are in the middle of a copy. Guarded by this. */
  int copying;

  /** The arrays that reads are in the middle of copying. Guarded by this. */
  final IdentityHashMap<byte[], Integer> copied = new IdentityHashMap<>();

  private boolean closing;

  SlowCopies() {}

  SlowCopies(long capacity) {
    this(ALL, capacity);
  }

  SlowCopies(Set<Capability> capabilities, long capacity) {
    super(capabilities, LIMITS, capacity);
  }

  static Set<Capability> without(Capability one) {
    Set<Capability> some = new HashSet<>(ALL);
    some.remove(one);
    return some;
  }

  @Override
  protected void scatter(byte[] bytes, long offset, Memory target) {
    MemorySegment segment = ((HostMemory) target).segment();
    if (segment.byteSize() < LARGE || offset != 0) {
      super.scatter(bytes, offset, target);
      return;
    }
    copying++;
    copied.merge(bytes, 1, Integer::sum);
    int half = (int) segment.byteSize() / 2;
    MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, half);
    pause();
    MemorySegment.copy(
        bytes, half, segment, ValueLayout.JAVA_BYTE, half, (int) segment.byteSize() - half);
    copying--;
    copied.computeIfPresent(bytes, (array, reads) -> reads == 1 ? null : reads - 1);
    notifyAll();
  }

  /** Lets others in for a moment. */
  final void pause() {
    Deadline over = Deadline.after(Duration.ofMillis(1));
    try {
      while (!over.hasPassed()) {
        wait(1);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  protected void begin(int entries) {
    if (closing) {
      throw new CacheException(FailureCode.CLOSED, "the store is closed");
    }
    super.begin(entries);
  }

  @Override
  public synchronized void close() {
    closing = true;
    while (copying > 0) {
      pause();
    }
    super.close();
  }
}
