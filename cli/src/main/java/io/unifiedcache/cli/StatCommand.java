package io.unifiedcache.cli;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.store.StoreInventory;
import io.unifiedcache.api.store.StoreStats;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Shows what is in a store. */
@Command(
    name = "stat",
    description = {
      "Shows what is in a store: how many objects, of what age, under which prefixes of keys, and"
          + " what the backend knows of the room it uses. Others may have the store open meanwhile,"
          + " unless exclusively."
    },
    mixinStandardHelpOptions = true)
final class StatCommand implements Callable<Integer> {
  private static final int MOST_PREFIXES = 20;

  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Mixin
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private StoreOptions store;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description = "Also write what was found here, as one JSON object.")
  private @Nullable Path json;

  @Override
  public Integer call() {
    ObjectAges ages = new ObjectAges(Instant.now());
    PrefixTree prefixes = new PrefixTree();
    StoreInventory inventory =
        store
            .maintenance()
            .stat(
                item -> {
                  ages.add(item.stored(), item.bytes());
                  prefixes.add(item.key().value(), item.bytes());
                },
                Deadline.never());
    PrintWriter out = spec.commandLine().getOut();
    table(totals(inventory), "", out);
    if (inventory.listed() && inventory.objects() > 0) {
      out.println();
      out.println("stored");
      table(shown(ages.groups()), "  ", out);
      out.println();
      out.println("keys");
      List<ObjectGroup> groups = prefixes.groups();
      table(shown(groups.subList(0, Math.min(MOST_PREFIXES, groups.size()))), "  ", out);
      if (groups.size() > MOST_PREFIXES) {
        out.println("  and %,d more".formatted(groups.size() - MOST_PREFIXES));
      }
    }
    out.flush();
    if (json != null) {
      write(json, toJson(inventory, ages, prefixes));
    }
    return 0;
  }

  private static SequencedMap<String, String> totals(StoreInventory inventory) {
    SequencedMap<String, String> totals = new LinkedHashMap<>();
    totals.put("objects", known(inventory.objects(), ""));
    totals.put("bytes", known(inventory.bytes(), share(inventory)));
    totals.put("capacity", known(inventory.capacityBytes(), " bytes"));
    totals.putAll(inventory.details());
    return totals;
  }

  private static String known(long number, String unit) {
    return number == StoreStats.UNKNOWN ? "unknown" : "%,d%s".formatted(number, unit);
  }

  private static String share(StoreInventory inventory) {
    return inventory.capacityBytes() <= 0
        ? ""
        : ", %.1f %% of the capacity"
            .formatted(100.0 * inventory.bytes() / inventory.capacityBytes());
  }

  private static SequencedMap<String, String> shown(List<ObjectGroup> groups) {
    SequencedMap<String, String> shown = new LinkedHashMap<>();
    int width =
        groups.stream()
            .mapToInt(group -> "%,d".formatted(group.objects()).length())
            .max()
            .orElse(1);
    for (ObjectGroup group : groups) {
      shown.put(
          group.name(),
          ("%," + width + "d objects, %,d bytes").formatted(group.objects(), group.bytes()));
    }
    return shown;
  }

  private static void table(Map<String, String> rows, String indent, PrintWriter out) {
    int width = rows.keySet().stream().mapToInt(String::length).max().orElse(0);
    rows.forEach(
        (name, value) ->
            out.println(
                (indent + "%-" + width + "s  %s")
                    .formatted(PlainText.of(name), PlainText.of(value))));
  }

  private static JsonObject toJson(StoreInventory inventory, ObjectAges ages, PrefixTree prefixes) {
    JsonObject object = new JsonObject();
    addKnown(object, "objects", inventory.objects());
    addKnown(object, "bytes", inventory.bytes());
    addKnown(object, "capacityBytes", inventory.capacityBytes());
    JsonObject details = new JsonObject();
    inventory.details().forEach(details::addProperty);
    object.add("details", details);
    if (inventory.listed()) {
      object.add("ages", toJson(ages.groups()));
      object.add("prefixes", toJson(prefixes.groups()));
    }
    return object;
  }

  private static void addKnown(JsonObject to, String member, long number) {
    if (number != StoreStats.UNKNOWN) {
      to.addProperty(member, number);
    }
  }

  private static JsonArray toJson(List<ObjectGroup> groups) {
    JsonArray array = new JsonArray();
    for (ObjectGroup group : groups) {
      JsonObject object = new JsonObject();
      object.addProperty("name", group.name());
      object.addProperty("objects", group.objects());
      object.addProperty("bytes", group.bytes());
      array.add(object);
    }
    return array;
  }

  private void write(Path to, JsonObject report) {
    try {
      Files.writeString(
          to, new GsonBuilder().disableHtmlEscaping().setPrettyPrinting().create().toJson(report));
    } catch (IOException e) {
      throw new ParameterException(spec.commandLine(), "cannot write --json " + to + ": " + e);
    }
  }
}
