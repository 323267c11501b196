package io.unifiedcache.linker.key;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import java.util.List;
import java.util.Optional;

/**
 * The keys of SGLang's direct linker: {@code
 * [{tag}_][{model}_]{page}_[tp{rank}_]cp{rank}_pp{stage}_{object}}, the object {@code k} for pool
 * {@code kv} and otherwise the pool's name, the tensor rank left out where all ranks hold the same.
 */
final class SglangLinkerKeyLayout extends SglangKeyLayout {
  private static final String FORM = "sglang-linker";

  /** What the objects of pool {@code kv} are called. */
  private static final String KV_OBJECT = "k";

  private final String pagePrefix;

  SglangLinkerKeyLayout(
      CacheIdentity identity, boolean rankReplicated, EmptySegments emptySegments) {
    super(identity, rankReplicated);
    if (decodeContext(identity).isPresent()) {
      throw new IllegalArgumentException(
          FORM + " has no place in its keys for the rank of a decode-context part");
    }
    if (identity.splitHeads().isPresent()) {
      throw new IllegalArgumentException(FORM + " has no place in its keys for shares of heads");
    }
    pagePrefix = tagAndModel(identity, emptySegments, Optional.empty());
  }

  @Override
  List<KeyTemplate> templates(PoolName pool, List<String> components) {
    if (!components.equals(List.of(Component.PACKED))) {
      throw refusal(FORM, pool, components, "it stores a page of a pool as one object, [page]");
    }
    if (pool.value().equals(KV_OBJECT)) {
      throw refusal(FORM, pool, components, "pool kv has the keys of this name");
    }
    return List.of(
        new AffixTemplate(
            pagePrefix,
            (rankReplicated ? "_" : "_tp" + identity.tensor().rank() + "_")
                + "cp"
                + identity.context().rank()
                + "_pp"
                + identity.pipeline().rank()
                + "_"
                + (pool.equals(PoolName.KV) ? KV_OBJECT : pool.value())));
  }

  @Override
  public Optional<String> warning() {
    return Optional.of(
        "Keys in the form sglang-linker join their parts by _ without escapes and write / in a"
            + " model as -, so org/model-a meets org-model-a, and tag a with model b_c meets tag"
            + " a_b with model c; they name no revision, element type, page size or salt, nor how"
            + " many ranks there are, so deployments that differ in these meet too: give each a"
            + " tag of its own.");
  }

  @Override
  String pagePrefix() {
    return pagePrefix;
  }
}
