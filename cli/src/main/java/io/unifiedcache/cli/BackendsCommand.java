package io.unifiedcache.cli;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.UnifiedCache;
import java.io.PrintWriter;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Lists the backends that are found, what they can do, and the settings they understand. */
@Command(
    name = "backends",
    description = {
      "Lists the backends found, their capabilities and their options.",
      "Exit status 3 if any could not be loaded."
    },
    mixinStandardHelpOptions = true)
final class BackendsCommand implements Callable<Integer> {
  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Override
  public Integer call() {
    PrintWriter out = spec.commandLine().getOut();
    Backends backends = CommandBackends.discover();
    show(backends, out);
    out.flush();
    return backends.broken().isEmpty() ? 0 : Main.FAILED;
  }

  static void show(Backends backends, PrintWriter out) {
    for (Backends.Found found : backends.found()) {
      show(found, out);
    }
    for (Backends.Broken broken : backends.broken()) {
      out.println(broken.provider() + " cannot be loaded");
      out.println("  from          " + broken.origin());
      out.println("  reason        " + broken.cause());
      out.println();
    }
    if (backends.found().isEmpty()) {
      out.println("no backend was found");
      out.println();
    }
    out.println("every linker");
    table(UnifiedCache.linkerOptions(), out);
  }

  private static void show(Backends.Found found, PrintWriter out) {
    out.println(found.name());
    out.println("  from          " + found.origin());
    try {
      Set<Capability> capabilities = new TreeSet<>(found.provider().capabilities());
      List<Option<?>> options = List.copyOf(found.provider().options());
      out.println("  operations    " + names(capabilities, /* promises= */ false));
      out.println("  promises      " + names(capabilities, /* promises= */ true));
      table(options, out);
    } catch (RuntimeException | LinkageError e) {
      // A provider that fails must not hide the others.
      out.println("  fails         " + e);
    }
    out.println();
  }

  private static String names(Set<Capability> capabilities, boolean promises) {
    String names =
        capabilities.stream()
            .filter(capability -> capability.isPromise() == promises)
            .map(Capability::name)
            .collect(Collectors.joining(", "));
    return names.isEmpty() ? "none" : names;
  }

  private static void table(List<Option<?>> options, PrintWriter out) {
    int nameWidth = 0;
    int defaultWidth = 0;
    for (Option<?> option : options) {
      nameWidth = Math.max(nameWidth, option.name().length());
      defaultWidth = Math.max(defaultWidth, defaultOf(option).length());
    }
    for (Option<?> option : options) {
      out.println(
          ("  %-" + nameWidth + "s  %-8s  %-" + Math.max(1, defaultWidth) + "s  %s")
              .formatted(option.name(), option.type(), defaultOf(option), option.description()));
    }
  }

  private static String defaultOf(Option<?> option) {
    return option.isRequired() ? "required" : shownDefault(option);
  }

  private static <T> String shownDefault(Option<T> option) {
    return option.defaultValue().map(option::show).orElse("-");
  }
}
