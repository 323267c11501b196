package io.unifiedcache.linker.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NearestNameTest {
  private static final List<String> KNOWN =
      List.of("capacity", "ttl", "linker.load-path", "linker.load-timeout", "local_hostname");

  @ParameterizedTest
  @CsvSource({
    "capacity, capacity",
    "capasity, capacity",
    "capactiy, capacity",
    "apacity, capacity",
    "CAPACITYY, capacity",
    "tl, ttl",
    "ttk, ttl",
    "load-path, linker.load-path",
    "loadpath, linker.load-path",
    "linker-load-path, linker.load-path",
    "LINKER_LOAD_TIMEOUT, linker.load-timeout",
    "linker.lod-timeuot, linker.load-timeout",
    "local-hostname, local_hostname"
  })
  void among_nameWithFewMistakes_isFound(String name, String nearest) {
    assertThat(NearestName.among(KNOWN, name)).contains(nearest);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "x", "url", "capybara-size", "linker", "timeout-of-everything"})
  void among_nameThatIsFarFromAll_isNotFound(String name) {
    assertThat(NearestName.among(KNOWN, name)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"aab, aaa", "aaab, aaa"})
  void among_equallyNear_theFirstIsTaken(String name, String nearest) {
    assertThat(NearestName.among(List.of("zzz", "aaa", "aac"), name)).contains(nearest);
  }
}
