package io.unifiedcache.linker.restore;

import static io.unifiedcache.linker.golden.GoldenRows.flag;
import static io.unifiedcache.linker.golden.GoldenRows.number;
import static io.unifiedcache.linker.golden.GoldenRows.numbers;
import static io.unifiedcache.linker.golden.GoldenRows.objects;
import static io.unifiedcache.linker.golden.GoldenRows.pages;
import static io.unifiedcache.linker.golden.GoldenRows.text;
import static io.unifiedcache.linker.golden.GoldenRows.texts;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.PoolTransferResult;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.linker.golden.GoldenKeys;
import io.unifiedcache.linker.golden.GoldenRows;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.key.KeyTemplate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Rule {@code key.golden} for restorable sets: they and the hits per pool equal SGLang's. */
class PrefixLookupGoldenTest {
  private static final Set<String> KNOWN_POLICIES = Set.of("all_pages", "trailing_pages");

  @Test
  void lookup_recordedRows_areEqualAndAskNoMore() {
    List<JsonObject> rows = GoldenRows.of("restorable.jsonl");
    int keysAsked = 0;
    int keysRecorded = 0;
    for (JsonObject row : rows) {
      ScriptedStore store = new ScriptedStore(answers(row));
      compare(row, store);
      int recorded = numbers(row, "existCallSizes").stream().mapToInt(Integer::intValue).sum();
      assertThat(store.keysAsked).as("%s", row).isLessThanOrEqualTo(recorded);
      keysAsked += store.keysAsked;
      keysRecorded += recorded;
    }
    assertThat(rows).hasSize(1500);
    assertThat(keysAsked).isEqualTo(35_168);
    assertThat(keysRecorded).isEqualTo(39_273);
  }

  /**
   * SGLang notices an unknown policy only if it gets as far as evaluating it; here it never passes.
   */
  @Test
  void parse_recordedRowsWithUnknownPolicies_areRefused() {
    int refusedByBoth = 0;
    int overlookedByTheOriginal = 0;
    int withKnownPolicies = 0;
    for (JsonObject row : GoldenRows.of("restorable-unknown-policy.jsonl")) {
      List<String> unknown =
          objects(row, "pools").stream()
              .map(pool -> text(pool, "policy"))
              .filter(policy -> !KNOWN_POLICIES.contains(policy))
              .toList();
      if (unknown.isEmpty()) {
        compare(row, new ScriptedStore(answers(row)));
        withKnownPolicies++;
        continue;
      }
      assertThatIllegalArgumentException()
          .as("%s", row)
          .isThrownBy(() -> pools(row))
          .withMessageContaining(unknown.getFirst())
          .withMessageContaining("all_pages, trailing_pages");
      if (row.has("error")) {
        refusedByBoth++;
      } else {
        overlookedByTheOriginal++;
      }
    }
    assertThat(refusedByBoth).isEqualTo(32);
    assertThat(overlookedByTheOriginal).isEqualTo(20);
    assertThat(withKnownPolicies).isEqualTo(8);
  }

  @Test
  void lookup_recordedRowsOfTheLinker_haveEqualSets() {
    Map<String, JsonObject> geometries = new HashMap<>();
    for (JsonObject row : GoldenRows.of("keys-direct-linker.jsonl", "op", "offload")) {
      geometries.put(
          text(row.getAsJsonObject("config"), "poolGroup"), row.getAsJsonObject("poolGeometry"));
    }
    List<JsonObject> rows = GoldenRows.of("keys-direct-linker.jsonl", "op", "lookup");
    for (JsonObject row : rows) {
      JsonObject config = row.getAsJsonObject("config");
      KeyLayout layout = GoldenKeys.layout(KeyForm.SGLANG_LINKER, config);
      Map<String, JsonObject> transfers = new HashMap<>();
      objects(row, "transfers").forEach(each -> transfers.put(text(each, "pool"), each));
      List<AskedPool> pools = new ArrayList<>();
      JsonObject geometry = require(geometries, text(config, "poolGroup"));
      for (String pool : geometry.keySet()) {
        String source = text(geometry.getAsJsonObject(pool), "source");
        JsonObject transfer = require(transfers, source);
        pools.add(
            new AskedPool(
                new PoolName(pool),
                layout.templates(GoldenKeys.pool(pool, List.of(Component.PACKED))),
                source.equals("kv")
                    ? HitPolicy.ALL_PAGES
                    : HitPolicy.parse(text(transfer, "hitPolicy")),
                transfer.getAsJsonArray("keys").size(),
                pool.equals("kv")));
      }
      Map<String, Integer> answers = new HashMap<>();
      texts(row, "existingKeys").forEach(key -> answers.put(key, 1));
      ScriptedStore store = new ScriptedStore(answers);

      PoolTransferResult result =
          store.lookup(Integer.MAX_VALUE).lookup(pages(require(transfers, "kv"), "keys"), pools);

      assertThat(result.restorable()).as("%s", row).isEqualTo(lengths(row));
      Set<String> recorded = new HashSet<>();
      objects(row, "storeCalls").forEach(call -> recorded.addAll(texts(call, "keys")));
      assertThat(recorded).as("%s", row).containsAll(store.asked);
    }
    assertThat(rows).hasSize(75);
  }

