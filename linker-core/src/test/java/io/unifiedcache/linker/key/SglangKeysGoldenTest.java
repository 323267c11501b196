package io.unifiedcache.linker.key;

import static io.unifiedcache.linker.golden.GoldenKeys.keys;
import static io.unifiedcache.linker.golden.GoldenRows.flag;
import static io.unifiedcache.linker.golden.GoldenRows.numbers;
import static io.unifiedcache.linker.golden.GoldenRows.objects;
import static io.unifiedcache.linker.golden.GoldenRows.pages;
import static io.unifiedcache.linker.golden.GoldenRows.text;
import static io.unifiedcache.linker.golden.GoldenRows.texts;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.gson.JsonObject;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.linker.golden.GoldenKeys;
import io.unifiedcache.linker.golden.GoldenRows;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Rule {@code key.golden}: the {@code sglang-*} keys equal SGLang's, but for a counted list. */
class SglangKeysGoldenTest {
  private static final List<String> PACKED = List.of(Component.PACKED);

  private final Map<String, Integer> compared = new TreeMap<>();

  @Test
  void storeKeys_recordedRows_areEqual() {
    GoldenRows.of("keys-mooncake-store.jsonl").forEach(this::compareStore);

    assertThat(compared)
        .isEqualTo(
            Map.ofEntries(
                Map.entry("batchExists", 526),
                Map.entry("batchExistsPartial", 60),
                Map.entry("batchGetV1", 526),
                Map.entry("batchGetV1LogicalAnchor", 1),
                Map.entry("batchGetV1Partial", 60),
                Map.entry("batchGetV2", 64),
                Map.entry("batchSetV1", 526),
                Map.entry("batchSetV1LogicalAnchor", 1),
                Map.entry("batchSetV1Partial", 60),
                Map.entry("batchSetV2", 64),
                Map.entry("hybridComponentKeys", 577),
                Map.entry("hybridComponentKeys, refused by both", 76),
                Map.entry("hybridComponentKeys, refused on purpose", 14),
                Map.entry("not covered: describeL3ObjectLayout", 33),
                Map.entry("with group ids", 65)));
  }

  @Test
  void linkerKeys_recordedRows_areEqual() {
    GoldenRows.of("keys-direct-linker.jsonl").forEach(this::compareLinker);

    assertThat(compared)
        .isEqualTo(
            Map.of(
                "suffixAndKeys", 144,
                "offload", 15,
                "load", 15,
                "lookup", 75,
                "not covered: mori", 144,
                "with group ids", 5));
  }

  @Test
  void fileNames_recordedRows_areEqual() {
    GoldenRows.of("keys-file.jsonl").forEach(this::compareFile);

    assertThat(compared)
        .isEqualTo(
            Map.of(
                "batchSetV1", 172,
                "componentFileNames", 172,
                "batchSetV2", 172,
                "batchExistsV2", 172,
                "suffixedKey", 6,
                "not covered: batchSetV2IndexMismatch", 1));
  }

  private void compareStore(JsonObject row) {
    JsonObject config = row.getAsJsonObject("config");
    KeyLayout layout = GoldenKeys.layout(KeyForm.SGLANG_STORE, config);
    String op = text(row, "op");
    switch (op) {
      case "batchSetV1", "batchExists", "batchGetV1", "batchGetV1Partial", "batchExistsPartial" -> {
        List<PageKey> pages = pages(row, "logicalKeys");
        List<String> components = GoldenKeys.storeKv(config);
        assertEqual(row, "objectKeys", keys(layout, "kv", components, pages));
        compareGroups(row, layout, perObject(pages, components));
      }
      case "batchSetV1Partial" -> {
        List<PageKey> pages = pages(row, "logicalKeys");
        List<String> components = GoldenKeys.storeKv(config);
        comparePartial(
            row, layout, keys(layout, "kv", components, pages), perObject(pages, components));
      }
      case "batchSetV1LogicalAnchor", "batchGetV1LogicalAnchor" ->
          assertEqual(row, "objectKeys", List.of());
      case "batchSetV2", "batchGetV2" -> {
        List<String> keys = new ArrayList<>();
        List<PageKey> pages = new ArrayList<>();
        for (JsonObject transfer : objects(row, "transfers")) {
          String pool = text(transfer, "pool");
          List<String> components = GoldenKeys.storeV2(config, pool);
          keys.addAll(keys(layout, pool, components, pages(transfer, "keys")));
          pages.addAll(perObject(pages(transfer, "keys"), components));
        }
        if (op.equals("batchSetV2")) {
          comparePartial(row, layout, keys, pages);
        } else {
          assertEqual(row, "objectKeys", keys);
        }
      }
      case "hybridComponentKeys" -> {
        compareHybrid(row, layout);
        return;
      }
      default -> op = "not covered: " + op;
    }
    count(op);
  }

