package io.unifiedcache.linker.key;

import static io.unifiedcache.linker.golden.GoldenRows.flag;
import static io.unifiedcache.linker.golden.GoldenRows.longs;
import static io.unifiedcache.linker.golden.GoldenRows.number;
import static io.unifiedcache.linker.golden.GoldenRows.optional;
import static io.unifiedcache.linker.golden.GoldenRows.pages;
import static io.unifiedcache.linker.golden.GoldenRows.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.linker.golden.GoldenRows;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Rule {@code key.golden}: page keys equal SGLang's. */
class PageHasherGoldenTest {
  private final Map<String, Integer> compared = new TreeMap<>();
  private int eventHashes;

  @Test
  void pageKeys_recordedRows_areEqual() {
    GoldenRows.of("page-hash.jsonl").forEach(this::compare);

    assertThat(compared)
        .isEqualTo(
            Map.ofEntries(
                Map.entry("badPrior", 2),
                Map.entry("bigram", 26),
                Map.entry("bigramWhole", 2),
                Map.entry("chainResume", 1),
                Map.entry("namespaceSeedFunction", 10),
                Map.entry("namespaced", 30),
                Map.entry("negative", 3),
                Map.entry("plain", 46),
                Map.entry("plainEmpty", 4),
                Map.entry("plainWhole", 10),
                Map.entry("treeNodes", 4),
                Map.entry("tuples", 6),
                Map.entry("wide", 24),
                Map.entry("wideBigram", 6)));
    assertThat(eventHashes).isEqualTo(8);
  }

  @Test
  void pageKeys_recordedRowsOf512Tokens_areEqual() {
    GoldenRows.of("page-hash-512.jsonl").forEach(this::compare);

    assertThat(compared).isEqualTo(Map.of("plain", 24));
  }

  private void compare(JsonObject row) {
    String kind = text(row, "kind");
    switch (kind) {
      case "eventInt64" -> {
        eventHashes++;
        return;
      }
      case "namespaceSeedFunction" ->
          assertThat(
                  PageHasher.namespaceSeed(optional(row, "extraKey"), optional(row, "cacheSalt"))
                      .map(PageKey::value))
              .as("%s", row)
              .isEqualTo(optional(row, "namespaceSeed"));
      case "treeNodes" -> compareNodes(row);
      case "chainResume" -> compareResume(row);
      case "badPrior", "negative" ->
          assertThatIllegalArgumentException()
              .as("%s", row)
              .isThrownBy(() -> hasher(row, 1).pageKeysWithTail(tokens(row)));
      default -> compareHashes(row);
    }
    compared.merge(kind, 1, Integer::sum);
  }

  /** Units that are given explicitly hash like their tokens in a row. */
  private static void compareHashes(JsonObject row) {
    int unit = row.has("pairs") ? row.getAsJsonArray("pairs").get(0).getAsJsonArray().size() : 1;
    PageHasher hasher = hasher(row, unit);
    long[] tokens = tokens(row);
    if (row.has("hash")) {
      assertThat(hasher.wholeKey(tokens).value()).as("%s", row).isEqualTo(text(row, "hash"));
      return;
    }
    List<PageKey> expected = pages(row, "hashes");
    assertThat(hasher.pageKeysWithTail(tokens)).as("%s", row).isEqualTo(expected);
    int units = tokens.length / unit - (flag(row, "bigram") ? 1 : 0);
    int full = Math.max(0, units) / number(row, "pageSize");
    assertThat(hasher.pageKeys(tokens)).as("%s", row).isEqualTo(expected.subList(0, full));
    if (Arrays.stream(tokens).allMatch(token -> token <= Integer.MAX_VALUE)) {
      int[] ints = Arrays.stream(tokens).mapToInt(Math::toIntExact).toArray();
      assertThat(hasher.pageKeys(ints)).as("%s", row).isEqualTo(expected.subList(0, full));
    }
  }

  private static void compareNodes(JsonObject row) {
    PageHasher hasher = hasher(row, 1);
    List<PageKey> parent = hasher.pageKeys(longs(row.getAsJsonArray("parentTokens")));

    assertThat(parent).as("%s", row).isEqualTo(pages(row, "parentHashes"));
    assertThat(hasher.pageKeys(longs(row.getAsJsonArray("childTokens")), parent.getLast()))
        .as("%s", row)
        .isEqualTo(pages(row, "childHashes"));
  }

  private static void compareResume(JsonObject row) {
    PageHasher hasher = hasher(row, 1);
    long[] tokens = tokens(row);
    int resumed = number(row, "resumeAtPage");
    long[] rest = Arrays.copyOfRange(tokens, resumed * hasher.pageTokens(), tokens.length);
    PageKey prior = new PageKey(text(row, "resumePriorHash"));

    assertThat(hasher.pageKeysWithTail(tokens)).isEqualTo(pages(row, "hashes"));
    assertThat(hasher.after(prior).pageKeysWithTail(rest)).isEqualTo(pages(row, "resumedHashes"));
    assertThat(pages(row, "hashes").subList(resumed, pages(row, "hashes").size()))
        .isEqualTo(pages(row, "resumedHashes"));
  }

  /** Returns the hasher of a row; of one without pages, one whose page size does not matter. */
  private static PageHasher hasher(JsonObject row, int unit) {
    JsonElement pageSize = row.get("pageSize");
    PageHasher hasher = PageHasher.of(pageSize.isJsonNull() ? 1 : pageSize.getAsInt() * unit);
    if (flag(row, "bigram")) {
      hasher = hasher.withBigrams();
    }
    hasher = hasher.withNamespace(optional(row, "extraKey"), optional(row, "cacheSalt"));
    String prior = optional(row, "priorHash").orElse("");
    return prior.isEmpty() ? hasher : hasher.after(new PageKey(prior));
  }

  private static long[] tokens(JsonObject row) {
    if (row.has("tokens")) {
      return longs(row.getAsJsonArray("tokens"));
    }
    JsonArray flat = new JsonArray();
    row.getAsJsonArray("pairs").forEach(pair -> flat.addAll(pair.getAsJsonArray()));
    return longs(flat);
  }
}
