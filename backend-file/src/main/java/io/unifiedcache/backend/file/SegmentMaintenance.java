package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.StoreMaintenance;
import io.unifiedcache.api.store.Verification;
import io.unifiedcache.api.store.Verification.Finding;
import io.unifiedcache.api.store.Verification.Remedy;
import io.unifiedcache.backend.file.ExtentCheck.Damage;
import io.unifiedcache.backend.file.ExtentCheck.Seen;
import io.unifiedcache.backend.file.Job.LateException;
import io.unifiedcache.backend.file.SharedLog.NoLogException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What an operator asks of a store in segments.
 *
 * <p>Thread-safe. It follows the index log as any other process does, and so works beside stores
 * that are open; only an exclusive one keeps it out, and is kept out by it.
 */
final class SegmentMaintenance implements StoreMaintenance {
  /** Objects are checked in rounds of at most so many, and about so many bytes. */
  private static final int ROUND_OBJECTS = 1_000;

  private static final long ROUND_BYTES = 64L << 20;

  private final Disk disk;
  private final Path folder;
  private final boolean exclusive;
  private final Tuning tuning;
  private final Optional<Long> capacity;
  private final int ioThreads;
  private final StoreContext context;

  /**
   * Creates the maintenance of a folder.
   *
   * @param tuning what of it concerns the disk
   * @param capacity the budget, if it was set
   */
  SegmentMaintenance(
      Disk disk,
      Path folder,
      boolean exclusive,
      Tuning tuning,
      Optional<Long> capacity,
      int ioThreads,
      StoreContext context) {
    this.disk = disk;
    this.folder = folder;
    this.exclusive = exclusive;
    this.tuning = tuning;
    this.capacity = capacity;
    this.ioThreads = ioThreads;
    this.context = context;
  }

  @Override
  public StoreInventory stat(Consumer<StoreInventory.Item> each, Deadline by) {
    try (Errand errand = new Errand(ioThreads, context, by)) {
      FileEngine engine = open(errand);
      Survey survey = errand.run(job -> Survey.of(engine, disk, tuning));
      for (StoredObject object : survey.objects()) {
        each.accept(
            new StoreInventory.Item(object.key, object.size, Optional.of(object.storedAt())));
      }
      return survey.inventory(capacity);
    }
  }

  @Override
  public Verification verify(boolean repair, Consumer<Finding> each, Deadline by) {
    try (Errand errand = new Errand(ioThreads, context, by)) {
      Seeing index = errand.run(job -> index(repair, job));
      index.finding().ifPresent(each);
      int findings = index.finding().isPresent() ? 1 : 0;
      if (!index.opens()) {
        return new Verification(0, 0, 0, findings);
      }
      Verifying verifying = new Verifying(errand, open(errand), repair, each);
      verifying.findings = findings;
      verifying.objects();
      return verifying.done();
    }
  }

  /**
   * What was seen of the index.
   *
   * @param opens whether the store can be opened
   */
  private record Seeing(Optional<Finding> finding, boolean opens) {}

  /** Looks whether the index tells of all that is in the files, and rebuilds it if it is to. */
  private Seeing index(boolean repair, Job job) throws IOException, LateException {
    boolean isLogWhole = false;
    UUID store = null;
    CacheException problem = null;
    try {
      FileEngine engine = Engines.look(disk, folder, exclusive, context.instance(), job);
      try {
        store = engine.log().store();
        isLogWhole = engine.log().unreadableBytes(job) == 0;
        if (isLogWhole && !Salvage.mayFind(disk, engine)) {
          return new Seeing(Optional.empty(), true);
        }
      } finally {
        Engines.close(engine);
      }
    } catch (CacheException e) {
      if (!isLostIndex(e.getCause())) {
        throw e;
      }
      problem = e;
    } catch (NoLogException e) {
      // The one that was found goes on in one that cannot be read.
      problem = Engines.unusable(folder, e);
    }
    Path root = folder.toRealPath();
    boolean opens = problem == null;
    boolean isDamaged = problem != null && !(problem.getCause() instanceof NoLogException);
    if (store == null && !isDamaged) {
      store = storeOf(root);
    }
    Salvage seen = Salvage.of(disk, root, store, isLogWhole, job);
    if (problem != null && !seen.isStore()) {
      throw problem;
    }
    if (!isDamaged && !seen.hasNewIndex() && !(repair && seen.hasSpareNames())) {
      return new Seeing(Optional.empty(), opens);
    }
    String cause = isDamaged ? "its file " + Superblock.NAME + " is missing or damaged" : "";
    if (!repair) {
      return new Seeing(
          Optional.of(lost(cause, seen, "can be brought back by a repair", Remedy.NONE)), opens);
    }
    try (FolderLock lock = Engines.lockToRepair(disk, root, context.instance())) {
      Salvage salvage =
          Salvage.of(
              disk, root, lock.isDamaged() ? null : lock.store(), /* isLogWhole= */ false, job);
      boolean isFound = lock.isDamaged() || salvage.hasNewIndex();
      salvage.write(lock);
      return new Seeing(
          isFound
              ? Optional.of(lost(cause, salvage, "were brought back", Remedy.MENDED))
              : Optional.empty(),
          true);
    } catch (CacheException e) {
      if (!opens || e.code() != FailureCode.BUSY) {
        throw e;
      }
      return new Seeing(
          Optional.of(
              lost(
                  cause,
                  seen,
                  "can be brought back once nobody else has the store open: " + e.getMessage(),
                  Remedy.NONE)),
          true);
    }
  }

