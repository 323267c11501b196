package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ReuseTest {
  private static TraceRequest request(long... blocks) {
    // One token more, so that all full blocks can be used.
    return new TraceRequest(
        0, blocks.length * Trace.BLOCK_TOKENS + 1, 1, LongStream.of(blocks).boxed().toList());
  }

  @Test
  void hitPages_growWithTheCache() {
    Reuse reuse = Reuse.of(List.of(request(1, 2), request(3), request(1, 2, 4), request(3)));

    // The second prompt left 3, 1, 2 in the order of their last use, the third 1, 2, 4, 3.
    assertThat(IntStream.range(0, 6).mapToLong(reuse::hitPages).toArray())
        .containsExactly(0, 0, 1, 2, 3, 3);
    assertThat(reuse.bestHitPages()).isEqualTo(3);
    assertThat(reuse.distinctPages()).isEqualTo(4);
    assertThat(reuse.pagesFor(0.3)).isEqualTo(2);
    assertThat(reuse.pagesFor(0.5)).isEqualTo(3);
    assertThat(reuse.pagesFor(1)).isEqualTo(4);
  }

  @Test
  void tailShare_isThatOfTheLastPages() {
    Reuse reuse = Reuse.of(List.of(request(1, 2, 3, 4), request(1, 2, 3, 5), request(6)));

    assertThat(reuse.tailShare(2)).isEqualTo((2 + 1 + 1) / 6.0);
  }

  @Test
  void traceWithoutHits_needsNoCache() {
    Reuse reuse = Reuse.of(List.of(request(1, 2), request(3)));

    assertThat(reuse.bestHitPages()).isZero();
    assertThat(reuse.hitPages(100)).isZero();
    assertThat(reuse.pagesFor(1)).isZero();
  }

  @Test
  void hitPages_areThoseOfACacheOfThatSize() {
    long seed = new Random().nextLong();
    List<TraceRequest> requests = random(new Random(seed));
    Reuse reuse = Reuse.of(requests);

    for (int pages = 0; pages <= 60; pages++) {
      assertThat(reuse.hitPages(pages))
          .as("%d pages, seed %d", pages, seed)
          .isEqualTo(simulated(requests, pages));
    }
  }

  private static List<TraceRequest> random(Random random) {
    List<TraceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      // Prompts of ten roots, that part at random depths.
      long root = 100L * random.nextInt(10);
      int shared = random.nextInt(5);
      long branch = 10_000 + 100L * random.nextInt(20);
      int length = 1 + random.nextInt(8);
      requests.add(
          request(
              LongStream.range(0, length).map(p -> p < shared ? root + p : branch + p).toArray()));
    }
    return requests;
  }

  private static long simulated(List<TraceRequest> requests, int pages) {
    List<Long> cache = new ArrayList<>();
    long hits = 0;
    for (TraceRequest request : requests) {
      List<Long> kept = cache.subList(0, Math.min(pages, cache.size()));
      for (int page = 0; page < request.usablePages(); page++) {
        if (!kept.contains(request.hashIds().get(page))) {
          break;
        }
        hits++;
      }
      cache.removeAll(request.hashIds());
      cache.addAll(0, request.hashIds());
    }
    return hits;
  }
}
