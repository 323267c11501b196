package io.unifiedcache.conformance;

import static java.util.stream.Collectors.joining;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.RuleCatalogue;
import io.unifiedcache.conformance.run.Scope;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The published forms of the catalogue of rules, made from the rules themselves. */
final class RuleTexts {
  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  private static final String HEAD =
      """
      # The rules

      What a store, a linker and a provider keep to, and what the conformance suite tries. An id is
      never given to another rule. This page is made from the suite's own annotations; \
      `conformance-rules.json` beside it has the same for programs.

      MUST: who breaks it is not conformant. SHOULD: who breaks it is told so. A rule that needs a
      capability says nothing of a store that does not declare it.
      """;

  private RuleTexts() {}

  /** Returns the catalogue as a page in Markdown. */
  static String markdown(List<RuleCatalogue.Entry> rules) {
    StringBuilder page = new StringBuilder(HEAD);
    for (Scope scope : Scope.values()) {
      page.append("\n## ").append(heading(scope)).append('\n');
      for (RuleCatalogue.Entry entry : rules) {
        if (entry.rule().scope() == scope) {
          page.append(section(entry.rule()));
        }
      }
    }
    return page.toString();
  }

  private static String heading(Scope scope) {
    return switch (scope) {
      case STORE -> "Stores";
      case LINKER -> "Linkers, tried over the store";
      case PROVIDER -> "Providers";
    };
  }

  private static String section(Rule rule) {
    String needs =
        rule.needs().length == 0
            ? ""
            : ", needs " + Arrays.stream(rule.needs()).map(Enum::name).collect(joining(", "));
    return """

    ### `%s`

    %s (%s, since %d%s)

    *If it fails:* %s
    """
        .formatted(rule.id(), rule.text(), rule.level(), rule.since(), needs, rule.hint());
  }

  /** Returns the catalogue as JSON. */
  static String json(List<RuleCatalogue.Entry> rules) {
    JsonObject json = new JsonObject();
    json.addProperty("schema", 1);
    JsonArray all = new JsonArray();
    for (RuleCatalogue.Entry entry : rules) {
      Rule rule = entry.rule();
      JsonObject each = new JsonObject();
      each.addProperty("id", rule.id());
      each.addProperty("level", rule.level().name());
      each.addProperty("since", rule.since());
      each.addProperty("scope", rule.scope().name().toLowerCase(Locale.ROOT));
      JsonArray needs = new JsonArray();
      Arrays.stream(rule.needs()).map(Enum::name).forEach(needs::add);
      each.add("needs", needs);
      each.addProperty("text", rule.text());
      each.addProperty("hint", rule.hint());
      all.add(each);
    }
    json.add("rules", all);
    return GSON.toJson(json) + "\n";
  }
}
