package io.unifiedcache.linker.key;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.linker.key.CacheIdentity.DecodeContext;
import io.unifiedcache.linker.key.CacheIdentity.Shard;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the forms of SGLang 0.5.23 have in common (rule {@code key.golden}). */
abstract sealed class SglangKeyLayout implements KeyLayout
    permits SglangStoreKeyLayout, SglangLinkerKeyLayout, SglangFileKeyLayout {
  private static final String GROUP = "sglang-hicache:";

  final CacheIdentity identity;
  final boolean rankReplicated;

  SglangKeyLayout(CacheIdentity identity, boolean rankReplicated) {
    this.identity = identity;
    this.rankReplicated = rankReplicated;
  }

  static SglangKeyLayout of(
      KeyForm form, CacheIdentity identity, boolean rankReplicated, EmptySegments emptySegments) {
    return switch (form) {
      case SGLANG_STORE -> new SglangStoreKeyLayout(identity, rankReplicated, emptySegments);
      case SGLANG_LINKER -> new SglangLinkerKeyLayout(identity, rankReplicated, emptySegments);
      case SGLANG_FILE -> new SglangFileKeyLayout(identity, rankReplicated, emptySegments);
      case STRICT -> throw new IllegalArgumentException("strict is no form of SGLang's");
    };
  }

  @Override
  public final List<KeyTemplate> templates(DevicePool pool) {
    return templates(pool.name(), pool.components().stream().map(Component::name).toList());
  }

  /** Returns the templates of a pool by its name and those of its components, in their order. */
  abstract List<KeyTemplate> templates(PoolName pool, List<String> components);

  @Override
  public final Optional<KeyPrefix> prefix() {
    return Optional.empty();
  }

  @Override
  public final Optional<String> groupHint(PageKey page) {
    return Optional.of(GROUP + pagePrefix() + page.value());
  }

  /** Returns what stands before a page to tag it, with its separator; may be empty. */
  abstract String pagePrefix();

  /** Returns the model as SGLang writes it, or empty if nothing of it is left. */
  static Optional<String> model(CacheIdentity identity, EmptySegments emptySegments) {
    return identity
        .model()
        .map(
            model ->
                emptySegments == EmptySegments.KEEP
                    ? model.replace('/', '-')
                    : Arrays.stream(model.split("/"))
                        .filter(segment -> !segment.isEmpty())
                        .collect(Collectors.joining("-")))
        .filter(model -> !model.isEmpty());
  }

  /** Returns the tag and the model and what else is given, each followed by {@code _}. */
  static String tagAndModel(
      CacheIdentity identity, EmptySegments emptySegments, Optional<String> more) {
    Optional<String> tag =
        identity.tag().filter(text -> emptySegments == EmptySegments.KEEP || !text.isEmpty());
    return Stream.of(tag, model(identity, emptySegments), more)
        .flatMap(Optional::stream)
        .map(part -> part + "_")
        .collect(Collectors.joining());
  }

  /** Returns the decode-context part if it divides anything. */
  static Optional<DecodeContext> decodeContext(CacheIdentity identity) {
    return identity.decodeContext().filter(part -> isDivided(part.shard()));
  }

  static boolean isDivided(Shard shard) {
    return shard.size() > 1;
  }

  static IllegalArgumentException refusal(
      String form, PoolName pool, List<String> components, String known) {
    return new IllegalArgumentException(
        form + " has no names for pool " + pool + " stored as " + components + "; " + known);
  }
}
