package io.unifiedcache.examples.llama;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The guide for authors of engines quotes this example as it is. */
class GuideTest {
  private static final Path GUIDE = Path.of("../../docs/engine-integration.md");
  private static final Path SOURCES = Path.of("src/main/java");
  private static final Pattern SNIPPET = Pattern.compile("(?s)```java\n(.*?)```");

  @Test
  void snippets_arePartsOfTheExample() throws Exception {
    List<String> sources = new ArrayList<>();
    try (Stream<Path> files = Files.walk(SOURCES)) {
      for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
        sources.add(Files.readString(file));
      }
    }
    List<String> snippets = new ArrayList<>();
    Matcher guide = SNIPPET.matcher(Files.readString(GUIDE));
    while (guide.find()) {
      snippets.add(guide.group(1));
    }

    assertThat(snippets).hasSizeGreaterThan(8);
    assertThat(snippets)
        .allSatisfy(snippet -> assertThat(sources).anyMatch(source -> source.contains(snippet)));
  }
}
