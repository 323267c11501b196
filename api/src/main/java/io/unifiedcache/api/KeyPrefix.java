package io.unifiedcache.api;

import java.util.Objects;

/**
 * The beginning of object keys: a namespace of a store.
 *
 * <p>The empty prefix, which every key has, exists only as {@link #EVERYTHING}, so that everything
 * is cleared or listed only when it was asked for in so many words (rule {@code store.clear}).
 */
public final class KeyPrefix {
  /** The prefix of every key. */
  public static final KeyPrefix EVERYTHING = new KeyPrefix("");

  private final String value;

  private KeyPrefix(String value) {
    this.value = value;
  }

  /**
   * Returns the prefix with the given text, compared with keys character by character.
   *
   * @throws IllegalArgumentException if the text is empty (use {@link #EVERYTHING}) or has an
   *     unpaired surrogate
   */
  public static KeyPrefix of(String value) {
    Objects.requireNonNull(value, "key prefix");
    if (value.isEmpty()) {
      throw new IllegalArgumentException(
          "key prefix must not be empty; KeyPrefix.EVERYTHING names every key");
    }
    return new KeyPrefix(Text.requireWellFormed("key prefix", value));
  }

  /** Returns the text, empty only for {@link #EVERYTHING}. */
  public String value() {
    return value;
  }

  /** Tells whether the key begins with this prefix. */
  public boolean matches(ObjectKey key) {
    return key.value().startsWith(value);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KeyPrefix that && value.equals(that.value);
  }

  @Override
  public int hashCode() {
    return value.hashCode();
  }

  @Override
  public String toString() {
    return value.isEmpty() ? "EVERYTHING" : value;
  }
}
