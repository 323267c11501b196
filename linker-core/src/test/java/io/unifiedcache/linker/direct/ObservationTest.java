package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.LinkerStats;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.linker.LinkerMeters;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import io.unifiedcache.linker.golden.Allocations;
import io.unifiedcache.linker.observe.FailureEvent;
import io.unifiedcache.linker.observe.LoadBatchEvent;
import io.unifiedcache.linker.observe.LoadLayerEvent;
import io.unifiedcache.linker.observe.LookupEvent;
import io.unifiedcache.linker.observe.OffloadEvent;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import jdk.jfr.Event;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A run with known answers, and whoever tells of it: counters, meters, events. */
@Timeout(60)
class ObservationTest {
  private static final long OBJECT = 3 * 24;
  private static final StoreFailure LEASED = StoreFailure.of(FailureCode.BUSY, "leased");

  @TempDir Path folder = Path.of("");

  /**
   * Stores 3 pages, then 4 of which 3 are there and one fails in part; looks 5 up, of which one
   * cannot be told; loads 2 requests of which one fails at layer 1; cancels a queued load, which
   * counts nowhere; resets with one offload that never became ready.
   */
  private static void run(Rig rig) {
    List<PageKey> pages = Rig.pages("p", 5);
    rig.store("first", pages.subList(0, 3));
    rig.store.script = at(Step.PUT, rig.object(pages.get(3), PoolName.KV, 1), Scripts.BROKEN);
    rig.linker.offload(rig.request("second", pages.subList(0, 4), 0));
    assertThat(rig.pollOffload().ok()).isFalse();

    rig.store.script = at(Step.EXISTS, rig.object(pages.get(2), PoolName.KV, 0), LEASED);
    assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(2);

    rig.store.script =
        new Script() {
          @Override
          public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
            boolean bad = key.equals(rig.object(pages.get(2), PoolName.KV, 1));
            return step == Step.READ && call == 1 && bad ? Scripts.BROKEN : null;
          }
        };
    rig.linker.load(rig.request("good", pages.subList(0, 2), 0));
    rig.linker.load(rig.request("bad", pages.subList(2, 3), 4));
    rig.linker.startLayerWiseLoading().awaitLayer(Rig.LAYERS - 1, Rig.LONG);
    assertThat(rig.pollLoad().ok()).isTrue();
    assertThat(rig.pollLoad().ok()).isFalse();

