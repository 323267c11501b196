package io.unifiedcache.cli.packaging;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs the example of the README as a reader would. */
class ReadmeIT {
  private static final Pattern EXAMPLE = Pattern.compile("(?s)```java\n(.*?)```");
  private static final String PRINTED = "15 pages, loaded: true";

  @TempDir Path scratch = Path.of("");

  @Test
  void example_run_printsWhatTheReadmeSays() throws Exception {
    String readme = Files.readString(Distribution.ROOT.resolve("README.md"));
    Matcher example = EXAMPLE.matcher(readme);
    assertThat(example.find()).as("the README has a Java example").isTrue();
    Path source = Files.writeString(scratch.resolve("Example.java"), example.group(1));
    ChildJvm jvm =
        ChildJvm.java(scratch, List.of("-cp", Distribution.LIB + "/*", source.toString()));
    assertThat(jvm.errors()).isEmpty();
    assertThat(jvm.status()).isZero();
    assertThat(jvm.output()).containsExactly(PRINTED);
    assertThat(readme).contains(PRINTED);
  }
}
