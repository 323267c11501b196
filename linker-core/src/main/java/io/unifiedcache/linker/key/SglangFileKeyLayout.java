package io.unifiedcache.linker.key;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import java.util.List;
import java.util.Optional;

/**
 * The file names of SGLang's file store: {@code {page}[.{pool}]{suffix}.bin}, the suffix {@code
 * _{model}[_{tensor rank}_{size}][_{stages}_{stage}][_cp{rank}_{size}]} and, with decode-context
 * ranks, {@code _tp{size}_dcp{rank}_{size}_page{tokens}}.
 *
 * <p>Where all tensor ranks hold the same, their rank is left out, except of pool {@code mamba}.
 * The stages are named if there are several; so are the context ranks.
 */
final class SglangFileKeyLayout extends SglangKeyLayout {
  private static final String FORM = "sglang-file";

  /** What makes SGLang name the tensor rank: it looks at the end of the page and pool. */
  private static final String STATES = ".mamba";

  private final String pagePrefix;
  private final String suffix;
  private final String statesSuffix;

  SglangFileKeyLayout(CacheIdentity identity, boolean rankReplicated, EmptySegments emptySegments) {
    super(identity, rankReplicated);
    if (identity.splitHeads().isPresent()) {
      throw new IllegalArgumentException(FORM + " has no place in its names for shares of heads");
    }
    pagePrefix = tagAndModel(identity, emptySegments, Optional.empty());
    suffix = suffix(identity, emptySegments, !rankReplicated);
    statesSuffix = suffix(identity, emptySegments, /* withTensorRank= */ true);
  }

  @Override
  List<KeyTemplate> templates(PoolName pool, List<String> components) {
    if (!components.equals(List.of(Component.PACKED))) {
      throw refusal(FORM, pool, components, "it stores a page of a pool as one file, [page]");
    }
    String extension = pool.equals(PoolName.KV) ? "" : "." + pool;
    return List.of(new Template(extension, suffix, statesSuffix));
  }

  @Override
  public Optional<String> warning() {
    return Optional.of(
        "Names in the form sglang-file write neither tag, revision, element type, page size nor"
            + " salt, and / in a model as -, so org/model-a meets org-model-a, and deployments that"
            + " differ in these meet too: give each a folder of its own.");
  }

  @Override
  String pagePrefix() {
    return pagePrefix;
  }

  private static String suffix(
      CacheIdentity identity, EmptySegments emptySegments, boolean withTensorRank) {
    StringBuilder text = new StringBuilder();
    Optional<String> model = model(identity, emptySegments);
    if (model.isPresent() || emptySegments == EmptySegments.KEEP) {
      text.append('_').append(model.orElse(""));
    }
    if (withTensorRank) {
      text.append("_" + identity.tensor().rank() + "_" + identity.tensor().size());
    }
    if (isDivided(identity.pipeline())) {
      text.append("_" + identity.pipeline().size() + "_" + identity.pipeline().rank());
    }
    if (isDivided(identity.context())) {
      text.append("_cp" + identity.context().rank() + "_" + identity.context().size());
    }
    decodeContext(identity)
        .ifPresent(
            part ->
                text.append(
                    "_tp"
                        + identity.tensor().size()
                        + "_dcp"
                        + part.shard().rank()
                        + "_"
                        + part.shard().size()
                        + "_page"
                        + part.logicalPageTokens()));
    return text.append(".bin").toString();
  }

  private record Template(String extension, String suffix, String statesSuffix)
      implements KeyTemplate {
    @Override
    public ObjectKey key(PageKey page) {
      String stem = page.value() + extension;
      return new ObjectKey(stem + (stem.endsWith(STATES) ? statesSuffix : suffix));
    }
  }
}
