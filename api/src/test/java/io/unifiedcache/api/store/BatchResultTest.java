package io.unifiedcache.api.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.StoreFailure;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BatchResultTest {
  private static final StoreFailure DISK = StoreFailure.of(FailureCode.IO, "disk");
  private static final StoreFailure FULL = StoreFailure.of(FailureCode.NO_SPACE, "full");

  @Test
  void build_keepsTheOrderOfEntries_whateverTheOrderOfSetting() {
    BatchResult result =
        BatchResult.builder(4)
            .failed(3, DISK)
            .set(2, ObjectStatus.PRESENT)
            .set(0, ObjectStatus.OK)
            .set(1, ObjectStatus.ABSENT)
            .build();

    assertThat(statuses(result))
        .containsExactly(
            ObjectStatus.OK, ObjectStatus.ABSENT, ObjectStatus.PRESENT, ObjectStatus.FAILED);
    assertThat(IntStream.range(0, 4).filter(result::isOk)).containsExactly(0);
    assertThat(result.failure(3)).isEqualTo(DISK);
    assertThat(result.count(ObjectStatus.ABSENT)).isEqualTo(1);
    assertThat(result).hasToString("BatchResult[size=4, OK=1, ABSENT=1, PRESENT=1, FAILED=1]");
  }

  @Test
  void set_ofAFailedEntry_leavesItFailed() {
    BatchResult result =
        BatchResult.builder(2)
            .failed(0, DISK)
            .set(0, ObjectStatus.OK)
            .set(1, ObjectStatus.OK)
            .failed(1, FULL)
            .failed(1, DISK)
            .build();

    assertThat(statuses(result)).containsOnly(ObjectStatus.FAILED);
    assertThat(result.failure(0)).isEqualTo(DISK);
    assertThat(result.failure(1)).isEqualTo(FULL);
  }

  @Test
  void failure_ofAnEntryThatDidNotFail_isRefused() {
    BatchResult some = BatchResult.builder(2).set(0, ObjectStatus.OK).failed(1, DISK).build();
    BatchResult none = BatchResult.all(1, ObjectStatus.ABSENT);

    assertThatThrownBy(() -> some.failure(0))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("entry 0 did not fail but is OK");
    assertThatThrownBy(() -> none.failure(0))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("entry 0 did not fail but is ABSENT");
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> some.failure(2));
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> some.status(2));
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> some.isOk(-1));
  }

  @Test
  void build_withAnEntryWithoutStatus_isRefused() {
    BatchResult.Builder builder = BatchResult.builder(3).set(0, ObjectStatus.OK).failed(2, DISK);

    assertThatThrownBy(builder::build)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("entry 1 of 3 has no status");
    assertThat(builder.set(1, ObjectStatus.OK).build().size()).isEqualTo(3);
  }

  @Test
  void builder_afterBuild_isRefused() {
    BatchResult.Builder builder = BatchResult.builder(1).set(0, ObjectStatus.OK);
    BatchResult result = builder.build();

    for (Runnable use :
        List.<Runnable>of(
            () -> builder.set(0, ObjectStatus.ABSENT),
            () -> builder.failed(0, DISK),
            builder::build)) {
      assertThatThrownBy(use::run)
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("this builder has built its result already");
    }
    assertThat(statuses(result)).containsExactly(ObjectStatus.OK);
  }

  @Test
  void builder_entryOutsideTheBatch_isRefused() {
    BatchResult.Builder builder = BatchResult.builder(1);

    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> builder.set(1, ObjectStatus.OK));
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> builder.failed(-1, DISK));
  }

  @Test
  void all_hasTheStatusEverywhere() {
    assertThat(statuses(BatchResult.all(3, ObjectStatus.PRESENT)))
        .containsExactly(ObjectStatus.PRESENT, ObjectStatus.PRESENT, ObjectStatus.PRESENT);
    assertThat(BatchResult.all(0, ObjectStatus.OK).size()).isZero();

    BatchResult failed = BatchResult.allFailed(2, DISK);
    assertThat(failed.count(ObjectStatus.FAILED)).isEqualTo(2);
    assertThat(failed.failure(1)).isEqualTo(DISK);
  }

  @Test
  void equality_isThatOfStatusesAndFailures() {
    BatchResult result = BatchResult.builder(2).set(0, ObjectStatus.OK).failed(1, DISK).build();

    BatchResult same = BatchResult.builder(2).failed(1, DISK).set(0, ObjectStatus.OK).build();
    assertThat(result).isEqualTo(same).hasSameHashCodeAs(same);
    assertThat(result)
        .isNotEqualTo(BatchResult.builder(2).set(0, ObjectStatus.OK).failed(1, FULL).build())
        .isNotEqualTo(BatchResult.builder(2).set(0, ObjectStatus.ABSENT).failed(1, DISK).build())
        .isNotEqualTo(BatchResult.all(2, ObjectStatus.OK));
    assertThat(BatchResult.all(1, ObjectStatus.OK))
        .isEqualTo(BatchResult.builder(1).set(0, ObjectStatus.OK).build())
        .isNotEqualTo(BatchResult.all(2, ObjectStatus.OK));
  }

  private static List<ObjectStatus> statuses(BatchResult result) {
    return IntStream.range(0, result.size()).mapToObj(result::status).toList();
  }
}