  private void compareHybrid(JsonObject row, KeyLayout layout) {
    String pool = text(row, "pool");
    List<String> components = GoldenKeys.storeHybrid(row);
    if (row.has("error")) {
      assertRefused(row, layout, pool, components);
      count("hybridComponentKeys, refused by both");
    } else if (texts(row, "objectKeys").getFirst().contains("['")) {
      assertThat(flag(row.getAsJsonObject("config"), "shouldSplitHeads")).isTrue();
      assertRefused(row, layout, pool, components);
      count("hybridComponentKeys, refused on purpose");
    } else {
      assertEqual(row, "objectKeys", keys(layout, pool, components, pages(row, "logicalKeys")));
      count("hybridComponentKeys");
    }
  }

  /** Compares what is asked about, and of that what is absent and therefore put. */
  private void comparePartial(
      JsonObject row, KeyLayout layout, List<String> keys, List<PageKey> pages) {
    assertEqual(row, "queriedKeys", keys);
    List<Integer> states = numbers(row, "existStates");
    List<String> put = new ArrayList<>();
    List<PageKey> putPages = new ArrayList<>();
    for (int i = 0; i < keys.size(); i++) {
      if (states.get(i) != 1) {
        put.add(keys.get(i));
        putPages.add(pages.get(i));
      }
    }
    assertEqual(row, "objectKeys", put);
    compareGroups(row, layout, putPages);
  }

  private void compareLinker(JsonObject row) {
    if (!text(row, "linker").equals("mooncake")) {
      count("not covered: mori");
      return;
    }
    KeyLayout layout = GoldenKeys.layout(KeyForm.SGLANG_LINKER, row.getAsJsonObject("config"));
    String op = text(row, "op");
    switch (op) {
      case "suffixAndKeys" -> {
        List<PageKey> pages = pages(row, "logicalKeys");
        JsonObject byPool = row.getAsJsonObject("objectKeysByPool");
        for (String pool : byPool.keySet()) {
          assertEqual(byPool, pool, keys(layout, pool, PACKED, pages));
        }
      }
      case "lookup" -> {
        // Sets of pools are not in these rows: every key must be one that a pool of it can have.
        for (JsonObject call : objects(row, "storeCalls")) {
          assertNamed(call, layout, objects(row, "transfers"));
        }
      }
      case "offload" -> compareOffload(row, layout);
      case "load" -> {
        List<JsonObject> transfers = new ArrayList<>();
        objects(row, "requests").forEach(each -> transfers.addAll(objects(each, "transfers")));
        for (JsonObject call : objects(row, "storeCalls")) {
          assertNamed(call, layout, transfers);
        }
      }
      default -> throw new AssertionError("an operation that is not known here: " + row);
    }
    count(op);
  }

  private void compareOffload(JsonObject row, KeyLayout layout) {
    List<String> keys = new ArrayList<>();
    List<PageKey> pages = new ArrayList<>();
    JsonObject geometry = row.getAsJsonObject("poolGeometry");
    for (String pool : geometry.keySet()) {
      String source = text(geometry.getAsJsonObject(pool), "source");
      for (JsonObject transfer : objects(row, "transfers")) {
        if (text(transfer, "pool").equals(source)) {
          keys.addAll(keys(layout, pool, PACKED, pages(transfer, "keys")));
          pages.addAll(pages(transfer, "keys"));
        }
      }
    }
    for (JsonObject call : objects(row, "storeCalls")) {
      assertEqual(call, "keys", keys);
      compareGroups(call, layout, pages);
    }
  }

