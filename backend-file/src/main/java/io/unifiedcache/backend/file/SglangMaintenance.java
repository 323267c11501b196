package io.unifiedcache.backend.file;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.StoreMaintenance;
import io.unifiedcache.api.store.StoreStats;
import io.unifiedcache.api.store.Verification;
import io.unifiedcache.api.store.Verification.Finding;
import io.unifiedcache.api.store.Verification.Remedy;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * What an operator asks of a folder of SGLang's file store.
 *
 * <p>Thread-safe. Nothing is locked. Since files have no checksums, to verify them is to read them;
 * there is nothing to repair.
 */
final class SglangMaintenance implements StoreMaintenance {
  private static final int ROUND = 1_000;
  private static final int BUFFER_BYTES = 1 << 20;

  private final Disk disk;
  private final Path folder;
  private final int ioThreads;
  private final StoreContext context;

  SglangMaintenance(Disk disk, Path folder, int ioThreads, StoreContext context) {
    this.disk = disk;
    this.folder = folder;
    this.ioThreads = ioThreads;
    this.context = context;
  }

  /** A file in the folder. */
  private record Entry(ObjectKey key, Path path, long bytes, Instant stored) {}

  /** What is in the folder. */
  private record Contents(List<Entry> objects, List<Path> odd, long others) {}

  @Override
  public StoreInventory stat(Consumer<StoreInventory.Item> each, Deadline by) {
    try (Errand errand = new Errand(ioThreads, context, by)) {
      Contents contents = errand.run(job -> look());
      long bytes = 0;
      for (Entry entry : contents.objects()) {
        bytes += entry.bytes();
        each.accept(
            new StoreInventory.Item(entry.key(), entry.bytes(), Optional.of(entry.stored())));
      }
      SequencedMap<String, String> details = new LinkedHashMap<>();
      details.put("store", "sglang, a file for each object");
      details.put("other files", "%,d".formatted(contents.others() + contents.odd().size()));
      details.put("disk", errand.run(job -> "%,d bytes free".formatted(disk.usableBytes(folder))));
      return new StoreInventory(
          contents.objects().size(), bytes, StoreStats.UNKNOWN, /* listed= */ true, details);
    }
  }

  @Override
  public Verification verify(boolean repair, Consumer<Finding> each, Deadline by) {
    try (Errand errand = new Errand(ioThreads, context, by)) {
      Contents contents = errand.run(job -> look());
      long findings = contents.odd().size();
      for (Path path : contents.odd()) {
        each.accept(
            new Finding(
                Optional.empty(),
                FailureCode.IO,
                path.getFileName() + " has the name of an object and is no file",
                Remedy.NONE));
      }
      AtomicLong bytes = new AtomicLong();
      List<Entry> all = contents.objects();
      for (int begin = 0; begin < all.size(); begin += ROUND) {
        List<Entry> some = all.subList(begin, Math.min(all.size(), begin + ROUND));
        List<Finding> found =
            errand.run(
                job -> {
                  ConcurrentLinkedQueue<Finding> bad = new ConcurrentLinkedQueue<>();
                  errand
                      .threads()
                      .share(
                          some.size(),
                          i -> {
                            if (!job.isLate()) {
                              bytes.addAndGet(read(some.get(i), bad));
                            }
                          });
                  job.requireInTime();
                  return List.copyOf(bad);
                });
        findings += found.size();
        found.forEach(each);
      }
      return new Verification(all.size(), bytes.get(), all.size(), findings);
    }
  }

  private Contents look() throws IOException {
    try {
      Path root = folder.toRealPath();
      if (disk.size(root.resolve(Superblock.NAME)) >= 0) {
        throw new IOException("it is a store of format segments, not sglang");
      }
      Contents contents = new Contents(new ArrayList<>(), new ArrayList<>(), 0);
      long others = 0;
      for (String name : disk.names(root)) {
        ObjectKey key = SglangNames.key(name);
        if (key == null) {
          others += name.equals(SglangFolder.BEGUN) ? 0 : 1;
        } else {
          look(key, root.resolve(name), contents);
        }
      }
      return new Contents(contents.objects(), contents.odd(), others);
    } catch (NoSuchFileException e) {
      throw Engines.unusable(folder, new IOException("it is not there", e));
    } catch (IOException e) {
      throw Engines.unusable(folder, e);
    }
  }

  private static void look(ObjectKey key, Path path, Contents contents) throws IOException {
    try {
      BasicFileAttributes attributes =
          Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      if (attributes.isRegularFile()) {
        contents
            .objects()
            .add(
                new Entry(key, path, attributes.size(), attributes.lastModifiedTime().toInstant()));
      } else {
        contents.odd().add(path);
      }
    } catch (NoSuchFileException e) {
      // It is gone since the folder was read.
    }
  }

  private long read(Entry entry, ConcurrentLinkedQueue<Finding> bad) {
    long done = 0;
    try (DiskFile file = disk.open(entry.path(), Disk.Access.READ)) {
      ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
      int read;
      while ((read = file.read(buffer.clear(), done)) > 0) {
        done += read;
      }
    } catch (NoSuchFileException e) {
      // Somebody has deleted it meanwhile.
    } catch (IOException e) {
      bad.add(
          new Finding(
              Optional.of(entry.key()), FailureCode.IO, "it cannot be read: " + e, Remedy.NONE));
    }
    return done;
  }
}
