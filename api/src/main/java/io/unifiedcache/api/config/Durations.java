package io.unifiedcache.api.config;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The grammar of durations. */
final class Durations {
  static final String ACCEPTED_FORM = "a duration such as 500ms, 1.5s, 10m or 1h";

  private static final Pattern FORM =
      Pattern.compile(
          "([0-9]{1,40}(?:\\.[0-9]{1,40})?)[ \\t]?(ns|us|ms|s|m|h|d)", Pattern.CASE_INSENSITIVE);

  private Durations() {}

  /** Returns the duration that the text says; a unit is required, zero is {@code 0s}. */
  static Duration parse(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    if (!matcher.matches()) {
      throw new IllegalArgumentException(Option.quoted(text) + " is not " + ACCEPTED_FORM);
    }
    BigDecimal nanos =
        new BigDecimal(matcher.group(1))
            .multiply(BigDecimal.valueOf(nanosPer(matcher.group(2).toLowerCase(Locale.ROOT))));
    try {
      return Duration.ofNanos(nanos.setScale(0, RoundingMode.UNNECESSARY).longValueExact());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          Option.quoted(text) + " is not a whole number of nanoseconds below 292 years", e);
    }
  }

  /** Returns the duration in the largest unit that divides it, in a form that is accepted. */
  static String format(Duration duration) {
    long nanos = duration.toNanos();
    if (nanos == 0) {
      return "0s";
    }
    for (String unit : new String[] {"d", "h", "m", "s", "ms", "us"}) {
      if (nanos % nanosPer(unit) == 0) {
        return nanos / nanosPer(unit) + unit;
      }
    }
    return nanos + "ns";
  }

  private static long nanosPer(String unit) {
    return switch (unit) {
      case "ns" -> 1L;
      case "us" -> 1_000L;
      case "ms" -> 1_000_000L;
      case "s" -> 1_000_000_000L;
      case "m" -> 60_000_000_000L;
      case "h" -> 3_600_000_000_000L;
      default -> 86_400_000_000_000L;
    };
  }
}
