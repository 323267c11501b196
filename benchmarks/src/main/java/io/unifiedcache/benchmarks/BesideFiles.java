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
        if (library.equals("loop")) {
          sides.loop.addAll(process.sides());
        } else {
          sides.peers.addAll(process.sides());
        }
      }
      for (String size : sizes.isEmpty() ? SIZES.keySet() : sizes) {
        for (Map.Entry<String, Path> medium : media.entrySet()) {
          FileRounds result =
              FileRounds.run(
                  sides.all(), medium.getValue(), SIZES.getOrDefault(size, 0L), WARMUPS, rounds);
          print(sides, result, size + ", " + medium.getKey());
        }
      }
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

  private record Sides(
      FileSide checked, FileSide unchecked, List<FileSide> loop, List<FileSide> peers) {
    static Sides of(Arena arena) {
      MemorySegment source = arena.allocate(FileRounds.BYTES, 4096);
      MemorySegment target = arena.allocate(FileRounds.BYTES, 4096).fill((byte) 2);
      SplittableRandom random = new SplittableRandom(1);
      for (long at = 0; at < FileRounds.BYTES; at += Long.BYTES) {
        source.set(ValueLayout.JAVA_LONG, at, random.nextLong());
      }
      return new Sides(
          new FileStoreSide("file", Map.of("capacity", "1GiB"), source, target),
          new FileStoreSide(
              "file, checksum=off",
              Map.of("capacity", "1GiB", "checksum", "false"),
              source,
              target),
          new ArrayList<>(),
          new ArrayList<>());
    }

    List<FileSide> all() {
      List<FileSide> all = new ArrayList<>(List.of(checked, unchecked));
      all.addAll(loop);
      all.addAll(peers);
      return all;
    }
  }

  private static void print(Sides sides, FileRounds result, String of) {
    PrintStream out = System.out;
    Table table = new Table(out);
    boolean small = of.startsWith("64KiB");
    for (Step step : Step.values()) {
      String row = step.text + ", " + of;
      for (FileSide fastest :
          sides.peers.stream()
              .filter(side -> result.has(side, step))
              .sorted(Comparator.comparingDouble(side -> result.median(side, step)))
              .limit(1)
              .toList()) {
        boolean exists = step == Step.EXISTS;
        table.row(
            row + ": checksum=off / " + fastest.name(),
            result.ratio(sides.unchecked, fastest, step),
            exists ? Goal.atLeast(10) : Goal.above(1));
        table.row(
            row + ": checked / " + fastest.name(),
            result.ratio(sides.checked, fastest, step),
            exists ? Goal.atLeast(10) : small ? Goal.above(1) : Goal.NONE);
      }
      if (step == Step.EXISTS) {
        continue;
      }
      table.row(
          row + ": checked / checksum=off",
          result.ratio(sides.checked, sides.unchecked, step),
          Goal.atLeast(0.8));
      for (FileSide loop : sides.loop) {
        Goal goal = Goal.atLeast(step == Step.PUT ? 0.7 : 0.8);
        table.row(
            row + ": checksum=off / in place", result.ratio(sides.unchecked, loop, step), goal);
        table.row(row + ": checked / in place", result.ratio(sides.checked, loop, step), goal);
      }
    }
    out.println();
    out.print("GB/s, " + of + ":");
    for (FileSide side : sides.all()) {
      out.printf(
          Locale.ROOT,
          " %s %.2f %.2f;",
          side.name(),
          FileRounds.BYTES / result.median(side, Step.PUT),
          FileRounds.BYTES / result.median(side, Step.GET));
    }
    out.println();
    out.println();
  }
}
