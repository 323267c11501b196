package io.unifiedcache.linker.key;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The keys of SGLang's Mooncake store: {@code
 * [{tag}_][{model}_][{sizes}_]{page}_{rank}_[{pool}_]{object}}.
 *
 * <p>Where ranks differ, {@code rank} is the tensor rank and, with several stages, the stage:
 * {@code 1} or {@code 1_0}. Where they hold the same, it is the stage alone or nothing, with the
 * decode-context and context ranks before it if there are decode-context ranks: the object of a
 * plain MLA page is {@code page__k}. Which of both holds is told by the components.
 */
final class SglangStoreKeyLayout extends SglangKeyLayout {
  private static final String FORM = "sglang-store";
  private static final String K = "k";
  private static final String V = "v";
  private static final String TEMPORAL = "temporal";
  private static final String CONVOLUTION = "conv_";

  /** The pools whose page is one object, in whatever model. */
  private static final Set<String> PACKED =
      Set.of(
          "indexer",
          "draft_indexer",
          "deepseek_v4_c1",
          "deepseek_v4_c1_indexer",
          "deepseek_v4_c1_indexer_scale",
          "deepseek_v4_c2",
          "deepseek_v4_c2_indexer",
          "deepseek_v4_c2_indexer_scale",
          "deepseek_v4_c4",
          "deepseek_v4_c4_indexer",
          "deepseek_v4_c4_indexer_scale",
          "deepseek_v4_c4_indexer_state",
          "deepseek_v4_c4_rope",
          "deepseek_v4_c4_state",
          "deepseek_v4_c128",
          "deepseek_v4_c128_rope",
          "deepseek_v4_c128_state");

  private final String pagePrefix;

  SglangStoreKeyLayout(
      CacheIdentity identity, boolean rankReplicated, EmptySegments emptySegments) {
    super(identity, rankReplicated);
    pagePrefix = tagAndModel(identity, emptySegments, sizes(identity));
  }

  @Override
  List<KeyTemplate> templates(PoolName pool, List<String> components) {
    List<KeyTemplate> templates = new ArrayList<>();
    for (String ending : endings(pool, components)) {
      templates.add(new AffixTemplate(pagePrefix, "_" + ending));
    }
    return List.copyOf(templates);
  }

  @Override
  public Optional<String> warning() {
    StringBuilder text =
        new StringBuilder(
            "Keys in the form sglang-store join their parts by _ without escapes and write / in a"
                + " model as -, so org/model-a meets org-model-a, and tag a with model b_c meets"
                + " tag a_b with model c; they name no revision, element type, page size or salt,"
                + " nor how many ranks there are, so deployments that differ in these meet too:"
                + " give each a tag of its own.");
    if (isDivided(identity.context()) && decodeContext(identity).isEmpty()) {
      text.append(" They do not name the context rank, so all context ranks must hold the same.");
    }
    if (isDivided(identity.tensor()) && !rankReplicated) {
      text.append(
          " A kv or draft pool of k alone and a pool stored whole are named without the tensor"
              + " rank, so all tensor ranks must hold the same of them.");
    }
    return Optional.of(text.toString());
  }

  @Override
  String pagePrefix() {
    return pagePrefix;
  }

  private static Optional<String> sizes(CacheIdentity identity) {
    return decodeContext(identity)
        .map(
            part ->
                "tp"
                    + identity.tensor().size()
                    + "_dcp"
                    + part.shard().size()
                    + "_page"
                    + part.logicalPageTokens()
                    + "_pp"
                    + identity.pipeline().size()
                    + "_cp"
                    + identity.context().size());
  }

