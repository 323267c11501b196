package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.StoreFailure;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AnswersTest {
  @ParameterizedTest
  @CsvSource({
    "-200, NO_SPACE, true",
    "-600, REFUSED, false",
    "-703, BUSY, true",
    "-706, BUSY, true",
    "-707, LEASE_EXPIRED, true",
    "-800, UNREACHABLE, true",
    "-801, CORRUPT, false",
    "-900, UNREACHABLE, true",
    "-901, UNREACHABLE, true",
    "-1700, NO_SPACE, true",
    "-1701, REFUSED, false",
    "-1, INTERNAL, false",
    "-1234, INTERNAL, false",
  })
  void failure_keepsTheNumber(long number, FailureCode code, boolean retryable) {
    StoreFailure failure = Answers.failure(ScriptedStore.key("page-1"), "get", number);
    assertThat(failure.code()).isEqualTo(code);
    assertThat(failure.retryable()).isEqualTo(retryable);
    assertThat(failure.message()).startsWith("object page-1: get answered " + number + ": ");
  }
}
