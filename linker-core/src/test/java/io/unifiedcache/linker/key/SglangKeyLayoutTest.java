package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.linker.golden.GoldenKeys;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What the recorded vectors do not say about the {@code sglang-*} forms. */
class SglangKeyLayoutTest {
  private static final PageKey PAGE = new PageKey("p0");

  /** Rule {@code key.empty-segment}. */
  @ParameterizedTest
  @CsvSource({
    "org/model-a, org-model-a_p0_0_k, org-model-a_p0_0_k",
    "/models/x, -models-x_p0_0_k, models-x_p0_0_k",
    "trail/, trail-_p0_0_k, trail_p0_0_k",
    "org//model, org--model_p0_0_k, org-model_p0_0_k",
    "//a///b//, --a---b--_p0_0_k, a-b_p0_0_k",
    "/, -_p0_0_k, p0_0_k",
    "'', p0_0_k, p0_0_k"
  })
  void key_emptySegmentsOfModel_areKeptOrFiltered(String model, String kept, String filtered) {
    CacheIdentity identity = CacheIdentity.builder().model(model).build();

    assertThat(key(KeyForm.SGLANG_STORE, identity, EmptySegments.KEEP)).isEqualTo(kept);
    assertThat(key(KeyForm.SGLANG_STORE, identity, EmptySegments.FILTER)).isEqualTo(filtered);
  }

  @Test
  void key_emptyTag_isKeptOrFiltered() {
    CacheIdentity identity = CacheIdentity.builder().tag("").model("/m").build();

    assertThat(key(KeyForm.SGLANG_LINKER, identity, EmptySegments.KEEP))
        .isEqualTo("_-m_p0_tp0_cp0_pp0_k");
    assertThat(key(KeyForm.SGLANG_LINKER, identity, EmptySegments.FILTER))
        .isEqualTo("m_p0_tp0_cp0_pp0_k");
  }

  @Test
  void key_noModelInFileName_isKeptOrFiltered() {
    CacheIdentity identity = CacheIdentity.builder().build();

    assertThat(key(KeyForm.SGLANG_FILE, identity, EmptySegments.KEEP)).isEqualTo("p0__0_1.bin");
    assertThat(key(KeyForm.SGLANG_FILE, identity, EmptySegments.FILTER)).isEqualTo("p0_0_1.bin");
  }

