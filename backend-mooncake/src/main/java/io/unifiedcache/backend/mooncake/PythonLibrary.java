package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Mooncake's Python package, imported into the Python of this process. */
final class PythonLibrary implements ClientLibrary {
  private static final String MODULE = "mooncake.store";
  private static final String USUAL_INTERPRETER = "python3";
  private static final String USUAL_TENANT = "default";

  private static final String TO_INSTALL =
      "what is needed is Mooncake's package, 0.3.12 or newer (pip install mooncake-transfer-engine,"
          + " or mooncake-transfer-engine-non-cuda without a GPU), and its libraries (libibverbs,"
          + " librdmacm, libnuma and libcurl)";

  /** Asks for the replicas of keys, and makes a list of the sizes of those in memory. */
  private static final String SIZES_OF =
      """
      lambda replicas, keys: (lambda found: [
          max((each.get_memory_descriptor().buffer_descriptor.size
               for each in found.get(key, ())
               if each.is_memory_replica() and each.status.name == 'COMPLETE'), default=-1)
          for key in keys])(replicas(keys))\
      """;

  private static @Nullable PythonLibrary loaded;

  private final Python python;
  private final long storeClass;
  private final long configClass;
  private final long sizesOf;

  /** What says that an object is pinned softly, or 0 where a flag does. */
  private final long softPinAction;

  /**
   * Creates a library.
   *
   * @param module the module {@code mooncake.store}, or what can stand in for it
   */
  PythonLibrary(Python python, PythonFrame frame, long module) throws PythonException {
    this.python = python;
    long store = frame.attribute(module, "MooncakeDistributedStore");
    for (PythonClient.Method method : PythonClient.Method.values()) {
      long unused = frame.attribute(store, method.nameInPython());
    }
    long config = frame.attribute(module, "ReplicateConfig");
    softPinAction =
        frame.hasAttribute(config, "with_soft_pin")
            ? 0
            : frame.keep(frame.attribute(frame.attribute(module, "SoftPinAction"), "ENABLE"));
    storeClass = frame.keep(store);
    configClass = frame.keep(config);
    sizesOf =
        frame.keep(
            frame.call(
                frame.attribute(frame.importModule("builtins"), "eval"),
                frame.text(SIZES_OF),
                frame.dict()));
  }

  /**
   * Starts Python in this process, unless it runs already, and imports the package.
   *
   * @param interpreter the interpreter that has the package; null for {@code python3}
   */
  static synchronized PythonLibrary load(@Nullable String interpreter) throws LoadException {
    PythonInterpreter asked =
        PythonInterpreter.ask(interpreter == null ? USUAL_INTERPRETER : interpreter, MODULE);
    if (!asked.problem().isEmpty()) {
      throw unusable(asked, asked.problem(), null);
    }
    Python python = Python.of(asked);
    PythonLibrary library = loaded;
    if (library == null) {
      try (PythonFrame frame = python.enter()) {
        long module = OneLibrary.load("the module " + MODULE, () -> importInto(frame, asked));
        library = new PythonLibrary(python, frame, module);
      } catch (PythonException e) {
        throw unusable(asked, String.valueOf(e.getMessage()), e);
      }
      loaded = library;
    }
    return library;
  }

  private static long importInto(PythonFrame frame, PythonInterpreter asked) throws LoadException {
    try {
      return frame.importModule(MODULE);
    } catch (PythonException e) {
      throw unusable(asked, String.valueOf(e.getMessage()), e);
    }
  }

  private static LoadException unusable(
      PythonInterpreter asked, String problem, @Nullable PythonException cause) {
    return new LoadException(
        "the module %s of %s cannot be used: %s; %s".formatted(MODULE, asked, problem, TO_INSTALL),
        cause);
  }

  /** Returns the function that answers the sizes of objects, given what tells their replicas. */
  long sizesOf() {
    return sizesOf;
  }

  @Override
  public String description() {
    return MODULE + " of " + python;
  }

  @Override
  public MooncakeClient setUp(ClientSetup setup) throws ClientException {
    String ssd = setup.ssdPath();
    if (ssd == null) {
      return setUp(setup, null);
    }
    OffloadDirectory directory;
    try {
      directory = OffloadDirectory.claim(Path.of(ssd));
    } catch (IOException | InvalidPathException e) {
      throw new CacheException(
          FailureCode.IO,
          "there is no directory to be had in %s (ssd_offload_path): %s".formatted(ssd, e),
          e);
    }
    MooncakeClient client = null;
    try {
      client = setUp(setup, directory);
      return client;
    } finally {
      if (client == null) {
        directory.close();
      }
    }
  }

  private MooncakeClient setUp(ClientSetup setup, @Nullable OffloadDirectory ssd)
      throws ClientException {
    try (PythonFrame frame = python.enter()) {
      long config = config(frame, setup);
      long store = frame.call(storeClass);
      long named = frame.dict();
      // Older packages know no tenants.
      if (!setup.tenant().isEmpty() && !setup.tenant().equals(USUAL_TENANT)) {
        frame.set(named, "tenant_id", frame.text(setup.tenant()));
      }
      if (ssd != null) {
        frame.set(named, "enable_ssd_offload", frame.bool(true));
        frame.set(named, "ssd_offload_path", frame.text(ssd.path().toString()));
      }
      long answer =
          frame.toLong(
              frame.callNamed(
                  frame.attribute(store, "setup"),
                  named,
                  frame.text(setup.localHostname()),
                  frame.text(setup.metadataServer()),
                  frame.integer(setup.globalSegmentSize()),
                  frame.integer(setup.localBufferSize()),
                  frame.text(setup.protocol()),
                  frame.text(setup.deviceName()),
                  frame.text(setup.masterServerAddress())));
      if (answer != 0) {
        throw new ClientException("Mooncake's setup answered " + answer);
      }
      PythonClient client = new PythonClient(python, this, setup, frame, store, config);
      client.keepUntilClosed(ssd);
      return client;
    } catch (PythonException e) {
      throw new ClientException("Mooncake's setup failed: " + e.getMessage(), e);
    }
  }

  /** Makes a configuration of puts. */
  long config(PythonFrame frame, ClientSetup setup) throws PythonException {
    long config = frame.call(configClass);
    frame.setAttribute(config, "replica_num", frame.integer(setup.replicaNum()));
    frame.setAttribute(config, "with_hard_pin", frame.bool(setup.hardPin()));
    if (setup.softPin()) {
      if (softPinAction == 0) {
        frame.setAttribute(config, "with_soft_pin", frame.bool(true));
      } else {
        frame.setAttribute(config, "soft_pin_action", softPinAction);
      }
    }
    frame.setAttribute(config, "preferred_segments", frame.texts(setup.preferredSegments()));
    return config;
  }
}
