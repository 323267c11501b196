package io.unifiedcache.linker;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.store.CacheStoreProvider;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.module.Configuration;
import java.lang.module.ModuleFinder;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * The code of a third party, compiled on the spot: a named module in a folder, or a jar with a
 * service file.
 */
final class ThirdParty {
  static final String SERVICE_FILE = "META-INF/services/" + CacheStoreProvider.class.getName();

  private static final String PROVIDER =
      """
      package %1$s;
      import io.unifiedcache.api.config.*;
      import io.unifiedcache.api.store.*;
      public class %2$s extends Base implements CacheStoreProvider {
        %3$s
        @Override public java.util.List<Option<?>> options() { return java.util.List.of(); }
        @Override public java.util.Set<Capability> capabilities() { return java.util.Set.of(); }
        @Override public CacheStore open(Settings settings, StoreContext context) {
          throw new AssertionError("to find a backend opens no store");
        }
      }
      """;

  private final Path folder;
  private final String name;
  private final Map<String, String> sources = new LinkedHashMap<>();
  private final List<String> providers = new ArrayList<>();
  private final List<Path> beside = new ArrayList<>();
  private final List<String> required = new ArrayList<>();
  private final List<String> missing = new ArrayList<>();
  private Optional<String> serviceFile = Optional.empty();

  /**
   * Begins a module or jar.
   *
   * @param name of the module, of its only package, and of the jar
   */
  ThirdParty(Path folder, String name) {
    this.folder = folder;
    this.name = name;
    source("Base", "package " + name + "; public class Base {}");
  }

  /** Adds a class. */
  ThirdParty source(String simpleName, String text) {
    sources.put(simpleName, text);
    return this;
  }

  /** Adds a provider whose {@code name()} evaluates the given expression. */
  ThirdParty provider(String simpleName, String nameExpression) {
    return provider(simpleName, nameExpression, "");
  }

  /** Adds a provider whose constructor has the given body. */
  ThirdParty provider(String simpleName, String nameExpression, String constructor) {
    String members =
        "public %s() { %s } @Override public String name() { return %s; }"
            .formatted(simpleName, constructor, nameExpression);
    return source(simpleName, PROVIDER.formatted(name, simpleName, members)).provides(simpleName);
  }

  /** Adds a provider that answers null where it must tell its options. */
  ThirdParty providerWithoutOptions(String simpleName, String nameExpression) {
    provider(simpleName, nameExpression);
    sources.computeIfPresent(
        simpleName, (name, text) -> text.replace("return java.util.List.of();", "return null;"));
    return this;
  }

  /** Declares a class as a provider. */
  ThirdParty provides(String simpleName) {
    providers.add(name + "." + simpleName);
    return this;
  }

  /** Has the file of a class deleted once everything is compiled. */
  ThirdParty without(String simpleName) {
    missing.add(simpleName);
    return this;
  }

  /** Replaces the lines of the service file of a jar. */
  ThirdParty serviceFile(String text) {
    serviceFile = Optional.of(text);
    return this;
  }

  /** Returns the folder of a module with all this. */
  Path module() throws IOException {
    Map<String, String> files = new LinkedHashMap<>(sources);
    files.put(
        "module-info",
        "module %s { requires io.unifiedcache.api; %s provides %s with %s; }"
            .formatted(
                name,
                required.stream().map("requires %s;"::formatted).collect(joining()),
                CacheStoreProvider.class.getName(),
                String.join(", ", providers)));
    return compile(files);
  }

  /** Returns a jar, without a module descriptor, with all this. */
  Path jar() throws IOException {
    return packed(compile(sources));
  }

  /** Has the code compiled beside a module, which it requires. */
  ThirdParty with(Path jar, String module) {
    beside.add(jar);
    required.add(module);
    return this;
  }

  /** Returns a modular jar that provides nothing and exports its package. */
  Path plainModularJar() throws IOException {
    Map<String, String> files = new LinkedHashMap<>(sources);
    files.put("module-info", "module %s { exports %s; }".formatted(name, name));
    return jarOf(compile(files));
  }

  /** Returns a modular jar that has a service file, too. */
  Path modularJar() throws IOException {
    return packed(module());
  }

  private Path packed(Path classes) throws IOException {
    Path file = classes.resolve(SERVICE_FILE);
    Files.createDirectories(file.getParent());
    Files.writeString(file, serviceFile.orElse(String.join("\n", providers) + "\n"));
    return jarOf(classes);
  }

  private Path jarOf(Path classes) {
    Path jar = folder.resolve(name + ".jar");
    run("jar", "--create", "--file", jar.toString(), "-C", classes.toString(), ".");
    return jar;
  }

  private Path compile(Map<String, String> files) throws IOException {
    Path classes = Files.createDirectories(folder.resolve(name + ".classes"));
    Path sourceFolder = Files.createDirectories(folder.resolve(name + ".sources"));
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "-proc:none",
                "--module-path",
                Stream.concat(
                        Stream.of(System.getProperty("jdk.module.path")),
                        beside.stream().map(Path::toString))
                    .collect(joining(File.pathSeparator)),
                "--add-modules",
                Stream.concat(Stream.of("io.unifiedcache.api"), required.stream())
                    .collect(joining(",")),
                "-d",
                classes.toString()));
    for (Map.Entry<String, String> file : files.entrySet()) {
      Path source = sourceFolder.resolve(file.getKey() + ".java");
      Files.writeString(source, file.getValue());
      arguments.add(source.toString());
    }
    run("javac", arguments.toArray(String[]::new));
    for (String simpleName : missing) {
      Files.delete(
          classes.resolve(name.replace('.', File.separatorChar)).resolve(simpleName + ".class"));
    }
    return classes;
  }

  private static void run(String tool, String... arguments) {
    StringWriter output = new StringWriter();
    PrintWriter writer = new PrintWriter(output);
    int status = ToolProvider.findFirst(tool).orElseThrow().run(writer, writer, arguments);
    assertThat(status).as(tool + ": " + output).isZero();
  }

  /** Returns a layer over the boot layer with the modules at the given places. */
  static ModuleLayer layer(Path... modules) {
    ModuleFinder finder = ModuleFinder.of(modules);
    List<String> names = finder.findAll().stream().map(each -> each.descriptor().name()).toList();
    ModuleLayer boot = ModuleLayer.boot();
    Configuration configuration = boot.configuration().resolve(finder, ModuleFinder.of(), names);
    return boot.defineModulesWithOneLoader(
        configuration, CacheStoreProvider.class.getClassLoader());
  }

  /** Returns a loader of classes at the given places. */
  static URLClassLoader loader(Path... places) {
    URL[] urls =
        Stream.of(places)
            .map(
                place -> {
                  try {
                    return place.toUri().toURL();
                  } catch (IOException e) {
                    throw new UncheckedIOException(e);
                  }
                })
            .toArray(URL[]::new);
    return new URLClassLoader(urls, CacheStoreProvider.class.getClassLoader());
  }
}
