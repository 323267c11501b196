package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TimelineTest {
  private static List<Integer> cuts(Trace trace) {
    Timeline timeline = new Timeline(trace, trace.reuse());
    return IntStream.range(0, trace.size()).filter(timeline::isCutBefore).boxed().toList();
  }

  @Test
  void cuts_makeEqualWindows() throws TraceException {
    assertThat(cuts(Trace.sample()))
        .containsExactlyElementsOf(IntStream.range(1, 100).map(i -> 10 * i).boxed().toList());
    assertThat(cuts(Trace.sample().part(0, 3))).containsExactly(1, 2);
    assertThat(cuts(Trace.sample().part(0, 1))).isEmpty();
    assertThat(cuts(Trace.sample().part(0, 250))).hasSize(99);
  }

  @Test
  void window_holdsWhatWasCountedSinceTheOneBefore() throws TraceException {
    Trace trace = Trace.sample().part(0, 10);
    Timeline timeline = new Timeline(trace, trace.reuse());

    timeline.end(4, new Counts(1, 2, 3, 4, 5, 6, 7, 8), 100);
    timeline.end(6, new Counts(10, 20, 30, 40, 50, 60, 70, 80), 200);

    Window second = timeline.windows().getLast();
    assertThat(timeline.windows()).hasSize(2);
    assertThat(second.firstRequest()).isEqualTo(4);
    assertThat(second.requests()).isEqualTo(2);
    assertThat(second.counts()).isEqualTo(new Counts(9, 18, 27, 36, 45, 54, 63, 72));
    assertThat(second.liveBytes()).isEqualTo(200);
    assertThat(second.promptTokens())
        .isEqualTo(
            trace.requests().get(4).inputLength() + (long) trace.requests().get(5).inputLength());
    assertThat(second.toSeconds()).isGreaterThanOrEqualTo(second.fromSeconds());
  }
}