    rig.linker.load(rig.request("cancelled", pages.subList(0, 1), 0));
    var unused = rig.linker.cancel("cancelled");
    rig.linker.offload(
        new TransferRequest(
            "unready",
            rig.request("unready", pages, 0).transfers(),
            new CompletableFuture<String>()));
    assertThat(rig.linker.reset().offloads()).hasSize(1);
  }

  private static Script at(Step at, ObjectKey object, StoreFailure failure) {
    return new Script() {
      @Override
      public @Nullable StoreFailure failure(Step step, int call, ObjectKey key) {
        return step == at && key.equals(object) ? failure : null;
      }
    };
  }

  @Test
  void stats_knownRun_equalTheScript() {
    try (Rig rig = Rig.plan().build()) {
      run(rig);
      assertThat(rig.linker.stats())
          .isEqualTo(
              new LinkerStats(
                  /* lookups= */ 1,
                  /* lookupFailures= */ 1,
                  /* outages= */ 0,
                  /* loads= */ 1,
                  /* failedLoads= */ 1,
                  /* offloads= */ 1,
                  /* failedOffloads= */ 2,
                  /* objectsLoaded= */ 4,
                  /* bytesLoaded= */ 4 * OBJECT,
                  /* objectsStored= */ 7,
                  /* bytesStored= */ 7 * OBJECT,
                  /* objectsPresent= */ 6,
                  /* suspects= */ 1,
                  Map.of(FailureCode.IO, 2L, FailureCode.BUSY, 1L, FailureCode.CANCELLED, 1L)));
    }
  }

  @Test
  @DisplayName("what is told of an operation is there when its completion is")
  void stats_atEachCompletion_countIt() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      for (int i = 1; i <= 300; i++) {
        rig.linker.offload(rig.request("offload-" + i, pages, 0));
        assertThat(rig.pollOffload().ok()).isTrue();
        assertThat(rig.linker.stats().offloads()).isEqualTo(i);
        rig.linker.load(rig.request("load-" + i, pages, 0));
        var unused = rig.linker.startLayerWiseLoading();
        assertThat(rig.pollLoad().ok()).isTrue();
        assertThat(rig.linker.stats().loads()).isEqualTo(i);
      }
    }
  }

  @Test
  @DisplayName("the event of an operation is committed when its completion is told")
  void events_recordingEndsAtTheCompletion_hasThemAll() throws IOException {
    for (int round = 0; round < 5; round++) {
      Path file = folder.resolve("round-" + round + ".jfr");
      try (Rig rig = Rig.plan().build();
          Recording recording = new Recording()) {
        recording.enable(OffloadEvent.class).withoutThreshold();
        recording.enable(LoadBatchEvent.class).withoutThreshold();
        recording.start();
        List<PageKey> pages = Rig.pages("p", 1);
        for (int i = 0; i < 20; i++) {
          rig.store("s" + i, pages);
        }
        rig.linker.load(rig.request("load", pages, 0));
        var unused = rig.linker.startLayerWiseLoading();
        assertThat(rig.pollLoad().ok()).isTrue();
        recording.stop();
        recording.dump(file);
      }
      List<RecordedEvent> events = RecordingFile.readAllEvents(file);
      assertThat(of(events, "Offload")).hasSize(20);
      assertThat(of(events, "LoadBatch")).hasSize(1);
    }
  }

  @Test
  void meters_knownRun_equalTheStats() {
    MeterRegistry registry = new SimpleMeterRegistry();
    try (Rig rig = Rig.plan().build()) {
      new LinkerMeters(rig.linker, Tags.of("linker", "a")).bindTo(registry);
      run(rig);
      assertThat(registry.getMeters())
          .allSatisfy(meter -> assertThat(meter.getId().getTag("linker")).isEqualTo("a"))
          .hasSize(12 + FailureCode.values().length + 1);
      assertThat(count(registry, "lookups")).isEqualTo(1);
      assertThat(count(registry, "lookup.failures")).isEqualTo(1);
      assertThat(count(registry, "outages")).isZero();
      assertThat(count(registry, "loads", "result", "ok")).isEqualTo(1);
      assertThat(count(registry, "loads", "result", "failed")).isEqualTo(1);
      assertThat(count(registry, "offloads", "result", "ok")).isEqualTo(1);
      assertThat(count(registry, "offloads", "result", "failed")).isEqualTo(2);
      assertThat(count(registry, "objects", "outcome", "loaded")).isEqualTo(4);
      assertThat(count(registry, "objects", "outcome", "stored")).isEqualTo(7);
      assertThat(count(registry, "objects", "outcome", "present")).isEqualTo(6);
      assertThat(count(registry, "bytes", "outcome", "loaded")).isEqualTo(4 * OBJECT);
      assertThat(count(registry, "bytes", "outcome", "stored")).isEqualTo(7 * OBJECT);
      assertThat(count(registry, "failures", "reason", "io")).isEqualTo(2);
      assertThat(count(registry, "failures", "reason", "busy")).isEqualTo(1);
      assertThat(count(registry, "failures", "reason", "timeout")).isZero();
      assertThat(registry.get("unified.cache.suspects").gauge().value()).isEqualTo(1);
    }
  }

  private static double count(MeterRegistry registry, String name, String... tags) {
    return registry.get("unified.cache." + name).tags(tags).functionCounter().count();
  }

  @Test
  void events_knownRun_areReadBack() throws IOException {
    List<RecordedEvent> events;
    try (Recording recording = new Recording()) {
      for (Class<? extends Event> each :
          List.of(
              LookupEvent.class,
              LoadBatchEvent.class,
              LoadLayerEvent.class,
              OffloadEvent.class,
              FailureEvent.class)) {
        recording.enable(each).withoutThreshold();
      }
      recording.start();
      try (Rig rig = Rig.plan().build()) {
        run(rig);
      }
      recording.stop();
      Path file = folder.resolve("run.jfr");
      recording.dump(file);
      events = RecordingFile.readAllEvents(file);
    }
    assertThat(events).allMatch(event -> event.getString("linker").equals("rig-0"));

    assertThat(of(events, "Lookup"))
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.getInt("pages")).isEqualTo(5);
              assertThat(event.getInt("restorable")).isEqualTo(2);
              assertThat(event.getLong("failures")).isEqualTo(1);
              assertThat(event.getDuration()).isPositive();
            });
    assertThat(of(events, "LoadBatch"))
        .singleElement()
        .satisfies(
            event -> {
              assertThat(event.getInt("requests")).isEqualTo(2);
              assertThat(event.getInt("failedRequests")).isEqualTo(1);
              assertThat(event.getLong("objects")).isEqualTo(4);
              assertThat(event.getLong("bytes")).isEqualTo(4 * OBJECT);
            });
    assertThat(of(events, "LoadLayer"))
        .extracting(event -> event.getInt("layer"), event -> event.getLong("objects"))
        .containsExactly(tuple(0, 6L), tuple(1, 6L), tuple(2, 4L));
    assertThat(of(events, "Offload"))
        .extracting(
            event -> event.getString("request"),
            event -> event.getBoolean("ok"),
            event -> event.getLong("stored"),
            event -> event.getLong("bytes"),
            event -> event.getLong("present"))
        .containsExactlyInAnyOrder(
            tuple("first", true, 6L, 6 * OBJECT, 0L), tuple("second", false, 1L, OBJECT, 6L));
    assertThat(of(events, "Failure"))
        .extracting(
            event -> event.getString("operation"),
            event -> event.getString("request"),
            event -> event.getString("reason"))
        .containsExactlyInAnyOrder(
            tuple("offload", "second", "IO"),
            tuple("lookup", "", "BUSY"),
            tuple("load", "bad", "IO"),
            tuple("offload", "unready", "CANCELLED"));
  }

  private static List<RecordedEvent> of(List<RecordedEvent> events, String name) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("io.unifiedcache." + name))
        .toList();
  }

  @Test
  void events_switchedOff_allocateNothing() {
    long bytes =
        Allocations.of(
            () -> {
              for (int i = 0; i < 10_000; i++) {
                if (LookupEvent.begin("a") != null
                    || LoadBatchEvent.begin("a") != null
                    || LoadLayerEvent.begin("a") != null
                    || OffloadEvent.begin("a") != null) {
                  throw new AssertionError("an event is switched on");
                }
                FailureEvent.record("a", "load", "r", "o", Scripts.BROKEN);
              }
            });
    // Of 50,000 calls; the rest is the meter's own.
    assertThat(bytes).isLessThan(10_000);
  }
}
