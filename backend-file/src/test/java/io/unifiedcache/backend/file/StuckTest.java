package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.Verification.Finding;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * File systems that do not answer, and processes that hold what others need: whoever waits for them
 * does so no longer than its deadline. What stands still here does so until the end of the test, so
 * that a call that returns at all has not waited for it.
 */
@Timeout(60)
class StuckTest {
  @TempDir Path folder = Path.of("set by JUnit");

  private Path root() {
    return folder.resolve("store");
  }

  private static Deadline shortly() {
    return Deadline.after(Duration.ofMillis(100));
  }

  private static void assertTimesOut(BatchResult result) {
    assertThat(Stores.describe(result)).startsWith("FAILED TIMEOUT");
  }

  private static void assertAllTimeOut(CacheStore store) {
    assertTimesOut(store.exists(List.of(Stores.key("key")), shortly()));
    try (var session = store.openSession(List.of(Stores.key("key")), shortly())) {
      assertTimesOut(session.opened());
    }
    assertThatThrownBy(() -> store.list(KeyPrefix.EVERYTHING, key -> true, shortly()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.TIMEOUT));
    assertThat(store.probe(shortly()).state()).isEqualTo(StoreHealth.State.DOWN);
  }

  @Test
  void lookups_onAFileSystemThatDoesNotAnswer_returnByTheirDeadline() {
    for (boolean quick : List.of(false, true)) {
      TestDisk disk = new TestDisk();
      disk.isQuick = quick;
      Path root = folder.resolve("quick-" + quick);
      try (FileStore store = Stores.open(disk, root, Map.of())) {
        Stores.putOk(store, "key", new byte[10]);
        while (Engines.find(root).isCurrent()) {
          // Until a lookup would not be answered from memory alone.
          Thread.onSpinWait();
        }
        disk.stall();
        try {
          assertAllTimeOut(store);
        } finally {
          disk.goOn();
        }
        assertThat(Stores.exists(store, "key")).isTrue();
        Stores.expect(store, "key", new byte[10]);
      }
    }
  }

  @Test
  void lookup_afterAnother_asksNoThread() {
    TestDisk disk = new TestDisk();
    try (FileStore store = Stores.open(disk, root(), Map.of())) {
      Stores.putOk(store, "key", new byte[10]);
      // Whoever has just looked has no reason to do so again, unless the log has grown.
      boolean answered = false;
      for (int i = 0; i < 1_000 && !answered; i++) {
        assertThat(Stores.exists(store, "key")).isTrue();
        answered = Engines.find(root()).isCurrent();
      }
      assertThat(answered).isTrue();
    }
  }

  @Test
  void lookups_inSglangsDirectory_returnByTheirDeadline() {
    TestDisk disk = new TestDisk();
    try (CacheStore store =
        FileStoreProvider.open(
            disk,
            Settings.builder(new FileStoreProvider().options())
                .set(FileStoreProvider.ROOT, root().toString())
                .set(FileStoreProvider.FORMAT, FileStoreProvider.Format.SGLANG)
                .parse(FileStoreProvider.MIN_FREE, "0")
                .build(),
            StoreContext.of("stuck"))) {
      Stores.putOk(store, "key", new byte[10]);
      disk.stall();
      try {
        assertAllTimeOut(store);
      } finally {
        disk.goOn();
      }
      Stores.expect(store, "key", new byte[10]);
    }
  }

