package io.unifiedcache.api.config;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.StringJoiner;

/**
 * The values of a set of options.
 *
 * <p>Immutable and thread-safe. An option that was not set has its default, or no value.
 */
public final class Settings {
  private final Map<String, Option<?>> options;
  private final Map<String, Object> values;

  private Settings(Map<String, Option<?>> options, Map<String, Object> values) {
    this.options = options;
    this.values = values;
  }

  /**
   * Returns a builder of values for the given options.
   *
   * @throws IllegalArgumentException if two options have the same name
   */
  public static Builder builder(Collection<? extends Option<?>> options) {
    return new Builder(options);
  }

  /**
   * Returns the value of an option.
   *
   * @throws NoSuchElementException if it has none
   * @throws IllegalArgumentException if the option is not of these settings
   */
  public <T> T get(Option<T> option) {
    return find(option)
        .orElseThrow(() -> new NoSuchElementException("option " + option + " has no value"));
  }

  /**
   * Returns the value of an option, if it has one.
   *
   * @throws IllegalArgumentException if the option is not of these settings
   */
  // Safe: the builder checked that the value is of the option's type, and the option is the same.
  @SuppressWarnings("unchecked")
  public <T> Optional<T> find(Option<T> option) {
    requireOwn(option);
    Object value = values.get(option.name());
    return value == null ? option.defaultValue() : Optional.of((T) value);
  }

  private void requireOwn(Option<?> option) {
    if (options.get(option.name()) != option) {
      throw new IllegalArgumentException("option " + option + " is not among " + options.keySet());
    }
  }

  /** Returns the options, in order. */
  public List<Option<?>> options() {
    return List.copyOf(options.values());
  }

  /**
   * Tells whether the option was set, as opposed to having its default.
   *
   * @throws IllegalArgumentException if the option is not of these settings
   */
  public boolean isSet(Option<?> option) {
    requireOwn(option);
    return values.containsKey(option.name());
  }

  /**
   * Returns the settings of some of these options.
   *
   * @throws IllegalArgumentException if an option is not of these settings
   */
  public Settings only(Collection<? extends Option<?>> some) {
    Builder builder = builder(some);
    for (Option<?> option : some) {
      if (isSet(option)) {
        copy(option, builder);
      }
    }
    return builder.build();
  }

  private <T> void copy(Option<T> option, Builder builder) {
    builder.set(option, get(option));
  }

  /** Returns every option that has a value, with secrets masked. */
  @Override
  public String toString() {
    StringJoiner text = new StringJoiner(", ", "{", "}");
    for (Option<?> option : options.values()) {
      show(option).ifPresent(value -> text.add(option.name() + "=" + value));
    }
    return text.toString();
  }

  private <T> Optional<String> show(Option<T> option) {
    return find(option).map(option::show);
  }

  /** Collects values. Not thread-safe. */
  public static final class Builder {
    private final Map<String, Option<?>> options = new LinkedHashMap<>();
    private final Map<String, Object> values = new LinkedHashMap<>();

    private Builder(Collection<? extends Option<?>> options) {
      for (Option<?> option : options) {
        if (this.options.put(option.name(), option) != null) {
          throw new IllegalArgumentException("two options are called " + option.name());
        }
      }
    }

    /**
     * Sets the value of an option, replacing an earlier one.
     *
     * @throws IllegalArgumentException if the option is not among those of these settings, or does
     *     not accept the value
     */
    public <T> Builder set(Option<T> option, T value) {
      Objects.requireNonNull(value, option.name());
      if (options.get(option.name()) != option) {
        throw new IllegalArgumentException(
            "option " + option + " is not among " + options.keySet());
      }
      values.put(option.name(), value);
      return this;
    }

    /**
     * Sets the value of an option to what the text says, replacing an earlier one.
     *
     * @throws IllegalArgumentException if the option is not among those of these settings, or does
     *     not accept the text
     */
    public Builder parse(Option<?> option, String text) {
      return setParsed(option, text);
    }

    private <T> Builder setParsed(Option<T> option, String text) {
      try {
        return set(option, option.parse(text));
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(option + ": " + e.getMessage(), e);
      }
    }

    /**
     * Returns the settings.
     *
     * @throws IllegalArgumentException if a required option has no value, naming all of them
     */
    public Settings build() {
      List<String> missing = new ArrayList<>();
      for (Option<?> option : options.values()) {
        if (option.isRequired() && !values.containsKey(option.name())) {
          missing.add(option.name());
        }
      }
      if (!missing.isEmpty()) {
        throw new IllegalArgumentException("required options have no value: " + missing);
      }
      return new Settings(new LinkedHashMap<>(options), new LinkedHashMap<>(values));
    }
  }
}
