package io.unifiedcache.linker.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LinkerOptionsTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  @Test
  void defaults_areThoseOfTheOptions() {
    assertThat(LinkerOptions.defaults())
        .isEqualTo(
            new LinkerOptions(
                LoadPath.AUTO,
                Duration.ofSeconds(5),
                Duration.ofSeconds(30),
                Duration.ofSeconds(30),
                Duration.ofMinutes(5),
                Duration.ofSeconds(30),
                Duration.ofSeconds(10),
                /* offloadThreads= */ 2,
                /* outageFailures= */ 3,
                Duration.ofMinutes(10),
                StartPolicy.FAIL_FAST,
                Duration.ofSeconds(10),
                SECOND,
                /* groups= */ false));
  }

  @Test
  void from_takesEachOptionFromItsKey() {
    Settings.Builder settings = Settings.builder(LinkerOptions.options());
    set(settings, "keys", "sglang-store");
    set(settings, "sglang.empty-segments", "filter");
    set(settings, "linker.load-path", "pages");
    set(settings, "linker.lookup-timeout", "1s");
    set(settings, "linker.load-timeout", "2s");
    set(settings, "linker.offload-timeout", "3s");
    set(settings, "linker.ready-timeout", "9s");
    set(settings, "linker.close-timeout", "4s");
    set(settings, "linker.rank-timeout", "5s");
    set(settings, "linker.offload-threads", "6");
    set(settings, "linker.outage-failures", "7");
    set(settings, "linker.suspect-expiry", "0s");
    set(settings, "linker.start-policy", "degraded");
    set(settings, "linker.start-timeout", "7s");
    set(settings, "linker.retry-interval", "8s");
    set(settings, "linker.groups", "yes");
    Settings built = settings.build();

    assertThat(LinkerOptions.options()).hasSize(16).allMatch(built::isSet);
    assertThat(LinkerOptions.from(built))
        .isEqualTo(
            new LinkerOptions(
                LoadPath.PAGES,
                SECOND,
                SECOND.multipliedBy(2),
                SECOND.multipliedBy(3),
                SECOND.multipliedBy(9),
                SECOND.multipliedBy(4),
                SECOND.multipliedBy(5),
                /* offloadThreads= */ 6,
                /* outageFailures= */ 7,
                Duration.ZERO,
                StartPolicy.DEGRADED,
                SECOND.multipliedBy(7),
                SECOND.multipliedBy(8),
                /* groups= */ true));
    assertThat(built.get(LinkerOptions.KEYS)).isEqualTo(KeyForm.SGLANG_STORE);
    assertThat(built.get(LinkerOptions.EMPTY_SEGMENTS)).isEqualTo(EmptySegments.FILTER);
  }

  private static void set(Settings.Builder settings, String key, String value) {
    settings.parse(option(key), value);
  }

  private static Option<?> option(String key) {
    return LinkerOptions.options().stream()
        .filter(option -> option.name().equals(key))
        .findFirst()
        .orElseThrow();
  }

  @ParameterizedTest
  @CsvSource({
    "linker.lookup-timeout, 0s",
    "linker.load-timeout, 0ms",
    "linker.offload-timeout, 0s",
    "linker.ready-timeout, 0s",
    "linker.close-timeout, 0s",
    "linker.rank-timeout, 0s",
    "linker.start-timeout, 0s",
    "linker.start-policy, wait",
    "linker.retry-interval, 0ms",
    "linker.retry-interval, 61m",
    "linker.offload-threads, 0",
    "linker.offload-threads, 65",
    "keys, sglang",
    "linker.load-path, page"
  })
  void value_thatNoLinkerCanUse_isRefused(String key, String value) {
    assertThatThrownBy(() -> option(key).parse(value))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("\"" + value + "\" is not " + option(key).acceptedForm());
  }

  @Test
  void record_ofValuesThatNoLinkerCanUse_isRefused() {
    Duration none = Duration.ZERO;
    assertRefused(
        () -> options(none, SECOND, SECOND, SECOND, SECOND, 1, SECOND, SECOND, SECOND),
        "lookupTimeout must be positive, but is PT0S");
    assertRefused(
        () -> options(SECOND, none, SECOND, SECOND, SECOND, 1, SECOND, SECOND, SECOND),
        "loadTimeout must be positive, but is PT0S");
    assertRefused(
        () -> options(SECOND, SECOND, none, SECOND, SECOND, 1, SECOND, SECOND, SECOND),
        "offloadTimeout must be positive, but is PT0S");
    assertRefused(
        () -> options(SECOND, SECOND, SECOND, none, SECOND, 1, SECOND, SECOND, SECOND),
        "closeTimeout must be positive, but is PT0S");
    assertRefused(
        () -> options(SECOND, SECOND, SECOND, SECOND, none, 1, SECOND, SECOND, SECOND),
        "rankTimeout must be positive, but is PT0S");
    assertRefused(
        () -> options(SECOND, SECOND, SECOND, SECOND, SECOND, 0, SECOND, SECOND, SECOND),
        "offloadThreads must be at least 1, not 0");
    assertRefused(
        () -> options(SECOND, SECOND, SECOND, SECOND, SECOND, 1, SECOND.negated(), SECOND, SECOND),
        "suspectExpiry must not be negative, but is PT-1S");
    assertRefused(
        () -> options(SECOND, SECOND, SECOND, SECOND, SECOND, 1, SECOND, none, SECOND),
        "startTimeout must be positive, but is PT0S");
    assertRefused(
        () -> options(SECOND, SECOND, SECOND, SECOND, SECOND, 1, SECOND, SECOND, none),
        "retryInterval must be from 1 ms to 1 h, but is PT0S");
    Duration tooLong = Duration.ofMinutes(61);
    assertRefused(
        () -> options(SECOND, SECOND, SECOND, SECOND, SECOND, 1, SECOND, SECOND, tooLong),
        "retryInterval must be from 1 ms to 1 h, but is PT1H1M");
  }

  private static void assertRefused(Runnable construction, String message) {
    assertThatThrownBy(construction::run)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }

  private static void options(
      Duration lookup,
      Duration load,
      Duration offload,
      Duration close,
      Duration rank,
      int threads,
      Duration suspect,
      Duration start,
      Duration retry) {
    var unused =
        new LinkerOptions(
            LoadPath.AUTO,
            lookup,
            load,
            offload,
            offload,
            close,
            rank,
            threads,
            /* outageFailures= */ 3,
            suspect,
            StartPolicy.FAIL_FAST,
            start,
            retry,
            /* groups= */ false);
  }
}
