package io.unifiedcache.benchmarks;

import io.unifiedcache.benchmarks.FileRounds.Step;
import io.unifiedcache.benchmarks.Table.Goal;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Prints how the file store compares with other stores of files, each of them in a process of its
 * own, and with a loop that rewrites one file in place: batches of 32, put, got and asked for.
 *
 * <p>All take turns round after round, and only one works at a time.
 */
public final class BesideFiles {
  private static final int WARMUPS = 1;
  private static final Map<String, Long> SIZES = new LinkedHashMap<>();

  static {
    SIZES.put("64KiB", 64L << 10);
    SIZES.put("1MiB", 1L << 20);
    SIZES.put("4MiB", 4L << 20);
  }

  private BesideFiles() {}

  /**
   * Measures.
   *
   * @param args {@code SCRIPT PEERS ROUNDS MEDIUM=FOLDER... [SIZE...]}: the script that drives the
   *     other stores; the folder of their environments {@code venv-sglang}, {@code venv-nixl} and
   *     {@code venv-lmcache}, of which those that are missing are left out; how many rounds count;
   *     where to measure, and how to call it; and the sizes of objects, or none for all
   */
  public static void main(String[] args) throws IOException {
    if (args.length < 4) {
      throw new IllegalArgumentException("SCRIPT PEERS ROUNDS MEDIUM=FOLDER... [SIZE...]");
    }
    Path environments = Path.of(args[1]);
    int rounds = Integer.parseInt(args[2]);
    Map<String, Path> media = new LinkedHashMap<>();
    List<String> sizes = new ArrayList<>();
    for (String arg : List.of(args).subList(3, args.length)) {
      int equals = arg.indexOf('=');
      if (equals > 0) {
        media.put(arg.substring(0, equals), Path.of(arg.substring(equals + 1)));
      } else {
        sizes.add(arg);
      }
    }
    List<FilePeers> processes = new ArrayList<>();
    try (Arena arena = Arena.ofShared()) {
      Sides sides = Sides.of(arena);
      for (String library : List.of("loop", "sglang", "nixl", "lmcache")) {
        Path python = python(environments, library);
        if (!Files.isRegularFile(python)) {
          System.out.println("Left out, since there is no " + python + ": " + library + "\n");
          continue;
        }
        FilePeers process = new FilePeers(List.of(python.toString(), args[0], library));
        processes.add(process);
        (library.equals("loop") ? sides.loop : sides.peers).addAll(process.sides());
      }
      Report report = new Report(sides);
      Table table = new Table(System.out);
      for (String size : sizes.isEmpty() ? SIZES.keySet() : sizes) {
        Long bytes = SIZES.get(size);
        if (bytes == null) {
          throw new IllegalArgumentException(size + " is none of " + SIZES.keySet());
        }
        media.forEach(
            (medium, folder) ->
                report.add(
                    size + ", " + medium,
                    FileRounds.run(sides.all(), folder, bytes, WARMUPS, rounds),
                    bytes,
                    table));
      }
      report.print(System.out);
      sides.printCopies(System.out);
    } finally {
      for (FilePeers process : processes) {
        process.close();
      }
    }
  }

  private static Path python(Path environments, String library) {
    // The loop needs nothing but NumPy, which all of them have.
    List<String> names =
        library.equals("loop") ? List.of("kv", "nixl", "lmcache", "sglang") : List.of(library);
    return names.stream()
        .map(name -> environments.resolve("venv-" + name).resolve("bin").resolve("python"))
        .filter(Files::isExecutable)
        .findFirst()
        .orElse(environments.resolve("venv-" + library));
  }

