package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.unifiedcache.linker.key.CacheIdentity.DecodeContext;
import io.unifiedcache.linker.key.CacheIdentity.Shard;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CacheIdentityTest {
  @Test
  void builder_nothingSet_isOneRankWithoutParts() {
    assertThat(CacheIdentity.builder().build())
        .isEqualTo(
            new CacheIdentity(
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Shard.WHOLE,
                Shard.WHOLE,
                Shard.WHOLE,
                Optional.empty(),
                OptionalInt.empty()));
  }

  @Test
  void builder_everythingSet_keepsEveryPart() {
    CacheIdentity identity = full().build();

    assertThat(identity)
        .isEqualTo(
            new CacheIdentity(
                Optional.of("tag"),
                Optional.of("model"),
                Optional.of("revision"),
                Optional.of("bf16"),
                OptionalInt.of(64),
                Optional.of("salt"),
                new Shard(1, 2),
                new Shard(2, 3),
                new Shard(3, 4),
                Optional.of(new DecodeContext(new Shard(1, 2), 128)),
                OptionalInt.of(4)))
        .hasSameHashCodeAs(full().build());
  }

  @Test
  void toBuilder_onePartChanged_keepsTheOthers() {
    CacheIdentity identity = full().build();

    assertThat(identity.toBuilder().build()).isEqualTo(identity);
    assertThat(identity.toBuilder().tensor(0, 2).build())
        .isNotEqualTo(identity)
        .isEqualTo(full().tensor(0, 2).build());
  }

  @ParameterizedTest
  @CsvSource({"-1, 1", "1, 1", "0, 0", "5, 4"})
  void shard_rankThatIsNotThere_isRefused(int rank, int size) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new Shard(rank, size))
        .withMessage("there is no rank " + rank + " of " + size);
  }

  @Test
  void decodeContext_noTokens_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new DecodeContext(Shard.WHOLE, 0))
        .withMessage("a logical page has at least 1 token, not 0");
  }

  @Test
  void build_noPageTokens_isRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CacheIdentity.builder().pageTokens(0).build())
        .withMessage("a page has at least 1 token, not 0");
  }

  @ParameterizedTest
  @CsvSource({"3", "1", "0", "-2"})
  void build_headsThatRanksCannotShare_isRefused(int shares) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CacheIdentity.builder().tensor(0, 2).splitHeads(shares).build())
        .withMessage(
            "heads in " + shares + " shares cannot be divided evenly among 2 tensor ranks");
  }

  @Test
  void build_unpairedSurrogate_isRefusedByName() {
    String broken = "a\ud800";

    assertThatIllegalArgumentException()
        .isThrownBy(() -> CacheIdentity.builder().tag(broken).build())
        .withMessage("tag has an unpaired surrogate");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CacheIdentity.builder().model(broken).build())
        .withMessage("model has an unpaired surrogate");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CacheIdentity.builder().revision(broken).build())
        .withMessage("revision has an unpaired surrogate");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CacheIdentity.builder().elementType(broken).build())
        .withMessage("elementType has an unpaired surrogate");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CacheIdentity.builder().salt(broken).build())
        .withMessage("salt has an unpaired surrogate");
  }

  private static CacheIdentity.Builder full() {
    return CacheIdentity.builder()
        .tag("tag")
        .model("model")
        .revision("revision")
        .elementType("bf16")
        .pageTokens(64)
        .salt("salt")
        .tensor(1, 2)
        .pipeline(2, 3)
        .context(3, 4)
        .decodeContext(1, 2, 128)
        .splitHeads(4);
  }
}