  @Test
  void templates_splitHeads_namesSharesByTheRankTheyHaveAmongAll() {
    CacheIdentity identity = CacheIdentity.builder().tensor(1, 2).splitHeads(4).build();
    KeyLayout layout = layout(KeyForm.SGLANG_STORE, identity);

    assertThat(layout.templates(GoldenKeys.pool("kv", List.of("k.0", "v.0", "k.1", "v.1"))))
        .extracting(template -> template.key(PAGE).value())
        .containsExactly("p0_2_k", "p0_2_v", "p0_3_k", "p0_3_v");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout.templates(GoldenKeys.pool("kv", List.of("k", "v"))))
        .withMessage(
            "sglang-store has no names for pool kv stored as [k, v]; with heads split in these"
                + " shares it names [k.0, v.0, k.1, v.1]");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout.templates(GoldenKeys.pool("draft", List.of("k", "v"))))
        .withMessageContaining("with split heads it names no pool but kv by its tensor rank");
  }

  @ParameterizedTest
  @CsvSource({
    "kv, page, 'it has names for [k] and [k, v]'",
    "kv, v k, 'it has names for [k] and [k, v]'",
    "draft, page, 'it has names for [k] and [k, v]'",
    "draft_swa, k, 'it has names for [page] and [k, v]'",
    "swa, page, 'it has names for [k, v] and, where all tensor ranks hold the same, [page]'",
    "mamba, page, 'it has names for [temporal, conv_0, conv_1, ...]'",
    "mamba, temporal conv_1, 'it has names for [temporal, conv_0, conv_1, ...]'",
    "mamba, conv_0 temporal, 'it has names for [temporal, conv_0, conv_1, ...]'",
    "indexer, k v, 'it has a name for [page]'",
    "auxiliary_swa, page, 'it does not know this pool'",
    "my_pool, page, 'it does not know this pool'"
  })
  void templates_splitWithoutNames_isRefusedWithWhatHasThem(
      String pool, String components, String known) {
    KeyLayout layout = layout(KeyForm.SGLANG_STORE, CacheIdentity.builder().build());
    List<String> split = List.of(components.split(" ", -1));

    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout.templates(GoldenKeys.pool(pool, split)))
        .withMessage(
            "sglang-store has no names for pool " + pool + " stored as " + split + "; " + known);
  }

  @ParameterizedTest
  @EnumSource(
      value = KeyForm.class,
      names = {"SGLANG_LINKER", "SGLANG_FILE"})
  void templates_severalObjectsPerPage_areRefused(KeyForm form) {
    KeyLayout layout = layout(form, CacheIdentity.builder().build());

    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout.templates(GoldenKeys.pool("kv", List.of("k", "v"))))
        .withMessageContaining("has no names for pool kv stored as [k, v]; it stores a page");
  }

  /**
   * The linker calls the objects of {@code kv} {@code k}, so a pool of that name would meet them.
   */
  @Test
  void templates_linkerPoolCalledLikeKvObjects_isRefused() {
    KeyLayout layout = layout(KeyForm.SGLANG_LINKER, CacheIdentity.builder().build());

    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout.templates(GoldenKeys.pool("k", List.of("page"))))
        .withMessageContaining("pool kv has the keys of this name");
  }

  @Test
  void of_partsWithoutAPlace_areRefused() {
    CacheIdentity heads = CacheIdentity.builder().splitHeads(2).build();
    CacheIdentity decode = CacheIdentity.builder().decodeContext(0, 2, 64).build();

    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout(KeyForm.SGLANG_LINKER, heads))
        .withMessageContaining("no place in its keys for shares of heads");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout(KeyForm.SGLANG_FILE, heads))
        .withMessageContaining("no place in its names for shares of heads");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> layout(KeyForm.SGLANG_LINKER, decode))
        .withMessageContaining("decode-context");
  }

  @ParameterizedTest
  @EnumSource(
      value = KeyForm.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {"STRICT"})
  void prefix_anySglangForm_isNone(KeyForm form) {
    KeyLayout layout = layout(form, CacheIdentity.builder().tag("t").model("m").build());

    assertThat(layout.prefix()).isEmpty();
    assertThat(layout.groupHint(PAGE)).contains("sglang-hicache:t_m_p0");
    assertThat(layout.warning())
        .hasValueSatisfying(text -> assertThat(text).contains("org/model-a meets org-model-a"));
  }

  @Test
  void warning_ranksThatAreNotNamed_areTold() {
    CacheIdentity.Builder builder = CacheIdentity.builder();

    assertThat(layout(KeyForm.SGLANG_STORE, builder.build()).warning().orElseThrow())
        .doesNotContain("context rank", "without the tensor rank");
    assertThat(layout(KeyForm.SGLANG_STORE, builder.context(0, 2).build()).warning().orElseThrow())
        .contains("They do not name the context rank");
    assertThat(layout(KeyForm.SGLANG_STORE, builder.tensor(0, 2).build()).warning().orElseThrow())
        .contains("named without the tensor rank");
    assertThat(layout(KeyForm.STRICT, builder.build()).warning()).isEmpty();
  }

  private static KeyLayout layout(KeyForm form, CacheIdentity identity) {
    return KeyLayout.of(form, identity, false, EmptySegments.KEEP);
  }

  private static String key(KeyForm form, CacheIdentity identity, EmptySegments emptySegments) {
    List<String> components = form == KeyForm.SGLANG_STORE ? List.of("k", "v") : List.of("page");
    return KeyLayout.of(form, identity, false, emptySegments)
        .templates(GoldenKeys.pool("kv", components))
        .getFirst()
        .key(PAGE)
        .value();
  }
}
