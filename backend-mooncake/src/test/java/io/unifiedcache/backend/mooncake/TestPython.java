package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import org.junit.jupiter.api.Assumptions;

/** The Python of the process that runs the tests, which is one for all of them. */
final class TestPython {
  private TestPython() {}

  /** Returns it, started; skips the test where there is none that can be. */
  static Python get() throws LoadException {
    return Python.of(PythonInterpreter.ask(interpreter(), "sys"));
  }

  /**
   * Returns its interpreter: that of the installed Mooncake, or the usual one. Skips the test where
   * that has no shared library.
   */
  static String interpreter() {
    if (Installation.found().isPresent()) {
      return Installation.python().toString();
    }
    String usual = "python3";
    try {
      String unused = Python.load(PythonInterpreter.ask(usual, "sys"));
    } catch (LoadException e) {
      Assumptions.abort(String.valueOf(e.getMessage()));
    }
    return usual;
  }

  /** Returns what an expression comes to. */
  static long eval(PythonFrame frame, String expression) throws PythonException {
    return frame.call(
        frame.attribute(frame.importModule("builtins"), "eval"),
        frame.text(expression),
        frame.dict());
  }

  /** Returns a module that is defined by code. */
  static long module(PythonFrame frame, String code) throws PythonException {
    long module =
        frame.call(frame.attribute(frame.importModule("types"), "ModuleType"), frame.text("test"));
    long unused =
        frame.call(
            frame.attribute(frame.importModule("builtins"), "exec"),
            frame.text(code),
            frame.attribute(module, "__dict__"));
    return module;
  }

  /** Returns how Python writes an object. */
  static String repr(PythonFrame frame, long object) throws PythonException {
    return frame.toText(
        frame.call(frame.attribute(frame.importModule("builtins"), "repr"), object));
  }

  /** Returns how many blocks of memory Python's objects take, after all garbage is collected. */
  static long allocatedBlocks(PythonFrame frame) throws PythonException {
    long unused = frame.call(frame.attribute(frame.importModule("gc"), "collect"));
    return frame.toLong(
        frame.call(frame.attribute(frame.importModule("sys"), "getallocatedblocks")));
  }
}
