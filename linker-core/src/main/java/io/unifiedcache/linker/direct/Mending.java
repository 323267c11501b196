package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.CacheStore;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The right to store one object anew, which one offload of this JVM has at a time: another would
 * remove what this one has stored (rule {@code offload.mend-once}).
 *
 * <p>A thread has one such right at most, so that none waits for another in a circle.
 */
final class Mending implements AutoCloseable {
  private static final ConcurrentMap<Place, Mending> UNDER_WAY = new ConcurrentHashMap<>();

  private final Place place;
  private final CompletableFuture<Boolean> over = new CompletableFuture<>();

  /**
   * An object of a store; stores are told apart by identity, since equality is theirs to define.
   */
  private record Place(CacheStore store, ObjectKey key) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Place that && store == that.store && key.equals(that.key);
    }

    @Override
    public int hashCode() {
      return 31 * System.identityHashCode(store) + key.hashCode();
    }
  }

  private Mending(Place place) {
    this.place = place;
  }

  /**
   * Waits for the right to store an object anew; returns null if it does not come by the deadline.
   */
  static @Nullable Mending begin(CacheStore store, ObjectKey key, Deadline by) {
    Mending own = new Mending(new Place(store, key));
    while (true) {
      Mending other = UNDER_WAY.putIfAbsent(own.place, own);
      if (other == null) {
        return own;
      }
      try {
        boolean unused = other.over.get(by.remainingNanos(), TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        return null;
      } catch (ExecutionException e) {
        throw new AssertionError("nothing ends it so", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return null;
      }
    }
  }

  @Override
  public void close() {
    UNDER_WAY.remove(place, this);
    over.complete(true);
  }
}
