package io.unifiedcache.linker.key;

import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.linker.DevicePool;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Names the objects of pages.
 *
 * <p>This is the only way from a {@link PageKey} to an {@link io.unifiedcache.api.ObjectKey}, and
 * no method takes an object key, so that none is tagged twice (rule {@code key.single-tag}).
 *
 * <p>Immutable and thread-safe. Equal arguments give equal keys in any JVM, locale, time zone and
 * default charset (rule {@code key.deterministic}).
 */
public sealed interface KeyLayout permits StrictKeyLayout, SglangKeyLayout {
  /**
   * Returns the layout of the given form.
   *
   * @param rankReplicated whether every tensor rank holds identical bytes. The strict form then
   *     writes a mark in place of the tensor rank, so that all ranks meet the same objects; of the
   *     {@code sglang-*} forms those of the linker and of files leave the rank out, and that of the
   *     store decides by the components alone
   * @param emptySegments what becomes of empty parts of the tag and model; of no effect on the
   *     strict form
   * @throws IllegalArgumentException if the form has no place for a part of the identity that
   *     divides the pages' bytes: split heads outside {@code SGLANG_STORE}, decode-context ranks in
   *     {@code SGLANG_LINKER}
   */
  static KeyLayout of(
      KeyForm form, CacheIdentity identity, boolean rankReplicated, EmptySegments emptySegments) {
    Objects.requireNonNull(identity, "identity");
    Objects.requireNonNull(emptySegments, "emptySegments");
    return form == KeyForm.STRICT
        ? new StrictKeyLayout(identity, rankReplicated)
        : SglangKeyLayout.of(form, identity, rankReplicated, emptySegments);
  }

  /**
   * Returns one template per component of the pool, in the same order (rule {@code key.order}).
   *
   * <p>In the strict form the keys depend on the layout of the pool's pages, too (rule {@code
   * key.layout}). The {@code sglang-*} forms are SGLang's, and know the names alone.
   *
   * <p>Components: {@code page} is a whole page in one object ({@link
   * io.unifiedcache.api.linker.Component#PACKED}); {@code k} and {@code v} are keys and values,
   * {@code k} alone the latent vectors of MLA; {@code k.0}, {@code v.0}, {@code k.1}, ... are the
   * shares of split heads; {@code temporal}, {@code conv_0}, {@code conv_1}, ... are states of
   * Mamba. The strict form takes any.
   *
   * @throws IllegalArgumentException if this form has no name for this split of this pool; the
   *     message says which splits it has names for
   */
  List<KeyTemplate> templates(DevicePool pool);

  /**
   * Returns the namespace: the beginning of all keys of this layout and of no key of another
   * identity; empty for the {@code sglang-*} forms, since no prefix of theirs is safe.
   */
  Optional<KeyPrefix> prefix();

  /**
   * Returns the hint that all objects of a page share, those of other pools and ranks included. It
   * is SGLang's, {@code sglang-hicache:} and the page with tag and model, and in the strict form
   * {@code uc2} and the page with the identity but its ranks.
   */
  Optional<String> groupHint(PageKey page);

  /**
   * Returns what could collide in a store that others use too, in a sentence for whoever opens it;
   * empty for the strict form.
   */
  Optional<String> warning();
}