  @Test
  void openingAStuckDirectory_keepsNoOtherFromBeingOpenedAndClosed() throws Exception {
    TestDisk stuck = new TestDisk();
    CountDownLatch begun = new CountDownLatch(1);
    TestDisk disk =
        new TestDisk() {
          @Override
          void before(String step) throws IOException {
            begun.countDown();
            stuck.size(folder);
          }
        };
    stuck.stall();
    AtomicReference<@Nullable Throwable> thrown = new AtomicReference<>();
    Thread opener =
        new Thread(
            () -> {
              try {
                Stores.open(disk, root(), Map.of()).close();
              } catch (RuntimeException | Error e) {
                thrown.set(e);
              }
            });
    try {
      opener.start();
      begun.await();
      try (FileStore other = Stores.open(folder.resolve("other"))) {
        Stores.putOk(other, "key", new byte[10]);
      }
      opener.interrupt();
      opener.join();
      assertThat(thrown.get())
          .isInstanceOfSatisfying(
              CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.CANCELLED));
    } finally {
      stuck.goOn();
    }
    // What was given up leaves nothing open.
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[10]);
    }
  }

  /** Holds the lock of the log until it is killed. */
  static final class Halted {
    private Halted() {}

    public static void main(String[] arguments) {
      boolean[] halting = new boolean[1];
      TestDisk disk =
          new TestDisk() {
            @Override
            int partOf(int bytes) {
              return halting[0] ? bytes / 2 : bytes;
            }

            @Override
            void before(String step) {
              halting[0] = step.startsWith("write index-") && System.getProperty("halted") != null;
            }

            @Override
            void cut() {
              Stores.say(Long.toString(ProcessHandle.current().pid()));
              try {
                int unused = System.in.read();
              } catch (IOException e) {
                throw new AssertionError(e);
              }
            }
          };
      CacheStore store = Stores.open(disk, Path.of(arguments[0]), Map.of());
      Stores.putOk(store, "theirs", new byte[10]);
      System.setProperty("halted", "");
      Stores.put(store, "never", new byte[10]);
    }
  }

  @Test
  void halfAWordInTheLog_byAProcessThatHoldsItsLock_keepsNoOperatorWaiting() throws IOException {
    try (Child halted = Child.start(Halted.class, root())) {
      String pid = "process " + halted.line();
      List<Finding> findings = new ArrayList<>();
      var maintenance =
          FileStoreProvider.maintenance(
              new LocalDisk(), Stores.settings(root(), Map.of()), StoreContext.of("operator"));
      StoreInventory inventory = maintenance.stat(item -> {}, Stores.soon());
      assertThat(inventory.objects()).isEqualTo(1);
      assertThat(inventory.details().get("changed last by")).startsWith(pid);
      assertThat(maintenance.verify(false, findings::add, Stores.soon()).objects()).isEqualTo(1);
      assertThat(findings).isEmpty();
      assertThatThrownBy(() -> Errand.run(threads(), shortly(), job -> open(job)))
          .isInstanceOf(CacheException.class)
          .hasMessageContaining(pid);
    }
  }

  private static IoThreads threads() {
    return new IoThreads(1, StoreContext.of("test").threads());
  }

  private FileEngine open(Job job) throws Job.LateException {
    return Engines.open(new LocalDisk(), root(), /* exclusive= */ false, "late", job, tuning());
  }

  private static Tuning tuning() {
    return new Tuning(1 << 20, 0, 0, 4 << 20, true, false, 1);
  }

  /** A file system that can only be read. */
  private static final class ReadOnly extends TestDisk {
    @Override
    public DiskFile open(Path path, Access access) throws IOException {
      if (access != Access.READ) {
        throw new FileSystemException(path.toString(), null, "Read-only file system");
      }
      return super.open(path, access);
    }

    @Override
    void before(String step) throws IOException {
      if (!step.startsWith("lock ") && !step.startsWith("unlock ")) {
        throw new FileSystemException(step, null, "Read-only file system");
      }
    }
  }

  @Test
  void statAndVerify_ofAFileSystemThatCanOnlyBeRead_work() throws IOException {
    try (FileStore store = Stores.open(root())) {
      Stores.putOk(store, "key", new byte[10]);
    }
    List<Finding> findings = new ArrayList<>();
    var maintenance =
        FileStoreProvider.maintenance(
            new ReadOnly(), Stores.settings(root(), Map.of()), StoreContext.of("operator"));
    assertThat(maintenance.stat(item -> {}, Stores.soon()).objects()).isEqualTo(1);
    assertThat(maintenance.verify(false, findings::add, Stores.soon()).objects()).isEqualTo(1);
    assertThat(findings).isEmpty();
    try (var files = Files.list(root())) {
      for (Path file : files.toList()) {
        if (FileNames.asLog(String.valueOf(file.getFileName())) >= 0) {
          Files.write(file, new byte[] {1, 2, 3}, StandardOpenOption.APPEND);
        }
      }
    }
    assertThat(maintenance.verify(false, findings::add, Stores.soon()).findings()).isEqualTo(1);
    assertThatThrownBy(() -> Stores.open(new ReadOnly(), root(), Map.of()))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("Read-only file system");
  }

  @Test
  void arena_closedDuringACall_failsItsEntryAndInterruptsNobody() {
    AtomicReference<@Nullable Arena> closing = new AtomicReference<>();
    TestDisk disk =
        new TestDisk() {
          @Override
          void before(String step) {
            Arena arena = step.startsWith("write segment-") ? closing.getAndSet(null) : null;
            while (arena != null && arena.scope().isAlive()) {
              try {
                arena.close();
              } catch (IllegalStateException e) {
                // Another thread is taking a checksum there just now.
                Thread.onSpinWait();
              }
            }
          }
        };
    try (FileStore store = Stores.open(disk, root(), Map.of())) {
      byte[] bytes = Stores.bytes(3 << 20, 1);
      for (int i = 0; i < 5; i++) {
        Arena arena = Arena.ofShared();
        closing.set(arena);
        PutOp closed =
            new PutOp(Stores.key("closed"), List.of(HostMemory.of(arena.allocate(3 << 20))));
        PutOp sound = new PutOp(Stores.key("sound-" + i), List.of(Stores.memory(bytes)));
        BatchResult result = store.put(List.of(closed, sound), Stores.soon());
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        assertThat(Stores.describe(result)).startsWith("FAILED REFUSED").contains("arena");
        assertThat(result.isOk(1)).isTrue();
        Stores.expect(store, "sound-" + i, bytes);
        assertThat(Stores.exists(store, "closed")).isFalse();
      }
    }
  }

  @Test
  void work_thatThrows_endsItsCallAndNoThread() {
    try (IoThreads threads = threads()) {
      Error thrown = new AssertionError("as asked");
      AtomicReference<@Nullable Thread> used = new AtomicReference<>();
      Job failed =
          threads.run(
              Stores.soon(),
              job -> {
                used.set(Thread.currentThread());
                throw thrown;
              });
      assertThat(failed.isDone()).isTrue();
      assertThat(failed.problem()).isSameAs(thrown);
      Job next =
          threads.run(
              Stores.soon(), job -> assertThat(Thread.currentThread()).isSameAs(used.get()));
      assertThat(next.problem()).isNull();
    }
  }

  @Test
  void unit_thatThrows_failsTheCallOnceNoOtherIsAtWork() {
    try (IoThreads threads = new IoThreads(3, StoreContext.of("test").threads())) {
      CompletableFuture<Integer> done = new CompletableFuture<>();
      boolean[] seen = new boolean[100];
      Job job =
          threads.run(
              Stores.soon(),
              running -> {
                try {
                  threads.share(
                      seen.length,
                      i -> {
                        seen[i] = true;
                        if (i % 7 == 0) {
                          throw new IllegalStateException("unit " + i);
                        }
                      });
                } finally {
                  int count = 0;
                  for (boolean each : seen) {
                    count += each ? 1 : 0;
                  }
                  done.complete(count);
                }
              });
      assertThat(job.problem()).isInstanceOf(IllegalStateException.class);
      assertThat(done.join()).as("units").isEqualTo(seen.length);
    }
  }

  @Test
  void call_afterTheThreadsHaveEnded_ends() {
    IoThreads threads = threads();
    threads.close();
    Job job = threads.run(Deadline.never(), running -> {});
    assertThat(job.isDone()).isTrue();
    assertThat(job.problem()).isNotNull();
    assertThat(threads.later(() -> {})).isFalse();
  }

  @Test
  void threads_thatCannotBeStarted_failTheOpeningAndLeaveNothing() {
    for (String how : List.of("null", "throws", "second")) {
      int[] made = new int[1];
      StoreContext context =
          new StoreContext(
              "few",
              MonotonicClock.SYSTEM,
              work -> {
                if (how.equals("second") && made[0]++ == 0) {
                  return new Thread(work);
                } else if (how.equals("null")) {
                  return null;
                }
                throw new OutOfMemoryError("unable to create native thread");
              });
      for (String format : List.of("segments", "sglang")) {
        assertThatThrownBy(
                () ->
                    FileStoreProvider.open(
                        new LocalDisk(),
                        Settings.builder(new FileStoreProvider().options())
                            .set(FileStoreProvider.ROOT, root().toString())
                            .parse(FileStoreProvider.FORMAT, format)
                            .build(),
                        context))
            .isInstanceOf(CacheException.class)
            .hasMessageContaining("thread");
      }
    }
    assertThat(root()).doesNotExist();
  }

  @Test
  void threads_areAllThereWhenAStoreIsOpen() throws InterruptedException {
    List<Thread> made = new ArrayList<>();
    StoreContext context =
        new StoreContext(
            "counting",
            MonotonicClock.SYSTEM,
            work -> {
              Thread thread = Thread.ofPlatform().daemon().unstarted(work);
              made.add(thread);
              return thread;
            });
    try (FileStore store =
        FileStoreProvider.openSegments(
            new LocalDisk(), Stores.settings(root(), Map.of("io-threads", "3")), context)) {
      assertThat(made).hasSize(3);
      Stores.putOk(store, "key", Stores.bytes(10 << 20, 1));
      Stores.expect(store, "key", Stores.bytes(10 << 20, 1));
      assertThat(made).hasSize(3);
    }
    for (Thread thread : made) {
      thread.join(TimeUnit.SECONDS.toMillis(30));
      assertThat(thread.isAlive()).isFalse();
    }
  }
}
