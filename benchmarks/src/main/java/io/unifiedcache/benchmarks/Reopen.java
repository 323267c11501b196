package io.unifiedcache.benchmarks;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.benchmarks.Table.Goal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Prints how long a file store with many objects takes to open, beside the walk over a folder with
 * as many files that a store with a file per object would begin with, and the heap it then takes.
 */
public final class Reopen {
  private static final Rounds ROUNDS = new Rounds(/* warmups= */ 1, /* rounds= */ 5);
  private static final int BATCH = 1_000;
  private static final long BYTES = 256;

  private final Path store;
  private final Path files;
  private final int count;

  private Reopen(Path folder, int count) {
    this.store = folder.resolve("store");
    this.files = folder.resolve("files");
    this.count = count;
  }

  /**
   * Measures.
   *
   * @param args an empty folder, and how many objects
   */
  public static void main(String[] args) throws IOException {
    if (args.length != 2) {
      throw new IllegalArgumentException("FOLDER OBJECTS");
    }
    Reopen reopen = new Reopen(Path.of(args[0]), Integer.parseInt(args[1]));
    reopen.fill();
    reopen.measure(new Table(System.out));
    reopen.delete();
  }

  private void fill() throws IOException {
    Files.createDirectories(files);
    try (Arena arena = Arena.ofShared();
        CacheStore opened = open()) {
      HostMemory bytes = HostMemory.of(arena.allocate(BYTES).fill((byte) 1));
      for (int from = 0; from < count; from += BATCH) {
        List<PutOp> ops = new ArrayList<>();
        for (int i = from; i < Math.min(from + BATCH, count); i++) {
          ops.add(new PutOp(new ObjectKey(name(i)), List.of(bytes)));
          Files.createFile(files.resolve(name(i)));
        }
        if (opened.put(ops, Deadline.never()).count(ObjectStatus.OK) != ops.size()) {
          throw new IllegalStateException("not all are stored");
        }
      }
    }
  }

  private static String name(int i) {
    // As the hash of a page: nothing in common with its neighbour.
    long mixed = i * 0x9e3779b97f4a7c15L;
    return "%016x%016x%016x%016x".formatted(mixed, ~mixed, mixed >>> 7, i);
  }

  private CacheStore open() {
    return FileStoreSide.open(store, Map.of("capacity", "64GiB"));
  }

  private void measure(Table table) {
    String of = " of " + count;
    table.row(
        "open the store / walk" + of, ROUNDS.ratio(this::opening, Side.of(this::walk)), Goal.NONE);
    table.row(
        "open the store / list names" + of,
        ROUNDS.ratio(this::opening, Side.of(this::list)),
        Goal.NONE);
    table.row("bytes of heap for each" + of, new Rounds(1, 3).each(this::heap), Goal.NONE);
  }

  private long opening() {
    long begin = System.nanoTime();
    CacheStore opened = open();
    long nanos = System.nanoTime() - begin;
    check(opened.stats().objects());
    opened.close();
    return nanos;
  }

  /** Learns of each file how large it is, which a store has to know. */
  private void walk() {
    long[] found = new long[1];
    try {
      Path unused =
          Files.walkFileTree(
              files,
              new SimpleFileVisitor<Path>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                  found[0] += attributes.size() + 1;
                  return FileVisitResult.CONTINUE;
                }
              });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    check(found[0]);
  }

  private void list() {
    long found = 0;
    try (DirectoryStream<Path> names = Files.newDirectoryStream(files)) {
      for (Path unused : names) {
        found++;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    check(found);
  }

  private void check(long found) {
    if (found != count) {
      throw new IllegalStateException(found + " of " + count + " were found");
    }
  }

  private double heap() {
    long before = used();
    CacheStore opened = open();
    long bytes = used() - before;
    check(opened.stats().objects());
    opened.close();
    return (double) bytes / count;
  }

  private static long used() {
    Runtime runtime = Runtime.getRuntime();
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return runtime.totalMemory() - runtime.freeMemory();
  }

  private void delete() throws IOException {
    for (Path folder : List.of(store, files)) {
      try (DirectoryStream<Path> all = Files.newDirectoryStream(folder)) {
        for (Path each : all) {
          Files.delete(each);
        }
      }
      Files.delete(folder);
    }
  }
}