  /** Returns what follows the page in the keys of the components. */
  private List<String> endings(PoolName pool, List<String> components) {
    String name = pool.value();
    return switch (name) {
      case "kv" -> {
        if (components.equals(List.of(K))) {
          yield List.of(shared() + "_k");
        }
        if (identity.splitHeads().isPresent()) {
          yield splitHeads(pool, components, identity.splitHeads().getAsInt());
        }
        yield keysAndValues(pool, components, "", "it has names for [k] and [k, v]");
      }
      case "draft" ->
          components.equals(List.of(K))
              ? List.of(shared() + "_draft_k")
              : keysAndValues(pool, components, "draft_", "it has names for [k] and [k, v]");
      case "draft_swa" ->
          components.equals(List.of(Component.PACKED))
              ? List.of(shared() + "_draft_swa")
              : keysAndValues(pool, components, "draft_swa_", "it has names for [page] and [k, v]");
      case "swa" ->
          rankReplicated && components.equals(List.of(Component.PACKED))
              ? List.of(shared() + "_swa")
              : keysAndValues(
                  pool,
                  components,
                  "swa_",
                  "it has names for [k, v] and, where all tensor ranks hold the same, [page]");
      case "mamba" -> states(pool, components);
      default -> {
        if (!PACKED.contains(name)) {
          throw refusal(FORM, pool, components, "it does not know this pool");
        }
        if (!components.equals(List.of(Component.PACKED))) {
          throw refusal(FORM, pool, components, "it has a name for [page]");
        }
        yield List.of(shared() + "_" + name);
      }
    };
  }

  private List<String> splitHeads(PoolName pool, List<String> components, int shares) {
    int factor = shares / identity.tensor().size();
    List<String> names = new ArrayList<>();
    List<String> endings = new ArrayList<>();
    for (int share = 0; share < factor; share++) {
      String rank = own(identity.tensor().rank() * factor + share);
      for (String each : List.of(K, V)) {
        names.add(each + "." + share);
        endings.add(rank + "_" + each);
      }
    }
    if (!components.equals(names)) {
      throw refusal(FORM, pool, components, "with heads split in these shares it names " + names);
    }
    return endings;
  }

  private List<String> keysAndValues(
      PoolName pool, List<String> components, String prefix, String known) {
    if (!components.equals(List.of(K, V))) {
      throw refusal(FORM, pool, components, known);
    }
    requireWholeHeads(pool, components);
    String rank = own(identity.tensor().rank());
    return List.of(rank + "_" + prefix + K, rank + "_" + prefix + V);
  }

  private List<String> states(PoolName pool, List<String> components) {
    int convolutions = 0;
    List<String> endings = new ArrayList<>();
    for (String component : components) {
      boolean temporal = endings.isEmpty() && component.equals(TEMPORAL);
      if (!temporal && !component.equals(CONVOLUTION + convolutions++)) {
        throw refusal(FORM, pool, components, "it has names for [temporal, conv_0, conv_1, ...]");
      }
      endings.add(own(identity.tensor().rank()) + "_" + component);
    }
    if (endings.isEmpty()) {
      throw refusal(FORM, pool, components, "it has names for [temporal, conv_0, conv_1, ...]");
    }
    requireWholeHeads(pool, components);
    return endings;
  }

  /** With split heads SGLang prints a list of ranks into these keys, which nobody can share. */
  private void requireWholeHeads(PoolName pool, List<String> components) {
    if (identity.splitHeads().isPresent()) {
      throw refusal(
          FORM, pool, components, "with split heads it names no pool but kv by its tensor rank");
    }
  }

  /** Returns the rank part of what differs between tensor ranks. */
  private String own(int rank) {
    return rank + (isDivided(identity.pipeline()) ? "_" + identity.pipeline().rank() : "");
  }

  /** Returns the rank part of what all tensor ranks hold alike. */
  private String shared() {
    String stage = isDivided(identity.pipeline()) ? "" + identity.pipeline().rank() : "";
    return decodeContext(identity)
        .map(
            part ->
                "dcp"
                    + part.shard().rank()
                    + "_cp"
                    + identity.context().rank()
                    + (stage.isEmpty() ? "" : "_" + stage))
        .orElse(stage);
  }
}
