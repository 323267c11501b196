package io.unifiedcache.cli.vectors;

import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.key.KeyTemplate;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Checks rows of object keys and file names, which have an {@code op}. */
final class KeyVectors {
  private static final Set<String> STORE_OPS =
      Set.of(
          "batchSetV1",
          "batchExists",
          "batchGetV1",
          "batchSetV1Partial",
          "batchGetV1Partial",
          "batchExistsPartial",
          "batchSetV1LogicalAnchor",
          "batchGetV1LogicalAnchor",
          "hybridComponentKeys",
          "batchSetV2",
          "batchGetV2",
          "describeL3ObjectLayout");

  private static final Set<String> FILE_OPS =
      Set.of(
          "batchSetV1",
          "componentFileNames",
          "batchSetV2",
          "batchExistsV2",
          "suffixedKey",
          "batchSetV2IndexMismatch");

  private static final HostMemory BYTE = HostMemory.of(Arena.global().allocate(1));

  /** What SGLang writes for the rank where heads are split: a list, as Python prints it. */
  private static final String PRINTED_LIST = "_['";

  private static final List<String> WHOLE = List.of(Component.PACKED);
  private static final List<String> LATENT = List.of(PoolLayouts.KEYS);
  private static final List<String> SPLIT = List.of(PoolLayouts.KEYS, PoolLayouts.VALUES);

  private KeyVectors() {}

  static boolean knowsStore(String op) {
    return STORE_OPS.contains(op);
  }

  static boolean knowsFile(String op) {
    return FILE_OPS.contains(op);
  }

  /** Returns who holds which part, as a configuration of SGLang says it. */
  static CacheIdentity identity(Row config, String model) throws VectorException {
    CacheIdentity.Builder identity =
        CacheIdentity.builder()
            .tensor(config.number("tpRank"), config.number("tpSize"))
            .pipeline(config.number("ppRank"), config.number("ppSize"))
            .context(config.number("attnCpRank"), config.number("attnCpSize"));
    config.findText(model).ifPresent(identity::model);
    config.find("extraBackendTag").map(KeyVectors::asPythonPrints).ifPresent(identity::tag);
    if (config.find("dcpSize").isPresent()) {
      identity.decodeContext(
          config.number("dcpRank"), config.number("dcpSize"), config.number("logicalPageSize"));
    }
    if (config.flag("shouldSplitHeads")) {
      identity.splitHeads(config.number("tpLcmSize"));
    }
    return identity.build();
  }

  private static String asPythonPrints(JsonElement value) {
    if (value instanceof JsonPrimitive primitive && primitive.isBoolean()) {
      return primitive.getAsBoolean() ? "True" : "False";
    }
    return value.getAsString();
  }

  /** Checks a row of the Mooncake store. */
  static Verdict checkStore(String op, Row row) throws VectorException {
    if (op.equals("describeL3ObjectLayout")) {
      return Verdict.notCovered("layout descriptions");
    }
    if (op.endsWith("LogicalAnchor")) {
      return Verdict.notCovered("recorded calls");
    }
    Row config = row.object("config");
    CacheIdentity identity = identity(config, "modelName");
    boolean replicated = config.flag("isMla");
    KeyLayout layout = KeyLayout.of(KeyForm.SGLANG_STORE, identity, replicated, EmptySegments.KEEP);
    if (op.equals("hybridComponentKeys")) {
      return hybrid(row, layout, replicated);
    }
    List<Named> all = new ArrayList<>();
    if (op.endsWith("V2")) {
      for (Row transfer : row.objects("transfers")) {
        String pool = transfer.text("pool");
        Optional<List<String>> components = componentsOfTransfer(pool, replicated);
        if (components.isEmpty()) {
          return Verdict.notCovered("a transfer of pool " + pool);
        }
        all.addAll(named(layout, pool, components.get(), transfer.pages("keys")));
      }
    } else {
      all.addAll(named(layout, "kv", kvComponents(identity, replicated), row.pages("logicalKeys")));
    }
    return storeKeys(row, layout, all);
  }

