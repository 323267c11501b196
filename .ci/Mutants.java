import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Breaks the code in one place after another, and fails if the tests do not notice.
 *
 * <p>{@code java .ci/Mutants.java [FILTER]} takes the mutants of {@code .ci/mutants.txt} whose rule
 * or title contains the filter. It compiles the modules and their tests with Maven once. For each
 * mutant it compiles a changed copy of one file, puts the classes before the others on the class
 * path and runs the tests that the mutant names; the sources stay as they are. It ends with status
 * 1 if a mutant survives, if the text that a mutant replaces is not there exactly once, if the
 * tests fail without any mutant, or, without a filter, if a rule of the areas that are covered has
 * no mutant.
 */
final class Mutants {
  private static final Path LIST = Path.of(".ci/mutants.txt");
  private static final Path RULES = Path.of("api/src/test/resources/rules.txt");
  private static final List<String> AREAS = List.of("load.", "offload.", "linker.");
  private static final String MODULES = "linker-core,backend-memory";
  private static final Duration LONGEST = Duration.ofMinutes(2);

  /** One change that must be noticed. */
  record Mutant(String rule, String title, Path file, List<String> tests, String old, String now) {}

  private final Path folder = Files.createTempDirectory("mutants");
  private final String classPath;
  private int problems;

  private Mutants() throws IOException, InterruptedException {
    String given = System.getenv("MUTANTS_CLASS_PATH");
    classPath = given == null ? build() : given;
  }

  public static void main(String[] args) throws Exception {
    String filter = args.length == 0 ? "" : args[0];
    List<Mutant> all = read();
    Mutants run = new Mutants();
    try {
      if (filter.isEmpty()) {
        run.requireEveryRule(all);
      }
      List<Mutant> chosen =
          all.stream().filter(each -> (each.rule() + " " + each.title()).contains(filter)).toList();
      if (chosen.isEmpty()) {
        throw new IllegalArgumentException("no mutant has " + filter + " in its rule or title");
      }
      run.requireSoundTests(chosen);
      chosen.forEach(run::tryOut);
      System.out.printf("%d mutants, %d problems%n", chosen.size(), run.problems);
    } finally {
      run.deleteFolder();
    }
    System.exit(run.problems == 0 ? 0 : 1);
  }

  /** Reads blocks of: rule and title; file; tests; the text to replace; the replacement. */
  private static List<Mutant> read() throws IOException {
    List<Mutant> mutants = new ArrayList<>();
    for (String block : Files.readString(LIST).split("(?m)^(?=\\[)")) {
      if (!block.startsWith("[")) {
        continue;
      }
      String[] parts = block.split("(?m)^(<<<<|====|>>>>)\n", -1);
      String[] head = parts[0].split("\n");
      mutants.add(
          new Mutant(
              head[0].substring(1, head[0].indexOf(']')),
              head[0].substring(head[0].indexOf(']') + 1).strip(),
              Path.of(head[1].strip()),
              List.of(head[2].strip().split(" +")),
              withoutLastLineEnd(parts[1]),
              withoutLastLineEnd(parts[2])));
    }
    return mutants;
  }

  private static String withoutLastLineEnd(String text) {
    return text.endsWith("\n") ? text.substring(0, text.length() - 1) : text;
  }

  private void requireEveryRule(List<Mutant> mutants) throws IOException {
    Set<String> missing = new TreeSet<>();
    try (Stream<String> rules = Files.lines(RULES)) {
      rules
          .map(String::strip)
          .filter(rule -> AREAS.stream().anyMatch(rule::startsWith))
          .forEach(missing::add);
    }
    mutants.forEach(mutant -> missing.remove(mutant.rule()));
    for (String rule : missing) {
      problem("NO MUTANT", rule);
    }
  }

  /** Compiles everything, and returns the class path of the tests and of what runs them. */
  private String build() throws IOException, InterruptedException {
    Path classes = folder.resolve("class-path");
    List<String> command =
        List.of(
            "mvn",
            "-B",
            "-q",
            "-pl",
            MODULES,
            "-am",
            "test-compile",
            "dependency:build-classpath",
            "-Dmdep.outputFile=" + classes,
            "-Dmdep.includeScope=test");
    if (run(command, Duration.ofMinutes(15)) != 0) {
      throw new IllegalStateException("the modules do not compile: " + command);
    }
    String junit = junitVersion();
    List<String> console =
        List.of(
            "mvn",
            "-B",
            "-q",
            "-N",
            "dependency:copy",
            "-Dartifact=org.junit.platform:junit-platform-console-standalone:" + junit,
            "-DoutputDirectory=" + folder);
    if (run(console, Duration.ofMinutes(5)) != 0) {
      throw new IllegalStateException("no JUnit console: " + console);
    }
    Set<String> path = new LinkedHashSet<>();
    for (String module : (MODULES + ",api").split(",")) {
      path.add(module + "/target/test-classes");
      path.add(module + "/target/classes");
    }
    Collections.addAll(
        path, Files.readString(classes).strip().split(System.getProperty("path.separator")));
    path.add(folder.resolve("junit-platform-console-standalone-" + junit + ".jar").toString());
    path.removeIf(each -> each.contains("unified-cache-") && each.endsWith(".jar"));
    return String.join(System.getProperty("path.separator"), path);
  }

