package io.unifiedcache.api.config;

import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A setting that a backend or the linker understands: its name, type, default and meaning.
 *
 * <p>Immutable and thread-safe. An option is made by one of the typed factories and refined:
 *
 * {@snippet :
 * static final Option<ByteSize> CAPACITY =
 *     Option.bytes("capacity", "The most bytes that live objects take.")
 *         .withDefault(ByteSize.parse("8GiB"))
 *         .where("at least 1MiB", size -> size.bytes() >= 1 << 20);
 * }
 *
 * <p>An option has a default, is required, or may be left unset.
 *
 * @param <T> the type of its values
 */
public final class Option<T> {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9_-]*(\\.[a-z][a-z0-9_-]*)*");

  private static final Pattern WHOLE_NUMBER = Pattern.compile("-?[0-9]{1,40}");
  private static final String MASK = "***";

  private final String name;
  private final String type;
  private final String acceptedForm;
  private final String description;
  private final Function<String, T> parser;
  private final Function<T, String> formatter;
  private final @Nullable T defaultValue;
  private final boolean required;
  private final boolean secret;

  private Option(
      String name,
      String type,
      String acceptedForm,
      String description,
      Function<String, T> parser,
      Function<T, String> formatter,
      @Nullable T defaultValue,
      boolean required,
      boolean secret) {
    this.name = name;
    this.type = type;
    this.acceptedForm = acceptedForm;
    this.description = description;
    this.parser = parser;
    this.formatter = formatter;
    this.defaultValue = defaultValue;
    this.required = required;
    this.secret = secret;
  }

  /** Returns an option whose values are text, taken as given. */
  public static Option<String> text(String name, String description) {
    return of(name, "text", "text", description, Function.identity(), Function.identity());
  }

  /** Returns an option whose values are whole numbers from {@code least} to {@code most}. */
  public static Option<Long> number(String name, String description, long least, long most) {
    if (least > most) {
      throw new IllegalArgumentException(
          "option " + name + " has no value from " + least + " to " + most);
    }
    String form = "a whole number from " + least + " to " + most;
    return of(
        name,
        "number",
        form,
        description,
        text -> {
          String digits = text.strip();
          if (!WHOLE_NUMBER.matcher(digits).matches()) {
            throw refusal(text, form);
          }
          BigInteger value = new BigInteger(digits);
          if (value.compareTo(BigInteger.valueOf(least)) < 0
              || value.compareTo(BigInteger.valueOf(most)) > 0) {
            throw refusal(text, form);
          }
          return value.longValueExact();
        },
        value -> Long.toString(value));
  }

  /** Returns an option that is on or off: {@code true}, {@code on}, {@code yes}, {@code 1}, ... */
  public static Option<Boolean> bool(String name, String description) {
    String form = "true or false (also on/off, yes/no, 1/0)";
    return of(
        name,
        "boolean",
        form,
        description,
        text ->
            switch (text.strip().toLowerCase(Locale.ROOT)) {
              case "true", "on", "yes", "1" -> true;
              case "false", "off", "no", "0" -> false;
              default -> throw refusal(text, form);
            },
        value -> Boolean.toString(value));
  }

  /** Returns an option whose values are sizes, in the grammar of {@link ByteSize}. */
  public static Option<ByteSize> bytes(String name, String description) {
    return of(
        name, "size", ByteSize.ACCEPTED_FORM, description, ByteSize::parse, ByteSize::toString);
  }

  /**
   * Returns an option whose values are durations: a decimal number, optionally a blank, and one of
   * the units {@code ns}, {@code us}, {@code ms}, {@code s}, {@code m}, {@code h}, {@code d}.
   */
  public static Option<Duration> duration(String name, String description) {
    return of(
        name,
        "duration",
        Durations.ACCEPTED_FORM,
        description,
        Durations::parse,
        Durations::format);
  }

  /**
   * Returns an option whose values are the constants of an enum, written in lower case with dashes
   * for underscores.
   */
  public static <E extends Enum<E>> Option<E> choice(
      String name, String description, Class<E> constants) {
    List<E> values = List.of(constants.getEnumConstants());
    String form =
        "one of " + values.stream().map(Option::spelled).collect(Collectors.joining(", "));
    return of(
        name,
        "choice",
        form,
        description,
        text ->
            values.stream()
                .filter(value -> spelled(value).equals(text.strip().toLowerCase(Locale.ROOT)))
                .findFirst()
                .orElseThrow(() -> refusal(text, form)),
        Option::spelled);
  }

  private static String spelled(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private static IllegalArgumentException refusal(String text, String form) {
    return new IllegalArgumentException(quoted(text) + " is not " + form);
  }

  /** Returns a text for a message, which is shortened. */
  static String quoted(String text) {
    return '"' + (text.length() <= 200 ? text : text.substring(0, 200) + "...") + '"';
  }

  private static <T> Option<T> of(
      String name,
      String type,
      String acceptedForm,
      String description,
      Function<String, T> parser,
      Function<T, String> formatter) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "option name \""
              + name
              + "\" must be lower-case words joined by - or _, in parts joined by a dot");
    }
    if (description.isBlank()) {
      throw new IllegalArgumentException("option " + name + " needs a description");
    }
    return new Option<>(
        name, type, acceptedForm, description, parser, formatter, null, false, false);
  }

  /**
   * Returns this option with a default.
   *
   * @throws IllegalArgumentException if the default is not an accepted value
   */
  public Option<T> withDefault(T value) {
    T readBack = parse(formatter.apply(Objects.requireNonNull(value, "default")));
    if (!readBack.equals(value)) {
      throw new IllegalArgumentException(
          "the default of option " + name + " is read back as " + show(readBack));
    }
    return new Option<>(
        name, type, acceptedForm, description, parser, formatter, value, false, secret);
  }

  /** Returns this option without a default, to be set by whoever opens the backend. */
  public Option<T> asRequired() {
    return new Option<>(
        name, type, acceptedForm, description, parser, formatter, null, true, secret);
  }

  /** Returns this option as one whose values are shown masked. */
  public Option<T> asSecret() {
    return new Option<>(
        name, type, acceptedForm, description, parser, formatter, defaultValue, required, true);
  }

  /**
   * Returns this option with fewer values.
   *
   * @param form what is accepted beyond the type, in words that follow a comma, such as {@code at
   *     least 1MiB}
   * @throws IllegalArgumentException if the option has a default that is no longer accepted
   */
  public Option<T> where(String form, Predicate<T> accepted) {
    if (defaultValue != null && !accepted.test(defaultValue)) {
      throw new IllegalArgumentException(
          "the default " + show(defaultValue) + " of option " + name + " is not " + form);
    }
    String narrower = acceptedForm + ", " + form;
    return new Option<>(
        name,
        type,
        narrower,
        description,
        text -> {
          T value;
          try {
            value = parser.apply(text);
          } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(e.getMessage() + ", " + form, e);
          }
          if (!accepted.test(value)) {
            throw refusal(text, narrower);
          }
          return value;
        },
        formatter,
        defaultValue,
        required,
        secret);
  }

  /** Returns the name. */
  public String name() {
    return name;
  }

  /** Returns the type in one word, such as {@code size}. */
  public String type() {
    return type;
  }

  /** Returns what is accepted, in words. */
  public String acceptedForm() {
    return acceptedForm;
  }

  /** Returns what the option means, in one line. */
  public String description() {
    return description;
  }

  /** Returns the default, if there is one. */
  public Optional<T> defaultValue() {
    return Optional.ofNullable(defaultValue);
  }

  /** Tells whether the option must be set. */
  public boolean isRequired() {
    return required;
  }

  /** Tells whether values are shown masked. */
  public boolean isSecret() {
    return secret;
  }

  /**
   * Returns the value that the text says.
   *
   * @throws IllegalArgumentException if it is not accepted, with the text (unless it is secret) and
   *     the accepted form
   */
  public T parse(String text) {
    try {
      return parser.apply(text);
    } catch (IllegalArgumentException e) {
      if (secret) {
        // Without the cause, whose message has the text.
        throw new IllegalArgumentException(MASK + " is not " + acceptedForm);
      }
      throw e;
    }
  }

  /** Returns a value as text that {@link #parse} takes back; {@code ***} if it is secret. */
  public String show(T value) {
    return secret ? MASK : formatter.apply(value);
  }

  @Override
  public String toString() {
    return name;
  }
}
