package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.linker.direct.ScriptedStore.Script;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LookupTest {
  @Test
  @DisplayName("restore.intersection: every length at which all pools can resume")
  void lookup_holeInTheWindow_isSparse() {
    try (Rig rig = Rig.plan().withSwa().build()) {
      List<PageKey> pages = Rig.pages("p", 5);
      rig.store("s", pages);
      rig.store.objects.remove(rig.object(pages.get(2), Rig.SWA, 0));
      PoolTransferResult result = rig.linker.lookup(pages, rig.queries());
      assertThat(result.restorable()).isEqualTo(RestorablePrefixes.of(1, 2, 5));
      assertThat(result.hits()).containsEntry(PoolName.KV, 5).containsEntry(Rig.SWA, 5);
      assertThat(result.usablePages()).isEqualTo(5);
    }
  }

  @Test
  @DisplayName("restore.bounded-query: KV first, then the side pools of KV-hit pages, in two calls")
  void lookup_kvShorter_asksOnlyForHitPages() {
    try (Rig rig = Rig.plan().withSwa().build()) {
      rig.store("s", Rig.pages("p", 3));
      rig.store.calls.clear();
      var unused = rig.linker.lookup(Rig.pages("p", 10), rig.queries());
      assertThat(rig.store.calls(Step.EXISTS)).hasSize(2);
      assertThat(rig.store.calls(Step.EXISTS).get(0).keys()).hasSize(20);
      assertThat(rig.store.calls(Step.EXISTS).get(1).keys()).hasSize(3);
    }
  }

  @Test
  @DisplayName("restore.failed-lookup: a failure shortens the answer and is counted")
  void lookup_storeFails_isShorter() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 4);
      rig.store("s", pages);
      rig.store.script = Scripts.failing(Step.EXISTS, rig.object(pages.get(2), PoolName.KV, 1));
      assertThat(rig.linker.lookup(pages, rig.queries()).usablePages()).isEqualTo(2);
      assertThat(rig.linker.stats().lookupFailures()).isEqualTo(1);
    }
  }

  @Test
  @DisplayName("restore.failed-lookup: a store that throws is a miss, not an exception")
  void lookup_storeThrows_isAMiss() {
    try (Rig rig = Rig.plan().build()) {
      List<PageKey> pages = Rig.pages("p", 4);
      rig.store("s", pages);
      rig.store.script =
          new Script() {
            @Override
            public void before(Step step, int call) {
              throw new IllegalStateException("lost its mind");
            }
          };
      assertThat(rig.linker.lookup(pages, rig.queries()).restorable().isEmpty()).isTrue();
      assertThat(rig.linker.stats().lookupFailures()).isEqualTo(8);
      assertThat(rig.linker.stats().lookups()).isEqualTo(1);
    }
  }

  @Test
  void lookup_noPages_asksNothing() {
    try (Rig rig = Rig.plan().build()) {
      assertThat(rig.linker.lookup(List.of(), rig.queries()).restorable().isEmpty()).isTrue();
      assertThat(rig.store.calls).isEmpty();
    }
  }

  @Test
  void lookup_queriesDoNotMatchSources_isRefused() {
    try (Rig rig = Rig.plan().withSwa().build()) {
      List<PageKey> pages = Rig.pages("p", 1);
      PoolQuery kv = PoolQuery.allPages(PoolName.KV);
      PoolQuery swa = PoolQuery.trailingPages(Rig.SWA, 1);
      assertThatThrownBy(() -> rig.linker.lookup(pages, List.of(kv)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("swa has no query");
      assertThatThrownBy(() -> rig.linker.lookup(pages, List.of(kv, swa, swa)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("two queries");
      PoolQuery other = PoolQuery.allPages(new PoolName("other"));
      assertThatThrownBy(() -> rig.linker.lookup(pages, List.of(kv, swa, other)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("other");
    }
  }
}
