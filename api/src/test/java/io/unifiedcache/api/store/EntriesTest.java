package io.unifiedcache.api.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import java.util.List;
import org.junit.jupiter.api.Test;

class EntriesTest {
  private static final ObjectKey KEY = new ObjectKey("a");

  @Test
  void byteSize_isTheExactSumPast32Bits() {
    List<Memory> pieces = List.of(memory(1L << 32), memory(0), memory((1L << 32) + 1));

    assertThat(new GetOp(KEY, pieces).byteSize()).isEqualTo((1L << 33) + 1);
    assertThat(new PutOp(KEY, pieces).byteSize()).isEqualTo((1L << 33) + 1);
    assertThat(new ReadOp(0, pieces.stream().map(piece -> new Range(0, piece)).toList()).byteSize())
        .isEqualTo((1L << 33) + 1);
    assertThat(new GetOp(KEY, List.of()).byteSize()).isZero();
  }

  @Test
  void byteSize_past64Bits_isRefused() {
    List<Memory> pieces = List.of(memory(Long.MAX_VALUE), memory(1));

    assertThatExceptionOfType(ArithmeticException.class)
        .isThrownBy(() -> new GetOp(KEY, pieces).byteSize());
    assertThatExceptionOfType(ArithmeticException.class)
        .isThrownBy(() -> new PutOp(KEY, pieces).byteSize());
    ReadOp read = new ReadOp(0, pieces.stream().map(piece -> new Range(0, piece)).toList());
    assertThatExceptionOfType(ArithmeticException.class).isThrownBy(read::byteSize);
  }

  @Test
  void putOp_withoutGroup_hasNone() {
    assertThat(new PutOp(KEY, List.of()).groupHint()).isEmpty();
  }

  @Test
  void contextOf_namesDaemonThreadsAfterTheInstance() {
    StoreContext context = StoreContext.of("cache-a");

    Thread thread = context.threads().newThread(() -> {});
    assertThat(thread.getName()).isEqualTo("cache-a-0");
    assertThat(thread.isDaemon()).isTrue();
    assertThat(context.clock()).isSameAs(MonotonicClock.SYSTEM);
  }

  private static Memory memory(long bytes) {
    return new DeviceMemory("cuda:0", 1, bytes);
  }
}
