package io.unifiedcache.linker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.linker.Backends.Broken;
import io.unifiedcache.linker.Backends.Found;
import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BackendsTest {
  /** The two forms in which third parties come. */
  enum Form {
    MODULES,
    JARS
  }

  private final Path folder;
  private final List<URLClassLoader> loaders = new ArrayList<>();

  BackendsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @AfterEach
  void closeLoaders() throws IOException {
    for (URLClassLoader loader : loaders) {
      loader.close();
    }
  }

  private ThirdParty thirdParty(String name) {
    return new ThirdParty(folder, name);
  }

  private Backends discover(Form form, ThirdParty... parties) throws IOException {
    List<Path> places = new ArrayList<>();
    for (ThirdParty party : parties) {
      places.add(form == Form.MODULES ? party.module() : party.jar());
    }
    Path[] all = places.toArray(Path[]::new);
    return form == Form.MODULES
        ? Backends.discover(ThirdParty.layer(all))
        : Backends.discover(loader(all));
  }

  private URLClassLoader loader(Path... places) {
    URLClassLoader loader = ThirdParty.loader(places);
    loaders.add(loader);
    return loader;
  }

  private String origin(Form form, String name) {
    return form == Form.MODULES
        ? "module " + name + " (" + folder.resolve(name + ".classes") + ")"
        : folder.resolve(name + ".jar").toString();
  }

  @ParameterizedTest
  @EnumSource
  void discover_findsEachBackendAndItsOrigin(Form form) throws IOException {
    Backends backends =
        discover(
            form,
            thirdParty("org.one").provider("One", "\"one\"").provider("Two", "\"two-2\""),
            thirdParty("org.three").provider("Three", "\"three\""));

    assertThat(backends.broken()).isEmpty();
    assertThat(backends.found())
        .extracting(found -> found.name() + " of " + found.origin())
        .containsExactlyInAnyOrder(
            "one of " + origin(form, "org.one"),
            "two-2 of " + origin(form, "org.one"),
            "three of " + origin(form, "org.three"));
    assertThat(backends.named("two-2").getClass().getName()).isEqualTo("org.one.Two");
    assertThat(backends.named("two-2").name()).isEqualTo("two-2");
  }

  @ParameterizedTest
  @EnumSource
  void named_duplicate_isRefusedWithBoth(Form form) throws IOException {
    Backends backends =
        discover(
            form,
            thirdParty("org.one").provider("One", "\"twin\"").provider("Single", "\"single\""),
            thirdParty("org.two").provider("Two", "\"twin\""));

    assertThatThrownBy(() -> backends.named("twin"))
        .isInstanceOf(CacheException.class)
        .hasMessageStartingWith("2 backends are called \"twin\": ")
        .hasMessageContaining("org.one.One in " + origin(form, "org.one"))
        .hasMessageContaining("org.two.Two in " + origin(form, "org.two"))
        .extracting(e -> ((CacheException) e).code())
        .isEqualTo(FailureCode.REFUSED);
    assertThat(backends.named("single").name()).isEqualTo("single");
  }

  @ParameterizedTest
  @EnumSource
  void named_unknown_listsWhatThereIsAndTheArtifactToAdd(Form form) throws IOException {
    Backends backends =
        discover(
            form,
            thirdParty("org.one")
                .provider("One", "\"memory\"")
                .provider("Bad", "\"file\"", "throw new IllegalStateException(\"no disk\");"));

    assertThatThrownBy(() -> backends.named("memroy"))
        .isInstanceOf(CacheException.class)
        .hasMessage(
            "there is no backend \"memroy\"; did you mean \"memory\"?; found are memory; could not"
                + " be loaded: org.one.Bad in "
                + origin(form, "org.one")
                + ": java.lang.IllegalStateException: no disk; to add it, put its artifact, such as"
                + " io.unifiedcache:unified-cache-backend-memroy, on the module path or class path")
        .extracting(e -> ((CacheException) e).code())
        .isEqualTo(FailureCode.REFUSED);
  }

  @Test
  void named_withoutAnyBackend_saysSo() throws IOException {
    assertThatThrownBy(() -> Backends.of(List.of()).named("file"))
        .hasMessage(
            "there is no backend \"file\"; no backend was found; to add it, put its artifact, such"
                + " as io.unifiedcache:unified-cache-backend-file, on the module path or class"
                + " path");
  }

  /** Finds a good backend beside one that is broken, and returns the broken one. */
  private Broken brokenBeside(Form form, ThirdParty party) throws IOException {
    Backends backends =
        discover(
            form,
            thirdParty("org.first").provider("First", "\"first\""),
            party,
            thirdParty("org.last").provider("Last", "\"last\""));

    assertThat(backends.found()).extracting(Found::name).contains("first", "last");
    assertThat(backends.broken()).as(backends.toString()).hasSize(1);
    return backends.broken().getFirst();
  }

  private ThirdParty bad() {
    return thirdParty("org.middle").provider("Good", "\"good\"");
  }

  private void assertBroken(Form form, Broken broken, String cause) {
    assertThat(broken.provider()).isEqualTo("org.middle.Bad");
    assertThat(broken.origin()).isEqualTo(origin(form, "org.middle"));
    assertThat(broken.cause()).matches(Pattern.compile(cause));
  }

  @ParameterizedTest
  @EnumSource
  void broken_constructorThrows(Form form) throws IOException {
    ThirdParty party = bad().provider("Bad", "\"bad\"", "if (true) throw new Error(\"a\\nb\");");

    assertBroken(form, brokenBeside(form, party), "java\\.lang\\.Error: a b");
  }

  @ParameterizedTest
  @EnumSource
  void broken_staticInitializerThrows(Form form) throws IOException {
    ThirdParty party =
        bad()
            .provider("Bad", "\"bad\"", "Native.load();")
            .source(
                "Native",
                "package org.middle; class Native { static { if (true) {"
                    + " throw new UnsatisfiedLinkError(\"no library\"); } }"
                    + " static void load() {} }");

    assertBroken(form, brokenBeside(form, party), "java\\.lang\\.UnsatisfiedLinkError: no library");
  }

  @ParameterizedTest
  @EnumSource
  void broken_classIsMissing(Form form) throws IOException {
    ThirdParty party = bad().provider("Bad", "\"bad\"").without("Bad");

    assertBroken(form, brokenBeside(form, party), ".*(Provider org\\.middle\\.Bad not found).*");
  }

  @ParameterizedTest
  @EnumSource
  void broken_classThatItNeedsIsMissing(Form form) throws IOException {
    ThirdParty party =
        thirdParty("org.middle")
            .source("Other", "package org.middle; class Other {}")
            .provider("Bad", "\"bad\"")
            .without("Base");

    assertBroken(form, brokenBeside(form, party), ".*org[./]middle[./]Base");
  }

  @ParameterizedTest
  @EnumSource
  void broken_severalForTheSameReason_hideNoOther(Form form) throws IOException {
    ThirdParty party =
        thirdParty("org.middle")
            .provider("Bad", "\"bad\"")
            .provider("Worse", "\"worse\"")
            .provider("Worst", "\"worst\"")
            .without("Base");

    Backends backends = discover(form, party, thirdParty("org.last").provider("Last", "\"last\""));

    assertThat(backends.found()).extracting(Found::name).contains("last");
    assertThat(backends.broken())
        .extracting(broken -> broken.provider() + " in " + broken.origin())
        .containsExactlyInAnyOrder(
            "org.middle.Bad in " + origin(form, "org.middle"),
            "org.middle.Worse in " + origin(form, "org.middle"),
            "org.middle.Worst in " + origin(form, "org.middle"));
  }

  @ParameterizedTest
  @EnumSource
  void broken_optionsAreNull(Form form) throws IOException {
    ThirdParty party = bad().providerWithoutOptions("Bad", "\"bad\"");

    assertBroken(
        form,
        brokenBeside(form, party),
        "java\\.lang\\.IllegalArgumentException: its options are null, or one of them is");
  }

  @Test
  void cause_inACircleOrThatThrows_isTold() {
    Exception one = new Exception("one");
    Exception two = new Exception("two", one);
    one.initCause(two);
    Exception rude =
        new Exception() {
          @Override
          public String getMessage() {
            throw new IllegalStateException("no message");
          }
        };

    assertThat(new Broken("a", "b", one).cause()).startsWith("java.lang.Exception: ");
    assertThat(new Broken("a", "b", rude).cause()).isEqualTo(rude.getClass().getName());
  }

  @ParameterizedTest
  @EnumSource
  void broken_nameThrows(Form form) throws IOException {
    ThirdParty party = bad().provider("Bad", "String.valueOf(1 / (1 - 1))");

    assertBroken(form, brokenBeside(form, party), "java\\.lang\\.ArithmeticException: / by zero");
  }

  @ParameterizedTest
  @EnumSource
  void broken_nameIsNoName(Form form) throws IOException {
    ThirdParty party =
        thirdParty("org.middle")
            .provider("Null", "null")
            .provider("Blank", "\" \"")
            .provider("Upper", "\"Memory\"")
            .provider("Dash", "\"-a\"")
            .provider("Digit", "\"1a\"")
            .provider("Empty", "\"\"");

    Backends backends = discover(form, party);
    assertThat(backends.found()).isEmpty();
    assertThat(backends.broken())
        .extracting(broken -> broken.provider() + ": " + broken.cause())
        .containsExactlyInAnyOrder(
            "org.middle.Null: " + misnamed("null"),
            "org.middle.Blank: " + misnamed("\" \""),
            "org.middle.Upper: " + misnamed("\"Memory\""),
            "org.middle.Dash: " + misnamed("\"-a\""),
            "org.middle.Digit: " + misnamed("\"1a\""),
            "org.middle.Empty: " + misnamed("\"\""));
  }

  private static String misnamed(String name) {
    return "java.lang.IllegalArgumentException: its name must be lower-case letters, digits and"
        + " dashes, beginning with a letter, but is "
        + name;
  }

  @Test
  void broken_classIsNoProvider() throws IOException {
    ThirdParty party =
        bad().source("Bad", "package org.middle; public class Bad {}").provides("Bad");

    assertBroken(Form.JARS, brokenBeside(Form.JARS, party), ".*org\\.middle\\.Bad not a subtype");
  }

  @Test
  void broken_constructorIsNotPublic() throws IOException {
    ThirdParty party =
        bad().source("Bad", "package org.middle; public class Bad { Bad() {} }").provides("Bad");

    assertThat(brokenBeside(Form.JARS, party).provider()).isEqualTo("org.middle.Bad");
  }

  @Test
  void broken_serviceFileIsMalformed() throws IOException {
    ThirdParty party = bad().serviceFile("org.middle.Good\nnot a class name\n");

    Broken broken = brokenBeside(Form.JARS, party);
    assertThat(broken.provider()).isEqualTo("an unnamed provider");
    assertThat(broken.origin()).isEqualTo(origin(Form.JARS, "org.middle"));
    assertThat(broken.cause()).contains("Illegal configuration-file syntax");
  }

  @Test
  void broken_providerMethodThrows() throws IOException {
    ThirdParty party =
        thirdParty("org.middle")
            .source(
                "Bad",
                "package org.middle; public class Bad {"
                    + " public static io.unifiedcache.api.store.CacheStoreProvider provider() {"
                    + " throw new IllegalStateException(\"no provider today\"); } }")
            .provides("Bad");

    assertBroken(
        Form.MODULES,
        brokenBeside(Form.MODULES, party),
        "java\\.lang\\.IllegalStateException: no provider today");
  }

  @Test
  void discover_loaderWhoseFilesCannotBeRead_ends() {
    ClassLoader unreadable =
        new ClassLoader(getClass().getClassLoader()) {
          @Override
          public Enumeration<URL> getResources(String name) throws IOException {
            throw new IOException("no disk");
          }
        };

    Backends backends = Backends.discover(unreadable);
    assertThat(backends.found()).isEmpty();
    assertThat(backends.broken())
        .singleElement()
        .satisfies(
            broken -> {
              assertThat(broken.provider()).isEqualTo("an unnamed provider");
              assertThat(broken.cause()).isEqualTo("java.io.IOException: no disk");
            });
  }

  @Test
  void discover_oneClassSeenAsModuleAndByItsServiceFile_isOne() throws IOException {
    ModuleLayer layer =
        ThirdParty.layer(thirdParty("org.one").provider("One", "\"one\"").modularJar());

    Backends backends = Backends.discover(layer.findLoader("org.one"));
    assertThat(backends.found())
        .singleElement()
        .extracting(Found::origin)
        .isEqualTo("module org.one (" + folder.resolve("org.one.jar") + ")");
    assertThat(backends.broken()).isEmpty();
  }

  @Test
  void discover_jarWithoutDescriptorAmongModules_isFound() throws IOException {
    Path jar = thirdParty("org.one").provider("One", "\"one\"").jar();

    assertThat(Backends.discover(ThirdParty.layer(jar)).found())
        .singleElement()
        .extracting(Found::name)
        .isEqualTo("one");
  }

  @Test
  void discover_layersBelow_areSearchedToo() throws IOException {
    ModuleLayer below = ThirdParty.layer(thirdParty("org.one").provider("One", "\"one\"").module());
    ModuleLayer above =
        below.defineModulesWithOneLoader(
            below
                .configuration()
                .resolve(
                    ModuleFinder.of(thirdParty("org.two").provider("Two", "\"two\"").module()),
                    ModuleFinder.of(),
                    List.of("org.two")),
            getClass().getClassLoader());

    assertThat(Backends.discover(above).found())
        .extracting(Found::name)
        .containsExactlyInAnyOrder("one", "two");
    assertThat(Backends.discover(below).found()).extracting(Found::name).containsExactly("one");
  }

  @Test
  void discover_own_hasNothingBroken() {
    assertThat(Backends.discover().broken()).isEmpty();
  }

  @Test
  void discover_findsAreImmutable() throws IOException {
    Backends backends = discover(Form.JARS, thirdParty("org.one").provider("One", "\"one\""));

    assertThatThrownBy(() -> backends.found().clear())
        .isInstanceOf(UnsupportedOperationException.class);
    assertThat(backends)
        .hasToString(
            "Backends[found=[one (org.one.One in "
                + origin(Form.JARS, "org.one")
                + ")], broken=[]]");
  }
}
