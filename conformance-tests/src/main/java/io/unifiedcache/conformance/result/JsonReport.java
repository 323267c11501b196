package io.unifiedcache.conformance.result;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.TreeMap;
import java.util.TreeSet;

/** A report for programs. {@code docs/conformance.md} describes its form. */
final class JsonReport {
  /** Raised when a program that reads the form could be misled by a newer report. */
  static final int SCHEMA = 1;

  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  private JsonReport() {}

  static String of(ConformanceReport report) {
    JsonObject json = new JsonObject();
    json.addProperty("schema", SCHEMA);
    json.addProperty("suite", report.suiteVersion());
    json.addProperty("api", report.apiVersion());
    json.addProperty("backend", report.subject());
    JsonArray capabilities = new JsonArray();
    new TreeSet<>(report.capabilities()).forEach(each -> capabilities.add(each.name()));
    json.add("capabilities", capabilities);
    JsonObject settings = new JsonObject();
    new TreeMap<>(report.settings()).forEach(settings::addProperty);
    json.add("settings", settings);
    json.addProperty("jdk", report.jdk());
    json.addProperty("os", report.os());
    json.addProperty("seed", report.seed());
    json.addProperty("quick", report.quick());
    json.addProperty("result", report.result().toString());
    JsonArray reasons = new JsonArray();
    report.reasons().forEach(each -> reasons.add(Text.printable(each)));
    json.add("reasons", reasons);
    JsonObject counts = new JsonObject();
    for (Outcome outcome : Outcome.values()) {
      counts.addProperty(outcome.toString(), report.count(outcome));
    }
    json.add("counts", counts);
    JsonArray rules = new JsonArray();
    for (RuleResult result : report.rules()) {
      JsonObject rule = new JsonObject();
      rule.addProperty("id", result.rule());
      rule.addProperty("level", result.level().name());
      rule.addProperty("outcome", result.outcome().toString());
      rule.addProperty("reason", Text.printable(result.reason()));
      rule.addProperty("millis", result.time().toMillis());
      rules.add(rule);
    }
    json.add("rules", rules);
    return GSON.toJson(json) + "\n";
  }
}
