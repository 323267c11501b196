package io.unifiedcache.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.linker.RankLostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class FailuresTest {
  @Test
  void of_isFinalAndHasTouchedNothing() {
    assertThat(StoreFailure.of(FailureCode.NO_SPACE, "full"))
        .isEqualTo(
            new StoreFailure(
                FailureCode.NO_SPACE, "full", /* retryable= */ false, MemoryState.UNTOUCHED));
  }

  @Test
  void with_changesOneThing() {
    StoreFailure failure = StoreFailure.of(FailureCode.IO, "disk");

    assertThat(failure.withMemory(MemoryState.DIRTY))
        .isEqualTo(new StoreFailure(FailureCode.IO, "disk", false, MemoryState.DIRTY));
    assertThat(failure.withMemory(MemoryState.DIRTY).asRetryable())
        .isEqualTo(new StoreFailure(FailureCode.IO, "disk", true, MemoryState.DIRTY));
  }

  @ParameterizedTest
  @EnumSource
  void retryable_eachCode_isWhatTheCodeAllows(FailureCode code) {
    StoreFailure failure = StoreFailure.of(code, "broken");

    assertThat(failure.retryable()).isEqualTo(code.retry() == FailureCode.Retry.ALWAYS);
    assertThat(failure.asRetryable().retryable())
        .isEqualTo(code.retry() != FailureCode.Retry.NEVER);
    if (code.retry() != FailureCode.Retry.DEPENDS) {
      boolean wrong = code.retry() == FailureCode.Retry.NEVER;
      assertThatThrownBy(() -> new StoreFailure(code, "broken", wrong, MemoryState.DIRTY))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining(
              "a %s failure is %s retryable".formatted(code, wrong ? "never" : "always"));
    }
  }

  @Test
  void provesBadObject_isTrueOfWhatTheObjectItselfShows() {
    assertThat(FailureCode.values())
        .filteredOn(FailureCode::provesBadObject)
        .containsExactlyInAnyOrder(FailureCode.CORRUPT, FailureCode.SIZE_MISMATCH);
  }

  @Test
  void exceptions_carryCodeMessageAndCause() {
    Exception cause = new Exception("below");

    assertThat(new CacheException(FailureCode.CLOSED, "shut", cause))
        .hasMessage("shut")
        .hasCause(cause)
        .extracting(CacheException::code)
        .isEqualTo(FailureCode.CLOSED);
    assertThat(new CacheException(FailureCode.CLOSED, "shut")).hasNoCause();
    assertThat(new RankLostException("rank 3", cause)).hasMessage("rank 3").hasCause(cause);
    assertThat(new RankLostException("rank 3")).hasNoCause();
  }
}
