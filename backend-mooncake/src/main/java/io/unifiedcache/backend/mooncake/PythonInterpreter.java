package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A Python interpreter, as it describes itself.
 *
 * @param executable its path; within a virtual environment, if it belongs to one
 * @param version its version, such as {@code 3.11}
 * @param libraries paths and names by which its shared library may be found, the likeliest first
 * @param path where it looks for modules: its {@code sys.path}
 * @param problem why it cannot import the module that it was asked about; empty if it can
 */
record PythonInterpreter(
    String executable, String version, List<String> libraries, List<String> path, String problem) {
  private static final long LONGEST_SECONDS = 30;

  /** Answers with texts that each end with a zero. */
  private static final String QUESTION =
      """
      import importlib, os, sys, sysconfig
      path = [entry for entry in sys.path if entry]
      # What a module prints while it is imported is not part of the answer.
      output = os.fdopen(os.dup(1), "wb")
      os.dup2(2, 1)
      def problem():
          try:
              importlib.import_module(sys.argv[1])
              return ""
          except BaseException as e:
              return (type(e).__name__ + ": " + str(e)).replace("\\0", " ")
      def var(name):
          return str(sysconfig.get_config_var(name) or "")
      answer = [sys.executable, "%d.%d" % sys.version_info[:2], sys.abiflags, problem(),
                sys.base_prefix, var("LIBDIR"), var("MULTIARCH"), var("INSTSONAME"),
                var("LDLIBRARY")]
      for text in answer + path:
          output.write(text.encode("utf-8", "surrogateescape") + b"\\0")
      output.flush()
      """;

  private static final int ANSWERS = 9;

  /** Creates an interpreter. */
  PythonInterpreter {
    libraries = List.copyOf(libraries);
    path = List.copyOf(path);
  }

  /**
   * Asks an interpreter, in a process of its own. The module is imported there, so that one that is
   * broken leaves nothing in this process.
   *
   * @param command its path, or its name on the {@code PATH}
   * @param module a module that is about to be imported
   * @throws LoadException if there is no such program, or it does not answer like Python 3
   */
  static PythonInterpreter ask(String command, String module) throws LoadException {
    Process process;
    try {
      process = new ProcessBuilder(command, "-c", QUESTION, module).start();
    } catch (IOException e) {
      throw new LoadException(
          ("there is no Python interpreter %s (%s); install Python 3, or name an interpreter by"
                  + " the option python")
              .formatted(command, e.getMessage()),
          e);
    }
    try {
      // What it writes fits into the pipes.
      if (!process.waitFor(LONGEST_SECONDS, TimeUnit.SECONDS)) {
        throw new LoadException(
            "the Python interpreter %s has not answered in %d s"
                .formatted(command, LONGEST_SECONDS));
      }
      String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      List<String> texts = List.of(answer.split("\0"));
      if (process.exitValue() != 0 || texts.size() < ANSWERS) {
        String errors = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        throw new LoadException(
            "%s, told to import %s, does not answer like Python 3 (status %d): %s%s"
                .formatted(command, module, process.exitValue(), answer, errors.strip()));
      }
      return of(texts);
    } catch (IOException e) {
      throw new LoadException(
          "the Python interpreter %s cannot be asked: %s".formatted(command, e), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LoadException("interrupted while asking the Python interpreter " + command, e);
    } finally {
      process.destroyForcibly();
    }
  }

  private static PythonInterpreter of(List<String> answer) {
    String version = answer.get(1);
    String library = "libpython" + version + answer.get(2) + ".so";
    Set<String> names = new LinkedHashSet<>();
    for (String name : List.of(answer.get(7), answer.get(8), library + ".1.0", library)) {
      // An interpreter that was built without a shared library names its static one.
      if (name.contains(".so")) {
        names.add(name);
      }
    }
    List<String> folders = new ArrayList<>();
    for (String folder : List.of(answer.get(5), answer.get(4) + "/lib")) {
      folders.add(folder);
      folders.add(folder + "/" + answer.get(6));
    }
    Set<String> libraries = new LinkedHashSet<>();
    for (String folder : folders) {
      names.forEach(name -> libraries.add(Path.of(folder, name).toString()));
    }
    libraries.addAll(names);
    return new PythonInterpreter(
        answer.get(0),
        version,
        List.copyOf(libraries),
        answer.subList(ANSWERS, answer.size()),
        answer.get(3));
  }

  @Override
  public String toString() {
    return "Python %s (%s)".formatted(version, executable);
  }
}
