package io.unifiedcache.cli;

/** Text as it is shown on a terminal. */
final class PlainText {
  private PlainText() {}

  /** Returns a text on one line, with control characters as their codes. */
  static String of(String text) {
    StringBuilder shown = new StringBuilder();
    text.codePoints()
        .forEach(
            code -> {
              if (Character.isISOControl(code)) {
                shown.append("\\u%04x".formatted(code));
              } else {
                shown.appendCodePoint(code);
              }
            });
    return shown.toString();
  }

  /** Returns a number and what it counts. */
  static String count(long number, String what) {
    return "%,d %s%s".formatted(number, what, number == 1 ? "" : "s");
  }
}
