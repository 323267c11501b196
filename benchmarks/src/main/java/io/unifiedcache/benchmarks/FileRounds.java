package io.unifiedcache.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The rounds in which stores of files take turns, and what they took.
 *
 * <p>Each round every side puts, gets and is asked, one side after the other; who begins changes
 * from round to round.
 */
final class FileRounds {
  static final long BYTES = 512L << 20;
  static final int BATCH = 32;
  static final int EXISTS_KEYS = 10_000;

  /** What a side is asked to do. */
  enum Step {
    PUT("put"),
    GET("get"),
    EXISTS("exists");

    final String text;

    Step(String text) {
      this.text = text;
    }

    private long nanos(FileSide side) {
      return switch (this) {
        case PUT -> side.put();
        case GET -> side.get();
        case EXISTS -> side.exists();
      };
    }
  }

  private final Map<FileSide, Map<Step, List<Long>>> nanos = new LinkedHashMap<>();

  private FileRounds() {}

  /** Has all sides take turns with objects of the given bytes, in a folder. */
  static FileRounds run(
      List<FileSide> sides, Path folder, long objectBytes, int warmups, int rounds) {
    FileRounds result = new FileRounds();
    for (FileSide side : sides) {
      side.prepare(folderOf(folder, side), objectBytes);
      result.nanos.put(side, new LinkedHashMap<>());
    }
    for (int round = -warmups; round < rounds; round++) {
      List<FileSide> order = new ArrayList<>(sides);
      Collections.rotate(order, round);
      for (FileSide side : order) {
        result.round(side, round >= 0);
      }
    }
    sides.forEach(FileSide::finish);
    return result;
  }

  private static Path folderOf(Path folder, FileSide side) {
    Path own = folder.resolve(side.name().replace(' ', '-'));
    try {
      return Files.createDirectories(own);
    } catch (IOException e) {
      throw new UncheckedIOException("no folder for " + side.name(), e);
    }
  }

  private void round(FileSide side, boolean counts) {
    for (Step step : Step.values()) {
      if (step != Step.EXISTS || side.knowsKeys()) {
        long took = step.nanos(side);
        if (counts) {
          nanos(side).computeIfAbsent(step, unused -> new ArrayList<>()).add(took);
        }
      }
    }
    side.rest();
  }

  private Map<Step, List<Long>> nanos(FileSide side) {
    return nanos.getOrDefault(side, Map.of());
  }

  /** Tells whether a side does a step at all. */
  boolean has(FileSide side, Step step) {
    return nanos(side).containsKey(step);
  }

  /** Returns what a side took in the middle of its rounds. */
  double median(FileSide side, Step step) {
    double[] sorted = values(side, step);
    Arrays.sort(sorted);
    return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
  }

  /** Returns the speed of one side by that of another, round by round. */
  Rounds.Spread ratio(FileSide of, FileSide by, Step step) {
    double[] first = values(of, step);
    double[] second = values(by, step);
    double[] ratios = new double[first.length];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = second[i] / first[i];
    }
    return Rounds.Spread.of(ratios, least(second) / least(first));
  }

  private double[] values(FileSide side, Step step) {
    return nanos(side).getOrDefault(step, List.of()).stream().mapToDouble(n -> n).toArray();
  }

  private static double least(double[] values) {
    return Arrays.stream(values).min().orElseThrow();
  }

  /** Has the machine write what its files' caches have changed. */
  static void sync() {
    try {
      if (new ProcessBuilder("sync").inheritIO().start().waitFor() != 0) {
        throw new IllegalStateException("sync failed");
      }
    } catch (IOException e) {
      throw new UncheckedIOException("there is no sync", e);
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }
}
