package io.unifiedcache.linker;

import static java.util.stream.Collectors.joining;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.linker.config.NearestName;
import io.unifiedcache.linker.config.PropertiesText;
import io.unifiedcache.linker.config.ServiceVariables;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Where settings come from. The stronger source wins: the command line over the environment, that
 * over properties files, those over the values of the program, and those over the defaults of the
 * options, whatever the order of the calls.
 *
 * <p>They are read strictly (rule {@code settings.strict}): unknown keys, bad values, even one that
 * a stronger source replaces, and missing required keys are mistakes, and all mistakes are reported
 * at once.
 *
 * <p>Immutable and thread-safe. Files are read when the settings are resolved.
 */
public final class SettingsSources {
  private static final SettingsSources NONE =
      new SettingsSources(Map.of(), List.of(), Map.of(), List.of());

  /** More than any file of settings has. */
  private static final int MAX_FILE_BYTES = 1 << 20;

  private static final String BYTE_ORDER_MARK = "\uFEFF";

  private static final String PREFIX = "UNIFIED_CACHE_";

  /** Variables with our prefix that the launcher reads and that are no settings. */
  private static final Set<String> LAUNCHER_VARIABLES =
      Set.of(PREFIX + "PLUGINS", PREFIX + "JAVA_OPTS", PREFIX + "BUILD");

  private final Map<String, String> values;
  private final List<Path> files;
  private final Map<String, String> variables;
  private final List<String> assignments;

  private SettingsSources(
      Map<String, String> values,
      List<Path> files,
      Map<String, String> variables,
      List<String> assignments) {
    this.values = values;
    this.files = files;
    this.variables = variables;
    this.assignments = assignments;
  }

  /** Returns no source: every option has its default. */
  public static SettingsSources none() {
    return NONE;
  }

  /** Returns values that the program gives, by key. */
  public static SettingsSources of(Map<String, String> values) {
    return NONE.program(values);
  }

  /** Adds values that the program gives, by key; they replace earlier ones. */
  public SettingsSources program(Map<String, String> more) {
    Map<String, String> all = new LinkedHashMap<>(values);
    all.putAll(more);
    return new SettingsSources(all, files, variables, assignments);
  }

  /**
   * Adds a properties file in UTF-8; it wins over those added before. A file that cannot be read,
   * and a key that is in one file twice, are mistakes.
   */
  public SettingsSources file(Path file) {
    List<Path> all = new ArrayList<>(files);
    all.add(file);
    return new SettingsSources(values, all, variables, assignments);
  }

  /**
   * Adds environment variables, usually those of {@link System#getenv()}; they replace earlier
   * ones.
   *
   * <p>The variable of a key is {@code UNIFIED_CACHE_} and the key in upper case, every character
   * that is not a letter or digit replaced by {@code _}. Other variables with that prefix are
   * mistakes, but for {@code UNIFIED_CACHE_PLUGINS}, {@code UNIFIED_CACHE_JAVA_OPTS} and {@code
   * UNIFIED_CACHE_BUILD}, which are the launcher's, and for those that Kubernetes gives to every
   * container beside a service called {@code unified-cache} or {@code unified-cache-...}, such as
   * {@code UNIFIED_CACHE_PORT=tcp://10.0.0.1:80}: one of these is a setting only where an option
   * has its name and takes its value. Variables without the prefix are ignored.
   */
  public SettingsSources environment(Map<String, String> more) {
    Map<String, String> all = new TreeMap<>(variables);
    more.forEach(
        (variable, value) -> {
          if (variable.startsWith(PREFIX)) {
            all.put(variable, value);
          }
        });
    return new SettingsSources(values, files, all, assignments);
  }

  /**
   * Adds assignments of the form {@code key=value}; a later one of the same key wins, so that one
   * can be appended to a line that has it already.
   */
  public SettingsSources commandLine(List<String> more) {
    List<String> all = new ArrayList<>(assignments);
    all.addAll(more);
    return new SettingsSources(values, files, variables, all);
  }

  /**
   * Returns the values of the options.
   *
   * @throws SettingsException with every mistake; two options with the same name, or whose
   *     environment variables have the same name, are mistakes as well
   */
  public Settings resolve(Collection<? extends Option<?>> options) {
    Resolution resolution = resolution(options);
    return resolution.settings();
  }

  /**
   * Returns the values of the options that are set, by key, as text: to be handed on, to another
   * process say. Those of secret options are not masked.
   *
   * @throws SettingsException as {@link #resolve}
   */
  public Map<String, String> texts(Collection<? extends Option<?>> options) {
    Resolution resolution = resolution(options);
    resolution.requireNoProblems();
    return Map.copyOf(resolution.texts);
  }

  private Resolution resolution(Collection<? extends Option<?>> options) {
    Resolution resolution = new Resolution(options);
    values.forEach((key, value) -> resolution.set("program", key, value));
    files.forEach(file -> set(file, resolution));
    variables.forEach(resolution::setVariable);
    for (int i = 0; i < assignments.size(); i++) {
      set(i + 1, assignments.get(i), resolution);
    }
    resolution.requireRequired();
    return resolution;
  }

