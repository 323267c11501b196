package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever another rank tells of itself is a profile, or is refused. */
class RankProfileFuzzTest {
  @MethodSource("profiles")
  @FuzzTest
  void decode_anyBytes_isAProfileOrRefused(byte[] bytes) {
    RankProfile profile;
    try {
      profile = RankProfile.decode(bytes);
    } catch (IOException e) {
      return;
    }
    // Each text takes two bytes at least.
    assertThat(profile.sources().size() + 2 * profile.common().size())
        .isLessThanOrEqualTo(bytes.length / 2);
    assertThat(RankProfile.sources(List.of(profile))).hasSizeLessThanOrEqualTo(bytes.length);
    // Two ranks of one profile have the same place, and differ in nothing else.
    assertThat(RankProfile.differences(List.of(profile, profile))).hasSize(1);
  }

  /** Returns the profiles of a small and of a full identity. */
  static List<byte[]> profiles() {
    HostMemory memory = HostMemory.of(Arena.ofAuto().allocate(8));
    DevicePools pools =
        new DevicePools(
            List.of(PoolLayouts.packed(PoolName.KV, List.of(new LayerBuffer(0, memory, 8)))),
            /* rankReplicated= */ false);
    Settings settings = Settings.builder(LinkerOptions.options()).build();
    CacheIdentity full =
        CacheIdentity.builder()
            .tag("ä")
            .model("m".repeat(300))
            .pageTokens(64)
            .salt("salt")
            .tensor(1, 2)
            .decodeContext(0, 2, 128)
            .build();
    return List.of(
        RankProfile.of(CacheIdentity.builder().build(), pools, settings).encode(),
        RankProfile.of(full, pools, settings).encode());
  }
}
