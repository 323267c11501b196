package io.unifiedcache.api.linker;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** Which pages of a prefix a pool must hold for the engine to resume after it. */
public enum HitPolicy {
  /** Every page (rule {@code restore.all-pages}). */
  ALL_PAGES,
  /** The last pages, as many as the window has (rule {@code restore.trailing-window}). */
  TRAILING_PAGES;

  /** Returns the name as SGLang writes it, such as {@code trailing_pages}. */
  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the policy with the given {@linkplain #wireName() name}.
   *
   * @throws IllegalArgumentException if there is none, naming it and the known ones (rule {@code
   *     restore.unknown-policy})
   */
  public static HitPolicy parse(String wireName) {
    for (HitPolicy policy : values()) {
      if (policy.wireName().equals(wireName)) {
        return policy;
      }
    }
    throw new IllegalArgumentException(
        "unknown hit policy \""
            + wireName
            + "\"; known are "
            + Arrays.stream(values()).map(HitPolicy::wireName).collect(Collectors.joining(", ")));
  }
}
