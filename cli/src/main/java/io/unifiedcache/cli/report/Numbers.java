package io.unifiedcache.cli.report;

import java.util.Locale;

/** Numbers as a reader sees them, whatever the machine's language. */
final class Numbers {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

  private Numbers() {}

  /** Returns a text with numbers in it. */
  static String text(String form, Object... values) {
    return String.format(Locale.ROOT, form, values);
  }

  /** Returns a number with its thousands apart. */
  static String count(long number) {
    return text("%,d", number);
  }

  /** Returns a size with at most three digits. */
  static String size(double bytes) {
    int unit = unitNumber(bytes);
    double value = bytes / Math.pow(1024, unit);
    String digits = text(value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value);
    return withoutZeros(digits) + " " + UNITS[unit];
  }

  private static String withoutZeros(String digits) {
    return digits.contains(".") ? digits.replaceFirst("\\.?0+$", "") : digits;
  }

  /** Returns a size rounded up to two digits, so that what needs it finds room. */
  static String sizeUp(double bytes) {
    double value = bytes / unit(bytes);
    if (value > 990) {
      return size(1024 * unit(bytes));
    }
    double grain = Math.pow(10, Math.floor(Math.log10(Math.max(1, value))) - 1);
    return size(Math.ceil(value / grain - 1e-9) * grain * unit(bytes));
  }

  /** Returns the largest unit, in bytes, that is not more than {@code bytes}. */
  static double unit(double bytes) {
    return Math.pow(1024, unitNumber(bytes));
  }

  private static int unitNumber(double bytes) {
    int unit = 0;
    while (unit < UNITS.length - 1 && bytes >= Math.pow(1024, unit + 1)) {
      unit++;
    }
    return unit;
  }

  /** Returns a time in the trace, in minutes, or in hours from one hour on. */
  static String time(double seconds) {
    long whole = Math.round(seconds);
    return whole < 3600
        ? text("%d:%02d", whole / 60, whole % 60)
        : text("%d:%02d:%02d", whole / 3600, whole / 60 % 60, whole % 60);
  }

  /** Returns a power of ten of microseconds. */
  static String duration(double micros) {
    return micros < 1e3
        ? withoutZeros(text("%.3f", micros)) + " us"
        : micros < 1e6 ? text("%,.0f ms", micros / 1e3) : text("%,.0f s", micros / 1e6);
  }
}
