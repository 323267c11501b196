package io.unifiedcache.linker.direct;

import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.config.LinkerOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/** A process that opens and closes linkers, and stops in between to be looked at. */
final class Openings {
  private static final Duration LONG = Duration.ofSeconds(20);

  private Openings() {}

  /** For each line of the input, lives as many lives as it says, and answers with a line. */
  public static void main(String[] args) throws IOException {
    PrintStream output = System.out;
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      int lives = Integer.parseInt(line);
      long begin = System.nanoTime();
      int lived = 0;
      while (lived < lives
          && (lived < 20 || System.nanoTime() - begin < Duration.ofSeconds(10).toNanos())) {
        live(/* early= */ lived % 2 == 0);
        lived++;
      }
      output.println(lived);
    }
  }

  private static void live(boolean early) {
    try (GuardedPools pools = new GuardedPools(/* layers= */ 4, /* slots= */ 64, /* swa= */ true);
        CacheLinker linker =
            DirectLinker.open(
                new ScriptedStore(),
                /* ownsStore= */ true,
                pools.layout,
                pools.pools,
                RankMember.alone(pools.pools),
                LinkerOptions.defaults(),
                MonotonicClock.SYSTEM,
                "openings")) {
      List<PageKey> pages = IntStream.range(0, 16).mapToObj(i -> new PageKey("p" + i)).toList();
      linker.offload(
          new TransferRequest(
              "a", List.of(new PoolTransfer(PoolName.KV, pages, Slots.range(0, pages.size())))));
      if (!linker.pollOffloads(LONG).getFirst().ok()) {
        throw new AssertionError("not stored");
      }
      linker.load(
          new TransferRequest(
              "a", List.of(new PoolTransfer(PoolName.KV, pages, Slots.range(20, pages.size())))));
      var unused = linker.startLayerWiseLoading();
      if (!early && !linker.pollLoads(LONG).getFirst().ok()) {
        throw new AssertionError("not loaded");
      }
    }
  }
}
