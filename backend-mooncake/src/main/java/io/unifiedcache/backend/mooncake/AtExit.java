package io.unifiedcache.backend.mooncake;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes the stores that are open when the JVM ends. Mooncake's code tears its globals down then,
 * whatever its threads are doing with them, so that the process would end by a signal now and then.
 */
final class AtExit {
  private static final Logger LOG = LoggerFactory.getLogger(AtExit.class);

  /** How long the end of the JVM may wait for calls that are in Mooncake. */
  private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(3);

  private static final Set<MooncakeStore> STORES = new HashSet<>();

  /** How many clients are being set up. Guarded by the set, as are the flags. */
  private static int openings;

  private static boolean hooked;
  private static boolean ending;

  private AtExit() {}

  /**
   * Says that a client is about to be set up, to be followed by {@link #opened}.
   *
   * @throws CacheException if the JVM is ending already
   */
  static void opening() {
    synchronized (STORES) {
      if (!hooked && !ending) {
        try {
          Runtime.getRuntime().addShutdownHook(new Thread(AtExit::closeAll, "mooncake-exit"));
          hooked = true;
        } catch (IllegalStateException e) {
          ending = true;
        }
      }
      if (ending) {
        throw new CacheException(FailureCode.CLOSED, "the JVM is ending, and opens no stores");
      }
      openings++;
    }
  }

  /** Says that the client of a store has been set up, or none has. */
  static void opened(@Nullable MooncakeStore store) {
    synchronized (STORES) {
      openings--;
      if (store != null) {
        STORES.add(store);
      }
    }
  }

  /** Says that the client of a store has been closed. */
  static void closed(MooncakeStore store) {
    synchronized (STORES) {
      STORES.remove(store);
    }
  }

  private static void closeAll() {
    List<MooncakeStore> stores;
    synchronized (STORES) {
      ending = true;
      stores = List.copyOf(STORES);
    }
    stores.forEach(MooncakeStore::beginToEnd);
    long end = System.nanoTime() + LONGEST_NANOS;
    stores.forEach(store -> store.awaitEnd(end));
    boolean quiet;
    synchronized (STORES) {
      quiet = openings == 0 && STORES.isEmpty();
    }
    if (!quiet) {
      endWithoutDestructors();
    }
  }

  /**
   * Has the process end, when its exit status is known, without what C++ does at the end: calls
   * that cannot be waited for are in Mooncake. What is registered last is called first.
   */
  @SuppressWarnings("restricted") // A function of the system's C library.
  private static void endWithoutDestructors() {
    try {
      Linker linker = Linker.nativeLinker();
      MemorySegment onExit = linker.defaultLookup().findOrThrow("on_exit");
      MemorySegment end = linker.defaultLookup().findOrThrow("_exit");
      int answer =
          (int)
              linker
                  .downcallHandle(onExit, FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS))
                  .invokeExact(end, MemorySegment.NULL);
      LOG.debug("calls are in Mooncake while the JVM ends (on_exit: {})", answer);
    } catch (Throwable e) {
      LOG.debug("the end of the JVM cannot be made safe", e);
    }
  }
}