  /** Returns the text of a settings file, whose size is bounded: it may be a device or a pipe. */
  private static String read(Path file) throws IOException {
    byte[] bytes;
    try (InputStream in = Files.newInputStream(file)) {
      bytes = in.readNBytes(MAX_FILE_BYTES + 1);
    }
    if (bytes.length > MAX_FILE_BYTES) {
      throw new IOException("it has more than " + MAX_FILE_BYTES + " bytes");
    }
    return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
  }

  private static void set(Path file, Resolution resolution) {
    String text;
    try {
      text = read(file);
    } catch (NoSuchFileException e) {
      resolution.problem(file + ": there is no such file");
      return;
    } catch (CharacterCodingException e) {
      resolution.problem(file + ": the file is not in UTF-8");
      return;
    } catch (IOException e) {
      resolution.problem(file + ": the file cannot be read: " + e);
      return;
    }
    Map<String, Integer> lines = new HashMap<>();
    String content = text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
    List<PropertiesText.Entry> entries =
        PropertiesText.parse(
            content, (line, mistake) -> resolution.problem(file + ":" + line + ": " + mistake));
    for (PropertiesText.Entry entry : entries) {
      String source = file + ":" + entry.line();
      Integer earlier = lines.putIfAbsent(entry.key(), entry.line());
      if (earlier != null) {
        resolution.problem(
            source + ": key \"" + entry.key() + "\" is on line " + earlier + " already");
      }
      resolution.set(source, entry.key(), entry.value());
    }
  }

  private static void set(int number, String assignment, Resolution resolution) {
    int equals = assignment.indexOf('=');
    if (equals < 0) {
      // Its text is not repeated: it may be a secret that was meant for a key.
      resolution.problem("command line: setting " + number + " is not of the form key=value");
      return;
    }
    resolution.set(
        "command line", assignment.substring(0, equals).strip(), assignment.substring(equals + 1));
  }

  /** The values and mistakes gathered so far. */
  private static final class Resolution {
    private final Map<String, Option<?>> options = new LinkedHashMap<>();
    private final Map<String, Option<?>> byVariable = new LinkedHashMap<>();
    private final Map<String, String> texts = new LinkedHashMap<>();
    private final List<String> problems = new ArrayList<>();
    private final Settings.Builder settings;

    Resolution(Collection<? extends Option<?>> all) {
      for (Option<?> option : all) {
        if (options.putIfAbsent(option.name(), option) != null) {
          problem("two options are called \"" + option + "\"");
          continue;
        }
        String variable = variable(option.name());
        Option<?> other = byVariable.putIfAbsent(variable, option);
        if (other != null) {
          problem(
              "options \"%s\" and \"%s\" have the same environment variable %s"
                  .formatted(other, option, variable));
        } else if (LAUNCHER_VARIABLES.contains(variable)) {
          problem(
              "option \"%s\" has the environment variable %s, which is the launcher's"
                  .formatted(option, variable));
        }
      }
      settings = Settings.builder(options.values());
    }

    private static String variable(String key) {
      return PREFIX + key.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_");
    }

    void problem(String sentence) {
      problems.add(sentence);
    }

    void set(String source, String key, String value) {
      Option<?> option = options.get(key);
      if (option == null) {
        problem("%s: unknown key \"%s\"; %s".formatted(source, key, suggestion(key, false)));
      } else {
        set(source, option, value);
      }
    }

    void setVariable(String variable, String value) {
      Option<?> option = byVariable.get(variable);
      if (ServiceVariables.isOne(variable, value) && !takes(option, value)) {
        return;
      }
      if (option != null) {
        set("environment variable " + variable, option, value);
      } else if (!LAUNCHER_VARIABLES.contains(variable)) {
        problem(
            "unknown environment variable %s; %s"
                .formatted(variable, suggestion(variable.substring(PREFIX.length()), true)));
      }
    }

    private static boolean takes(@Nullable Option<?> option, String value) {
      if (option == null) {
        return false;
      }
      try {
        Settings.builder(List.of(option)).parse(option, value);
        return true;
      } catch (IllegalArgumentException e) {
        return false;
      }
    }

    private void set(String source, Option<?> option, String value) {
      texts.put(option.name(), value);
      try {
        settings.parse(option, value);
      } catch (IllegalArgumentException e) {
        problem(source + ": " + e.getMessage());
      }
    }

    private String suggestion(String name, boolean asVariable) {
      UnaryOperator<String> form = asVariable ? Resolution::variable : key -> '"' + key + '"';
      return NearestName.among(options.keySet(), name)
          .map(nearest -> "did you mean " + form.apply(nearest) + "?")
          .orElseGet(
              () -> "known are " + options.keySet().stream().map(form).collect(joining(", ")));
    }

    void requireRequired() {
      for (Option<?> option : options.values()) {
        if (option.isRequired() && !texts.containsKey(option.name())) {
          problem(
              "required key \"%s\" has no value: %s (%s)"
                  .formatted(option, option.description(), option.acceptedForm()));
        }
      }
    }

    void requireNoProblems() {
      if (!problems.isEmpty()) {
        throw new SettingsException(problems);
      }
    }

    Settings settings() {
      requireNoProblems();
      return settings.build();
    }
  }
}
