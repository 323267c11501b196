package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.PageFailure;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import io.unifiedcache.linker.rank.RankListener;
import io.unifiedcache.linker.rank.SocketRanks;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A rank in a process of its own: it does what it reads, a line at a time, and answers each with a
 * line. It ends with its standard input.
 */
final class RankProcess {
  private final Rig rig;

  private RankProcess(Rig rig) {
    this.rig = rig;
  }

  /** Takes the rank, the number of ranks, their session and a timeout for all. */
  public static void main(String[] arguments) throws Exception {
    int rank = Integer.parseInt(arguments[0]);
    int size = Integer.parseInt(arguments[1]);
    UUID session = UUID.fromString(arguments[2]);
    Duration timeout = Duration.parse(arguments[3]);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (SocketRanks ranks = meet(rank, size, session, lines);
        Rig rig =
            Rig.plan()
                .withRanks(ranks)
                .withRankTimeout(timeout)
                .withStoreTimeouts(timeout)
                .build()) {
      RankProcess process = new RankProcess(rig);
      answer("ready");
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        answer(process.obey(line.split(" ", -1)));
      }
    }
  }

  private static SocketRanks meet(int rank, int size, UUID session, BufferedReader lines)
      throws Exception {
    InetAddress here = InetAddress.getLoopbackAddress();
    Deadline soon = Deadline.after(Rig.LONG);
    if (rank > 0) {
      InetSocketAddress first = new InetSocketAddress(here, Integer.parseInt(lines.readLine()));
      return SocketRanks.connect(first, rank, size, session, soon);
    }
    try (RankListener listener =
        SocketRanks.listen(new InetSocketAddress(here, 0), size, session)) {
      answer(String.valueOf(listener.address().getPort()));
      return listener.accept(soon);
    }
  }

  private static void answer(String line) {
    System.out.println(line);
  }

  private String obey(String[] words) throws IOException {
    return switch (words[0]) {
      case "fail" -> {
        ObjectKey object = rig.object(new PageKey(words[2]), PoolName.KV, 0);
        rig.store.script = Scripts.failing(Step.valueOf(words[1]), object);
        yield "ok";
      }
      case "hang" -> {
        rig.store.script = new HangingScript();
        yield "ok";
      }
      case "store" -> store(Rig.pages(words[1], Integer.parseInt(words[2])));
      case "load" -> load(words[1], Rig.pages(words[1], Integer.parseInt(words[2])));
      case "lookup" -> {
        List<PageKey> pages = Rig.pages(words[1], Integer.parseInt(words[2]));
        yield rig.linker.lookup(pages, rig.queries()).restorable().toString();
      }
      default -> throw new IOException("unknown: " + String.join(" ", words));
    };
  }

  private String store(List<PageKey> pages) {
    for (int i = 0; i < pages.size(); i++) {
      rig.fill(pages.get(i), i);
    }
    rig.linker.offload(rig.request("offload", pages, 0));
    Completion completion = rig.pollOffload();
    rig.poison();
    return describe(completion);
  }

  private String load(String id, List<PageKey> pages) {
    rig.linker.load(rig.request(id, pages, 0));
    var unused = rig.linker.startLayerWiseLoading();
    Completion completion = rig.pollLoad();
    boolean whole = IntStream.range(0, pages.size()).allMatch(i -> rig.holds(pages.get(i), i));
    return describe(completion) + (completion.ok() && whole ? ", in place" : "");
  }

  private static String describe(Completion completion) {
    return completion.id()
        + (completion.ok() ? " ok" : " failed ")
        + completion.failures().stream()
            .map(RankProcess::describe)
            .collect(Collectors.joining(", "));
  }

  private static String describe(PageFailure failure) {
    StoreFailure cause = failure.cause();
    return failure.page() + " " + cause.code() + " (" + cause.message() + ")";
  }

  /** Says so when the first read comes, and never lets it go on. */
  private static final class HangingScript implements Script {
    @Override
    public void before(Step step, int call) {
      if (step == Step.READ) {
        answer("hanging");
        try {
          new CountDownLatch(1).await();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }
}
