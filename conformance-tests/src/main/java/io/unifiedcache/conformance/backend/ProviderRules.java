package io.unifiedcache.conformance.backend;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsException;
import io.unifiedcache.linker.SettingsSources;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The rules of providers: their names and their options. */
public final class ProviderRules {
  private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]*");
  private static final Pattern SIZE = Pattern.compile("[0-9.]+ ?[kmgtKMGT]([iI]?[bB])?");
  private static final Pattern DURATION = Pattern.compile("[0-9.]+ ?(ns|us|ms|s|m|h|d)");
  private static final Pattern SECRET =
      Pattern.compile(".*(password|passwd|secret|credential|token|private-key|api-key).*");
  private static final Set<String> BOOLEANS = Set.of("true", "false", "on", "off", "yes", "no");

  private ProviderRules() {}

  private static CacheStoreProvider provider(Trial trial) {
    if (!trial.subject().isNamed()) {
      throw trial.notApplicable("the store is opened by code, not by the name of a backend");
    }
    return trial.subject().provider();
  }

  @Rule(
      id = "discovery.by-name",
      scope = Scope.PROVIDER,
      text =
          "A backend is chosen by name: its provider always answers the same legal name, and is"
              + " cheap to ask; a second backend of the name is an error that lists both; an"
              + " unknown name lists what is there and the artifact to add.",
      hint =
          "Return a constant from name(): lower-case letters, digits and dashes, a letter first."
              + " Declare the provider once.")
  static void byName(Trial trial) {
    CacheStoreProvider provider = provider(trial);
    String name = trial.subject().name();
    for (int i = 0; i < 3; i++) {
      trial.expectEqual("name() of the provider", name, provider.name());
      trial.expectEqual(
          "capabilities() of the provider, asked again",
          provider.capabilities(),
          provider.capabilities());
    }
    trial.expect(
        NAME.matcher(name).matches(),
        "a name of lower-case letters, digits and dashes that begins with a letter",
        () -> "\"" + name + "\"");
    trial.expect(
        provider.capabilities().containsAll(trial.capabilities()),
        "a store that offers no more than its provider says, " + provider.capabilities(),
        () -> "a store that offers " + trial.capabilities());
    Backends twice =
        Backends.of(
            List.of(
                new Backends.Found(name, provider, "one.jar"),
                new Backends.Found(name, provider, "other.jar")));
    CacheException ambiguous =
        trial.expectRefused(
            "two backends of one name", FailureCode.REFUSED, () -> twice.named(name));
    expectSays(trial, "two backends of one name", ambiguous.getMessage(), "one.jar", "other.jar");
    String unknown = "no-such-" + name;
    CacheException absent =
        trial.expectRefused(
            "an unknown name",
            FailureCode.REFUSED,
            () -> trial.subject().backends().named(unknown));
    expectSays(trial, "an unknown name", absent.getMessage(), unknown, name, "artifact");
  }

  private static void expectSays(
      Trial trial, String what, @Nullable String message, String... parts) {
    for (String part : parts) {
      trial.expect(
          message != null && message.contains(part),
          "the error of " + what + " to name " + part,
          () -> String.valueOf(message));
    }
  }

  @Rule(
      id = "settings.strict",
      scope = Scope.PROVIDER,
      text =
          "Unknown keys (with the nearest valid one), bad values (with key, value and accepted"
              + " form) and missing required keys are all reported at once; secrets are masked.",
      hint =
          "Keep the options in constants and return the same ones every time; give each a name of"
              + " its own; mark what nobody should read with asSecret().")
  static void strict(Trial trial) {
    CacheStoreProvider provider = provider(trial);
    List<Option<?>> options = provider.options();
    List<Option<?>> again = provider.options();
    Set<String> names = new HashSet<>();
    for (int i = 0; i < options.size(); i++) {
      Option<?> option = options.get(i);
      int index = i;
      trial.expect(
          again.size() == options.size() && again.get(i) == option,
          "options() to return the same instances every time",
          () -> "another instance of " + options.get(index).name());
      trial.expect(
          names.add(option.name()),
          "each option to have a name of its own",
          () -> option.name() + " twice");
      trial.expect(
          !option.name().startsWith("linker."),
          "no option of a backend among those of the linker",
          option::name);
      trial.expect(
          option.isSecret() || !SECRET.matcher(option.name()).matches(),
          "option " + option.name() + " to be a secret one",
          () -> "its values are shown");
    }
    expectAllReported(trial, options);
  }

  private static void expectAllReported(Trial trial, List<Option<?>> options) {
    Map<String, String> wrong = new HashMap<>();
    List<String> named = new ArrayList<>();
    wrong.put("no-such-option", "1");
    named.add("no-such-option");
    String bad = "?" + trial.rule() + "?";
    for (Option<?> option : options) {
      if (!option.type().equals("text")) {
        wrong.put(option.name(), bad);
        named.add(option.name());
        named.add(option.acceptedForm());
      } else if (option.isRequired()) {
        named.add(option.name());
      }
    }
    try {
      SettingsSources.of(wrong).resolve(options);
    } catch (SettingsException e) {
      expectSays(trial, "wrong settings", e.getMessage(), named.toArray(String[]::new));
      return;
    }
    trial.expect(false, "wrong settings to be refused: " + wrong, () -> "they were accepted");
  }

  @Rule(
      id = "settings.one-grammar",
      scope = Scope.PROVIDER,
      text =
          "There is one grammar for sizes (64KiB, 1.5GiB, 16gb, 4096), one for booleans and one for"
              + " durations: an option that is one of these is declared as such.",
      hint = "Use Option.bytes, Option.bool and Option.duration, not Option.text.")
  static void oneGrammar(Trial trial) {
    for (Option<?> option : provider(trial).options()) {
      option.defaultValue().ifPresent(value -> expectGrammar(trial, option, value));
    }
  }

  private static void expectGrammar(Trial trial, Option<?> option, Object value) {
    if (value instanceof ByteSize size) {
      for (String text :
          List.of(
              Long.toString(size.bytes()),
              size.bytes() + "B",
              size.toString().toLowerCase(Locale.ROOT))) {
        trial.expectEqual("option " + option + " set to " + text, size, option.parse(text));
      }
    }
    if (value instanceof String text) {
      trial.expect(
          !SIZE.matcher(text).matches()
              && !DURATION.matcher(text).matches()
              && !BOOLEANS.contains(text.toLowerCase(Locale.ROOT)),
          "option " + option + " to be declared as a size, a duration or a boolean",
          () -> "text whose default is \"" + text + "\"");
    }
  }
}
