package io.unifiedcache.cli.report;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * HTML as it is written. All texts and values of attributes are escaped here, so that none of them
 * can become markup.
 *
 * <p>Attributes are given as names and values in turns.
 */
final class Html {
  private final StringBuilder text = new StringBuilder("<!DOCTYPE html>\n");
  private final Deque<String> open = new ArrayDeque<>();

  /** Begins an element. */
  Html open(String tag, String... attributes) {
    start(tag, attributes).append('>');
    open.push(tag);
    return this;
  }

  /** Ends the element that was begun last. */
  Html close() {
    text.append("</").append(open.pop()).append(">\n");
    return this;
  }

  /** Writes an element that holds a text. */
  Html leaf(String tag, String content, String... attributes) {
    return open(tag, attributes).text(content).close();
  }

  /** Writes an element that never holds anything, of HTML or of SVG. */
  Html empty(String tag, String... attributes) {
    start(tag, attributes).append("/>\n");
    return this;
  }

  Html text(String content) {
    text.append(escaped(content));
    return this;
  }

  /**
   * Writes what is no text in an element of style or script.
   *
   * @param content has no {@code <}, which could end the element
   */
  Html verbatim(String content) {
    if (content.indexOf('<') >= 0) {
      throw new IllegalArgumentException("'<' in a style or a script");
    }
    text.append(content);
    return this;
  }

  private StringBuilder start(String tag, String... attributes) {
    text.append('<').append(tag);
    for (int i = 0; i < attributes.length; i += 2) {
      text.append(' ').append(attributes[i]).append("=\"");
      text.append(escaped(attributes[i + 1])).append('"');
    }
    return text;
  }

  private static String escaped(String content) {
    return content
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }

  /** Returns the page. */
  @Override
  public String toString() {
    if (!open.isEmpty()) {
      throw new IllegalStateException("not closed: " + open);
    }
    return text.toString();
  }
}