  /** These rows ask after pages 0 and 1 were stored, in pool {@code mamba} only page 1. */
  @Test
  void lookup_recordedRowsOfTheFileStore_areEqual() {
    List<JsonObject> rows = GoldenRows.of("keys-file.jsonl");
    Map<String, Integer> answers = new HashMap<>();
    int compared = 0;
    for (JsonObject row : rows) {
      if (text(row, "op").equals("batchSetV2")) {
        answers.clear();
        texts(row, "fileNames").forEach(name -> answers.put(name, 1));
      }
      if (!text(row, "op").equals("batchExistsV2")) {
        continue;
      }
      KeyLayout layout = GoldenKeys.layout(KeyForm.SGLANG_FILE, row.getAsJsonObject("config"));
      JsonObject hits = row.getAsJsonObject("hitCount");
      List<AskedPool> pools = new ArrayList<>();
      for (String pool : hits.keySet()) {
        pools.add(
            new AskedPool(
                new PoolName(pool),
                layout.templates(GoldenKeys.pool(pool, List.of(Component.PACKED))),
                pool.equals("mamba") ? HitPolicy.TRAILING_PAGES : HitPolicy.ALL_PAGES,
                1,
                pool.equals("kv")));
      }
      PoolTransferResult result =
          new ScriptedStore(answers)
              .lookup(Integer.MAX_VALUE)
              .lookup(pages(row, "logicalKeys"), pools);

      assertThat(result.restorable()).as("%s", row).isEqualTo(lengths(row));
      assertThat(result.hits()).as("%s", row).isEqualTo(hits(hits, true));
      compared++;
    }
    assertThat(compared).isEqualTo(172);
  }

  /** The leading hits of the store's first interface are those of a lookup of {@code kv} alone. */
  @Test
  void lookup_recordedRowsOfTheStore_haveEqualHits() {
    List<JsonObject> rows = GoldenRows.of("keys-mooncake-store.jsonl", "op", "batchExistsPartial");
    for (JsonObject row : rows) {
      JsonObject config = row.getAsJsonObject("config");
      KeyLayout layout = GoldenKeys.layout(KeyForm.SGLANG_STORE, config);
      List<KeyTemplate> templates =
          layout.templates(GoldenKeys.pool("kv", GoldenKeys.storeKv(config)));
      Map<String, Integer> answers = new HashMap<>();
      List<Integer> states = numbers(row, "existStates");
      for (int i = 0; i < states.size(); i++) {
        answers.put(texts(row, "objectKeys").get(i), states.get(i));
      }
      PoolTransferResult result =
          new ScriptedStore(answers)
              .lookup(3)
              .lookup(
                  pages(row, "logicalKeys"),
                  List.of(new AskedPool(PoolName.KV, templates, HitPolicy.ALL_PAGES, 1, true)));

      assertThat(result.usablePages()).as("%s", row).isEqualTo(number(row, "hitPages"));
    }
    assertThat(rows).hasSize(60);
  }

  private static JsonObject require(Map<String, JsonObject> objects, String name) {
    return Objects.requireNonNull(objects.get(name), name);
  }

