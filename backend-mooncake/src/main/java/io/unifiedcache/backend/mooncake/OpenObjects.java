package io.unifiedcache.backend.mooncake;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The objects that a client holds open to be read. Mooncake knows them by their keys, so that all
 * openings share one as long as its lease lasts, and the last to let go ends it. One whose lease
 * has run out may be another object by now: it is over for those that have it open, and the next to
 * ask opens what is there. Thread-safe.
 */
final class OpenObjects {
  private static final Logger LOG = LoggerFactory.getLogger(OpenObjects.class);

  /** How much of a lease may pass before it is renewed: reading an object does not. */
  private static final int RENEWALS_PER_LEASE = 4;

  private final MooncakeClient.Scattering client;
  private final LongSupplier clock;
  private final long leaseNanos;

  /** How many bytes sessions may still keep of objects that are not in memory. */
  private final AtomicLong copyBytes;

  /** Held while Mooncake begins or ends to hold objects open. */
  private final ReentrantLock lock = new ReentrantLock();

  /** What Mooncake holds open. Guarded by itself; objects come and go under the lock alone. */
  private final Map<String, Held> held = new HashMap<>();

  /** Guarded by {@link #held}. */
  private static final class Held {
    /** How many openings it is part of. */
    int openings;

    /** When it was leased last, at the latest. */
    long leasedAt;

    /** How many bytes it has. */
    final long size;

    /** Whether Mooncake holds it open. */
    final boolean begun;

    /** Whether it is not in memory, so that it can only be read as a whole. */
    boolean whole;

    /** Whether its key may name another object by now. */
    boolean over;

    Held(long leasedAt, long size, boolean whole) {
      this.leasedAt = leasedAt;
      this.size = size;
      this.whole = whole;
      begun = !whole;
    }
  }

  /**
   * Creates it.
   *
   * @param copyBytes how much sessions may keep of objects that can only be read as a whole
   */
  OpenObjects(MooncakeClient.Scattering client, Duration lease, long copyBytes) {
    this(client, lease, copyBytes, System::nanoTime);
  }

  /** Creates it with a clock that counts nanoseconds. */
  OpenObjects(
      MooncakeClient.Scattering client, Duration lease, long copyBytes, LongSupplier clock) {
    this.client = client;
    this.copyBytes = new AtomicLong(copyBytes);
    this.clock = clock;
    leaseNanos = lease.toNanos();
  }

  /**
   * Says that objects have been removed though they may be held open. Whoever opens one from now on
   * opens what is there by then.
   */
  void forget(Collection<String> keys) {
    synchronized (held) {
      for (String key : keys) {
        Held object = held.get(key);
        if (object != null) {
          object.over = true;
        }
      }
    }
  }

  /** The objects that one session has open, until the session and all calls let go of them. */
  final class Opening {
    /** When the session began, as {@link Removals} counts. */
    final long since;

    /** Guarded by {@link #held}. */
    private final Map<String, Held> objects = new HashMap<>();

    /** The bytes of objects that were read as a whole. Guarded by {@link #held}. */
    private final Map<String, MemorySegment> copies = new HashMap<>();

    /** Where they are; null if there are none. Guarded by {@link #held}. */
    private @Nullable Arena arena;

    /** How many let go of it yet: the session, and the calls that are at work. */
    private int users = 1;

    /** Creates the opening of a session, which is to {@link #release} it. */
    Opening(long since) {
      this.since = since;
    }

    /** Counts one more that lets go of it. */
    void retain() {
      synchronized (held) {
        users++;
      }
    }

    /** Tells whether the last has let go of it, so that {@link #end} is to be called. */
    boolean release() {
      synchronized (held) {
        return --users == 0;
      }
    }

    /** Returns the client, to read what is open. */
    MooncakeClient.Scattering client() {
      return client;
    }

