package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.linker.golden.GoldenKeys;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.lang.foreign.Arena;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StrictKeyTest {
  private static final PageKey PAGE = new PageKey("ab12");

  @Test
  void key_fullIdentity_writesEveryPart() {
    CacheIdentity identity =
        CacheIdentity.builder()
            .tag("prod")
            .model("org/model_a")
            .revision("v1.0")
            .elementType("bf16")
            .pageTokens(64)
            .salt("")
            .tensor(1, 2)
            .pipeline(0, 3)
            .context(2, 4)
            .decodeContext(1, 2, 128)
            .splitHeads(4)
            .build();

    assertThat(key(identity, false, "ab12", "kv", "k.0"))
        .isEqualTo(
            "uc2_prod_org%2Fmodel%5Fa_v1%2E0_bf16_64__tp1-2_pp0-3_cp2-4_dcp1-2-128_sh4_ab12_kv"
                + "_d2214d97_k%2E0");
    assertThat(KeyLayout.of(KeyForm.STRICT, identity, false, EmptySegments.KEEP).groupHint(PAGE))
        .contains("uc2_prod_org%2Fmodel%5Fa_v1%2E0_bf16_64__tp~-2_pp~-3_cp~-4_dcp~-2-128_sh4_ab12");
  }

  @Test
  void key_emptyIdentity_marksEveryAbsentPart() {
    assertThat(key(CacheIdentity.builder().build(), false, "é😀", "swa", Component.PACKED))
        .isEqualTo(
            "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_%C3%A9%F0%9F%98%80_swa_0cb9de35_page");
  }

  @Test
  void key_rankReplicated_isTheSameOnAllTensorRanksOnly() {
    CacheIdentity.Builder builder = CacheIdentity.builder().model("m");
    CacheIdentity first = builder.tensor(0, 2).build();
    CacheIdentity second = builder.tensor(1, 2).build();
    CacheIdentity ofFour = builder.tensor(0, 4).build();

    assertThat(key(first, true, "p", "kv", "k"))
        .isEqualTo(key(second, true, "p", "kv", "k"))
        .isNotEqualTo(key(ofFour, true, "p", "kv", "k"))
        .isNotEqualTo(key(first, false, "p", "kv", "k"));
    assertThat(key(first, false, "p", "kv", "k")).isNotEqualTo(key(second, false, "p", "kv", "k"));
  }

  @Test
  void groupHint_otherRanksOfOneDeployment_isEqual() {
    CacheIdentity.Builder builder = CacheIdentity.builder().model("m");
    KeyLayout first = layout(builder.tensor(0, 2).pipeline(0, 2).build(), false);
    KeyLayout last = layout(builder.tensor(1, 2).pipeline(1, 2).build(), false);

    assertThat(first.groupHint(PAGE)).isEqualTo(last.groupHint(PAGE));
    assertThat(first.groupHint(PAGE)).isNotEqualTo(first.groupHint(new PageKey("other")));
  }

  /** Each identity differs from the first in one part. */
  @Test
  void key_identitiesThatDifferInOnePart_shareNone() {
    Map<String, CacheIdentity.Builder> builders = new LinkedHashMap<>();
    builders.put("nothing", base());
    builders.put("tag", base().tag("other"));
    builders.put("model", base().model("org-model"));
    builders.put("revision", base().revision("2"));
    builders.put("elementType", base().elementType("fp8"));
    builders.put("pageTokens", base().pageTokens(16));
    builders.put("salt", base().salt("pepper"));
    builders.put("tensor rank", base().tensor(0, 2));
    builders.put("tensor size", base().tensor(1, 4));
    builders.put("pipeline rank", base().pipeline(1, 2));
    builders.put("pipeline size", base().pipeline(0, 3));
    builders.put("context rank", base().context(1, 2));
    builders.put("context size", base().context(0, 4));
    builders.put("decode rank", base().decodeContext(0, 2, 64));
    builders.put("decode size", base().decodeContext(1, 4, 64));
    builders.put("decode page", base().decodeContext(1, 2, 128));
    builders.put("heads", base().splitHeads(8));
    Set<String> prefixes = new HashSet<>();
    builders.forEach(
        (part, builder) ->
            assertThat(prefixes.add(layout(builder.build(), false).prefix().orElseThrow().value()))
                .as(part)
                .isTrue());
    Set<String> keys = new HashSet<>();
    builders.forEach(
        (part, builder) ->
            assertThat(keys.add(key(builder.build(), false, "p", "kv", "k"))).as(part).isTrue());
  }

  /** Rule {@code key.isolation}, over parts that try to run into each other. */
  @Test
  void key_adversarialIdentities_doNotCollideAndParseBack() {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    Map<String, StrictKey> seen = new HashMap<>();
    Map<String, CacheIdentity> prefixes = new HashMap<>();
    for (int round = 0; round < 20_000; round++) {
      StrictKey parts = randomKey(random);
      ObjectKey key = parts.key();
      String what = "seed %d, round %d: %s".formatted(seed, round, parts);

      assertThat(StrictKey.parse(key)).as(what).isEqualTo(parts);
      assertThat(seen.merge(key.value(), parts, (a, b) -> a)).as(what).isEqualTo(parts);
      assertThat(key.value()).as(what).matches("[A-Za-z0-9_~%-]+");
      KeyPrefix prefix = layout(parts.identity(), parts.rankReplicated()).prefix().orElseThrow();
      assertThat(prefix.matches(key)).as(what).isTrue();
      prefixes.put(prefix.value(), parts.identity());
    }
    assertThat(seen).hasSizeGreaterThan(10_000);
    assertPrefixFree(prefixes.keySet(), seed);
  }

  /** Among sorted texts one that is a beginning of another stands right before one of those. */
  private static void assertPrefixFree(Set<String> prefixes, long seed) {
    List<String> sorted = prefixes.stream().sorted().toList();
    for (int i = 1; i < sorted.size(); i++) {
      assertThat(sorted.get(i)).as("seed %d", seed).doesNotStartWith(sorted.get(i - 1));
    }
  }

  @Test
  void prefix_matchesOwnKeysOnly() {
    CacheIdentity longer = CacheIdentity.builder().tag("a").model("b_c").build();
    CacheIdentity shorter = CacheIdentity.builder().tag("a").model("b").build();
    KeyPrefix prefix = layout(shorter, false).prefix().orElseThrow();

    assertThat(prefix.matches(new ObjectKey(key(shorter, false, "p", "kv", "k")))).isTrue();
    assertThat(prefix.matches(new ObjectKey(key(longer, false, "p", "kv", "k")))).isFalse();
  }

  @Test
  void key_asRegularExpression_matchesItself() {
    String key =
        key(CacheIdentity.builder().tag(".*[a]$^(|)\\").build(), false, "../x?", "s w+a", "k.0");

    assertThat(Pattern.matches(key, key)).isTrue();
    assertThat(key).doesNotContain(".", "*", "[", "$", "/", "\\", " ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "uc2",
        "page0_0_k",
        "uc1_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k_",
        "uc2_~_~_~_~_~_~_tp1-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp0_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp~_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp00-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp~-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp0-1_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp0-1_cp0-1_pp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_0_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_x_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_a.b_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_%61_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_%2f_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_%2_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_%zz_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_%FF_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_é_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~__kv_00000000_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_0000000_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_0000000A_k",
        "uc2_~_~_~_~_~_~_tp0-1_pp0-1_cp0-1_dcp~_sh~_p_kv_~_k"
      })
  void parse_otherText_isRefused(String text) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StrictKey.parse(new ObjectKey(text)))
        .withMessageContaining("not a key in the strict form: " + text);
  }

  @Test
  void constructor_rankOfSharedObject_isRefused() {
    CacheIdentity identity = CacheIdentity.builder().tensor(1, 2).build();

    assertThatIllegalArgumentException()
        .isThrownBy(() -> new StrictKey(identity, true, PAGE, PoolName.KV, "00000000", "k"))
        .withMessageContaining("here is rank 1");
  }

  @Test
  void constructor_layoutThatIsNone_isRefused() {
    CacheIdentity identity = CacheIdentity.builder().build();

    assertThatIllegalArgumentException()
        .isThrownBy(() -> new StrictKey(identity, false, PAGE, PoolName.KV, "0000000G", "k"))
        .withMessageContaining("8 lower-case hexadecimal digits, not as 0000000G");
  }

  /** The digests were computed by another program, from the description of the format. */
  @Test
  void layoutOf_knownPools_isTheRecordedDigest() {
    LayerBuffer first = buffer(0, 4096, 4096, 8);
    LayerBuffer second = buffer(1, 4096, 4096, 8);

    assertThat(StrictKey.layoutOf(GoldenKeys.pool("kv", List.of("k")))).isEqualTo("a913c94d");
    assertThat(
            StrictKey.layoutOf(
                PoolLayouts.keysAndValues(
                    PoolName.KV, List.of(first, second), List.of(first, second))))
        .isEqualTo("5c15109c");
  }

  /**
   * Rule {@code key.layout}: pools that differ in one thing that the bytes of objects depend on.
   */
  @Test
  void layoutOf_otherBytes_differs() {
    LayerBuffer first = buffer(0, 64, 64, 4);
    LayerBuffer second = buffer(1, 64, 64, 4);
    Map<String, DevicePool> pools = new LinkedHashMap<>();
    pools.put("K..KV..V", packed(first, second, first, second));
    pools.put("per layer", packed(first, first, second, second));
    pools.put("a layer less", packed(first, first, second));
    pools.put("other layers", packed(first, buffer(2, 64, 64, 4), first, second));
    pools.put("a larger piece", packed(first, second, first, buffer(1, 65, 65, 4)));
    pools.put("bytes moved", packed(buffer(0, 63, 63, 4), buffer(1, 65, 65, 4), first, second));
    pools.put(
        "two objects",
        PoolLayouts.keysAndValues(PoolName.KV, List.of(first, second), List.of(first, second)));
    pools.put(
        "two objects, the other way round",
        new DevicePool(
            PoolName.KV,
            List.of(
                new Component("v", List.of(first, second)),
                new Component("k", List.of(first, second)))));
    pools.put(
        "a buffer moved to the other object",
        new DevicePool(
            PoolName.KV,
            List.of(
                new Component("k", List.of(first, second, first)),
                new Component("v", List.of(second)))));
    Map<String, String> seen = new HashMap<>();

    pools.forEach(
        (what, pool) -> assertThat(seen.put(StrictKey.layoutOf(pool), what)).as(what).isNull());
  }

  /** Two deployments whose memory is laid out in other ways have the same objects. */
  @Test
  void layoutOf_sameBytesInOtherMemory_isEqual() {
    String dense = StrictKey.layoutOf(packed(buffer(0, 64, 64, 4), buffer(1, 64, 64, 4)));

    assertThat(StrictKey.layoutOf(packed(buffer(0, 64, 4096, 4), buffer(1, 64, 80, 4))))
        .isEqualTo(dense);
    assertThat(StrictKey.layoutOf(packed(buffer(0, 64, 64, 100), buffer(1, 64, 64, 7))))
        .isEqualTo(dense);
  }

  @Test
  void key_poolsOfOtherLayouts_shareNone() {
    KeyLayout layout = layout(CacheIdentity.builder().build(), false);
    LayerBuffer first = buffer(0, 64, 64, 4);
    LayerBuffer second = buffer(1, 64, 64, 4);

    assertThat(layout.templates(packed(first, second)).getFirst().key(PAGE))
        .isNotEqualTo(layout.templates(packed(second, first)).getFirst().key(PAGE));
  }

  @Test
  void templates_severalComponents_keepTheirOrder() {
    List<KeyTemplate> templates =
        layout(CacheIdentity.builder().build(), false)
            .templates(GoldenKeys.pool("kv", List.of("v", "k", "anything at all")));

    assertThat(templates)
        .extracting(template -> StrictKey.parse(template.key(PAGE)).component())
        .containsExactly("v", "k", "anything at all");
  }

  private static DevicePool packed(LayerBuffer... buffers) {
    return PoolLayouts.packed(PoolName.KV, List.of(buffers));
  }

  private static LayerBuffer buffer(int layer, long pieceBytes, long stride, int slots) {
    HostMemory memory = HostMemory.of(Arena.ofAuto().allocate(stride * slots));
    return new LayerBuffer(layer, memory, stride, pieceBytes);
  }

  private static CacheIdentity.Builder base() {
    return CacheIdentity.builder()
        .tag("tag")
        .model("org/model")
        .revision("1")
        .elementType("bf16")
        .pageTokens(64)
        .salt("salt")
        .tensor(1, 2)
        .pipeline(0, 2)
        .context(0, 2)
        .decodeContext(1, 2, 64)
        .splitHeads(4);
  }

  private static StrictKey randomKey(Random random) {
    Function<Integer, CacheIdentity.Shard> shard =
        most -> {
          int size = 1 + random.nextInt(most);
          return new CacheIdentity.Shard(random.nextInt(size), size);
        };
    boolean rankReplicated = random.nextBoolean();
    CacheIdentity.Shard tensor = shard.apply(12);
    if (rankReplicated) {
      tensor = new CacheIdentity.Shard(0, tensor.size());
    }
    CacheIdentity identity =
        new CacheIdentity(
            optional(random),
            optional(random),
            optional(random),
            optional(random),
            random.nextBoolean() ? OptionalInt.empty() : OptionalInt.of(1 + random.nextInt(12)),
            optional(random),
            tensor,
            shard.apply(3),
            shard.apply(3),
            random.nextBoolean()
                ? Optional.empty()
                : Optional.of(
                    new CacheIdentity.DecodeContext(shard.apply(3), 1 + random.nextInt(12))),
            random.nextBoolean()
                ? OptionalInt.empty()
                : OptionalInt.of(tensor.size() * (1 + random.nextInt(3))));
    return new StrictKey(
        identity,
        rankReplicated,
        new PageKey(text(random) + "p"),
        new PoolName(text(random) + "s"),
        HexFormat.of().toHexDigits(random.nextInt(3)),
        text(random));
  }

  private static Optional<String> optional(Random random) {
    return random.nextInt(4) == 0 ? Optional.empty() : Optional.of(text(random));
  }

  /**
   * Returns a short text of what separates, escapes, looks absent, or is written in several bytes.
   */
  private static String text(Random random) {
    List<String> pieces =
        List.of(
            "_", "%", "~", "-", "/", ".", "a", "b", "0", "1", "%5F", "%25", "__", "~_", "tp0-1",
            "uc2_", "é", "e\u0301", "😀", "\u0000", "\n", " ", "İ", "ı", "1-2");
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(4); i > 0; i--) {
      text.append(pieces.get(random.nextInt(pieces.size())));
    }
    return text.toString();
  }

  private static KeyLayout layout(CacheIdentity identity, boolean rankReplicated) {
    return KeyLayout.of(KeyForm.STRICT, identity, rankReplicated, EmptySegments.KEEP);
  }

  private static String key(
      CacheIdentity identity, boolean rankReplicated, String page, String pool, String component) {
    List<KeyTemplate> templates =
        layout(identity, rankReplicated).templates(GoldenKeys.pool(pool, List.of(component)));
    return templates.getFirst().key(new PageKey(page)).value();
  }
}
