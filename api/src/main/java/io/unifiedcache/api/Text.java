package io.unifiedcache.api;

import java.util.Objects;

/** Checks on the text that names things. */
final class Text {
  private Text() {}

  /**
   * Returns {@code value} if it is not empty and has no unpaired surrogate (which UTF-8 could not
   * carry to a store).
   *
   * @param what names the value in the refusal
   */
  static String requireWellFormed(String what, String value) {
    Objects.requireNonNull(value, what);
    if (value.isEmpty()) {
      throw new IllegalArgumentException(what + " must not be empty");
    }
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if (!Character.isSurrogate(c)) {
        continue;
      }
      if (Character.isHighSurrogate(c)
          && i + 1 < value.length()
          && Character.isLowSurrogate(value.charAt(i + 1))) {
        i++;
        continue;
      }
      throw new IllegalArgumentException(
          what + " has an unpaired surrogate at index " + i + ": " + quoted(value));
    }
    return value;
  }

  /** Returns {@code value} in quotes, shortened to 80 characters, control characters escaped. */
  static String quoted(String value) {
    StringBuilder text = new StringBuilder("\"");
    int end = Math.min(value.length(), 80);
    for (int i = 0; i < end; i++) {
      char c = value.charAt(i);
      if (c < ' ' || c == 0x7f || Character.isSurrogate(c)) {
        text.append(String.format("\\u%04x", (int) c));
      } else {
        text.append(c);
      }
    }
    return text.append(end < value.length() ? "...\"" : "\"").toString();
  }
}