    /**
     * Has objects held open.
     *
     * @param keys distinct keys
     * @return for each 0, or a negative number if it is not held open
     */
    long[] open(List<String> keys) throws ClientException {
      lock.lock();
      try {
        long before = clock.getAsLong();
        Map<String, Long> begun =
            begin(keys.stream().filter(key -> !isShared(key, before)).toList());
        Map<String, Long> sizes = sizes(begun);
        long[] answers = new long[keys.size()];
        synchronized (held) {
          for (int i = 0; i < answers.length; i++) {
            String key = keys.get(i);
            Long answer = begun.get(key);
            if (answer != null) {
              // One that could not be begun has no size.
              long size = sizes.getOrDefault(key, answer);
              if (size < 0) {
                answers[i] = size;
                continue;
              }
              replace(key, new Held(before, size, answer == Answers.NOT_IN_MEMORY));
            }
            Held object = Objects.requireNonNull(held.get(key));
            if (objects.put(key, object) != object) {
              object.openings++;
            }
          }
        }
        return answers;
      } finally {
        lock.unlock();
      }
    }

    /**
     * Has the leases of objects renewed, if a part of them has passed.
     *
     * @param keys distinct keys that are open
     * @return for each 0, or a negative number if it cannot be read
     */
    long[] renew(List<String> keys) throws ClientException {
      long[] answers = new long[keys.size()];
      if (due(keys).isEmpty()) {
        return answers;
      }
      lock.lock();
      try {
        long before = clock.getAsLong();
        Map<String, Long> begun = begin(due(keys));
        long after = clock.getAsLong();
        synchronized (held) {
          for (int i = 0; i < answers.length; i++) {
            Long answer = begun.get(keys.get(i));
            if (answer == null) {
              continue;
            }
            Held object = Objects.requireNonNull(objects.get(keys.get(i)));
            if (answer == Answers.NOT_IN_MEMORY) {
              object.whole = true;
            } else if (answer < 0) {
              answers[i] = answer;
              object.over |= Answers.isAbsent(answer);
            } else if (after - object.leasedAt > leaseNanos) {
              object.over = true;
            } else {
              object.leasedAt = before;
            }
          }
        }
        return answers;
      } finally {
        lock.unlock();
      }
    }

    /** Returns those whose leases are to be renewed; those that have run out are over. */
    private List<String> due(List<String> keys) {
      long now = clock.getAsLong();
      List<String> due = new ArrayList<>();
      synchronized (held) {
        for (String key : keys) {
          Held object = Objects.requireNonNull(objects.get(key));
          long age = now - object.leasedAt;
          // A copy stays what it is.
          object.over |= age > leaseNanos && !copies.containsKey(key);
          if (!object.over && !object.whole && age > leaseNanos / RENEWALS_PER_LEASE) {
            due.add(key);
          }
        }
      }
      return due;
    }

    /** Returns whether an open object can only be read as a whole. */
    boolean isWhole(String key) {
      synchronized (held) {
        return Objects.requireNonNull(objects.get(key)).whole;
      }
    }

    /** Returns the bytes of an object that have been kept, or null. */
    @Nullable MemorySegment copy(String key) {
      synchronized (held) {
        return copies.get(key);
      }
    }

    /**
     * Says that an object was read as a whole, which leases it anew, and keeps its bytes until the
     * session ends if there is room.
     *
     * @param before when reading it began, by {@link #now}
     */
    void wasRead(String key, MemorySegment bytes, long before) {
      Arena mine;
      synchronized (held) {
        Objects.requireNonNull(objects.get(key)).leasedAt = before;
        if (copies.containsKey(key)) {
          return;
        }
        mine = arena == null ? Arena.ofShared() : arena;
        arena = mine;
      }
      long size = bytes.byteSize();
      if (copyBytes.getAndUpdate(left -> left < size ? left : left - size) < size) {
        return;
      }
      boolean kept = false;
      try {
        // Nothing closes the arena before all have let go.
        MemorySegment copy = mine.allocate(size).copyFrom(bytes);
        synchronized (held) {
          kept = copies.putIfAbsent(key, copy) == null;
        }
      } catch (OutOfMemoryError e) {
        LOG.debug("{} bytes of an object are not kept, and will be read again", size, e);
      } finally {
        if (!kept) {
          copyBytes.addAndGet(size);
        }
      }
    }

