package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Stores that go wrong where objects, or the store itself, come to an end, or in their counters.
 */
public final class LifeMutants {
  private LifeMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(removing(), clearing(), listing(), counting(), closing())
        .flatMap(List::stream)
        .toList();
  }

  private static Mutant mutant(
      String rule, String what, String says, Supplier<? extends CacheStore> store) {
    return Mutant.ofStore(Set.of(rule), what, says, () -> StoreUnderTest.of("mutant", store));
  }

  // Remove.

  private static List<Mutant> removing() {
    return List.of(
        mutant(
            "store.remove",
            "remove of an absent key fails",
            "FAILED with IO",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void remove(
                      ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
                    if (listed(KeyPrefix.of(key.value())).contains(key)) {
                      super.remove(key, evenIfLeased, result, i);
                    } else {
                      fail(result, i, StoreFailure.of(FailureCode.IO, "no such object"));
                    }
                  }
                }),
        mutant(
            "store.remove",
            "an object that was read stays leased for ever",
            "FAILED with BUSY",
            StaysLeased::new),
        mutant(
            "store.remove",
            "remove wipes an object while it is read",
            "an object read while it is removed",
            WipesRemoved::new),
        mutant(
            "store.remove",
            "remove takes with it what is named as if below",
            "ABSENT",
            () ->
                new ReferenceStore() {
                  @Override
                  protected void remove(
                      ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
                    for (ObjectKey below : listed(KeyPrefix.of(key.value() + "/"))) {
                      super.remove(below, evenIfLeased, BatchResult.builder(1), 0);
                    }
                    super.remove(key, evenIfLeased, result, i);
                  }
                }));
  }

  private static final class StaysLeased extends ReferenceStore {
    private final Set<ObjectKey> leased = new HashSet<>();

    @Override
    protected void get(GetOp op, BatchResult.Builder result, int i) {
      super.get(op, result, i);
      leased.add(op.key());
    }

    @Override
    protected void put(PutOp op, BatchResult.Builder result, int i) {
      leased.remove(op.key());
      super.put(op, result, i);
    }

    @Override
    protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
      boolean there = listed(KeyPrefix.of(key.value())).contains(key);
      if (there && !evenIfLeased && leased.contains(key)) {
        fail(result, i, StoreFailure.of(FailureCode.BUSY, "the object is leased"));
      } else {
        super.remove(key, evenIfLeased, result, i);
      }
    }
  }

  private static final class WipesRemoved extends SlowCopies {
    private boolean removing;

    @Override
    protected void remove(ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
      removing = true;
      super.remove(key, evenIfLeased, result, i);
      removing = false;
    }

    @Override
    protected void release(byte[] bytes) {
      if (removing && copied.containsKey(bytes)) {
        Arrays.fill(bytes, (byte) 0);
      }
    }
  }

  // Clear.

  private static List<Mutant> clearing() {
    return List.of(
        clearsWhere(
            "clear takes its prefix for a regular expression",
            "p.q",
            (prefix, key) -> startsWithPattern(prefix, key)),
        clearsWhere(
            "clear takes _ for any character",
            "ABSENT",
            (prefix, key) -> startsWithPattern(wild(prefix, '_', "."), key)),
        clearsWhere(
            "clear takes % for any text",
            "ABSENT", (prefix, key) -> startsWithPattern(wild(prefix, '%', ".*"), key)),
        clearsWhere(
            "clear takes its prefix for a folder",
            "OK",
            (prefix, key) ->
                prefix.isEmpty()
                    || key.equals(prefix)
                    || key.startsWith(prefix.replaceAll("/+$", "") + "/")),
        clearsWhere(
            "clear folds case",
            "ABSENT",
            (prefix, key) -> key.regionMatches(true, 0, prefix, 0, prefix.length())),
        clearsWhere(
            "clear of everything clears nothing",
            "clear of everything",
            (prefix, key) -> !prefix.isEmpty() && key.startsWith(prefix)),
        mutant(
            "store.clear",
            "clear counts one more than it removes",
            "removed=",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized ClearResult clear(KeyPrefix prefix, Deadline by) {
                    ClearResult result = super.clear(prefix, by);
                    return new ClearResult(result.removed() + 1, result.kept());
                  }
                }));
  }

  private static String wild(String prefix, char character, String pattern) {
    return Stream.of(prefix.split(Pattern.quote(String.valueOf(character)), -1))
        .map(Pattern::quote)
        .reduce((a, b) -> a + pattern + b)
        .orElse("");
  }

  private static boolean startsWithPattern(String pattern, String key) {
    try {
      return Pattern.compile(pattern).matcher(key).lookingAt();
    } catch (PatternSyntaxException e) {
      return key.startsWith(pattern);
    }
  }

  private static Mutant clearsWhere(String what, String says, BiPredicate<String, String> matches) {
    return mutant(
        "store.clear",
        what,
        says,
        () ->
            new ReferenceStore() {
              @Override
              public synchronized ClearResult clear(KeyPrefix prefix, Deadline by) {
                List<ObjectKey> keys =
                    listed(KeyPrefix.EVERYTHING).stream()
                        .filter(key -> matches.test(prefix.value(), key.value()))
                        .toList();
                super.clear(KeyPrefix.of("\n"), by);
                remove(keys, /* evenIfLeased= */ true, by);
                return new ClearResult(keys.size(), 0);
              }
            });
  }

  // List.

  private static List<Mutant> listing() {
    return List.of(
        lists(
            "list omits what was put last",
            "not passed on",
            keys -> keys.subList(0, Math.max(0, keys.size() - 1))),
        lists(
            "list passes on a key twice",
            "passed on again",
            keys -> Stream.concat(keys.stream(), keys.stream().limit(1)).toList()),
        mutant(
            "store.list",
            "list goes on after the callback has had enough",
            "passed on to a callback",
            () ->
                new ReferenceStore() {
                  @Override
                  public void list(KeyPrefix prefix, Predicate<ObjectKey> more, Deadline by) {
                    super.list(
                        prefix,
                        key -> {
                          boolean ignored = more.test(key);
                          return true;
                        },
                        by);
                  }
                }),
        mutant("store.list", "list shows a temporary", ".part", ShowsTemporary::new),
        mutant(
            "store.list",
            "list knows prefixes up to the last slash only",
            "live keys under the prefix only",
            () ->
                new ReferenceStore() {
                  @Override
                  protected synchronized List<ObjectKey> listed(KeyPrefix prefix) {
                    String value = prefix.value();
                    return super.listed(
                        value.contains("/")
                            ? KeyPrefix.of(value.substring(0, value.lastIndexOf('/') + 1))
                            : prefix);
                  }
                }));
  }

  private static Mutant lists(String what, String says, UnaryOperator<List<ObjectKey>> edit) {
    return mutant(
        "store.list",
        what,
        says,
        () ->
            new ReferenceStore() {
              @Override
              protected synchronized List<ObjectKey> listed(KeyPrefix prefix) {
                return edit.apply(super.listed(prefix));
              }
            });
  }

  private static final class ShowsTemporary extends SlowCopies {
    private @Nullable ObjectKey writing;

    @Override
    protected void put(PutOp op, BatchResult.Builder result, int i) {
      if (op.byteSize() >= 64 << 10) {
        writing = new ObjectKey(op.key().value() + ".part");
        pause();
      }
      super.put(op, result, i);
      writing = null;
    }

    @Override
    protected synchronized List<ObjectKey> listed(KeyPrefix prefix) {
      ObjectKey temporary = writing;
      return temporary == null || !prefix.matches(temporary)
          ? super.listed(prefix)
          : Stream.concat(super.listed(prefix).stream(), Stream.of(temporary)).toList();
    }
  }

  // Stats.

  private static List<Mutant> counting() {
    return List.of(
        mutant(
            "store.stats",
            "hits are not counted",
            "found",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized StoreStats stats() {
                    return with(super.stats(), 0, /* found= */ false);
                  }
                }),
        mutant(
            "store.stats",
            "exists counts as a hit",
            "found",
            () ->
                new ReferenceStore() {
                  private long existing;

                  @Override
                  public synchronized BatchResult exists(List<ObjectKey> keys, Deadline by) {
                    BatchResult result = super.exists(keys, by);
                    existing += result.count(ObjectStatus.OK);
                    return result;
                  }

                  @Override
                  public synchronized StoreStats stats() {
                    return with(super.stats(), existing, /* found= */ true);
                  }
                }),
        mutant(
            "store.stats",
            "an object that was held open when it was removed counts as live for ever",
            "objects",
            () ->
                new ReferenceStore() {
                  private final Set<ObjectKey> held = new HashSet<>();
                  private long lost;

                  @Override
                  public synchronized ReadSession openSession(List<ObjectKey> keys, Deadline by) {
                    held.addAll(keys);
                    return super.openSession(keys, by);
                  }

                  @Override
                  protected void remove(
                      ObjectKey key, boolean evenIfLeased, BatchResult.Builder result, int i) {
                    if (held.remove(key) && find(key) != null) {
                      lost++;
                    }
                    super.remove(key, evenIfLeased, result, i);
                  }

                  @Override
                  public synchronized StoreStats stats() {
                    StoreStats now = super.stats();
                    return new StoreStats(
                        now.objects() + lost,
                        now.liveBytes(),
                        now.capacityBytes(),
                        now.stored(),
                        now.present(),
                        now.found(),
                        now.absent(),
                        now.failed(),
                        now.removed(),
                        now.evicted(),
                        now.bytesStored(),
                        now.bytesRead());
                  }
                }),
        mutant(
            "store.stats",
            "a key that a session refuses is not counted",
            "failed",
            () ->
                new ReferenceStore() {
                  private long refused;

                  @Override
                  public synchronized ReadSession openSession(List<ObjectKey> keys, Deadline by) {
                    ReadSession session = super.openSession(keys, by);
                    refused += session.opened().count(ObjectStatus.FAILED);
                    return session;
                  }

                  @Override
                  public synchronized StoreStats stats() {
                    StoreStats now = super.stats();
                    return new StoreStats(
                        now.objects(),
                        now.liveBytes(),
                        now.capacityBytes(),
                        now.stored(),
                        now.present(),
                        now.found(),
                        now.absent(),
                        now.failed() - refused,
                        now.removed(),
                        now.evicted(),
                        now.bytesStored(),
                        now.bytesRead());
                  }
                }),
        mutant(
            "store.stats",
            "an object that is there already counts as live once more",
            "objects",
            () ->
                new ReferenceStore(
                    SlowCopies.without(Capability.BOUNDED), ReferenceStore.LIMITS, 1L << 30) {
                  private long again;

                  @Override
                  public synchronized BatchResult put(List<PutOp> ops, Deadline by) {
                    BatchResult result = super.put(ops, by);
                    again += result.count(ObjectStatus.PRESENT);
                    return result;
                  }

                  @Override
                  public synchronized StoreStats stats() {
                    StoreStats now = super.stats();
                    return new StoreStats(
                        now.objects() + again,
                        now.liveBytes(),
                        now.capacityBytes(),
                        now.stored(),
                        now.present(),
                        now.found(),
                        now.absent(),
                        now.failed(),
                        now.removed(),
                        now.evicted(),
                        now.bytesStored(),
                        now.bytesRead());
                  }
                }));
  }

  private static StoreStats with(StoreStats now, long more, boolean found) {
    return new StoreStats(
        now.objects(),
        now.liveBytes(),
        now.capacityBytes(),
        now.stored(),
        now.present(),
        found ? now.found() + more : 0,
        now.absent(),
        now.failed(),
        now.removed(),
        now.evicted(),
        now.bytesStored(),
        now.bytesRead());
  }

  // Close.

  private static List<Mutant> closing() {
    return List.of(
        mutant(
            "store.close",
            "close does not wait for reads",
            "left as it was",
            () ->
                new SlowCopies() {
                  @Override
                  public synchronized void close() {
                    copying = 0;
                    super.close();
                  }
                }),
        mutant("store.close", "close waits for open sessions", "it did not", WaitsForSessions::new),
        mutant(
            "store.close",
            "a second close throws",
            "already closed",
            () ->
                new ReferenceStore() {
                  private boolean over;

                  @Override
                  public synchronized void close() {
                    if (over) {
                      throw new CacheException(FailureCode.CLOSED, "already closed");
                    }
                    over = true;
                    super.close();
                  }
                }),
        mutant(
            "store.close",
            "exists is served after close",
            "exists of a closed store",
            () ->
                new ReferenceStore() {
                  @Override
                  public synchronized BatchResult exists(List<ObjectKey> keys, Deadline by) {
                    try {
                      return super.exists(keys, by);
                    } catch (CacheException e) {
                      if (e.code() != FailureCode.CLOSED) {
                        throw e;
                      }
                      return BatchResult.all(keys.size(), ObjectStatus.ABSENT);
                    }
                  }
                }),
        mutant(
            "store.close",
            "each open leaves a thread behind",
            "threads have become",
            LeavesThread::new),
        mutant(
            "store.close",
            "the first large object starts a thread that is left behind",
            "threads have become",
            () ->
                new ReferenceStore() {
                  private boolean started;

                  @Override
                  protected void put(PutOp op, BatchResult.Builder result, int i) {
                    if (op.byteSize() >= 128 << 10 && !started) {
                      started = true;
                      leaveThread();
                    }
                    super.put(op, result, i);
                  }
                }),
        mutant(
            "store.close",
            "to register memory after close fails in some way",
            "register of a closed store",
            () ->
                new ReferenceStore() {
                  private boolean over;

                  @Override
                  public synchronized void close() {
                    over = true;
                    super.close();
                  }

                  @Override
                  public Registration register(Memory memory) {
                    if (over) {
                      throw new CacheException(FailureCode.IO, "there is no transport");
                    }
                    return Registration.NONE;
                  }
                }),
        leaking(
            "each open leaves a descriptor behind",
            "open descriptors have become",
            kept -> {
              try {
                kept.add(FileChannel.open(Path.of(System.getProperty("java.home"), "release")));
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            }),
        leaking(
            "each open leaves native memory behind",
            "KiB of resident memory have become",
            kept -> kept.add(Arena.ofAuto().allocate(12 << 20).fill((byte) 1))));
  }

  private static Mutant leaking(
      String what, String says, java.util.function.Consumer<List<Object>> leak) {
    return Mutant.ofStore(
        Set.of("store.close"),
        what,
        says,
        () -> {
          List<Object> kept = new ArrayList<>();
          return StoreUnderTest.of(
              "mutant",
              () -> {
                leak.accept(kept);
                return new ReferenceStore();
              });
        });
  }

  private static final class LeavesThread extends ReferenceStore {
    LeavesThread() {
      leaveThread();
    }
  }

  private static void leaveThread() {
    CountDownLatch never = new CountDownLatch(1);
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                boolean ignored = never.await(20, TimeUnit.SECONDS);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  private static final class WaitsForSessions extends SlowCopies {
    private int open;

    @Override
    public synchronized ReadSession openSession(List<ObjectKey> keys, Deadline by) {
      open++;
      return super.openSession(keys, by);
    }

    @Override
    protected ReadSession session(
        List<ObjectKey> keys, List<byte @Nullable []> held, BatchResult opened) {
      return new Session(keys, held, opened) {
        private boolean over;

        @Override
        public void close() {
          synchronized (WaitsForSessions.this) {
            if (!over) {
              over = true;
              open--;
              WaitsForSessions.this.notifyAll();
            }
          }
          super.close();
        }
      };
    }

    @Override
    public synchronized void close() {
      Deadline over = Deadline.after(Duration.ofSeconds(8));
      while (open > 0 && !over.hasPassed()) {
        pause();
      }
      super.close();
    }
  }
}
