package io.unifiedcache.linker.key;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * How the strict form writes text: letters, digits and {@code -} as they are, all other bytes of
 * its UTF-8 as {@code %} and two digits. Different texts are written differently.
 */
final class StrictText {
  /** Stands for what is absent; no text is written so. */
  static final String ABSENT = "~";

  private static final HexFormat HEX = HexFormat.of().withUpperCase();

  private StrictText() {}

  static String encode(String text) {
    if (isPlain(text)) {
      return text;
    }
    StringBuilder written = new StringBuilder();
    for (byte b : WellFormed.utf8("text", text)) {
      char c = (char) (b & 0xFF);
      if (isPlain(c)) {
        written.append(c);
      } else {
        written.append('%').append(HEX.toHighHexDigit(b)).append(HEX.toLowHexDigit(b));
      }
    }
    return written.toString();
  }

  /**
   * Returns the text that is written so.
   *
   * @throws IllegalArgumentException if {@code %} is not followed by two digits. What else is not
   *     written by {@link #encode} is recognised by encoding the result
   */
  static String decode(String written) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(written.length());
    for (int i = 0; i < written.length(); i++) {
      char c = written.charAt(i);
      if (c != '%') {
        bytes.write(c);
      } else if (i + 2 < written.length()) {
        bytes.write(HexFormat.fromHexDigits(written, i + 1, i + 3));
        i += 2;
      } else {
        throw new IllegalArgumentException("% without two digits in " + written);
      }
    }
    return bytes.toString(StandardCharsets.UTF_8);
  }

  private static boolean isPlain(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (!isPlain(text.charAt(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean isPlain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '-';
  }
}
