package io.unifiedcache.backend.mooncake;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The objects that a client holds open to be read. Mooncake knows them by their keys, so that all
 * that read one share it, and the last to let go ends it. Thread-safe.
 */
final class OpenObjects {
  private static final Logger LOG = LoggerFactory.getLogger(OpenObjects.class);

  /** How much of a lease may pass before it is renewed: reading an object does not. */
  private static final int RENEWALS_PER_LEASE = 4;

  private final MooncakeClient.Scattering client;
  private final long leaseNanos;

  /** Held while Mooncake begins or ends to hold objects open. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Guarded by itself; objects come and go under the lock alone. */
  private final Map<String, Held> held = new HashMap<>();

  private static final class Held {
    int users;
    long leasedAt;

    /** Whether it has been removed though it is leased, so that its key may name another by now. */
    boolean gone;
  }

  OpenObjects(MooncakeClient.Scattering client, Duration lease) {
    this.client = client;
    leaseNanos = lease.toNanos();
  }

  /** Returns the client, to read what is held open. */
  MooncakeClient.Scattering client() {
    return client;
  }

  /**
   * Has objects held open, once more where they are already.
   *
   * @param keys distinct keys
   * @return for each 0, or a negative number if it is not held open
   */
  long[] open(List<String> keys) throws ClientException {
    long[] answers = new long[keys.size()];
    lock.lock();
    try {
      List<String> fresh = new ArrayList<>(keys.size());
      synchronized (held) {
        for (String key : keys) {
          Held object = held.get(key);
          if (object == null || object.gone) {
            fresh.add(key);
          }
        }
      }
      long now = System.nanoTime();
      Map<String, Long> begun = begin(fresh);
      synchronized (held) {
        for (int i = 0; i < answers.length; i++) {
          String key = keys.get(i);
          Long answer = begun.get(key);
          if (answer != null && answer < 0) {
            answers[i] = answer;
            continue;
          }
          if (answer != null) {
            Held object = held.computeIfAbsent(key, any -> new Held());
            object.leasedAt = now;
            object.gone = false;
          }
          Objects.requireNonNull(held.get(key)).users++;
        }
      }
      return answers;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Has the leases of objects renewed that are held open, if a part of them has passed. One whose
   * lease has run out may be another object by now, and is not to be read.
   *
   * @param keys distinct keys
   * @return for each 0, or a negative number if it is not to be read
   */
  long[] renew(List<String> keys) throws ClientException {
    long[] answers = new long[keys.size()];
    long now = System.nanoTime();
    if (dueFor(keys, now).isEmpty()) {
      return answers;
    }
    lock.lock();
    try {
      List<String> due = dueFor(keys, now);
      Map<String, Long> begun = begin(due);
      synchronized (held) {
        for (int i = 0; i < answers.length; i++) {
          Held object = held.get(keys.get(i));
          Long answer = begun.get(keys.get(i));
          if (object == null || answer == null) {
            continue;
          }
          if (now - object.leasedAt > leaseNanos) {
            answers[i] = Answers.LEASE_EXPIRED;
          } else if (answer < 0) {
            answers[i] = answer;
          } else {
            object.leasedAt = now;
          }
        }
      }
      return answers;
    } finally {
      lock.unlock();
    }
  }

  private List<String> dueFor(List<String> keys, long now) {
    List<String> due = new ArrayList<>();
    synchronized (held) {
      for (String key : keys) {
        Held object = held.get(key);
        if (object != null && now - object.leasedAt > leaseNanos / RENEWALS_PER_LEASE) {
          due.add(key);
        }
      }
    }
    return due;
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
      // Some may have begun. Those that had before are begun anew by the next to read them.
      end(keys);
      throw e;
    }
    for (int i = 0; i < answers.length; i++) {
      begun.put(keys.get(i), answers[i]);
    }
    return begun;
  }

  /**
   * Says that objects have been removed though they may be held open. Whoever opens one from now on
   * opens what is there by then; those that have it open learn from {@link Removals}.
   */
  void forget(Collection<String> keys) {
    synchronized (held) {
      for (String key : keys) {
        Held object = held.get(key);
        if (object != null) {
          object.gone = true;
        }
      }
    }
  }

  /** Counts one more use of objects that are held open; never waits for Mooncake. */
  void retain(Collection<String> keys) {
    synchronized (held) {
      for (String key : keys) {
        Objects.requireNonNull(held.get(key)).users++;
      }
    }
  }

  /**
   * Lets go of objects that others hold open too; never waits for Mooncake.
   *
   * @param keys as often as they are to be let go of
   * @return those that nobody else holds open, which have not been let go of yet
   */
  List<String> closeShared(Collection<String> keys) {
    List<String> last = new ArrayList<>();
    synchronized (held) {
      for (String key : keys) {
        Held object = held.get(key);
        if (object != null && object.users > 1) {
          object.users--;
        } else if (object != null) {
          last.add(key);
        }
      }
    }
    return last;
  }

  /** Lets go of objects, as often as they are named. */
  void close(Collection<String> keys) {
    lock.lock();
    try {
      List<String> over = new ArrayList<>(keys.size());
      synchronized (held) {
        for (String key : keys) {
          Held object = held.get(key);
          if (object != null && --object.users == 0) {
            held.remove(key);
            over.add(key);
          }
        }
      }
      if (!over.isEmpty()) {
        end(over);
      }
    } finally {
      lock.unlock();
    }
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
