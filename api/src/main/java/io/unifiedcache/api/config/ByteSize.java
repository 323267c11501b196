package io.unifiedcache.api.config;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number of bytes as an operator writes it.
 *
 * <p>A decimal number, optionally a blank, and a unit in any case: none or {@code B} for bytes;
 * {@code K}, {@code KB}, {@code KiB} for 2^10; {@code M}, {@code MB}, {@code MiB} for 2^20; {@code
 * G}, {@code GB}, {@code GiB} for 2^30; {@code T}, {@code TB}, {@code TiB} for 2^40. All are powers
 * of two, as in SGLang and Mooncake: {@code 4gb} is 2^32. The value must be a whole number of bytes
 * from 0 to 2^63 - 1; more than 40 digits before or after the point are not read.
 *
 * @param bytes the number of bytes, not negative
 */
public record ByteSize(long bytes) implements Comparable<ByteSize> {
  /** What {@link #parse} accepts, for messages. */
  public static final String ACCEPTED_FORM = "a size such as 4096, 64KiB, 1.5GiB or 16gb";

  private static final Pattern FORM =
      Pattern.compile(
          "([0-9]{1,40}(?:\\.[0-9]{1,40})?)[ \\t]?(?:([kmgt])(?:i?b)?|b)?",
          Pattern.CASE_INSENSITIVE);

  /**
   * Creates a size.
   *
   * @throws IllegalArgumentException if it is negative
   */
  public ByteSize {
    if (bytes < 0) {
      throw new IllegalArgumentException("a size must not be negative, not " + bytes);
    }
  }

  /**
   * Returns the size that the text says.
   *
   * @throws IllegalArgumentException if it is not of the form, not a whole number of bytes, or too
   *     large
   */
  public static ByteSize parse(String text) {
    Matcher matcher = FORM.matcher(text.strip());
    if (!matcher.matches()) {
      throw new IllegalArgumentException(Option.quoted(text) + " is not " + ACCEPTED_FORM);
    }
    String unit = matcher.group(2);
    int shift = unit == null ? 0 : 10 * (1 + "kmgt".indexOf(unit.toLowerCase(Locale.ROOT)));
    BigDecimal bytes = new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(1L << shift));
    try {
      return new ByteSize(bytes.setScale(0, RoundingMode.UNNECESSARY).longValueExact());
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          Option.quoted(text) + " is not a whole number of bytes below 2^63", e);
    }
  }

  @Override
  public int compareTo(ByteSize other) {
    return Long.compare(bytes, other.bytes);
  }

  /**
   * Returns the size in the largest unit that divides it, in a form that {@link #parse} accepts.
   */
  @Override
  public String toString() {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = bytes == 0 ? 0 : Math.min(units.length - 1, Long.numberOfTrailingZeros(bytes) / 10);
    return unit == 0 ? Long.toString(bytes) : (bytes >> (10 * unit)) + units[unit];
  }
}