  /** Asserts that every key of a call is that of one of the pages in some pool. */
  private static void assertNamed(JsonObject call, KeyLayout layout, List<JsonObject> transfers) {
    if (!call.has("keys")) {
      return;
    }
    for (String key : texts(call, "keys")) {
      String object = key.replaceFirst(".*_pp\\d+_", "");
      List<String> known = new ArrayList<>();
      for (JsonObject transfer : transfers) {
        known.addAll(
            keys(layout, object.equals("k") ? "kv" : object, PACKED, pages(transfer, "keys")));
      }
      assertThat(known).as("%s", call).contains(key);
    }
  }

  private void compareFile(JsonObject row) {
    KeyLayout layout = GoldenKeys.layout(KeyForm.SGLANG_FILE, row.getAsJsonObject("config"));
    String op = text(row, "op");
    switch (op) {
      case "batchSetV1" ->
          assertThat(sorted(keys(layout, "kv", PACKED, pages(row, "logicalKeys"))))
              .as("%s", row)
              .isEqualTo(texts(row, "fileNames"));
      case "componentFileNames" -> {
        JsonObject names = row.getAsJsonObject("fileNames");
        List<PageKey> page = List.of(new PageKey(text(row, "logicalKey")));
        for (String pool : names.keySet()) {
          String known = pool.equals("__default__") ? "kv" : pool;
          assertThat(keys(layout, known, PACKED, page))
              .as("%s", row)
              .containsExactly(text(names, pool));
        }
      }
      case "batchSetV2" -> {
        List<String> names = new ArrayList<>();
        for (JsonObject transfer : objects(row, "transfers")) {
          names.addAll(keys(layout, text(transfer, "pool"), PACKED, pages(transfer, "keys")));
        }
        assertThat(sorted(names)).as("%s", row).isEqualTo(texts(row, "fileNames"));
      }
      case "batchExistsV2" -> {
        List<String> names = new ArrayList<>();
        for (String pool : row.getAsJsonObject("hitCount").keySet()) {
          names.addAll(keys(layout, pool, PACKED, pages(row, "logicalKeys")));
        }
        assertThat(sorted(names)).as("%s", row).isEqualTo(texts(row, "probedFileNames"));
      }
      case "suffixedKey" ->
          assertThat(keys(layout, "kv", PACKED, List.of(new PageKey(text(row, "logicalKey")))))
              .as("%s", row)
              .containsExactly(text(row, "fileName"));
      default -> op = "not covered: " + op;
    }
    count(op);
  }

  private void compareGroups(JsonObject row, KeyLayout layout, List<PageKey> pages) {
    if (!row.has("groupIds") || row.get("groupIds").isJsonNull()) {
      return;
    }
    assertEqual(
        row, "groupIds", pages.stream().map(page -> layout.groupHint(page).orElseThrow()).toList());
    count("with group ids");
  }

  private static List<PageKey> perObject(List<PageKey> pages, List<String> components) {
    return pages.stream()
        .flatMap(page -> Collections.nCopies(components.size(), page).stream())
        .toList();
  }

  private static void assertRefused(
      JsonObject row, KeyLayout layout, String pool, List<String> components) {
    assertThatIllegalArgumentException()
        .as("%s", row)
        .isThrownBy(() -> keys(layout, pool, components, pages(row, "logicalKeys")))
        .withMessageContaining(
            components.isEmpty()
                ? "pool " + pool + " has no components"
                : "sglang-store has no names for pool " + pool);
  }

  private static void assertEqual(JsonObject row, String field, List<String> ours) {
    assertThat(ours).as("%s of %s", field, row).isEqualTo(texts(row, field));
  }

  private static List<String> sorted(List<String> names) {
    return names.stream().sorted().toList();
  }

  private void count(String what) {
    compared.merge(what, 1, Integer::sum);
  }
}
