package io.unifiedcache.linker.key;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.linker.key.CacheIdentity.Shard;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** The strict form of keys; {@link StrictKey} describes it. */
final class StrictKeyLayout implements KeyLayout {
  static final String VERSION = "uc2";

  private static final String SEPARATOR = "_";
  private static final int LAYOUT_BYTES = 4;

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
  public List<KeyTemplate> templates(DevicePool pool) {
    String layout = layoutOf(pool);
    return pool.components().stream()
        .map(component -> template(pool.name(), layout, component.name()))
        .toList();
  }

  KeyTemplate template(PoolName pool, String layout, String component) {
    return new Template(
        prefix,
        String.join(
            SEPARATOR, "", StrictText.encode(pool.value()), layout, StrictText.encode(component)));
  }

  /** Returns what {@link StrictKey#layoutOf} describes. */
  static String layoutOf(DevicePool pool) {
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      DataOutputStream out = new DataOutputStream(bytes);
      for (Component component : pool.components()) {
        byte[] name = WellFormed.utf8("the name of a component", component.name());
        out.writeInt(name.length);
        out.write(name);
        out.writeInt(component.buffers().size());
        for (LayerBuffer buffer : component.buffers()) {
          out.writeInt(buffer.layer());
          out.writeLong(buffer.pieceBytes());
        }
      }
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes.toByteArray());
      return HexFormat.of().formatHex(digest, 0, LAYOUT_BYTES);
    } catch (IOException | NoSuchAlgorithmException e) {
      throw new AssertionError("a JVM has SHA-256, and memory takes what is written", e);
    }
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
