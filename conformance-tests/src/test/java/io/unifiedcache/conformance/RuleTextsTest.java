package io.unifiedcache.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.conformance.run.RuleCatalogue;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * The published catalogue says what the suite tries. After a rule was changed on purpose, {@code
 * -Dcatalogue.write=true} writes the two files anew.
 */
class RuleTextsTest {
  private static final Path DOCS = Path.of("..", "docs");

  /** Rules that nobody can try from outside; the modules that keep them have their tests. */
  private static final Set<String> OF_OUR_BUILD =
      Set.of("store.worker-survives", "key.golden", "key.order", "restore.unknown-policy");

  @Test
  void page_isMadeFromTheRules() throws Exception {
    expect(DOCS.resolve("rules.md"), RuleTexts.markdown(Rules.all()));
  }

  @Test
  void json_isMadeFromTheRules() throws Exception {
    expect(DOCS.resolve("conformance-rules.json"), RuleTexts.json(Rules.all()));
  }

  private static void expect(Path file, String text) throws Exception {
    if (Boolean.getBoolean("catalogue.write")) {
      Files.writeString(file, text);
    }
    assertThat(file).content().isEqualTo(text);
  }

  @Test
  void rules_areThoseThatTheContractNames() throws Exception {
    Set<String> named =
        new TreeSet<>(
            Files.readAllLines(Path.of("..", "api", "src", "test", "resources", "rules.txt")));
    named.removeIf(String::isBlank);
    named.removeAll(OF_OUR_BUILD);

    assertThat(new TreeSet<>(Rules.all().stream().map(RuleCatalogue.Entry::id).toList()))
        .isEqualTo(named);
  }

  @Test
  void texts_areSentences() {
    assertThat(Rules.all())
        .allSatisfy(
            entry -> {
              assertThat(entry.rule().text()).as(entry.id()).matches("(?s)[A-Z(`].*\\.");
              assertThat(entry.rule().hint()).as(entry.id()).matches("(?s)[A-Z(`].*\\.");
            });
  }
}
