package io.unifiedcache.linker.direct;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.CacheIdentity.DecodeContext;
import io.unifiedcache.linker.key.StrictKey;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * What a rank tells the others of its linker, and in what they have to be alike.
 *
 * @param common what has to be equal on all ranks, by name: the identity but for its ranks, what
 *     the pools have in common, and the settings of the linker
 * @param place the ranks of the identity, which have to differ
 * @param stage the pipeline stage
 * @param pools the layout of the pools, which has to be equal within a stage
 * @param sources the sources of the pools
 */
record RankProfile(
    Map<String, String> common, String place, String stage, String pools, List<PoolName> sources) {
  /** Raised when the form of a profile changes. */
  private static final int VERSION = 1;

  /** A longer text is told by its digest, since it is only compared. */
  private static final int MAX_TEXT = 200;

  private static final String ABSENT = "none";

  /** Returns the profile of a linker that is opened with this. */
  static RankProfile of(CacheIdentity identity, DevicePools pools, Settings settings) {
    Map<String, String> common = new LinkedHashMap<>();
    common.put("tag", text(identity.tag()));
    common.put("model", text(identity.model()));
    common.put("revision", text(identity.revision()));
    common.put("element type", text(identity.elementType()));
    common.put("page tokens", number(identity.pageTokens()));
    // A salt may be a secret, so that it is not sent.
    common.put("salt", identity.salt().map(RankProfile::digest).orElse(ABSENT));
    common.put("tensor ranks", String.valueOf(identity.tensor().size()));
    common.put("pipeline stages", String.valueOf(identity.pipeline().size()));
    common.put("context ranks", String.valueOf(identity.context().size()));
    common.put(
        "decode-context ranks",
        identity
            .decodeContext()
            .map(part -> part.shard().size() + " of " + part.logicalPageTokens() + " tokens")
            .orElse(ABSENT));
    common.put("shares of heads", number(identity.splitHeads()));
    common.put("rank-replicated pools", String.valueOf(pools.rankReplicated()));
    for (Option<?> option : LinkerOptions.options()) {
      common.put(option.name(), brief(String.valueOf(settings.get(option))));
    }
    return new RankProfile(
        common,
        place(identity),
        String.valueOf(identity.pipeline().rank()),
        brief(pools.pools().stream().map(RankProfile::layout).collect(Collectors.joining(", "))),
        List.copyOf(pools.sources()));
  }

  private static String place(CacheIdentity identity) {
    return "tensor rank "
        + identity.tensor().rank()
        + ", pipeline stage "
        + identity.pipeline().rank()
        + ", context rank "
        + identity.context().rank()
        + identity
            .decodeContext()
            .map(DecodeContext::shard)
            .map(shard -> ", decode-context rank " + shard.rank())
            .orElse("");
  }

  private static String layout(DevicePool pool) {
    return pool.name() + " of " + pool.source() + " with layout " + StrictKey.layoutOf(pool);
  }

  private static String text(Optional<String> part) {
    return part.map(value -> brief('"' + value + '"')).orElse(ABSENT);
  }

  private static String number(OptionalInt part) {
    return part.isPresent() ? Integer.toString(part.getAsInt()) : ABSENT;
  }

  private static String brief(String text) {
    return text.length() <= MAX_TEXT ? text : digest(text);
  }

  private static String digest(String text) {
    long digest = Agreement.digest(text.getBytes(StandardCharsets.UTF_8));
    return "one with digest " + HexFormat.of().toHexDigits(digest);
  }

  /** Returns the profile as it is sent. */
  byte[] encode() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try {
      DataOutputStream out = new DataOutputStream(bytes);
      out.writeInt(VERSION);
      out.writeUTF(place);
      out.writeUTF(stage);
      out.writeUTF(pools);
      out.writeShort(sources.size());
      for (PoolName source : sources) {
        out.writeUTF(source.value());
      }
      out.writeShort(common.size());
      for (Map.Entry<String, String> part : common.entrySet()) {
        out.writeUTF(part.getKey());
        out.writeUTF(part.getValue());
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("a name of a pool is too long to be told: " + e, e);
    }
    return bytes.toByteArray();
  }

  /**
   * Returns the profile that was sent.
   *
   * @throws IOException if this is none
   */
  static RankProfile decode(byte[] bytes) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
    int version = in.readInt();
    if (version != VERSION) {
      throw new IOException(
          "it tells of itself in version %d, and not in version %d".formatted(version, VERSION));
    }
    String place = in.readUTF();
    String stage = in.readUTF();
    String pools = in.readUTF();
    List<PoolName> sources = new ArrayList<>();
    for (int left = in.readUnsignedShort(); left > 0; left--) {
      String source = in.readUTF();
      try {
        sources.add(new PoolName(source));
      } catch (IllegalArgumentException e) {
        throw new IOException("a source is called \"" + source + "\"", e);
      }
    }
    Map<String, String> common = new LinkedHashMap<>();
    for (int left = in.readUnsignedShort(); left > 0; left--) {
      common.put(in.readUTF(), in.readUTF());
    }
    return new RankProfile(common, place, stage, pools, sources);
  }

  /** Returns the sources of all ranks. */
  static Set<PoolName> sources(List<RankProfile> ranks) {
    Set<PoolName> sources = new LinkedHashSet<>();
    ranks.forEach(rank -> sources.addAll(rank.sources()));
    return sources;
  }

  /**
   * Returns in what the ranks do not fit together, each in a text that names it, and who has what.
   */
  static List<String> differences(List<RankProfile> ranks) {
    List<String> differences = new ArrayList<>();
    Set<String> parts = new LinkedHashSet<>();
    ranks.forEach(rank -> parts.addAll(rank.common().keySet()));
    for (String part : parts) {
      Map<String, BitSet> values = by(ranks, rank -> rank.common().getOrDefault(part, "unknown"));
      if (values.size() > 1) {
        differences.add(part + " is " + told(values));
      }
    }
    for (String stage : by(ranks, RankProfile::stage).keySet()) {
      Map<String, BitSet> values =
          by(ranks, rank -> rank.stage().equals(stage) ? rank.pools() : "");
      values.remove("");
      if (values.size() > 1) {
        differences.add("the pools of pipeline stage " + stage + " are " + told(values));
      }
    }
    by(ranks, RankProfile::place)
        .forEach(
            (place, at) -> {
              if (at.cardinality() > 1) {
                differences.add(
                    "ranks "
                        + at
                        + " are all "
                        + place
                        + ", and would take each other's bytes for their own");
              }
            });
    return differences;
  }

  private static Map<String, BitSet> by(
      List<RankProfile> ranks, Function<RankProfile, String> part) {
    Map<String, BitSet> values = new TreeMap<>();
    for (int rank = 0; rank < ranks.size(); rank++) {
      values.computeIfAbsent(part.apply(ranks.get(rank)), any -> new BitSet()).set(rank);
    }
    return values;
  }

  private static String told(Map<String, BitSet> values) {
    return values.entrySet().stream()
        .map(each -> each.getKey() + " on ranks " + each.getValue())
        .collect(Collectors.joining(" and "));
  }
}
