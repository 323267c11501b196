package io.unifiedcache.linker.config;

import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.function.BiConsumer;

/**
 * The text of a properties file, in the format of {@link Properties#load(java.io.Reader)}, as
 * entries that know their line.
 */
public final class PropertiesText {
  /**
   * An entry.
   *
   * @param line the line on which it begins, counted from 1
   * @param key the key, not empty
   * @param value the value
   */
  public record Entry(int line, String key, String value) {}

  private PropertiesText() {}

  /**
   * Returns the entries in order, repeated keys included.
   *
   * @param mistakes receives the line and a description of each entry that cannot be read
   */
  public static List<Entry> parse(String text, BiConsumer<Integer, String> mistakes) {
    List<Entry> entries = new ArrayList<>();
    List<String> lines = text.lines().toList();
    for (int i = 0; i < lines.size(); i++) {
      int first = i;
      StringBuilder logical = new StringBuilder(lines.get(i));
      if (isBlankOrComment(lines.get(i))) {
        continue;
      }
      while (isContinued(lines.get(i)) && i + 1 < lines.size()) {
        i++;
        logical.append('\n').append(lines.get(i));
      }
      if (i + 1 < lines.size() || text.endsWith("\n") || text.endsWith("\r")) {
        // An empty line that ends here is none, other than one that the text ends in.
        logical.append('\n');
      }
      entry(first + 1, logical.toString(), entries, mistakes);
    }
    return entries;
  }

  private static boolean isBlankOrComment(String line) {
    // What the JDK skips before a key; other white space is part of one.
    int begin = 0;
    while (begin < line.length() && " \t\f".indexOf(line.charAt(begin)) >= 0) {
      begin++;
    }
    return begin == line.length() || line.charAt(begin) == '#' || line.charAt(begin) == '!';
  }

  /** Tells whether the line ends in a backslash that is not escaped by another. */
  private static boolean isContinued(String line) {
    int end = line.length();
    while (end > 0 && line.charAt(end - 1) == '\\') {
      end--;
    }
    return (line.length() - end) % 2 == 1;
  }

  /** Has the JDK read one entry: its escapes, separators and joined lines. */
  private static void entry(
      int line, String logical, List<Entry> entries, BiConsumer<Integer, String> mistakes) {
    Properties one = new Properties();
    try {
      one.load(new StringReader(logical));
    } catch (IllegalArgumentException e) {
      mistakes.accept(line, "a \\u escape does not have four hexadecimal digits");
      return;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    for (String key : one.stringPropertyNames()) {
      if (key.isEmpty()) {
        mistakes.accept(line, "there is no key");
      } else {
        entries.add(new Entry(line, key, one.getProperty(key)));
      }
    }
  }
}
