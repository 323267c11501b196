package io.unifiedcache.examples.llama;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * llama.cpp, out of the jar of a Maven artifact. Loaded once, and never unloaded.
 *
 * <p>Thread-safe.
 */
final class LlamaLibrary {
  private static final Logger LOG = LoggerFactory.getLogger("llama.cpp");
  private static final int WARNING = 3;

  /** Longer than any message of llama.cpp's log. */
  private static final long LONGEST_MESSAGE = 1 << 20;

  private static @Nullable SymbolLookup loaded;

  private LlamaLibrary() {}

  /**
   * Returns where the library for this machine is on the class path, or empty if there is none that
   * this engine was tried with.
   */
  static Optional<String> resource() {
    boolean known =
        System.getProperty("os.name").equals("Linux")
            && System.getProperty("os.arch").equals("amd64");
    return known ? Optional.of("/de/kherud/llama/Linux/x86_64/libjllama.so") : Optional.empty();
  }

  /**
   * Returns the functions of the library.
   *
   * @throws IllegalStateException if there is no library for this machine
   */
  static synchronized SymbolLookup functions() {
    SymbolLookup functions = loaded;
    if (functions == null) {
      functions = load();
      loaded = functions;
      NativeFunction.ofVoid(functions, "llama_log_set", ValueLayout.ADDRESS, ValueLayout.ADDRESS)
          .run(logCallback(), MemorySegment.NULL);
      NativeFunction.ofVoid(functions, "llama_backend_init").run();
    }
    return functions;
  }

  @SuppressWarnings("restricted") // Loading a library is what this example is about.
  private static SymbolLookup load() {
    String resource =
        resource()
            .orElseThrow(
                () ->
                    new IllegalStateException(
                        "this engine runs on Linux on x86-64 alone, not on %s on %s"
                            .formatted(
                                System.getProperty("os.name"), System.getProperty("os.arch"))));
    beGentle();
    try (InputStream in = LlamaLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException(resource + " is not on the class path");
      }
      Path file = Files.createTempFile("libjllama", ".so");
      try {
        Files.copy(in, file, StandardCopyOption.REPLACE_EXISTING);
        return SymbolLookup.libraryLookup(file, Arena.global());
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("llama.cpp's library cannot be unpacked: " + e, e);
    }
  }

  /**
   * Has threads that wait for each other sleep, unless the environment says otherwise: beside other
   * busy processes, waiting in a loop takes several times as long. OpenMP reads it as it is loaded.
   */
  private static void beGentle() {
    try (Arena scratch = Arena.ofConfined()) {
      int status =
          NativeFunction.of(
                  Linker.nativeLinker().defaultLookup(),
                  "setenv",
                  ValueLayout.JAVA_INT,
                  ValueLayout.ADDRESS,
                  ValueLayout.ADDRESS,
                  ValueLayout.JAVA_INT)
              .callInt(
                  scratch.allocateFrom("OMP_WAIT_POLICY"),
                  scratch.allocateFrom("passive"),
                  /* overwrite */ 0);
      if (status != 0) {
        LOG.info("OMP_WAIT_POLICY cannot be set");
      }
    }
  }

  @SuppressWarnings("restricted") // Being called from C is what this example is about.
  private static MemorySegment logCallback() {
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    try {
      MethodHandle log =
          lookup.findStatic(
              LlamaLibrary.class,
              "log",
              MethodType.methodType(
                  void.class, int.class, MemorySegment.class, MemorySegment.class));
      return Linker.nativeLinker()
          .upcallStub(
              log,
              FunctionDescriptor.ofVoid(
                  ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS),
              Arena.global());
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the log of llama.cpp cannot be caught: " + e, e);
    }
  }

  @SuppressWarnings({
    "restricted", // A C string has no length.
    "UnusedVariable", // The signature is llama.cpp's.
    "UnusedMethod" // Called from C.
  })
  private static void log(int level, MemorySegment message, MemorySegment context) {
    String text = message.reinterpret(LONGEST_MESSAGE).getString(0).strip();
    if (text.isEmpty() || text.equals(".")) {
      return;
    }
    if (level < WARNING) {
      LOG.debug("{}", text);
    } else {
      LOG.info("{}", text);
    }
  }
}
