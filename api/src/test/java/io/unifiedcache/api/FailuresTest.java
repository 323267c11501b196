package io.unifiedcache.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.linker.RankLostException;
import org.junit.jupiter.api.Test;

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
