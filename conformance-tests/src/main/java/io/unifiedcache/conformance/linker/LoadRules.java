package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import java.time.Duration;
import java.util.List;

/** The rules of loads. */
public final class LoadRules {
  private LoadRules() {}

  @Rule(
      id = "load.deferred",
      scope = Scope.LINKER,
      text = "A load is only queued by the call; its bytes move after the start.",
      hint = "Do not read, open or ask for an object of a load before it is started.")
  static void deferred(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Engine engine = rig.engine().open();
          List<PageKey> pages = LinkerRig.pages("p", 2);
          engine.store(pages);
          engine.store().forgetCalls();
          engine.linker().load(engine.request("a", pages, 4));
          engine.linker().load(engine.request("b", pages, 8));
          trial.expectEqual(
              "the completions of loads that were not started",
              List.of(),
              engine.linker().pollLoads(rig.moment()));
          trial.expectEqual(
              "the calls of the store before the start", List.of(), engine.store().calls());
          trial.expect(
              engine.isPoisoned(4) && engine.isPoisoned(9),
              "the slots of a load to be untouched before the start",
              () -> "they were written");
          var unused = engine.linker().startLayerWiseLoading();
          engine.expectOk("a", engine.pollLoad());
          engine.expectOk("b", engine.pollLoad());
          engine.expectHeld("the load, once started,", pages, 4);
          engine.expectHeld("the load, once started,", pages, 8);
          trial.expectEqual(
              "the completions after that", List.of(), engine.linker().pollLoads(Duration.ZERO));
        });
  }
}