  /** Compares the keys that were asked for, those that were put or read, and their groups. */
  private static Verdict storeKeys(Row row, KeyLayout layout, List<Named> all)
      throws VectorException {
    List<Named> moved = new ArrayList<>(all);
    Verdict verdict = Verdict.matched();
    if (row.has("queriedKeys")) {
      verdict = Verdict.compare("queriedKeys", row.texts("queriedKeys"), keys(all));
      List<Integer> states = row.numbers("existStates");
      for (int i = Math.min(states.size(), moved.size()) - 1; i >= 0; i--) {
        if (states.get(i) == 1) {
          moved.remove(i);
        }
      }
    }
    List<String> objectKeys = row.texts("objectKeys");
    Optional<List<String>> groups =
        row.find("groupIds").isPresent() ? Optional.of(row.texts("groupIds")) : Optional.empty();
    return verdict
        .and(() -> Verdict.compare("objectKeys", objectKeys, keys(moved)))
        .and(
            () ->
                groups.isEmpty()
                    ? Verdict.matched()
                    : Verdict.compare(
                        "groupIds",
                        groups.get(),
                        moved.stream()
                            .map(each -> layout.groupHint(each.page()).orElse(""))
                            .toList()));
  }

  private static Verdict hybrid(Row row, KeyLayout layout, boolean replicated)
      throws VectorException {
    String pool = row.text("pool");
    Optional<List<String>> components = componentsOfHost(pool, row.text("hostVariant"), replicated);
    if (components.isEmpty()) {
      return Verdict.notCovered("host variant " + row.text("hostVariant"));
    }
    List<PageKey> pages = row.pages("logicalKeys");
    if (row.has("error")) {
      return Verdict.refuses(
          row.text("error"), () -> keys(named(layout, pool, components.get(), pages)));
    }
    List<String> expected = row.texts("objectKeys");
    List<Named> found;
    try {
      found = named(layout, pool, components.get(), pages);
    } catch (IllegalArgumentException e) {
      return expected.stream().anyMatch(key -> key.contains(PRINTED_LIST))
          ? Verdict.onPurpose("a printed list of ranks in a key: " + e.getMessage())
          : Verdict.differing("expected " + expected + ", found a refusal: " + e.getMessage());
    }
    return Verdict.compare("objectKeys", expected, keys(found));
  }

  /** Returns the objects of a page of pool kv. */
  private static List<String> kvComponents(CacheIdentity identity, boolean replicated) {
    if (replicated) {
      return LATENT;
    }
    if (identity.splitHeads().isEmpty()) {
      return SPLIT;
    }
    List<String> components = new ArrayList<>();
    int shares = identity.splitHeads().getAsInt() / identity.tensor().size();
    for (int share = 0; share < shares; share++) {
      components.add(PoolLayouts.KEYS + "." + share);
      components.add(PoolLayouts.VALUES + "." + share);
    }
    return components;
  }

  /** Returns the objects of a page of a pool in the rows of whole transfers. */
  private static Optional<List<String>> componentsOfTransfer(String pool, boolean replicated) {
    return switch (pool) {
      case "indexer" -> Optional.of(WHOLE);
      case "swa" -> Optional.of(replicated ? WHOLE : SPLIT);
      case "draft" -> Optional.of(SPLIT);
      case "mamba" -> componentsOfHost(pool, "temporal+2conv", replicated);
      default -> Optional.empty();
    };
  }

  /** Returns the objects of a page of a pool whose host side looks as the row says. */
  private static Optional<List<String>> componentsOfHost(
      String pool, String variant, boolean replicated) {
    String first = PoolLayouts.CONVOLUTION + 0;
    String second = PoolLayouts.CONVOLUTION + 1;
    return switch (variant) {
      case "plain" -> Optional.of(pool.equals("kv") ? LATENT : WHOLE);
      case "mlaHost" -> Optional.of(pool.equals("draft") ? LATENT : WHOLE);
      case "mhaHost" -> Optional.of(SPLIT);
      case "dsv4PagedHost", "noVBuffer" -> Optional.of(WHOLE);
      case "hasVBuffer" -> Optional.of(replicated ? WHOLE : SPLIT);
      case "temporal+2conv" -> Optional.of(List.of(PoolLayouts.TEMPORAL, first, second));
      case "temporal+1conv" -> Optional.of(List.of(PoolLayouts.TEMPORAL, first));
      case "2conv" -> Optional.of(List.of(first, second));
      case "temporalOnly" -> Optional.of(List.of(PoolLayouts.TEMPORAL));
      case "none", "unregistered" -> Optional.of(List.of());
      case "other" -> Optional.of(List.of(variant));
      default -> Optional.empty();
    };
  }

