package io.unifiedcache.linker;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.linker.Backends.Broken;
import io.unifiedcache.linker.Backends.Found;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PluginsTest {
  /** The two forms of a plug-in. */
  enum Form {
    MODULE,
    PLAIN
  }

  /** A class that each of two plug-ins has in a version of its own. */
  private static final String LIBRARY = "package org.%s; public class Library { %s }";

  private final Path folder;
  private final Path plugins;

  PluginsTest(@TempDir Path folder) {
    this.folder = folder;
    plugins = folder.resolve("plugins");
  }

  @BeforeEach
  void createDirectory() throws IOException {
    Files.createDirectory(plugins);
  }

  private static ThirdParty named(Path sources, String name) throws IOException {
    return new ThirdParty(Files.createDirectories(sources), name);
  }

  private ThirdParty thirdParty(String name) throws IOException {
    return named(folder.resolve("built-" + name), name);
  }

  private static Path jar(ThirdParty party, Form form) throws IOException {
    return form == Form.MODULE ? party.modularJar() : party.jar();
  }

  private Path install(ThirdParty party, Form form, String as) throws IOException {
    Path target = plugins.resolve(as);
    Files.createDirectories(target.getParent());
    return Files.move(jar(party, form), target);
  }

  private Backends found() {
    return Backends.of(List.of()).withPlugins(plugins);
  }

  private static CacheStoreProvider only(Backends backends) {
    assertThat(backends.broken()).as(backends.toString()).isEmpty();
    assertThat(backends.found()).as(backends.toString()).hasSize(1);
    return backends.found().getFirst().provider();
  }

  @ParameterizedTest
  @EnumSource
  void plugins_eachJarIsOne_withItsOrigin(Form form) throws IOException {
    Path one = install(thirdParty("org.one").provider("One", "\"one\""), form, "a.jar");
    Path two = install(thirdParty("org.two").provider("Two", "\"two\""), form, "b.jar");
    Files.writeString(plugins.resolve("README"), "no jar");
    Files.writeString(plugins.resolve(".hidden.jar"), "no jar");

    Backends backends = found();

    assertThat(backends.broken()).isEmpty();
    assertThat(backends.found())
        .extracting(found -> found.name() + " of " + found.origin())
        .containsExactly(
            "one of " + (form == Form.MODULE ? "module org.one (" + one + ")" : one.toString()),
            "two of " + (form == Form.MODULE ? "module org.two (" + two + ")" : two.toString()));
    assertThat(backends.plugins()).containsExactly(plugins);
    CacheStoreProvider first = backends.named("one");
    assertThat(first.getClass().getModule().isNamed()).isEqualTo(form == Form.MODULE);
    assertThat(first.getClass().getClassLoader())
        .isNotSameAs(backends.named("two").getClass().getClassLoader());
  }

  @Test
  void plugins_backendsOfThisProcess_areNotFoundAgain() throws IOException {
    install(thirdParty("org.one").provider("One", "\"one\""), Form.MODULE, "one.jar");
    Backends own = Backends.of(List.of(new Found("own", only(found()), "here")));

    assertThat(own.withPlugins(plugins).found())
        .extracting(Found::name)
        .containsExactly("own", "one");
  }

  /**
   * What a plug-in and its library are compiled from; the provider is called as the library says.
   */
  private Path pluginWithLibrary(Form form, String name, String version) throws IOException {
    Path built = folder.resolve("built-" + name);
    ThirdParty library =
        named(built.resolve("library"), "org.library")
            .source(
                "Library",
                LIBRARY.formatted(
                    "library", "public static String version() { return \"" + version + "\"; }"));
    Path libraryJar = library.plainModularJar();
    ThirdParty party =
        named(built.resolve("plugin"), name)
            .with(libraryJar, "org.library")
            .provider("Provider", "org.library.Library.version()");
    Path directory = Files.createDirectories(plugins.resolve(name));
    Files.move(jar(party, form), directory.resolve("plugin.jar"));
    Files.move(libraryJar, directory.resolve("library.jar"));
    return directory;
  }

  @ParameterizedTest
  @EnumSource
  void directories_bringLibrariesInVersionsOfTheirOwn(Form form) throws IOException {
    pluginWithLibrary(form, "org.one", "v-1");
    pluginWithLibrary(form, "org.two", "v-2");

    Backends backends = found();

    assertThat(backends.broken()).as(backends.toString()).isEmpty();
    assertThat(backends.found()).extracting(Found::name).containsExactly("v-1", "v-2");
  }

  @ParameterizedTest
  @EnumSource
  void directory_withACopyOfTheApi_usesTheOneOfThisProcess(Form form) throws Exception {
    Path directory = Files.createDirectories(plugins.resolve("one"));
    Files.move(
        jar(thirdParty("org.one").provider("One", "\"one\""), form),
        directory.resolve("plugin.jar"));
    Path api =
        Path.of(
            CacheStoreProvider.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    if (!Files.isDirectory(api)) {
      Files.copy(api, directory.resolve("api.jar"));
      assertThat(only(found()).name()).isEqualTo("one");
      return;
    }
    int status =
        ToolProvider.findFirst("jar")
            .orElseThrow()
            .run(
                System.out,
                System.err,
                "--create",
                "--file",
                directory.resolve("api.jar").toString(),
                "-C",
                api.toString(),
                ".");
    assertThat(status).isZero();

    assertThat(only(found()).name()).isEqualTo("one");
  }

  private Broken brokenBesideGood(Form form) throws IOException {
    install(thirdParty("org.first").provider("First", "\"first\""), form, "a.jar");
    install(thirdParty("org.last").provider("Last", "\"last\""), form, "z.jar");
    Backends backends = found();
    assertThat(backends.found()).extracting(Found::name).containsExactly("first", "last");
    assertThat(backends.broken()).as(backends.toString()).hasSize(1);
    return backends.broken().getFirst();
  }

  @ParameterizedTest
  @EnumSource
  void broken_jarThatIsNone(Form form) throws IOException {
    Path bad = Files.writeString(plugins.resolve("bad.jar"), "this is no jar");

    Broken broken = brokenBesideGood(form);

    assertThat(broken.origin()).isEqualTo(bad.toString());
    assertThat(broken.cause()).contains("ZipException");
  }

  @ParameterizedTest
  @EnumSource
  void broken_jarThatIsCutOff(Form form) throws IOException {
    Path bad = install(thirdParty("org.bad").provider("Bad", "\"bad\""), form, "bad.jar");
    byte[] bytes = Files.readAllBytes(bad);
    Files.write(bad, java.util.Arrays.copyOf(bytes, bytes.length / 2));

    Broken broken = brokenBesideGood(form);

    assertThat(broken.origin()).isEqualTo(bad.toString());
    assertThat(broken.cause()).contains("ZipException");
  }

  @ParameterizedTest
  @EnumSource
  void broken_libraryOfADirectory_isNamed(Form form) throws IOException {
    Path directory = pluginWithLibrary(form, "org.bad", "v-1");
    Path library = Files.writeString(directory.resolve("library.jar"), "this is no jar");

    assertThat(brokenBesideGood(form).origin()).isEqualTo(library.toString());
  }

  @ParameterizedTest
  @EnumSource
  void broken_libraryThatIsMissing(Form form) throws IOException {
    Path directory = pluginWithLibrary(form, "org.bad", "v-1");
    Files.delete(directory.resolve("library.jar"));

    Broken broken = brokenBesideGood(form);

    assertThat(broken.origin())
        .isEqualTo(
            form == Form.MODULE
                ? directory.toString()
                : directory.resolve("plugin.jar").toString());
    assertThat(broken.cause()).containsPattern("org.library");
  }

  @ParameterizedTest
  @EnumSource
  void broken_classThatItNeedsIsMissing(Form form) throws IOException {
    Path bad =
        install(thirdParty("org.bad").provider("Bad", "\"bad\"").without("Base"), form, "bad.jar");

    Broken broken = brokenBesideGood(form);

    assertThat(broken.provider()).isEqualTo("org.bad.Bad");
    assertThat(broken.origin()).contains(bad.toString());
    assertThat(broken.cause()).containsPattern("org[./]bad[./]Base");
  }

  @Test
  void broken_pluginWithoutABackend() throws IOException {
    Path library = thirdParty("org.library").plainModularJar();
    Path target = Files.move(library, plugins.resolve("library.jar"));

    Broken broken = brokenBesideGood(Form.PLAIN);

    assertThat(broken.origin()).isEqualTo(target.toString());
    assertThat(broken.cause()).contains("provides no backend");
  }

  @Test
  void broken_directoryThatCannotBeRead() throws IOException {
    Backends backends = Backends.of(List.of()).withPlugins(plugins.resolve("absent"));

    assertThat(backends.broken())
        .singleElement()
        .satisfies(
            broken -> {
              assertThat(broken.origin()).isEqualTo(plugins.resolve("absent").toString());
              assertThat(broken.cause()).contains("NoSuchFileException");
            });
  }
}
