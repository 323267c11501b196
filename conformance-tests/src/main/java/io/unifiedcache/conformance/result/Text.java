package io.unifiedcache.conformance.result;

/** What the forms of a report have in common. */
final class Text {
  private Text() {}

  static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }

  /** Returns the text without the characters that XML and HTML cannot hold. */
  static String printable(String text) {
    StringBuilder printable = new StringBuilder();
    text.codePoints()
        .map(c -> c == '\n' || c == '\t' || (c >= ' ' && !surrogateOrNoCharacter(c)) ? c : '\ufffd')
        .forEach(printable::appendCodePoint);
    return printable.toString();
  }

  private static boolean surrogateOrNoCharacter(int c) {
    return (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE)
        || c == 0xfffe
        || c == 0xffff;
  }

  static String html(String text) {
    return printable(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }
}