  private static boolean isLostIndex(@Nullable Throwable cause) {
    return cause instanceof NoLogException
        || cause instanceof Superblock.DamagedException
        || cause instanceof Superblock.MissingException;
  }

  /** Returns which store it is, of one that nobody in this JVM has open. */
  private UUID storeOf(Path root) throws IOException {
    Object identity = disk.identity(root.resolve(Superblock.NAME));
    if (identity == null) {
      throw new Superblock.MissingException();
    }
    try (FolderLock lock =
        FolderLock.acquire(
            disk, root, identity, exclusive, context.instance(), FolderLock.Purpose.LOOK)) {
      return lock.store();
    }
  }

  private static Finding lost(String cause, Salvage salvage, String verb, Remedy remedy) {
    String causes =
        Stream.of(cause, salvage.causes())
            .filter(each -> !each.isEmpty())
            .collect(Collectors.joining("; "));
    return new Finding(
        Optional.empty(), FailureCode.CORRUPT, causes + ": " + salvage.outcome(verb), remedy);
  }

  private FileEngine open(Errand errand) {
    return errand.open(
        job -> {
          FileEngine engine = Engines.look(disk, folder, exclusive, context.instance(), job);
          try {
            engine.catchUp();
            return engine;
          } catch (IOException | RuntimeException | Error e) {
            Engines.close(engine);
            throw e;
          }
        },
        Engines::close);
  }

  /** One verification. */
  private final class Verifying {
    private final Errand errand;
    private final FileEngine engine;
    private final boolean repair;
    private final Consumer<Finding> each;
    private final ExtentCheck check;

    private long objects;
    private long bytes;
    private long unproven;
    private long findings;

    Verifying(Errand errand, FileEngine engine, boolean repair, Consumer<Finding> each) {
      this.errand = errand;
      this.engine = engine;
      this.repair = repair;
      this.each = each;
      this.check = new ExtentCheck(engine.files()::file);
    }

    Verification done() {
      return new Verification(objects, bytes, unproven, findings);
    }

    private void tell(Finding finding) {
      findings++;
      each.accept(finding);
    }

    /** Checks the objects, round by round. */
    void objects() {
      List<StoredObject> all = engine.objects();
      int begin = 0;
      while (begin < all.size()) {
        int end = begin;
        long roundBytes = 0;
        while (end < all.size()
            && end - begin < ROUND_OBJECTS
            && (end == begin || roundBytes + all.get(end).size <= ROUND_BYTES)) {
          roundBytes += all.get(end++).size;
        }
        List<StoredObject> some = all.subList(begin, end);
        errand.run(job -> round(some, job)).forEach(this::tell);
        begin = end;
      }
    }

    private List<Finding> round(List<StoredObject> some, Job job)
        throws IOException, LateException {
      StoredObject[] pinned = engine.pinLive(some);
      try {
        ConcurrentLinkedQueue<Seen> bad = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedQueue<StoredObject> bare = new ConcurrentLinkedQueue<>();
        errand
            .threads()
            .share(
                pinned.length,
                i -> {
                  Seen seen = job.isLate() ? null : check.check(pinned[i]);
                  if (seen == null) {
                    return;
                  } else if (seen.damage().isPresent()) {
                    bad.add(seen);
                  } else if (!seen.proven()) {
                    bare.add(seen.object());
                  }
                });
        job.requireInTime();
        objects += pinned.length;
        unproven += bare.size();
        for (StoredObject object : pinned) {
          bytes += object.size;
        }
        return bad.isEmpty() ? List.of() : judge(bad, job);
      } finally {
        engine.unpin(pinned);
      }
    }

    /** Leaves out what is gone by now, and does what there is to do about the rest. */
    private List<Finding> judge(Iterable<Seen> bad, Job job) throws IOException, LateException {
      List<Seen> kept = new ArrayList<>();
      engine.catchUp();
      for (Seen seen : bad) {
        if (engine.wasKept(seen.object())) {
          kept.add(seen);
        }
      }
      kept.sort(
          Comparator.<Seen>comparingInt(seen -> seen.object().segment)
              .thenComparingLong(seen -> seen.object().offset));
      List<Finding> told = new ArrayList<>();
      List<StoredObject> lost = new ArrayList<>();
      SetAside aside = repair ? new SetAside(disk, engine.root(), tuning.minFree()) : null;
      for (Seen seen : kept) {
        StoredObject object = seen.object();
        Damage damage = seen.damage().orElseThrow();
        String message = damage.message();
        Remedy remedy = Remedy.NONE;
        if (aside != null && damage.isLasting()) {
          SetAside.Kept copy = aside.keep(object, message, engine.files());
          engine.catchUp();
          if (!engine.wasKept(object)) {
            // Somebody else has given it up meanwhile, and perhaps its room to another.
            aside.forget(object);
            continue;
          }
          lost.add(object);
          remedy = copy.remedy();
          message += "; " + copy.message();
        }
        told.add(new Finding(Optional.of(object.key), damage.code(), message, remedy));
      }
      if (!lost.isEmpty()) {
        engine.drop(lost, job);
      }
      return told;
    }
  }
}
