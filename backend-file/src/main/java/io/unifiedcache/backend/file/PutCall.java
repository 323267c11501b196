package io.unifiedcache.backend.file;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * One call that stores objects: places them, writes them, and makes them findable in one step.
 *
 * <p>Used by the one thread that does the call, which has others help to copy.
 */
final class PutCall {
  private final FileEngine engine;
  private final IoThreads threads;
  private final Tuning tuning;
  private final Job job;
  private final BitSet present;
  private final BitSet stored = new BitSet();

  /** Whether the disk was found to be full. */
  private boolean full;

  /** Those that have a place, and are not published yet. */
  private final List<ObjectCopy> placed = new ArrayList<>();

  /**
   * Creates a call.
   *
   * @param present is told which entries found their key taken
   */
  PutCall(FileEngine engine, IoThreads threads, Tuning tuning, Job job, BitSet present) {
    this.engine = engine;
    this.threads = threads;
    this.tuning = tuning;
    this.job = job;
    this.present = present;
  }

  /** Stores objects. Each entry has failed, is present, or is stored. */
  void run(List<ObjectCopy> copies) {
    List<ObjectCopy> waiting = copies;
    try {
      engine.catchUp();
      if (tuning.flush()) {
        engine.prove(job);
      }
      engine.spareDisk(copies.stream().mapToLong(ObjectCopy::size).sum(), tuning);
      while (!waiting.isEmpty()) {
        waiting = place(waiting);
        Transfer.run(placed, threads, job, engine.io()::write);
        waiting.addAll(dropFailed());
        publish();
      }
    } catch (LateException e) {
      unsettled(copies).forEach(ObjectCopy::failLate);
    } catch (IOException e) {
      unsettled(copies)
          .forEach(
              copy ->
                  copy.fail(
                      copy.failure(Failures.codeOf(e), "it cannot be stored: " + e).asRetryable()));
    } finally {
      settle();
    }
  }

  private List<ObjectCopy> unsettled(List<ObjectCopy> copies) {
    return copies.stream()
        .filter(copy -> !present.get(copy.entry) && !stored.get(copy.entry))
        .toList();
  }

  /** Gives back the room of what was not published. */
  private void settle() {
    for (ObjectCopy copy : placed) {
      if (!copy.object().published) {
        engine.abandon(copy.object());
      }
    }
    placed.clear();
  }

  /**
   * Finds places.
   *
   * @return those to try again later, since an earlier entry has the same key
   */
  private List<ObjectCopy> place(List<ObjectCopy> waiting) throws IOException, LateException {
    List<ObjectCopy> again = new ArrayList<>();
    Set<ObjectKey> keys = new HashSet<>();
    List<ObjectKey> there = new ArrayList<>();
    long bytes = 0;
    for (ObjectCopy copy : waiting) {
      if (engine.contains(copy.key)) {
        present.set(copy.entry);
        there.add(copy.key);
        continue;
      }
      if (!keys.add(copy.key)) {
        again.add(copy);
        continue;
      }
      if (copy.size() > tuning.capacity()) {
        copy.fail(
            copy.failure(
                FailureCode.NO_SPACE,
                "its %d bytes pass the capacity %d".formatted(copy.size(), tuning.capacity())));
        continue;
      }
      StoredObject object =
          copy.size() > tuning.capacity() - bytes
              ? null
              : engine.place(copy.key, copy.size(), job, tuning);
      if (object == null) {
        failNoRoom(copy);
      } else {
        bytes += copy.size();
        copy.with(object);
        placed.add(copy);
      }
    }
    if (!there.isEmpty()) {
      engine.touch(there);
    }
    return again;
  }

  private static void failNoRoom(ObjectCopy copy) {
    copy.fail(
        copy.failure(
                FailureCode.NO_SPACE,
                "its %d bytes find no room beside what is in use".formatted(copy.size()))
            .asRetryable());
  }

  /**
   * Gives up those that could not be written.
   *
   * @return those for which the disk had no room, to be tried once more in the room of others
   */
  private List<ObjectCopy> dropFailed() {
    List<ObjectCopy> again = new ArrayList<>();
    for (ObjectCopy copy : placed) {
      if (copy.hasFailed()) {
        engine.abandon(copy.object());
        if (copy.foundNoRoom() && !full) {
          again.add(copy);
        }
      }
    }
    placed.removeIf(ObjectCopy::hasFailed);
    if (!again.isEmpty()) {
      full = true;
      engine.keepToWritten();
      again.forEach(ObjectCopy::retry);
    }
    return again;
  }

  private void publish() throws IOException, LateException {
    if (placed.isEmpty()) {
      return;
    }
    job.requireInTime();
    FileEngine.Published[] published =
        engine.publish(placed.stream().map(ObjectCopy::object).toList(), job, tuning);
    for (int i = 0; i < published.length; i++) {
      ObjectCopy copy = placed.get(i);
      switch (published[i]) {
        case OK -> stored.set(copy.entry);
        case PRESENT -> present.set(copy.entry);
        case NO_ROOM -> failNoRoom(copy);
      }
    }
    settle();
  }
}
