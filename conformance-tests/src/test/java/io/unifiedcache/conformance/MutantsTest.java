package io.unifiedcache.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** No rule is without teeth. */
class MutantsTest {
  @Test
  void everyRule_hasAMutant() {
    Set<String> broken = new TreeSet<>();
    Stream.concat(StoreTeethTest.broken(), LinkerTeethTest.broken())
        .forEach(mutant -> broken.addAll(mutant.breaks()));

    assertThat(broken)
        .isEqualTo(new TreeSet<>(Rules.all().stream().map(entry -> entry.id()).toList()));
  }
}
