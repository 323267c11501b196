package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.backend.mooncake.ConfigFile.FormException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where the values of settings come from, and what is wrong with them.
 *
 * <p>What was set comes first. All else comes from one place, as with SGLang: from the JSON file if
 * one is named, or else from variables.
 */
final class MooncakeSources {
  private static final List<String> CONFIG_VARIABLES =
      List.of("SGLANG_HICACHE_MOONCAKE_CONFIG_PATH", "MOONCAKE_CONFIG_PATH");

  private final Settings settings;
  private final Map<String, String> environment;
  private final List<String> problems;
  private final String fileName;
  private final @Nullable ConfigFile file;

  /**
   * Reads the file, if one is named.
   *
   * @param config the setting that names it
   * @param problems takes what is wrong
   */
  MooncakeSources(
      Settings settings,
      Option<String> config,
      Map<String, String> environment,
      List<String> problems) {
    this.settings = settings;
    this.environment = environment;
    this.problems = problems;
    String named = settings.find(config).orElse(null);
    for (String variable : CONFIG_VARIABLES) {
      String value = environment.get(variable);
      if (named == null && value != null && !value.isBlank()) {
        named = value;
      }
    }
    fileName = named == null ? "" : named;
    file = named == null ? null : read(fileName);
  }

  private @Nullable ConfigFile read(String name) {
    try {
      return ConfigFile.read(name);
    } catch (FormException e) {
      problems.add("the file %s of config %s".formatted(name, e.getMessage()));
      return null;
    }
  }

  /** Returns whether a file is named. */
  boolean hasFile() {
    return !fileName.isEmpty();
  }

  /** Returns the name of the file; empty if there is none. */
  String fileName() {
    return fileName;
  }

  /** Returns the value of an option that has a default. */
  <T> T get(Option<T> option, String... variables) {
    return find(option, variables).or(option::defaultValue).orElseThrow();
  }

  /** Finds a value: what was set, what the file says, or without a file what a variable says. */
  <T> Optional<T> find(Option<T> option, String... variables) {
    return settings.isSet(option) ? settings.find(option) : findShared(option, variables);
  }

  /** Finds a value that cannot be set. */
  <T> Optional<T> findShared(Option<T> option, String... variables) {
    return hasFile() ? inFile(option) : inVariables(option, variables);
  }

  /** Finds a value of which the environment says more than the file, which hosts share. */
  <T> Optional<T> findBeforeFile(Option<T> option, String... variables) {
    return settings.isSet(option)
        ? settings.find(option)
        : inVariables(option, variables).or(() -> inFile(option));
  }

  /** Finds a value of which the environment says what the file leaves out. */
  <T> Optional<T> findAlsoBesideFile(Option<T> option, String... variables) {
    return settings.isSet(option)
        ? settings.find(option)
        : inFile(option).or(() -> inVariables(option, variables));
  }

  private <T> Optional<T> inFile(Option<T> option) {
    ConfigFile read = file;
    if (read == null || !read.has(option.name())) {
      return Optional.empty();
    }
    String where = "in the file " + fileName;
    try {
      if (isTruth(option)) {
        return parse(option, String.valueOf(read.truth(option.name())), where);
      } else if (read.isCompound(option.name()) && !isMap(option)) {
        throw new FormException("it is an object or a list, and not one value");
      }
      return parse(option, String.valueOf(read.text(option.name())), where);
    } catch (FormException e) {
      return wrong(option, where, e);
    }
  }

  private <T> Optional<T> inVariables(Option<T> option, String... variables) {
    for (String variable : variables) {
      String value = environment.get(variable);
      if (value != null && !value.isBlank()) {
        String where = "in the variable " + variable;
        if (!isTruth(option)) {
          return parse(option, value, where);
        }
        Boolean truth = ConfigFile.truthOfVariable(value);
        return truth == null
            ? wrong(option, where, new FormException("\"" + value + "\" is neither true nor false"))
            : parse(option, truth.toString(), where);
      }
    }
    return Optional.empty();
  }

  private static boolean isTruth(Option<?> option) {
    return option.type().equals("boolean");
  }

  /** Returns whether an option may have a map of ranks as its value. */
  private static boolean isMap(Option<?> option) {
    return option.name().equals(MooncakeSettings.DEVICE_NAME.name());
  }

  private <T> Optional<T> parse(Option<T> option, String text, String where) {
    try {
      return Optional.of(option.parse(text));
    } catch (IllegalArgumentException e) {
      return wrong(option, where, e);
    }
  }

  private <T> Optional<T> wrong(Option<T> option, String where, Exception problem) {
    problems.add(option.name() + " " + where + ": " + problem.getMessage());
    return option.defaultValue();
  }
}
