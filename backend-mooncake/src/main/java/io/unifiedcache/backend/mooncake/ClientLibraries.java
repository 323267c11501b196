package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Loads the client code that a store is to use. */
final class ClientLibraries {
  private static final Logger LOG = LoggerFactory.getLogger(ClientLibraries.class);

  private ClientLibraries() {}

  /** Loads one way into Mooncake. */
  interface Loader {
    ClientLibrary load() throws LoadException;
  }

  /**
   * Loads client code.
   *
   * @throws CacheException with code {@code REFUSED} if none can be loaded, saying what was tried
   *     and what to do
   */
  static ClientLibrary load(MooncakeSettings settings) {
    requireNativeAccess();
    return load(
        settings.choice(),
        () -> PythonLibrary.load(settings.python()),
        () -> NativeLibrary.load(settings.library()));
  }

  /** Requires that the JVM lets this module call native code, which all client code is. */
  @SuppressWarnings("restricted") // Whether it lets it do so is the question.
  private static void requireNativeAccess() {
    try {
      var unused = Linker.nativeLinker().downcallHandle(FunctionDescriptor.ofVoid());
    } catch (IllegalCallerException e) {
      Module module = ClientLibraries.class.getModule();
      throw new CacheException(
          FailureCode.REFUSED,
          "the JVM does not let the Mooncake backend load client code; start it with"
              + " --enable-native-access="
              + (module.isNamed() ? module.getName() : "ALL-UNNAMED"),
          e);
    }
  }

  static ClientLibrary load(
      MooncakeSettings.Choice choice, Loader pythonLoader, Loader nativeLoader) {
    return switch (choice) {
      case PYTHON -> only("python", pythonLoader);
      case NATIVE -> only("native", nativeLoader);
      case AUTO -> first(pythonLoader, nativeLoader);
    };
  }

  private static ClientLibrary only(String name, Loader loader) {
    try {
      return loader.load();
    } catch (LoadException e) {
      throw new CacheException(
          FailureCode.REFUSED, "client=" + name + " cannot be used: " + e.getMessage(), e);
    }
  }

  private static ClientLibrary first(Loader pythonLoader, Loader nativeLoader) {
    LoadException withoutPython;
    try {
      ClientLibrary library = pythonLoader.load();
      LOG.info("client=auto uses {}, which is tried first", library.description());
      return library;
    } catch (LoadException e) {
      withoutPython = e;
    }
    try {
      ClientLibrary library = nativeLoader.load();
      LOG.info(
          "client=auto uses {}, for client=python cannot be used: {}",
          library.description(),
          withoutPython.getMessage());
      return library;
    } catch (LoadException e) {
      CacheException none =
          new CacheException(
              FailureCode.REFUSED,
              "no client of Mooncake can be loaded. Tried client=python: "
                  + withoutPython.getMessage()
                  + ". Tried client=native: "
                  + e.getMessage()
                  + ". Install the package mooncake-transfer-engine for a Python with a shared"
                  + " library and name its interpreter by python, or name a libmooncake_store.so by"
                  + " library",
              e);
      none.addSuppressed(withoutPython);
      throw none;
    }
  }
}
