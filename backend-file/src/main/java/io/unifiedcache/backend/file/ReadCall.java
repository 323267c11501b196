package io.unifiedcache.backend.file;

import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call that reads objects, which are pinned: their bytes, and whether they were still theirs.
 *
 * <p>Used by the one thread that does the call, which has others help to copy.
 */
final class ReadCall {
  private static final Logger LOG = LoggerFactory.getLogger(ReadCall.class);

  private final FileEngine engine;
  private final IoThreads threads;
  private final boolean check;
  private final Job job;

  ReadCall(FileEngine engine, IoThreads threads, boolean check, Job job) {
    this.engine = engine;
    this.threads = threads;
    this.check = check;
    this.job = job;
  }

  /** Reads objects. Each entry is read, or has failed. */
  void run(List<ObjectCopy> copies) {
    Transfer.run(copies, threads, job, part -> engine.io().read(part, check));
    List<ObjectCopy> damaged = new ArrayList<>();
    try {
      // Another process may give an extent of its own to another object, but not before it has said
      // in the log that this one is gone.
      engine.catchUp();
      for (ObjectCopy copy : copies) {
        if (!engine.wasKept(copy.object())) {
          copy.failOvertaken();
        } else if (copy.isDamaged()) {
          damaged.add(copy);
        }
      }
      if (!damaged.isEmpty()) {
        engine.drop(damaged.stream().map(ObjectCopy::object).toList(), job);
      }
    } catch (IOException e) {
      copies.forEach(
          copy ->
              copy.fail(
                  copy.failure(
                          io.unifiedcache.api.FailureCode.IO,
                          "it cannot be told whether it is still there: " + e)
                      .asRetryable()));
    } catch (LateException e) {
      LOG.debug("damaged objects are not dropped in time");
    }
  }
}
