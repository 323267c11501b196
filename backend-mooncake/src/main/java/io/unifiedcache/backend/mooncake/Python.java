package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Python of this process: CPython, loaded from the shared library of an interpreter and
 * initialised once, for good.
 *
 * <p>Whoever opens it shares it, as long as they name the same interpreter. Any thread may use it,
 * one at a time, by {@link #enter}; it handles no signals. Thread-safe.
 */
// Loading a library is restricted, and this class is where it is loaded.
@SuppressWarnings("restricted")
final class Python {
  private static final Logger LOG = LoggerFactory.getLogger(Python.class);

  // What <dlfcn.h> of Linux calls RTLD_NOW and RTLD_GLOBAL.
  private static final int LOAD_NOW = 2;
  private static final int VISIBLE_TO_ALL = 0x100;

  private static final MethodHandle OPEN =
      system(
          "dlopen",
          FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
  private static final MethodHandle ERROR =
      system("dlerror", FunctionDescriptor.of(ValueLayout.ADDRESS));

  private static @Nullable Python started;

  private final PythonInterpreter interpreter;
  private final CPython functions;

  private Python(PythonInterpreter interpreter, CPython functions) {
    this.interpreter = interpreter;
    this.functions = functions;
  }

  /**
   * Returns the Python of this process, which is started if it is not running.
   *
   * @throws LoadException if the interpreter has no shared library that can be loaded, naming what
   *     was tried and what to install; or if Python runs already as that of another interpreter
   */
  static synchronized Python of(PythonInterpreter interpreter) throws LoadException {
    Python running = started;
    if (running == null) {
      running = start(interpreter);
      started = running;
    } else if (!running.interpreter.executable().equals(interpreter.executable())) {
      throw new LoadException(
          "this process runs %s already and cannot run %s as well"
              .formatted(running.interpreter, interpreter));
    }
    return running;
  }

  private static Python start(PythonInterpreter interpreter) throws LoadException {
    String library = load(interpreter);
    try {
      CPython functions = new CPython(lookup(library));
      if (!functions.version().startsWith(interpreter.version() + ".")) {
        throw new LoadException(
            "%s is the library of Python %s, not that of %s"
                .formatted(library, functions.version(), interpreter));
      }
      Python python = new Python(interpreter, functions);
      if (!functions.isInitialized()) {
        functions.initialize(interpreter.executable());
        python.setModulePath();
      }
      LOG.info("{} runs in this process, from {}", interpreter, library);
      return python;
    } catch (NoSuchElementException e) {
      throw new LoadException("%s cannot be used: %s".formatted(library, e.getMessage()), e);
    }
  }

  /**
   * Loads the library and returns its name. Modules that are written in C expect its functions to
   * be visible to all, which the lookups of Java do not bring about.
   */
  static String load(PythonInterpreter interpreter) throws LoadException {
    List<String> failures = new ArrayList<>();
    for (String library : interpreter.libraries()) {
      if (library.startsWith("/") && !Files.exists(Path.of(library))) {
        failures.add(library + ": no such file");
        continue;
      }
      String failure = load(library);
      if (failure == null) {
        return library;
      }
      failures.add(failure);
    }
    throw new LoadException(
        ("%s has no shared library that can be loaded; install it (on Debian the package"
                + " libpython%s, with pyenv by building with"
                + " PYTHON_CONFIGURE_OPTS=--enable-shared), or name an interpreter that has one by"
                + " the option python. Tried: %s")
            .formatted(interpreter, interpreter.version(), String.join("; ", failures)));
  }

  /** Loads a library, and returns what the loader says if that fails. */
  private static @Nullable String load(String library) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment handle =
          (MemorySegment) OPEN.invokeExact(arena.allocateFrom(library), LOAD_NOW | VISIBLE_TO_ALL);
      if (handle.address() != 0) {
        return null;
      }
      MemorySegment error = (MemorySegment) ERROR.invokeExact();
      return error.reinterpret(Long.MAX_VALUE).getString(0);
    } catch (Throwable e) {
      throw new IllegalStateException("the system's loader could not be called", e);
    }
  }

  private static SymbolLookup lookup(String library) {
    return library.startsWith("/")
        ? SymbolLookup.libraryLookup(Path.of(library), Arena.global())
        : SymbolLookup.libraryLookup(library, Arena.global());
  }

  private static MethodHandle system(String function, FunctionDescriptor descriptor) {
    Linker linker = Linker.nativeLinker();
    return linker.downcallHandle(linker.defaultLookup().findOrThrow(function), descriptor);
  }

  /** Makes the interpreter look for modules where the one that was asked looks for them. */
  private void setModulePath() throws LoadException {
    try (PythonFrame frame = enter()) {
      frame.setAttribute(frame.importModule("sys"), "path", frame.texts(interpreter.path()));
    } catch (PythonException e) {
      throw new LoadException("Python does not take the path of its modules: " + e.getMessage(), e);
    }
  }

  /**
   * Waits for the lock of the interpreter and returns what this thread may do while it holds it,
   * which is until that is closed.
   */
  PythonFrame enter() {
    return new PythonFrame(functions);
  }

  @Override
  public String toString() {
    return interpreter.toString();
  }
}
