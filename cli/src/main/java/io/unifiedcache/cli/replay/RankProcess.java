package io.unifiedcache.cli.replay;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.linker.RankLostException;
import io.unifiedcache.linker.rank.RankListener;
import io.unifiedcache.linker.rank.SocketRanks;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This process as one rank of a replay, led by the process that {@linkplain RankProcesses started
 * it}.
 *
 * <p>On standard input comes one line, the rank, the number of ranks and their session, and for all
 * but rank 0 a second one, the port of rank 0. On standard output rank 0 says {@code port N} once
 * and {@code served N} after each request, and every rank says {@code share} and what it found at
 * the end. When standard input ends, so does the process.
 *
 * <p>Used by one thread.
 */
public final class RankProcess implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RankProcess.class);

  static final String PORT = "port ";
  static final String SERVED = "served ";
  static final String SHARE = "share ";

  /** Time for the slowest process to start and to allocate its pools. */
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private static final int ORPHANED = 130;

  private final PrintWriter out;
  private final int rank;
  private final int size;
  private final UUID session;

  /** Where rank 0 listens. */
  private final CompletableFuture<Integer> port = new CompletableFuture<>();

  private @Nullable SocketRanks ranks;

  private RankProcess(PrintWriter out, int rank, int size, UUID session) {
    this.out = out;
    this.rank = rank;
    this.size = size;
    this.session = session;
  }

  /**
   * Finds out which rank this is. From then on the process ends with its standard input.
   *
   * @throws IOException if that is not said
   */
  public static RankProcess of(InputStream in, PrintWriter out) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    String line = lines.readLine();
    String[] words = line == null ? new String[0] : line.split(" ", -1);
    try {
      int rank = Integer.parseInt(words[0]);
      int size = Integer.parseInt(words[1]);
      RankProcess process = new RankProcess(out, rank, size, UUID.fromString(words[2]));
      Thread.ofPlatform()
          .daemon()
          .name("replay-standard-input")
          .start(() -> process.listenTo(lines));
      return process;
    } catch (IllegalArgumentException | ArrayIndexOutOfBoundsException e) {
      throw new IOException("standard input does not say which rank this is: " + line, e);
    }
  }

  /** Ends the process at once when nobody waits for it any more. */
  private void listenTo(BufferedReader lines) {
    try {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        port.complete(Integer.parseInt(line));
      }
    } catch (IOException | NumberFormatException e) {
      LOG.error("rank {} does not understand its standard input", rank, e);
    }
    Runtime.getRuntime().halt(ORPHANED);
  }

  /** Returns the number of this rank. */
  public int rank() {
    return rank;
  }

  /**
   * Waits for the other ranks.
   *
   * @throws CacheException if they do not come
   */
  public SocketRanks meet() {
    try {
      SocketRanks met = rank == 0 ? listen() : connect();
      ranks = met;
      return met;
    } catch (RankLostException e) {
      throw new CacheException(FailureCode.UNREACHABLE, String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      throw new CacheException(
          FailureCode.UNREACHABLE, "rank " + rank + " cannot meet the others: " + e, e);
    }
  }

  private SocketRanks listen() throws IOException, RankLostException {
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (RankListener listener = SocketRanks.listen(anyPort, size, session)) {
      say(PORT + listener.address().getPort());
      return listener.accept(Deadline.after(PATIENCE));
    }
  }

  private SocketRanks connect() throws RankLostException {
    InetSocketAddress first = new InetSocketAddress(InetAddress.getLoopbackAddress(), port.join());
    return SocketRanks.connect(first, rank, size, session, Deadline.after(PATIENCE));
  }

  /** Tells how far the replay is. */
  public void served(int requests) {
    if (rank == 0) {
      say(SERVED + requests);
    }
  }

  /** Tells what this rank found. */
  public void found(ReplayShare share) {
    say(SHARE + share.toJson());
  }

  private void say(String line) {
    out.println(line);
    out.flush();
  }

  /** Leaves the other ranks. */
  @Override
  public void close() {
    if (ranks != null) {
      ranks.close();
    }
  }
}
