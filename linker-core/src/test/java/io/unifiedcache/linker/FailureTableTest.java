package io.unifiedcache.linker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds the tests that {@code docs/failures.md} names against those that there are. */
class FailureTableTest {
  private static final Pattern NAMED = Pattern.compile("`(\\w+Test)\\.(\\w+)`");

  @Test
  void tests_namedInTheTable_exist() throws IOException {
    Path root = Path.of("..");
    Map<String, String> sources = new HashMap<>();
    for (String module : List.of("api", "linker-core", "backend-memory", "backend-file")) {
      try (Stream<Path> files = Files.walk(root.resolve(module).resolve("src/test"))) {
        for (Path file : files.filter(each -> each.toString().endsWith("Test.java")).toList()) {
          String name = String.valueOf(file.getFileName()).replace(".java", "");
          sources.merge(name, Files.readString(file), String::concat);
        }
      }
    }
    List<String> missing = new ArrayList<>();
    int named = 0;
    Matcher matcher = NAMED.matcher(Files.readString(root.resolve("docs/failures.md")));
    while (matcher.find()) {
      named++;
      if (!sources.getOrDefault(matcher.group(1), "").contains(" " + matcher.group(2) + "(")) {
        missing.add(matcher.group());
      }
    }
    assertThat(missing).isEmpty();
    assertThat(named).isGreaterThan(50);
  }
}
