package io.unifiedcache.cli.vectors;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.linker.key.PageHasher;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Checks rows of page hashes, which have a {@code kind}. */
final class PageHashVectors {
  private static final Set<String> KINDS =
      Set.of(
          "plain",
          "plainWhole",
          "plainEmpty",
          "badPrior",
          "bigram",
          "bigramWhole",
          "wide",
          "wideBigram",
          "negative",
          "namespaced",
          "namespaceSeedFunction",
          "chainResume",
          "tuples",
          "eventInt64",
          "treeNodes");

  private PageHashVectors() {}

  /** Tells whether rows of this kind are page hashes. */
  static boolean knows(String kind) {
    return KINDS.contains(kind);
  }

  static Verdict check(String kind, Row row) throws VectorException {
    return switch (kind) {
      case "eventInt64" -> Verdict.notCovered("event hashes");
      case "namespaceSeedFunction" ->
          Verdict.compare(
              "namespaceSeed",
              row.findText("namespaceSeed"),
              PageHasher.namespaceSeed(row.findText("extraKey"), row.findText("cacheSalt"))
                  .map(PageKey::value));
      case "tuples" -> tuples(row);
      case "treeNodes" -> treeNodes(row);
      case "chainResume" -> chainResume(row);
      default -> chain(row);
    };
  }

  private static Verdict chain(Row row) throws VectorException {
    long[] tokens = row.tokens("tokens");
    Optional<String> prior = row.findText("priorHash").filter(hash -> !hash.isEmpty());
    Optional<Integer> pageSize =
        row.find("pageSize").isPresent() ? Optional.of(row.number("pageSize")) : Optional.empty();
    boolean bigram = row.flag("bigram");
    if (row.has("error")) {
      return Verdict.refuses(
          row.text("error"), () -> hashes(hasher(pageSize.orElse(1), bigram, prior), tokens));
    }
    PageHasher hasher = hasher(pageSize.orElse(1), bigram, prior);
    Verdict seed = Verdict.matched();
    if (row.has("extraKey") || row.has("cacheSalt")) {
      Optional<String> extraKey = row.findText("extraKey");
      Optional<String> salt = row.findText("cacheSalt").filter(text -> !text.isEmpty());
      seed =
          Verdict.compare(
              "namespaceSeed",
              row.findText("namespaceSeed"),
              PageHasher.namespaceSeed(extraKey, salt).map(PageKey::value));
      // A chain that goes on from another page is in its namespace already.
      hasher = prior.isPresent() ? hasher : hasher.withNamespace(extraKey, salt);
    }
    Verdict pages =
        pageSize.isEmpty()
            ? Verdict.compare("hash", row.text("hash"), hasher.wholeKey(tokens).value())
            : Verdict.compare("hashes", row.texts("hashes"), hashes(hasher, tokens));
    return seed.and(() -> pages);
  }

  private static Verdict chainResume(Row row) throws VectorException {
    long[] tokens = row.tokens("tokens");
    int pageSize = row.number("pageSize");
    int resumed = row.number("resumeAtPage");
    List<String> hashes = row.texts("hashes");
    List<String> resumedHashes = row.texts("resumedHashes");
    String prior = row.text("resumePriorHash");
    PageHasher hasher = PageHasher.of(pageSize);
    long[] rest = Arrays.copyOfRange(tokens, resumed * pageSize, tokens.length);
    return Verdict.compare("hashes", hashes, hashes(hasher, tokens))
        .and(
            () ->
                Verdict.compare(
                    "resumedHashes",
                    resumedHashes,
                    hashes(hasher.after(new PageKey(prior)), rest)));
  }

  /**
   * Units given explicitly are hashed number after number, so they are pages of as many times more
   * plain tokens.
   */
  private static Verdict tuples(Row row) throws VectorException {
    List<Long> numbers = new ArrayList<>();
    int width = 1;
    for (List<Integer> unit : row.matrix("pairs")) {
      width = unit.size();
      unit.forEach(number -> numbers.add(number.longValue()));
    }
    long[] tokens = numbers.stream().mapToLong(Long::longValue).toArray();
    Optional<String> prior = row.findText("priorHash");
    if (row.find("pageSize").isEmpty()) {
      return Verdict.compare(
          "hash", row.text("hash"), hasher(1, false, prior).wholeKey(tokens).value());
    }
    int pageTokens = row.number("pageSize") * width;
    return Verdict.compare(
        "hashes", row.texts("hashes"), hashes(hasher(pageTokens, false, prior), tokens));
  }

  private static Verdict treeNodes(Row row) throws VectorException {
    PageHasher hasher =
        PageHasher.of(row.number("pageSize"))
            .withNamespace(row.findText("extraKey"), row.findText("cacheSalt"));
    List<String> parents = row.texts("parentHashes");
    List<String> children = row.texts("childHashes");
    List<String> found = hashes(hasher, row.tokens("parentTokens"));
    long[] childTokens = row.tokens("childTokens");
    return Verdict.compare("parentHashes", parents, found)
        .and(
            () ->
                Verdict.compare(
                    "childHashes",
                    children,
                    hashes(hasher.after(new PageKey(parents.getLast())), childTokens)));
  }

  /** Returns the parts of a row that are not compared. */
  static List<String> notCompared(String kind) {
    return kind.equals("treeNodes") ? List.of("event hashes") : List.of();
  }

  private static PageHasher hasher(int pageTokens, boolean bigram, Optional<String> prior) {
    PageHasher hasher = PageHasher.of(pageTokens);
    if (bigram) {
      hasher = hasher.withBigrams();
    }
    return prior.isPresent() ? hasher.after(new PageKey(prior.get())) : hasher;
  }

  private static List<String> hashes(PageHasher hasher, long[] tokens) {
    return hasher.pageKeysWithTail(tokens).stream().map(PageKey::value).toList();
  }
}
