package io.unifiedcache.backend.mooncake;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The objects that a client holds open to be read. Mooncake knows them by their keys, so that all
 * that read one share it, and the last to let go ends it. Thread-safe.
 */
final class OpenObjects {
  private static final Logger LOG = LoggerFactory.getLogger(OpenObjects.class);

  private final MooncakeClient.Scattering client;

  /** Held while Mooncake begins or ends to hold objects open. */
  private final ReentrantLock lock = new ReentrantLock();

  /** How many read each object. Guarded by itself, and changed for new keys under the lock. */
  private final Map<String, Integer> users = new HashMap<>();

  OpenObjects(MooncakeClient.Scattering client) {
    this.client = client;
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
      synchronized (users) {
        for (String key : keys) {
          if (!users.containsKey(key)) {
            fresh.add(key);
          }
        }
      }
      Map<String, Long> begun = begin(fresh);
      List<String> open = new ArrayList<>(keys.size());
      for (int i = 0; i < answers.length; i++) {
        String key = keys.get(i);
        long answer = begun.getOrDefault(key, 0L);
        if (answer >= 0) {
          open.add(key);
        } else {
          answers[i] = answer;
        }
      }
      retain(open);
      return answers;
    } finally {
      lock.unlock();
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
      end(keys);
      throw e;
    }
    for (int i = 0; i < answers.length; i++) {
      begun.put(keys.get(i), answers[i]);
    }
    return begun;
  }

  /** Counts one more use of objects that are held open; never waits for Mooncake. */
  void retain(Collection<String> keys) {
    synchronized (users) {
      for (String key : keys) {
        users.merge(key, 1, Integer::sum);
      }
    }
  }

  /** Lets go of objects, as often as they are named. */
  void close(Collection<String> keys) {
    lock.lock();
    try {
      List<String> over = new ArrayList<>(keys.size());
      synchronized (users) {
        for (String key : keys) {
          if (users.merge(key, -1, Integer::sum) == 0) {
            users.remove(key);
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
