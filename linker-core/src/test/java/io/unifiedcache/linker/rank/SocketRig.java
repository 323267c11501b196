package io.unifiedcache.linker.rank;

import io.unifiedcache.api.Deadline;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Ranks that meet on this machine. */
final class SocketRig {
  static final UUID SESSION = new UUID(17, 42);
  static final Duration LONG = Duration.ofSeconds(20);

  private SocketRig() {}

  static InetSocketAddress freePort() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  static RankListener listen(int size) throws Exception {
    return SocketRanks.listen(freePort(), size, SESSION);
  }

  static SocketRanks connect(RankListener to, int rank, int size) throws Exception {
    return SocketRanks.connect(to.address(), rank, size, SESSION, Deadline.after(LONG));
  }

  /** Returns ranks that have met, by rank. */
  static List<SocketRanks> connected(int size) throws Exception {
    try (RankListener listener = listen(size);
        ExecutorService threads = Executors.newFixedThreadPool(size)) {
      List<Future<SocketRanks>> others = new ArrayList<>();
      for (int rank = 1; rank < size; rank++) {
        int other = rank;
        others.add(threads.submit(() -> connect(listener, other, size)));
      }
      List<SocketRanks> ranks = new ArrayList<>();
      ranks.add(listener.accept(Deadline.after(LONG)));
      for (Future<SocketRanks> other : others) {
        ranks.add(other.get());
      }
      return ranks;
    }
  }
}
