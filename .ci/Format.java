import com.google.googlejavaformat.java.Main;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Runs google-java-format over every Java source below the current folder, build outputs aside.
 *
 * <p>The argument is {@code check} or {@code apply}. {@code check} lists the files whose format
 * differs and ends with status 1 if there are any.
 */
final class Format {
  private static final String APPLY = "mvn -N process-sources -Pformat";

  private Format() {}

  public static void main(String[] args) throws Exception {
    boolean apply = args[0].equals("apply");
    Path root = Path.of("");
    List<String> sources = sourcesBelow(root);
    if (sources.isEmpty()) {
      throw new IllegalStateException("No Java source below " + root.toAbsolutePath());
    }
    List<String> command = new ArrayList<>();
    command.addAll(apply ? List.of("--replace") : List.of("--dry-run", "--set-exit-if-changed"));
    command.addAll(sources);
    PrintWriter out = new PrintWriter(System.out, /* autoFlush= */ true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, /* autoFlush= */ true, StandardCharsets.UTF_8);
    int status = new Main(out, err, System.in).format(command.toArray(String[]::new));
    if (status != 0 && !apply) {
      err.println("The files above are not in google-java-format; to format them: " + APPLY);
    }
    System.exit(status);
  }

  private static List<String> sourcesBelow(Path root) throws IOException {
    List<String> sources = new ArrayList<>();
    Files.walkFileTree(
        root,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String name = folder.getFileName().toString();
            boolean skipped =
                name.equals("target") || (name.startsWith(".") && !name.equals(".ci"));
            return skipped ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (file.toString().endsWith(".java")) {
              sources.add(root.relativize(file).toString());
            }
            return FileVisitResult.CONTINUE;
          }
        });
    Collections.sort(sources);
    return sources;
  }
}
