package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.backend.mooncake.ClientLibraries.Loader;
import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Alone, since it takes away what says which library this process has. */
@Isolated
class ClientLibrariesTest {
  private static final ClientLibrary LIBRARY =
      new ClientLibrary() {
        @Override
        public String description() {
          return "a library";
        }

        @Override
        public MooncakeClient setUp(ClientSetup setup) {
          return new ScriptedClient();
        }
      };

  private static final Loader WORKS = () -> LIBRARY;

  @TempDir Path folder = Path.of("set by JUnit");

  private @Nullable String loadedByOthers;

  @BeforeEach
  void forgetWhatOtherTestsHaveLoaded() {
    loadedByOthers = System.clearProperty(OneLibrary.PROPERTY);
  }

  @AfterEach
  void remember() {
    System.clearProperty(OneLibrary.PROPERTY);
    if (loadedByOthers != null) {
      System.setProperty(OneLibrary.PROPERTY, loadedByOthers);
    }
  }

  @Test
  void auto_takesTheFirstThatLoads() {
    assertThat(ClientLibraries.load(Choice.AUTO, WORKS, failing("unused"))).isSameAs(LIBRARY);
    assertThat(ClientLibraries.load(Choice.AUTO, failing("no Python"), WORKS)).isSameAs(LIBRARY);
  }

  @Test
  void auto_noneLoads_tellsWhatWasTriedAndWhatToInstall() {
    assertThatThrownBy(
            () -> ClientLibraries.load(Choice.AUTO, failing("no Python"), failing("no file")))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContainingAll(
            "client=python: no Python",
            "client=native: no file",
            "Install the package mooncake-transfer-engine",
            "libmooncake_store.so");
  }

  @Test
  void one_triesNoOther() {
    assertThatThrownBy(() -> ClientLibraries.load(Choice.NATIVE, WORKS, failing("no file")))
        .hasMessage("client=native cannot be used: no file");
    assertThatThrownBy(() -> ClientLibraries.load(Choice.PYTHON, failing("no Python"), WORKS))
        .hasMessage("client=python cannot be used: no Python");
  }

  @Test
  void nativeLibrary_missing_isNamed() {
    assertThatThrownBy(() -> NativeLibrary.load("/nonexistent/libmooncake_store.so"))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("/nonexistent/libmooncake_store.so");
  }

  @Test
  void nativeLibrary_ofAnotherKind_namesWhatItLacks() {
    assertThatThrownBy(() -> NativeLibrary.load("libc.so.6"))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("libc.so.6 lacks mooncake_store_create, ");
  }

  @Test
  void nativeLibrary_thatLacksFunctions_isStillTheOneOfTheProcess() throws LoadException {
    assertThatThrownBy(() -> NativeLibrary.load("/nonexistent/libmooncake_store.so"))
        .isInstanceOf(LoadException.class);
    assertThatThrownBy(() -> NativeLibrary.load("libc.so.6"))
        .hasMessageContaining("lacks mooncake_store_create");
    assertThatThrownBy(() -> OneLibrary.load("another", () -> 1))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("this process has the library libc.so.6 already");
    assertThatThrownBy(() -> NativeLibrary.load("libc.so.6"))
        .hasMessageContaining("lacks mooncake_store_create");
  }

  @Test
  void pythonPackage_thatLacksMethods_keepsTheLibraryOutOfTheProcess() throws Exception {
    Path mooncake = Files.createDirectory(folder.resolve("mooncake"));
    Files.createFile(mooncake.resolve("__init__.py"));
    Files.writeString(
        mooncake.resolve("store.py"),
        "class MooncakeDistributedStore: pass\nclass ReplicateConfig: pass\n");
    String python = ",python=" + TestPython.interpreter();
    assertThat(
            said(
                List.of("--enable-native-access=ALL-UNNAMED"),
                "client=auto,library=libc.so.6" + python,
                "client=native,library=libc.so.6",
                "client=python" + python))
        .satisfiesExactly(
            auto ->
                assertThat(auto)
                    .startsWith("REFUSED: no client of Mooncake can be loaded")
                    .contains("has no attribute 'batch_is_exist'")
                    .contains("this process has the module mooncake.store already"),
            nativeAlone ->
                assertThat(nativeAlone)
                    .startsWith("REFUSED: client=native cannot be used")
                    .contains("the library libc.so.6 needs a process that has not loaded"),
            pythonAlone ->
                assertThat(pythonAlone)
                    .startsWith("REFUSED: client=python cannot be used")
                    .contains("has no attribute 'batch_is_exist'"));
  }

  @Test
  void nativeAccess_denied_namesTheFlag() throws Exception {
    assertThat(said(List.of("--illegal-native-access=deny"), "client=auto", "client=python"))
        .hasSize(2)
        .allSatisfy(
            message ->
                assertThat(message)
                    .startsWith("REFUSED: the JVM does not let")
                    .contains("--enable-native-access=ALL-UNNAMED"));
  }

  /** Returns what another process says of opening stores; Python finds modules in the folder. */
  private List<String> said(List<String> options, String... stores) throws Exception {
    Path errors = folder.resolve("errors");
    ProcessBuilder builder =
        JavaProcess.of(options, OpeningProcess.class, List.of(stores))
            .redirectError(errors.toFile());
    builder.environment().put("PYTHONPATH", folder.toString());
    Process process = builder.start();
    try (BufferedReader output = process.inputReader()) {
      List<String> lines = output.readAllLines();
      assertThat(process.waitFor()).as(Files.readString(errors)).isZero();
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void oneLibrary_isAllThatAProcessCanHave() throws LoadException {
    assertThatThrownBy(
            () ->
                OneLibrary.load(
                    "a",
                    () -> {
                      throw new LoadException("broken");
                    }))
        .hasMessage("broken");
    assertThat(OneLibrary.load("b", () -> 1)).isEqualTo(1);
    assertThat(OneLibrary.load("b", () -> 2)).isEqualTo(2);
    assertThatThrownBy(() -> OneLibrary.load("c", () -> 3))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("this process has b already");
  }

  private static Loader failing(String why) {
    return () -> {
      throw new LoadException(why);
    };
  }
}
