package io.unifiedcache.cli.replay;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The processes of a replay that has one per rank.
 *
 * <p>If one of them ends before its time, all are ended. Used by one thread.
 */
public final class RankProcesses implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RankProcesses.class);

  private static final int NONE = -1;
  private static final int MAX_ERROR_LINES = 1000;

  private final List<Process> processes = new ArrayList<>();

  /** What each process has written to its standard error when it has ended. */
  private final List<CompletableFuture<List<String>>> errors = new ArrayList<>();

  private final List<CompletableFuture<Void>> ends = new ArrayList<>();

  /** The rank that ended first of those that ended with another status than 0. */
  private final AtomicInteger failed = new AtomicInteger(NONE);

  private RankProcesses() {}

  /**
   * Starts a process for each rank.
   *
   * @param command starts one that becomes a {@link RankProcess}
   * @throws IOException if a process cannot be started
   */
  public static RankProcesses start(List<String> command, int ranks) throws IOException {
    RankProcesses all = new RankProcesses();
    try {
      UUID session = UUID.randomUUID();
      for (int rank = 0; rank < ranks; rank++) {
        all.start(command, rank + " " + ranks + " " + session);
      }
      for (int rank = 0; rank < ranks; rank++) {
        int ofRank = rank;
        all.ends.add(
            all.processes.get(rank).onExit().thenAccept(process -> all.ended(ofRank, process)));
      }
      return all;
    } catch (IOException | RuntimeException e) {
      all.close();
      throw e;
    }
  }

  private void start(List<String> command, String role) throws IOException {
    Process process = new ProcessBuilder(command).start();
    processes.add(process);
    CompletableFuture<List<String>> said = new CompletableFuture<>();
    errors.add(said);
    Thread.ofPlatform().daemon().name("rank-errors").start(() -> said.complete(linesOf(process)));
    tell(process, role);
  }

  /** Returns what a process writes to its standard error until it ends, up to a number of lines. */
  private static List<String> linesOf(Process process) {
    List<String> lines = new ArrayList<>();
    try (BufferedReader reader = process.errorReader(StandardCharsets.UTF_8)) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        if (lines.size() < MAX_ERROR_LINES) {
          lines.add(line);
        }
      }
    } catch (IOException | RuntimeException e) {
      LOG.debug("what {} said is not known", process, e);
    }
    return lines;
  }

  /** Ends all if one has ended badly; by their handles, which leaves what they said readable. */
  private void ended(int rank, Process process) {
    if (process.exitValue() != 0 && failed.compareAndSet(NONE, rank)) {
      processes.forEach(each -> each.toHandle().destroyForcibly());
    }
  }

  private static void tell(Process process, String line) {
    try {
      OutputStream input = process.getOutputStream();
      input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
      input.flush();
    } catch (IOException e) {
      // A process that has ended is noticed by its status.
      LOG.debug("{} does not listen", process, e);
    }
  }

  /**
   * Waits until all have served.
   *
   * @return what they found, by rank
   * @throws RankProcessException if one ended before
   */
  public List<ReplayShare> await(Replay.Progress progress)
      throws RankProcessException, IOException {
    List<Optional<ReplayShare>> shares = new ArrayList<>();
    for (Process process : processes) {
      shares.add(hear(process, progress));
    }
    ends.forEach(CompletableFuture::join);
    if (failed.get() != NONE) {
      int status = processes.get(failed.get()).exitValue();
      throw RankProcessException.of(
          failed.get(), processes.size(), status, errors.get(failed.get()).join());
    }
    return shares.stream()
        .map(share -> share.orElseThrow(() -> new IllegalStateException("a rank found nothing")))
        .toList();
  }

  /** Listens to a process until it has ended. */
  private Optional<ReplayShare> hear(Process process, Replay.Progress progress) throws IOException {
    Optional<ReplayShare> share = Optional.empty();
    BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(RankProcess.PORT)) {
        String port = line.substring(RankProcess.PORT.length());
        processes.stream().filter(each -> each != process).forEach(each -> tell(each, port));
      } else if (line.startsWith(RankProcess.SERVED)) {
        progress.served(Integer.parseInt(line.substring(RankProcess.SERVED.length())));
      } else if (line.startsWith(RankProcess.SHARE)) {
        share = Optional.of(ReplayShare.ofJson(line.substring(RankProcess.SHARE.length())));
      } else {
        // A JVM writes warnings there.
        LOG.warn("a rank said: {}", line);
      }
    }
    return share;
  }

  /** Returns what the processes said beside what they found, such as warnings. */
  public List<String> warnings() {
    List<String> warnings = new ArrayList<>();
    for (int rank = 0; rank < errors.size(); rank++) {
      for (String line : errors.get(rank).join()) {
        warnings.add("rank " + rank + ": " + line);
      }
    }
    return warnings;
  }

  /** Ends what still runs. */
  @Override
  public void close() {
    processes.forEach(process -> process.toHandle().destroyForcibly());
    processes.forEach(process -> process.onExit().join());
  }
}