  private static void compare(JsonObject row, ScriptedStore store) {
    PoolTransferResult result = lookup(row, store);
    boolean physical = flag(row, "kvPhysical");

    assertThat(result.restorable()).as("%s", row).isEqualTo(lengths(row));
    assertThat(result.usablePages()).as("%s", row).isEqualTo(number(row, "kvHitPages"));
    assertThat(result.hits())
        .as("%s", row)
        .isEqualTo(hits(row.getAsJsonObject("hitCount"), physical));
  }

  private static PoolTransferResult lookup(JsonObject row, ScriptedStore store) {
    List<PageKey> pages = new ArrayList<>();
    for (int page = 0; page < number(row, "pages"); page++) {
      pages.add(new PageKey("p" + page));
    }
    return store.lookup(7).lookup(pages, pools(row));
  }

  private static List<AskedPool> pools(JsonObject row) {
    List<AskedPool> pools = new ArrayList<>();
    if (flag(row, "kvPhysical")) {
      pools.add(
          new AskedPool(
              PoolName.KV,
              templates("kv", number(row, "kvMultiplier")),
              HitPolicy.ALL_PAGES,
              1,
              true));
    }
    for (JsonObject pool : objects(row, "pools")) {
      JsonElement trailing = pool.get("trailing");
      int window = trailing == null || trailing.isJsonNull() ? 1 : trailing.getAsInt();
      pools.add(
          new AskedPool(
              new PoolName(text(pool, "name")),
              templates(text(pool, "name"), number(pool, "multiplier")),
              HitPolicy.parse(text(pool, "policy")),
              Math.max(1, window),
              false));
    }
    return pools;
  }

  private static List<KeyTemplate> templates(String pool, int objects) {
    List<KeyTemplate> templates = new ArrayList<>();
    for (int i = 0; i < objects; i++) {
      int object = i;
      templates.add(page -> new ObjectKey(page + "/" + pool + "/" + object));
    }
    return templates;
  }

  private static Map<String, Integer> answers(JsonObject row) {
    Map<String, Integer> answers = new HashMap<>();
    answer(answers, "kv", row.getAsJsonArray("kvExists"));
    for (JsonObject pool : objects(row, "pools")) {
      answer(answers, text(pool, "name"), pool.getAsJsonArray("exists"));
    }
    return answers;
  }

  private static void answer(Map<String, Integer> answers, String pool, JsonArray exists) {
    for (int page = 0; page < exists.size(); page++) {
      JsonArray objects = exists.get(page).getAsJsonArray();
      for (int i = 0; i < objects.size(); i++) {
        answers.put("p" + page + "/" + pool + "/" + i, objects.get(i).getAsInt());
      }
    }
  }

  private static RestorablePrefixes lengths(JsonObject row) {
    return RestorablePrefixes.of(
        numbers(row, "restorable").stream().mapToInt(Integer::intValue).toArray());
  }

  /** Returns recorded hits; those of a {@code kv} without memory of its own are no pool's. */
  private static Map<PoolName, Integer> hits(JsonObject recorded, boolean kvPhysical) {
    Map<PoolName, Integer> hits = new HashMap<>();
    for (String pool : recorded.keySet()) {
      if (kvPhysical || !pool.equals("kv")) {
        hits.put(new PoolName(pool), recorded.get(pool).getAsInt());
      }
    }
    return hits;
  }

  /** Answers as recorded: 1 there, 0 or nothing absent, below 0 failed. */
  private static final class ScriptedStore {
    private final Map<String, Integer> answers;
    private final Set<String> asked = new HashSet<>();
    private int keysAsked;

    ScriptedStore(Map<String, Integer> answers) {
      this.answers = answers;
    }

    PrefixLookup lookup(int batchLimit) {
      return new PrefixLookup(batchLimit, key -> false, this::exists, failure -> {});
    }

    private BatchResult exists(List<ObjectKey> keys) {
      BatchResult.Builder result = BatchResult.builder(keys.size());
      for (int i = 0; i < keys.size(); i++) {
        asked.add(keys.get(i).value());
        int answer = answers.getOrDefault(keys.get(i).value(), 0);
        if (answer < 0) {
          result.failed(i, StoreFailure.of(FailureCode.IO, "recorded code " + answer));
        } else {
          result.set(i, answer == 1 ? ObjectStatus.OK : ObjectStatus.ABSENT);
        }
      }
      keysAsked += keys.size();
      return result.build();
    }
  }
}