  /** Checks a row of the file store. */
  static Verdict checkFile(String op, Row row) throws VectorException {
    Row config = row.object("config");
    boolean replicated = config.flag("isMla");
    KeyLayout layout =
        KeyLayout.of(
            KeyForm.SGLANG_FILE, identity(config, "modelName"), replicated, EmptySegments.KEEP);
    return switch (op) {
      case "componentFileNames" -> componentFileNames(row, layout);
      case "suffixedKey" ->
          Verdict.compare(
              "fileName",
              List.of(row.text("fileName")),
              keys(named(layout, "kv", WHOLE, List.of(new PageKey(row.text("logicalKey"))))));
      case "batchSetV1" ->
          names(row, "fileNames", keys(named(layout, "kv", WHOLE, row.pages("logicalKeys"))));
      case "batchSetV2" -> {
        List<String> found = new ArrayList<>();
        for (Row transfer : row.objects("transfers")) {
          found.addAll(keys(named(layout, transfer.text("pool"), WHOLE, transfer.pages("keys"))));
        }
        yield names(row, "fileNames", found);
      }
      case "batchExistsV2" -> {
        List<String> found = new ArrayList<>();
        List<PageKey> pages = row.pages("logicalKeys");
        for (String pool : row.object("hitCount").members()) {
          found.addAll(keys(named(layout, pool, WHOLE, pages)));
        }
        yield names(row, "probedFileNames", found);
      }
      case "batchSetV2IndexMismatch" -> indexMismatch(row);
      default -> throw new VectorException(row.where() + ": unknown op " + op);
    };
  }

  private static Verdict componentFileNames(Row row, KeyLayout layout) throws VectorException {
    Row names = row.object("fileNames");
    List<PageKey> page = List.of(new PageKey(row.text("logicalKey")));
    List<String> expected = new ArrayList<>();
    List<String> found = new ArrayList<>();
    for (String pool : names.members()) {
      expected.add(names.text(pool));
      found.addAll(keys(named(layout, pool.equals("__default__") ? "kv" : pool, WHOLE, page)));
    }
    return Verdict.compare("fileNames", expected, found);
  }

  private static Verdict names(Row row, String member, List<String> found) throws VectorException {
    Collections.sort(found);
    return Verdict.compare(member, row.texts(member), found);
  }

  /** More or fewer places than pages are refused, as the original writes nothing. */
  private static Verdict indexMismatch(Row row) throws VectorException {
    for (Row transfer : row.objects("transfers")) {
      List<PageKey> keys = transfer.pages("keys");
      int slots = transfer.number("indices") / transfer.number("pageSize");
      Verdict verdict =
          Verdict.refuses(
              "every page false",
              () -> new PoolTransfer(PoolName.SWA, keys, Slots.range(/* first= */ 0, slots)));
      if (verdict.outcome() != Verdict.Outcome.MATCHED) {
        return verdict;
      }
    }
    return Verdict.matched();
  }

  /** Checks a row of the direct linker's keys. */
  static Verdict checkLinker(Row row) throws VectorException {
    Row config = row.object("config");
    KeyLayout layout =
        KeyLayout.of(
            KeyForm.SGLANG_LINKER,
            identity(config, "modelPath"),
            config.flag("rankReplicated"),
            EmptySegments.KEEP);
    List<PageKey> pages = row.pages("logicalKeys");
    Row keysByPool = row.object("objectKeysByPool");
    for (String pool : keysByPool.members()) {
      Verdict verdict =
          Verdict.compare(pool, keysByPool.texts(pool), keys(named(layout, pool, WHOLE, pages)));
      if (verdict.outcome() != Verdict.Outcome.MATCHED) {
        return verdict;
      }
    }
    return Verdict.matched();
  }

  /** An object key and the page that it belongs to. */
  private record Named(PageKey page, String key) {}

  /**
   * Returns the templates of a pool of the given components, whose memory SGLang's forms of keys do
   * not know of.
   */
  private static List<KeyTemplate> templates(
      KeyLayout layout, String pool, List<String> components) {
    List<LayerBuffer> memory = List.of(new LayerBuffer(0, BYTE, 1));
    return layout.templates(
        new DevicePool(
            new PoolName(pool),
            components.stream().map(name -> new Component(name, memory)).toList()));
  }

  /** Returns the keys of the pages, page after page. */
  private static List<Named> named(
      KeyLayout layout, String pool, List<String> components, List<PageKey> pages) {
    List<KeyTemplate> templates = templates(layout, pool, components);
    List<Named> named = new ArrayList<>();
    for (PageKey page : pages) {
      for (KeyTemplate template : templates) {
        named.add(new Named(page, template.key(page).value()));
      }
    }
    return named;
  }

  private static List<String> keys(List<Named> named) {
    return new ArrayList<>(named.stream().map(Named::key).toList());
  }
}
