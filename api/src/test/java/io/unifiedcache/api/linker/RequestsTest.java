package io.unifiedcache.api.linker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.StoreFailure;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RequestsTest {
  @Test
  void slots_areCopiedAndKeepTheirOrder() {
    long[] given = {7, 1L << 40, 0};
    Slots slots = Slots.of(given);
    given[0] = 5;

    assertThat(slots.size()).isEqualTo(3);
    assertThat(slots.slot(0)).isEqualTo(7);
    assertThat(slots.slot(1)).isEqualTo(1L << 40);
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> slots.slot(3));
    assertThat(slots).hasToString("Slots[7, 1099511627776, 0]");
  }

  @Test
  void slots_equality_isThatOfTheNumbers() {
    assertThat(Slots.range(1L << 40, 2)).isEqualTo(Slots.of(1L << 40, (1L << 40) + 1));
    assertThat(Slots.of(3, 4)).hasSameHashCodeAs(Slots.range(3, 2));
    assertThat(Slots.of(3, 4)).isNotEqualTo(Slots.of(4, 3)).isNotEqualTo(Slots.of(3));
    assertThat(Slots.range(9, 0)).isEqualTo(Slots.of());
  }

  @ParameterizedTest
  @EnumSource
  void parse_takesTheWireNameBack_inAnyLocale(HitPolicy policy) {
    Locale before = Locale.getDefault();
    try {
      Locale.setDefault(Locale.forLanguageTag("tr"));
      assertThat(policy.wireName()).isEqualTo(policy.name().toLowerCase(Locale.ENGLISH));
      assertThat(HitPolicy.parse(policy.wireName())).isEqualTo(policy);
    } finally {
      Locale.setDefault(before);
    }
  }

  @Test
  void query_factories_setThePolicy() {
    assertThat(PoolQuery.allPages(PoolName.KV))
        .isEqualTo(new PoolQuery(PoolName.KV, HitPolicy.ALL_PAGES, 1));
    assertThat(PoolQuery.trailingPages(PoolName.KV, 8))
        .isEqualTo(new PoolQuery(PoolName.KV, HitPolicy.TRAILING_PAGES, 8));
  }

  @Test
  void firstPage_ofALength_isWhereTheWindowBegins() {
    PoolName swa = new PoolName("swa");

    assertThat(PoolQuery.allPages(swa).firstPage(20)).isZero();
    assertThat(PoolQuery.trailingPages(swa, 8).firstPage(20)).isEqualTo(12);
    assertThat(PoolQuery.trailingPages(swa, 8).firstPage(8)).isZero();
    assertThat(PoolQuery.trailingPages(swa, 8).firstPage(7)).isZero();
    assertThat(PoolQuery.trailingPages(PoolName.KV, 8).firstPage(20))
        .as("always asked for all")
        .isZero();
  }

  @Test
  void request_withoutReady_isReady() {
    PoolTransfer transfer = new PoolTransfer(PoolName.KV, List.of(new PageKey("p")), Slots.of(1));

    assertThat(new TransferRequest("r", List.of(transfer)).ready().toCompletableFuture())
        .isCompleted();
  }

  @Test
  void usablePages_isTheLongestMember() {
    assertThat(new PoolTransferResult(RestorablePrefixes.of(2, 5), Map.of()).usablePages())
        .isEqualTo(5);
    assertThat(new PoolTransferResult(RestorablePrefixes.none(), Map.of()).usablePages()).isZero();
  }

  @Test
  void completion_isOk_withoutFailures() {
    PageFailure failure =
        new PageFailure(PoolName.KV, new PageKey("p"), StoreFailure.of(FailureCode.ABSENT, "gone"));

    assertThat(new Completion("r", List.of()).ok()).isTrue();
    assertThat(new Completion("r", List.of(failure)).ok()).isFalse();
  }

  @Test
  void alone_agreesWithItself() throws RankLostException {
    BitSet bits = new BitSet();
    bits.set(3);

    BitSet agreed = RankCollective.ALONE.and(bits, Deadline.never());
    assertThat(agreed).isEqualTo(bits).isNotSameAs(bits);
    assertThat(RankCollective.ALONE.rank()).isZero();
    assertThat(RankCollective.ALONE.size()).isEqualTo(1);
  }
}