  private static String junitVersion() throws IOException {
    String pom = Files.readString(Path.of("pom.xml"));
    String tag = "<junit.version>";
    int from = pom.indexOf(tag) + tag.length();
    return pom.substring(from, pom.indexOf('<', from));
  }

  /** Runs the tests without a mutant: what fails now would fail for every mutant. */
  private void requireSoundTests(List<Mutant> chosen) {
    List<String> tests =
        chosen.stream().flatMap(mutant -> names(mutant).stream()).distinct().toList();
    if (test(tests, folder.resolve("nothing")) != 0) {
      throw new IllegalStateException("the tests fail without a mutant: " + tests);
    }
  }

  private void tryOut(Mutant mutant) {
    String what = mutant.rule() + ": " + mutant.title();
    try {
      String source = Files.readString(mutant.file());
      int at = source.indexOf(mutant.old());
      if (at < 0 || source.indexOf(mutant.old(), at + 1) >= 0) {
        problem(at < 0 ? "NOT THERE" : "NOT UNIQUE", what);
        return;
      }
      Path place = Files.createTempDirectory(folder, "mutant");
      Path changed = place.resolve(mutant.file().getFileName());
      Files.writeString(
          changed,
          source.substring(0, at) + mutant.now() + source.substring(at + mutant.old().length()));
      Path classes = Files.createDirectory(place.resolve("classes"));
      if (!compile(changed, classes)) {
        problem("DOES NOT COMPILE", what);
        return;
      }
      long begin = System.nanoTime();
      int status = test(names(mutant), classes);
      Duration time = Duration.ofNanos(System.nanoTime() - begin);
      if (status == 0) {
        problem("SURVIVED", what);
      } else if (status == 1 || status == HUNG) {
        System.out.printf(
            "%-9s %s (%d s)%n", status == 1 ? "killed" : "hung", what, time.toSeconds());
      } else {
        problem("STATUS " + status, what);
      }
    } catch (IOException e) {
      problem(e.toString(), what);
    }
  }

  private boolean compile(Path source, Path classes) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      StringWriter output = new StringWriter();
      boolean good =
          compiler
              .getTask(
                  output,
                  files,
                  null,
                  List.of("-nowarn", "-proc:none", "-cp", classPath, "-d", classes.toString()),
                  null,
                  files.getJavaFileObjects(source))
              .call();
      if (!good) {
        System.out.println(output);
      }
      return good;
    }
  }

  /** Returns the full names of the tests, which lie in the package of the file. */
  private static List<String> names(Mutant mutant) {
    Path java = Path.of("java");
    Path file = mutant.file();
    int from = 0;
    while (!file.getName(from).equals(java)) {
      from++;
    }
    String place =
        file.subpath(from + 1, file.getNameCount() - 1)
            .toString()
            .replace('/', '.')
            .replace('\\', '.');
    return mutant.tests().stream()
        .map(test -> test.contains(".") ? test : place + "." + test)
        .toList();
  }

  private static final int HUNG = -1;

  private int test(List<String> tests, Path before) {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx1g",
                "-Dslf4j.provider=io.unifiedcache.linker.RecordingLogs",
                "-Dslf4j.internal.verbosity=WARN",
                "-cp",
                before + System.getProperty("path.separator") + classPath,
                "org.junit.platform.console.ConsoleLauncher",
                "execute",
                "--fail-fast",
                "--details=summary",
                "--disable-banner",
                "--exclude-tag=stress"));
    tests.forEach(test -> command.add("--select-class=" + test));
    try {
      return run(command, LONGEST);
    } catch (IOException | InterruptedException e) {
      throw new IllegalStateException("cannot run " + command, e);
    }
  }

  private int run(List<String> command, Duration atMost) throws IOException, InterruptedException {
    Path log = folder.resolve("log");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    if (!process.waitFor(atMost.toMillis(), TimeUnit.MILLISECONDS)) {
      process.destroyForcibly().waitFor();
      return HUNG;
    }
    if (process.exitValue() > 1 || System.getenv("MUTANTS_LOG") != null) {
      System.out.println(Files.readString(log));
    }
    return process.exitValue();
  }

  private void problem(String kind, String what) {
    problems++;
    System.out.printf("%s %s%n", kind, what);
  }

  private void deleteFolder() throws IOException {
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path visited, IOException problem)
              throws IOException {
            Files.delete(visited);
            return FileVisitResult.CONTINUE;
          }
        });
  }
}
