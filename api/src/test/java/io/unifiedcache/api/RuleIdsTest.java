package io.unifiedcache.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class RuleIdsTest {
  private static final Path SOURCES = Path.of("src", "main", "java");

  /** The ids of all rules, one a line. */
  private static final Path RULES = Path.of("src", "test", "resources", "rules.txt");

  private static final Pattern RULE_TEXT =
      Pattern.compile("\\brules?\\s(?:[\\s*]*\\{@code[\\s*]+[^}]+\\}[\\s,*]*(?:and\\s)?)+");

  private static final Pattern ID = Pattern.compile("\\{@code[\\s*]+([^}\\s]+)\\}");

  @Test
  void rulesNamedInTheSources_exist() throws Exception {
    Set<String> known = Set.copyOf(Files.readAllLines(RULES));
    List<String> unknown = new ArrayList<>();
    Set<String> named = new TreeSet<>();
    try (Stream<Path> files = Files.walk(SOURCES)) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        Matcher text = RULE_TEXT.matcher(Files.readString(file));
        while (text.find()) {
          Matcher id = ID.matcher(text.group());
          while (id.find()) {
            named.add(id.group(1));
            if (!known.contains(id.group(1))) {
              unknown.add(file + ": " + id.group(1));
            }
          }
        }
      }
    }

    assertThat(unknown).isEmpty();
    assertThat(named).as("rules that were seen at all").hasSizeGreaterThan(40);
  }

  @Test
  void rulesFile_namesEachRuleOnce() throws Exception {
    assertThat(Files.readAllLines(RULES))
        .hasSize(85)
        .doesNotHaveDuplicates()
        .allMatch(id -> id.matches("[a-z]+\\.[a-z]+(-[a-z0-9]+)*"));
  }
}
