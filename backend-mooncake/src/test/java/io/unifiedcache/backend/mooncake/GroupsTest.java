package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whether the objects of a page are a group, as Mooncake's Python client sees it: whoever asks for
 * one object of a group leases all, and a leased object is not removed.
 */
class GroupsTest {
  @RegisterExtension static final MooncakeCluster CLUSTER = MooncakeCluster.withLeases(3_000);

  private static final String TAG = "tag";
  private static final String DONE = "0";
  private static final String LEASED = Long.toString(Answers.LEASED);
  private static final int SHA_256_DIGITS = 64;

  @TempDir Path folder = Path.of("set by JUnit");

  private List<String> pages = List.of();

  @BeforeEach
  void choosePages() {
    pages = EnginePages.keys(System.nanoTime(), 3);
  }

  @Test
  void offload_withGroups_makesEachPageAGroupOfSglangsName() throws IOException {
    offload("true");
    String group = "sglang-hicache:" + TAG + "_org-model_" + pages.get(1);
    try (OtherPython python = mooncake()) {
      awaitEndOfLeases(python);
      assertThat(python.ask("exists " + object(0, "k"))).isEqualTo("1");
      assertThat(python.ask("remove " + object(0, "v"))).isEqualTo(LEASED);
      // What another client puts into a group of this name is of the same page.
      String other = "other-" + pages.get(1);
      assertThat(python.ask("put " + other + " 100 " + group)).hasSize(SHA_256_DIGITS);
      assertThat(python.ask("exists " + other)).isEqualTo("1");
      assertThat(python.ask("remove " + object(1, "k"))).isEqualTo(LEASED);
      assertThat(python.ask("remove " + object(1, "v"))).isEqualTo(LEASED);
    }
  }

  @Test
  void offload_withoutGroups_leavesObjectsAlone() throws IOException {
    offload("false");
    try (OtherPython python = mooncake()) {
      awaitEndOfLeases(python);
      assertThat(python.ask("exists " + object(0, "k"))).isEqualTo("1");
      assertThat(python.ask("remove " + object(0, "k"))).isEqualTo(LEASED);
      assertThat(python.ask("remove " + object(0, "v"))).isEqualTo(DONE);
    }
  }

  private void offload(String groups) {
    Map<String, String> settings = new HashMap<>(CLUSTER.settings());
    settings.put("client", "python");
    settings.put("python", Installation.python().toString());
    settings.put("keys", "sglang-store");
    settings.put("linker.groups", groups);
    try (EnginePages engine = new EnginePages(TAG, /* packed= */ false, pages, settings)) {
      engine.offload();
    }
  }

  private String object(int page, String half) {
    return TAG + "_org-model_" + pages.get(page) + "_0_" + half;
  }

  private OtherPython mooncake() throws IOException {
    return OtherPython.start(
        Installation.python(), folder, folder, "mooncake_objects.py", List.of(CLUSTER.address()));
  }

  /** Waits until what the offload has leased is no longer leased, to judge by the last page. */
  private void awaitEndOfLeases(OtherPython python) {
    CLUSTER.await("leases have ended", () -> python.ask("remove " + object(2, "v")).equals(DONE));
  }
}
