package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.backend.mooncake.ClientLibraries.Loader;
import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

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
