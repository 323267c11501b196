package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.backend.file.Job.LateException;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One call of an operator: the threads that do it, and what they have opened for it.
 *
 * <p>Used by the calling thread, which waits no longer than its deadline.
 */
final class Errand implements AutoCloseable {
  private static final Object CLOSED = new Object();

  private final IoThreads threads;
  private final Deadline by;

  /** What is to be done at the end, or {@link #CLOSED}. */
  private final AtomicReference<@Nullable Object> last = new AtomicReference<>();

  Errand(int ioThreads, StoreContext context, Deadline by) {
    this.threads = new IoThreads(ioThreads, context.threads());
    this.by = by;
  }

  /** A piece of work that touches files. */
  interface Step<T> {
    T run(Job job) throws IOException, LateException;
  }

  /**
   * Opens something.
   *
   * @param closing is run at the end by a thread that may touch files, also if the opening took too
   *     long
   */
  <T> T open(Step<T> opening, Consumer<T> closing) {
    return run(
        job -> {
          T opened = opening.run(job);
          Runnable close = () -> closing.accept(opened);
          if (!last.compareAndSet(null, close)) {
            close.run();
          }
          return opened;
        });
  }

  /**
   * Has a piece of work done.
   *
   * @throws CacheException if it fails, or is not done by the deadline; it may go on then
   */
  <T> T run(Step<T> step) {
    return run(threads, by, step);
  }

  /**
   * Has a piece of work done by some threads.
   *
   * @throws CacheException if it fails, or is not done by the deadline; it may go on then
   */
  static <T> T run(IoThreads threads, Deadline by, Step<T> step) {
    if (Thread.currentThread().isInterrupted()) {
      throw new CacheException(FailureCode.CANCELLED, "the thread was interrupted");
    }
    if (by.hasPassed()) {
      throw late();
    }
    AtomicReference<@Nullable T> value = new AtomicReference<>();
    AtomicReference<@Nullable CacheException> problem = new AtomicReference<>();
    Job job =
        threads.run(
            by,
            running -> {
              try {
                value.set(step.run(running));
              } catch (CacheException e) {
                problem.set(e);
              } catch (IOException e) {
                problem.set(new CacheException(Failures.codeOf(e), e.toString(), e));
              } catch (LateException e) {
                problem.set(
                    new CacheException(FailureCode.TIMEOUT, String.valueOf(e.getMessage())));
              }
            });
    T answer = value.get();
    CacheException known = problem.get();
    Throwable unforeseen = job.problem();
    if (job.isDone() && answer != null) {
      return answer;
    } else if (known != null) {
      throw known;
    } else if (unforeseen != null) {
      throw new CacheException(FailureCode.INTERNAL, unforeseen.toString(), unforeseen);
    }
    throw late();
  }

  private static CacheException late() {
    return new CacheException(FailureCode.TIMEOUT, "the deadline passed first");
  }

  /** Returns the threads, for work that they share. */
  IoThreads threads() {
    return threads;
  }

  @Override
  public void close() {
    if (last.getAndSet(CLOSED) instanceof Runnable close && !threads.later(close)) {
      close.run();
    }
    threads.close();
  }
}
