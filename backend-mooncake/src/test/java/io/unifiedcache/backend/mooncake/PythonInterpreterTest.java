package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Interpreters that are not what they should be, played by scripts of the shell. */
class PythonInterpreterTest {
  @TempDir Path folder = Path.of("set by JUnit");

  @Test
  void ask_programThatIsNotThere_saysWhatToInstall() {
    assertThatThrownBy(() -> PythonInterpreter.ask("no-such-python", "sys"))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("there is no Python interpreter no-such-python")
        .hasMessageContaining("the option python");
  }

  @Test
  void ask_programThatIsNoPython_saysWhatItAnswered() throws IOException {
    String program = script("echo 'usage: tool'; echo 'unknown option' >&2; exit 7");
    assertThatThrownBy(() -> PythonInterpreter.ask(program, "sys"))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("does not answer like Python 3 (status 7)")
        .hasMessageContaining("usage: tool")
        .hasMessageContaining("unknown option");
  }

  @Test
  void ask_programThatAnswersTooLittle_isRefused() throws IOException {
    String program = script("printf 'one\\0two\\0'");
    assertThatThrownBy(() -> PythonInterpreter.ask(program, "sys"))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("does not answer like Python 3 (status 0)");
  }

  @Test
  void ask_whileInterrupted_givesUpAndStaysInterrupted() throws IOException {
    String program = script("exec sleep 60");
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> PythonInterpreter.ask(program, "sys"))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("interrupted while asking");
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void ask_interpreter_findsItsLibrariesAndItsPath() throws Exception {
    String program =
        script(
            "printf '%s\\0' /env/bin/python 3.99 t '' /base /lib x86_64-linux-gnu"
                + " libpython3.99t.so.1.0 libpython3.99t.a /a '/b c'");
    PythonInterpreter interpreter = PythonInterpreter.ask(program, "sys");
    assertThat(interpreter.executable()).isEqualTo("/env/bin/python");
    assertThat(interpreter.version()).isEqualTo("3.99");
    assertThat(interpreter.problem()).isEmpty();
    assertThat(interpreter.path()).containsExactly("/a", "/b c");
    assertThat(interpreter.libraries())
        .startsWith("/lib/libpython3.99t.so.1.0", "/lib/libpython3.99t.so")
        .contains("/lib/x86_64-linux-gnu/libpython3.99t.so.1.0", "/base/lib/libpython3.99t.so.1.0")
        .endsWith("libpython3.99t.so.1.0", "libpython3.99t.so")
        .doesNotHaveDuplicates()
        .noneMatch(library -> library.endsWith(".a"));
  }

  @Test
  void load_noSharedLibrary_saysWhatWasTriedAndWhatToInstall() throws IOException {
    Path broken = Files.writeString(folder.resolve("libpython3.99.so.1.0"), "no library");
    PythonInterpreter interpreter =
        new PythonInterpreter(
            "/env/bin/python",
            "3.99",
            List.of("/nowhere/libpython3.99.so.1.0", broken.toString(), "libpython3.99.so.1.0"),
            List.of(),
            "");
    assertThatThrownBy(() -> Python.load(interpreter))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("Python 3.99 (/env/bin/python) has no shared library")
        .hasMessageContaining("the package libpython3.99")
        .hasMessageContaining("/nowhere/libpython3.99.so.1.0: no such file")
        .hasMessageContaining(broken + ": ")
        .hasMessageContaining("; libpython3.99.so.1.0: ");
  }

  @Test
  void load_interpreterThatCannotImportMooncake_saysWhyAndWhatToInstall() throws IOException {
    String program =
        script(
            "printf '%s\\0' /env/bin/python 3.99 '' 'ImportError: no' /base /lib '' l.so l.so /a");
    assertThatThrownBy(() -> PythonLibrary.load(program))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining(
            "module mooncake.store of Python 3.99 (/env/bin/python) cannot be used: ImportError:"
                + " no")
        .hasMessageContaining("pip install mooncake-transfer-engine");
  }

  @Test
  void ask_moduleThatBreaks_isToldAndLeavesNothingHere() throws Exception {
    Files.writeString(
        folder.resolve("breaking.py"), "print('noise\\0' * 9)\nraise ValueError('too\\0old')");
    String program = script("PYTHONPATH=" + folder + " exec python3 \"$@\"");
    PythonInterpreter interpreter = PythonInterpreter.ask(program, "breaking");
    assertThat(interpreter.problem()).isEqualTo("ValueError: too old");
    assertThat(interpreter.version()).startsWith("3.");
    assertThat(interpreter.path()).contains(folder.toString());
    assertThat(PythonInterpreter.ask(program, "no_such_module").problem())
        .isEqualTo("ModuleNotFoundError: No module named 'no_such_module'");
    assertThat(PythonInterpreter.ask(program, "sys").problem()).isEmpty();
  }

  private String script(String commands) throws IOException {
    Path file = Files.writeString(folder.resolve("python"), "#!/bin/sh\n" + commands + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    return file.toString();
  }
}
