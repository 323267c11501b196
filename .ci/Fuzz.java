import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Looks for findings with the fuzz tests of a module, each in a JVM of its own, since Jazzer fuzzes
 * once in a JVM. Surefire cannot start one for each class where Maven runs on an older JDK than the
 * tests.
 */
final class Fuzz {
  private Fuzz() {}

  public static void main(String[] arguments) throws IOException, InterruptedException {
    Path one = Path.of(arguments[0]).resolveSibling("FuzzOne.java");
    Path classes = Path.of(arguments[1]);
    String duration = arguments[3];
    List<String> failed = new ArrayList<>();
    List<String> names = names(classes, arguments[2]);
    for (String name : names) {
      List<String> command =
          List.of(
              Path.of(System.getProperty("java.home"), "bin", "java").toString(),
              // Little heap: a length that is believed is found by the lack of memory.
              "-Xmx256m",
              "-Xshare:off",
              "-XX:+EnableDynamicAgentLoading",
              "--enable-native-access=ALL-UNNAMED",
              "--sun-misc-unsafe-memory-access=allow",
              "-Djazzer.max_duration=" + duration,
              "-cp",
              System.getProperty("java.class.path"),
              one.toString(),
              name);
      ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
      builder.environment().put("JAZZER_FUZZ", "1");
      if (builder.start().waitFor() != 0) {
        failed.add(name);
      }
    }
    if (!names.isEmpty()) {
      System.out.println(names.size() + " fuzz tests, " + duration + " each; failed: " + failed);
    }
    System.exit(failed.isEmpty() ? 0 : 1);
  }

  private static List<String> names(Path classes, String part) throws IOException {
    if (!Files.isDirectory(classes)) {
      return List.of();
    }
    try (Stream<Path> files = Files.walk(classes)) {
      return files
          .map(file -> classes.relativize(file).toString())
          .filter(file -> file.endsWith("FuzzTest.class") && file.contains(part))
          .map(file -> file.replace(".class", "").replace('/', '.').replace('\\', '.'))
          .sorted()
          .toList();
    }
  }
}