    /** Says that objects are being read as a whole: those whose lease has run out are over. */
    void beginReading(List<String> keys) {
      List<String> unused = due(keys);
    }

    /** Returns what time it is. */
    long now() {
      return clock.getAsLong();
    }

    /** Frees what was kept, after the last {@link #release}, where the client is closed. */
    void freeCopies() {
      synchronized (held) {
        copyBytes.addAndGet(copies.values().stream().mapToLong(MemorySegment::byteSize).sum());
        copies.clear();
        if (arena != null) {
          arena.close();
          arena = null;
        }
      }
    }

    /** Returns how many bytes an open object has. */
    long size(String key) {
      synchronized (held) {
        return Objects.requireNonNull(objects.get(key)).size;
      }
    }

    /** Returns which of some open keys may name another object than that which was opened. */
    BitSet over(List<String> keys) {
      BitSet over = new BitSet(keys.size());
      synchronized (held) {
        for (int i = 0; i < keys.size(); i++) {
          over.set(i, Objects.requireNonNull(objects.get(keys.get(i))).over);
        }
      }
      return over;
    }

    /** Lets go of all objects, after the last {@link #release}. Waits for Mooncake. */
    void end() {
      freeCopies();
      lock.lock();
      try {
        List<String> last = new ArrayList<>(objects.size());
        synchronized (held) {
          objects.forEach(
              (key, object) -> {
                // By its key Mooncake knows the object that has taken its place, if there is one.
                if (--object.openings == 0 && held.remove(key, object) && object.begun) {
                  last.add(key);
                }
              });
        }
        if (!last.isEmpty()) {
          OpenObjects.this.end(last);
        }
      } finally {
        lock.unlock();
      }
    }
  }

  /** Tells whether an object is held open, and leased, already. */
  private boolean isShared(String key, long now) {
    synchronized (held) {
      Held object = held.get(key);
      return object != null && !object.over && now - object.leasedAt <= leaseNanos;
    }
  }

  private void replace(String key, Held fresh) {
    Held old = held.put(key, fresh);
    if (old != null) {
      old.over = true;
    }
  }

  private Map<String, Long> begin(List<String> keys) throws ClientException {
    Map<String, Long> begun = HashMap.newHashMap(keys.size());
    if (keys.isEmpty()) {
      return begun;
    }
    long[] answers;
    try {
      answers = client.startReading(keys);
      if (answers.length != keys.size()) {
        throw new ClientException(
            "%d answers for %d objects".formatted(answers.length, keys.size()));
      }
    } catch (ClientException e) {
      // Some may have begun.
      forget(keys);
      end(keys);
      throw e;
    }
    for (int i = 0; i < answers.length; i++) {
      begun.put(keys.get(i), answers[i]);
    }
    return begun;
  }

  /** Returns the sizes of what can be read; what has none to tell is ended again. */
  private Map<String, Long> sizes(Map<String, Long> begun) throws ClientException {
    List<String> keys = new ArrayList<>(begun.size());
    begun.forEach(
        (key, answer) -> {
          if (answer >= 0 || answer == Answers.NOT_IN_MEMORY) {
            keys.add(key);
          }
        });
    Map<String, Long> sizes = HashMap.newHashMap(keys.size());
    if (keys.isEmpty()) {
      return sizes;
    }
    long[] answers;
    try {
      answers = client.sizes(keys);
    } catch (ClientException e) {
      forget(keys);
      end(keys);
      throw e;
    }
    List<String> unknown = new ArrayList<>();
    for (int i = 0; i < answers.length; i++) {
      sizes.put(keys.get(i), answers[i]);
      if (answers[i] < 0) {
        unknown.add(keys.get(i));
      }
    }
    if (!unknown.isEmpty()) {
      end(unknown);
    }
    return sizes;
  }

  private void end(List<String> keys) {
    try {
      long answer = client.endReading(keys);
      if (answer < 0) {
        LOG.warn("the end of reading {} objects was answered {}", keys.size(), answer);
      }
    } catch (ClientException e) {
      LOG.warn("reading {} objects cannot be ended", keys.size(), e);
    }
  }
}
