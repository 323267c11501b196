package io.unifiedcache.linker.key;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.linker.key.CacheIdentity.Shard;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** The strict form of keys; {@link StrictKey} describes it. */
final class StrictKeyLayout implements KeyLayout {
  static final String VERSION = "uc1";

  private static final String SEPARATOR = "_";

  private final String prefix;
  private final String groupPrefix;

  StrictKeyLayout(CacheIdentity identity, boolean rankReplicated) {
    prefix =
        prefix(
            identity,
            rankReplicated ? shared(identity.tensor()) : own(identity.tensor()),
            own(identity.pipeline()),
            own(identity.context()),
            identity.decodeContext().map(part -> own(part.shard())));
    groupPrefix =
        prefix(
            identity,
            shared(identity.tensor()),
            shared(identity.pipeline()),
            shared(identity.context()),
            identity.decodeContext().map(part -> shared(part.shard())));
  }

  @Override
  public List<KeyTemplate> templates(PoolName pool, List<String> components) {
    if (components.isEmpty()) {
      throw new IllegalArgumentException("pool " + pool + " has no components to name");
    }
    Set<String> names = new HashSet<>();
    List<KeyTemplate> templates = new ArrayList<>();
    for (String component : components) {
      if (!names.add(component)) {
        throw new IllegalArgumentException(
            "pool " + pool + " has two components called " + component);
      }
      templates.add(
          new Template(
              prefix,
              SEPARATOR
                  + StrictText.encode(pool.value())
                  + SEPARATOR
                  + StrictText.encode(component)));
    }
    return List.copyOf(templates);
  }

  @Override
  public Optional<KeyPrefix> prefix() {
    return Optional.of(KeyPrefix.of(prefix));
  }

  @Override
  public Optional<String> groupHint(PageKey page) {
    return Optional.of(groupPrefix + StrictText.encode(page.value()));
  }

  @Override
  public Optional<String> warning() {
    return Optional.empty();
  }

  /**
   * Returns the identity as text. It ends with the separator and its parts are as many for every
   * identity, so none is the beginning of another.
   */
  private static String prefix(
      CacheIdentity identity,
      String tensor,
      String pipeline,
      String context,
      Optional<String> decode) {
    return String.join(
        SEPARATOR,
        VERSION,
        text(identity.tag()),
        text(identity.model()),
        text(identity.revision()),
        text(identity.elementType()),
        number(identity.pageTokens()),
        text(identity.salt()),
        "tp" + tensor,
        "pp" + pipeline,
        "cp" + context,
        "dcp"
            + identity
                .decodeContext()
                .map(part -> decode.orElseThrow() + "-" + part.logicalPageTokens())
                .orElse(StrictText.ABSENT),
        "sh" + number(identity.splitHeads()),
        "");
  }

  private static String text(Optional<String> part) {
    return part.map(StrictText::encode).orElse(StrictText.ABSENT);
  }

  private static String number(OptionalInt part) {
    return part.isPresent() ? Integer.toString(part.getAsInt()) : StrictText.ABSENT;
  }

  private static String own(Shard shard) {
    return shard.rank() + "-" + shard.size();
  }

  private static String shared(Shard shard) {
    return StrictText.ABSENT + "-" + shard.size();
  }

  private record Template(String before, String after) implements KeyTemplate {
    @Override
    public ObjectKey key(PageKey page) {
      return new ObjectKey(before + StrictText.encode(page.value()) + after);
    }
  }
}
