package io.unifiedcache.cli.packaging;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.GeneralCodingRules.ACCESS_STANDARD_STREAMS;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import io.unifiedcache.cli.packaging.Distribution.Artifact;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Which module and which package may know which other.
 *
 * <p>Every rule is checked on the packaged classes, fails if it selects none of them, and has a
 * counterpart that shows it fail on classes that break it.
 */
class ArchitectureIT {
  private static final String API = "io.unifiedcache.api..";
  private static final String LINKER = "io.unifiedcache.linker..";
  private static final String BACKENDS = "io.unifiedcache.backend..";
  private static final String CLI = "io.unifiedcache.cli..";
  private static final String CONFORMANCE = "io.unifiedcache.conformance..";

  /** The other end of a process that the suite starts, which talks through them. */
  private static final String STORE_SERVER = "io.unifiedcache.conformance.store.StoreServer";

  /** What every module may use. */
  private static final List<String> COMMON =
      List.of("java..", "javax.management..", "jdk.jfr..", "org.jspecify..");

  private static JavaClasses all;

  @BeforeAll
  static void importJars() throws IOException {
    List<JarFile> jars = new ArrayList<>();
    for (Artifact artifact : Distribution.artifacts()) {
      jars.add(new JarFile(artifact.jar().toFile()));
    }
    all = new ClassFileImporter().importJars(jars);
    for (JarFile jar : jars) {
      jar.close();
    }
  }

  @Test
  void api_usesNoOtherModule() {
    onlyUses(API, API).check(all);
  }

  @Test
  void linker_usesTheApiAlone() {
    onlyUses(LINKER, LINKER, API, "org.slf4j..", "io.micrometer..").check(all);
  }

  @Test
  void conformance_usesNeitherBackendsNorTheCommandLine() {
    onlyUses(
            CONFORMANCE,
            CONFORMANCE,
            LINKER,
            API,
            "com.google.gson..",
            "javax.xml.stream..",
            "org.junit.jupiter.api..")
        .check(all);
  }

  @Test
  void backends_useTheApiAlone() {
    noClasses()
        .that()
        .resideInAPackage(BACKENDS)
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage(LINKER, CONFORMANCE, CLI)
        .check(all);
  }

  @Test
  void backends_doNotKnowEachOther() {
    slices().matching("io.unifiedcache.backend.(*)..").should().notDependOnEachOther().check(all);
  }

  @Test
  void backends_areFoundByNameAlone() {
    noClasses()
        .that()
        .resideOutsideOfPackage(BACKENDS)
        .should()
        .dependOnClassesThat()
        .resideInAPackage(BACKENDS)
        .check(all);
  }

  @Test
  void packages_haveNoCycles() {
    slices().matching("io.unifiedcache.(**)").should().beFreeOfCycles().check(all);
  }

  @Test
  void standardStreams_areTheCommandLinesAlone() {
    noStandardStreams(
            not(resideInAPackage(CLI))
                .and(not(name(STORE_SERVER)))
                .as("reside outside of the command line"))
        .check(all);
  }

  @ParameterizedTest
  @MethodSource("io.unifiedcache.cli.packaging.Distribution#artifacts")
  void everyModule_isSeenAndKeepsToItsPackages(Artifact artifact) {
    assertThat(artifact.module().packages())
        .isNotEmpty()
        .allSatisfy(
            name -> {
              assertThat(name + ".").startsWith(artifact.module().name() + ".");
              assertThat(all).extracting(JavaClass::getPackageName).contains(name);
            });
  }

  @Test
  void rules_failOnClassesThatBreakThem() {
    JavaClasses broken = new ClassFileImporter().importClasses(Printing.class, Stream.class);
    assertThatThrownBy(() -> noStandardStreams(resideInAPackage(CLI)).check(broken))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("System.out");
    assertThatThrownBy(() -> onlyUses(CLI, CLI).check(broken))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("org.assertj");
  }

  @Test
  void rules_failOnNoClasses() {
    JavaClasses none = new ClassFileImporter().importClasses(Stream.class);
    assertThatThrownBy(() -> onlyUses(API, API).check(none))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("failed to check any classes");
    assertThatThrownBy(
            () -> slices().matching("io.unifiedcache.(**)").should().beFreeOfCycles().check(none))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("failed to check any classes");
  }

  /** Classes of {@code packages} use only {@code used} and what every module may use. */
  private static ArchRule onlyUses(String packages, String... used) {
    String[] allowed = Stream.concat(COMMON.stream(), Stream.of(used)).toArray(String[]::new);
    return classes()
        .that()
        .resideInAPackage(packages)
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(allowed);
  }

  private static ArchRule noStandardStreams(DescribedPredicate<JavaClass> selected) {
    return noClasses().that(selected).should(ACCESS_STANDARD_STREAMS);
  }

  /** Breaks the rules on purpose. */
  private static final class Printing implements Runnable {
    @Override
    public void run() {
      System.out.println(assertThat(1));
    }
  }
}