  /** All who take turns, and the memory that both file stores share. */
  private record Sides(
      MemorySegment source,
      MemorySegment target,
      FileSide checked,
      FileSide unchecked,
      List<FileSide> loop,
      List<FileSide> peers) {
    static Sides of(Arena arena) {
      MemorySegment source = arena.allocate(FileRounds.BYTES, 4096);
      MemorySegment target = arena.allocate(FileRounds.BYTES, 4096).fill((byte) 2);
      SplittableRandom random = new SplittableRandom(1);
      for (long at = 0; at < FileRounds.BYTES; at += Long.BYTES) {
        source.set(ValueLayout.JAVA_LONG, at, random.nextLong());
      }
      Map<String, String> room = Map.of("capacity", "1GiB");
      Map<String, String> unchecked = Map.of("capacity", "1GiB", "checksum", "off");
      return new Sides(
          source,
          target,
          new FileStoreSide("checked", room, source, target),
          new FileStoreSide("checksum=off", unchecked, source, target),
          new ArrayList<>(),
          new ArrayList<>());
    }

    List<FileSide> all() {
      List<FileSide> all = new ArrayList<>(List.of(checked, unchecked));
      all.addAll(loop);
      all.addAll(peers);
      return all;
    }

    /** Prints how fast memory is copied, which no store can surpass by far. */
    void printCopies(PrintStream out) {
      int pieces = Math.toIntExact(FileRounds.BYTES >> 20);
      try (TwoThreads threads = new TwoThreads()) {
        Side one = Side.of(() -> MemorySegment.copy(source, 0, target, 0, FileRounds.BYTES));
        Side two = Side.of(() -> threads.copy(pieces, i -> copy((long) i << 20)));
        out.printf(
            Locale.ROOT,
            "Copies of 512 MiB of memory: %.1f GB/s with one thread, %.1f with two.%n",
            gigabytes(one),
            gigabytes(two));
      }
    }

    private void copy(long at) {
      MemorySegment.copy(source, at, target, at, 1 << 20);
    }

    private static double gigabytes(Side side) {
      double[] nanos = new double[9];
      Arrays.setAll(nanos, i -> side.nanos());
      Arrays.sort(nanos);
      return FileRounds.BYTES / nanos[nanos.length / 2];
    }
  }

  /** What all rounds came to, side by side. */
  private static final class Report {
    private final Sides sides;
    private final StringBuilder rows = new StringBuilder();

    Report(Sides sides) {
      this.sides = sides;
    }

    void add(String of, FileRounds result, long objectBytes, Table table) {
      for (Step step : Step.values()) {
        String row = step.text + ", " + of;
        for (FileSide fastest : fastest(result, step)) {
          beside(row, fastest, result, step, objectBytes, table);
        }
        if (step != Step.EXISTS) {
          table.row(
              row + ": checked / checksum=off",
              result.ratio(sides.checked, sides.unchecked, step),
              Goal.atLeast(0.8));
          for (FileSide loop : sides.loop) {
            Goal goal = Goal.atLeast(step == Step.PUT ? 0.7 : 0.8);
            table.row(row + ": checked / in place", result.ratio(sides.checked, loop, step), goal);
          }
        }
        addRow(row, result, step);
      }
    }

    private List<FileSide> fastest(FileRounds result, Step step) {
      return sides.peers.stream()
          .min(Comparator.comparingDouble(side -> result.median(side, step)))
          .stream()
          .toList();
    }

    private void beside(
        String row, FileSide peer, FileRounds result, Step step, long objectBytes, Table table) {
      boolean exists = step == Step.EXISTS;
      Goal unchecked = exists ? Goal.atLeast(10) : Goal.above(1);
      Goal checked = exists || objectBytes <= 64 << 10 ? unchecked : Goal.NONE;
      table.row(
          row + ": checksum=off / " + peer.name(),
          result.ratio(sides.unchecked, peer, step),
          unchecked);
      table.row(
          row + ": checked / " + peer.name(), result.ratio(sides.checked, peer, step), checked);
    }

    private void addRow(String row, FileRounds result, Step step) {
      double unit = step == Step.EXISTS ? FileRounds.EXISTS_KEYS * 1e3 : (double) FileRounds.BYTES;
      rows.append("| ").append(row).append(" |");
      for (FileSide side : sides.all()) {
        rows.append(
            result.has(side, step) ? " %.2f |".formatted(unit / result.median(side, step)) : " |");
      }
      rows.append('\n');
    }

    /** Prints GB/s, and for {@code exists} millions of keys per second. */
    void print(PrintStream out) {
      List<String> names = sides.all().stream().map(FileSide::name).toList();
      out.println();
      out.println("| | " + String.join(" | ", names) + " |");
      out.println("|---" + "|---".repeat(names.size()) + "|");
      out.println(rows);
    }
  }
}
