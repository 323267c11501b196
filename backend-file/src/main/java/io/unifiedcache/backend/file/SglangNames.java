package io.unifiedcache.backend.file;

import io.unifiedcache.api.ObjectKey;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The names of objects in a folder of SGLang's file store.
 *
 * <p>A key that is a name as SGLang gives them, ending with {@code .bin}, is the name of its file.
 * Other keys have names that no such key has: {@code /} is written as a backslash, what a name
 * cannot have or has a meaning here as {@code =} and two upper-case hexadecimal digits, and without
 * {@code .bin} the name ends with {@code =}. So no key leaves the folder or meets another.
 */
final class SglangNames {
  static final String EXTENSION = ".bin";

  /** No file system of the usual ones has longer names. */
  static final int MOST_BYTES = 255;

  private static final String ELSE = "=";
  private static final int ESCAPE_CHARS = 3;

  private SglangNames() {}

  /** Returns the name of the file of an object, null if it would be too long. */
  static @Nullable String of(ObjectKey key) {
    String name = encode(key.value());
    return name.getBytes(StandardCharsets.UTF_8).length <= MOST_BYTES ? name : null;
  }

  private static String encode(String key) {
    StringBuilder name = new StringBuilder(key.length() + ESCAPE_CHARS);
    for (int i = 0; i < key.length(); i++) {
      char c = key.charAt(i);
      if (c == '/') {
        name.append('\\');
      } else if (c < ' ' || c == 0x7f || c == '\\' || c == '=' || (c == '.' && i == 0)) {
        name.append(String.format(Locale.ROOT, "=%02X", (int) c));
      } else {
        name.append(c);
      }
    }
    return key.endsWith(EXTENSION) && !key.equals(EXTENSION)
        ? name.toString()
        : name.append(ELSE).toString();
  }

  /**
   * Returns what to do where the characters of a name are not among those that this JVM can write
   * in names of files; empty where it can write all.
   */
  static String hintOnEncoding() {
    String encoding = System.getProperty("sun.jnu.encoding", "UTF-8");
    return encoding.equals("UTF-8")
        ? ""
        : " (this JVM writes names of files in %s: start it in a locale of UTF-8, as with LC_ALL=C.UTF-8)"
            .formatted(encoding);
  }

  /** Returns the key of the object whose file has this name, null if it is no object's. */
  static @Nullable ObjectKey key(String name) {
    StringBuilder key = new StringBuilder(name.length());
    int end = name.endsWith(ELSE) ? name.length() - ELSE.length() : name.length();
    for (int i = 0; i < end; i++) {
      char c = name.charAt(i);
      if (c == '\\') {
        key.append('/');
      } else if (c != '=') {
        key.append(c);
      } else if (i + ESCAPE_CHARS <= end) {
        int high = Character.digit(name.charAt(i + 1), 16);
        int low = Character.digit(name.charAt(i + 2), 16);
        if (high < 0 || low < 0) {
          return null;
        }
        key.append((char) (16 * high + low));
        i += ESCAPE_CHARS - 1;
      } else {
        return null;
      }
    }
    // Others may have files of such names, too, which no key has.
    String text = key.toString();
    return text.isEmpty() || !isText(text) || !encode(text).equals(name)
        ? null
        : new ObjectKey(text);
  }

  /** Tells whether a name could be read: the JDK puts a sign in place of what it cannot. */
  private static boolean isText(String name) {
    return name.indexOf('\ufffd') < 0 && StandardCharsets.UTF_8.newEncoder().canEncode(name);
  }
}
