package io.unifiedcache.cli.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PageContentTest {
  private static final PoolName KV = PoolName.KV;

  private static byte[] bytes(String page, int rank, PoolName pool, String component, int layer) {
    long seed =
        PageContent.seed(
            PageContent.pageSeed(new PageKey(page)),
            PageContent.placeSeed(rank, pool, component, layer));
    MemorySegment memory = Arena.ofAuto().allocate(64);
    PageContent.fill(seed, memory, 0, 64);
    return memory.toArray(ValueLayout.JAVA_BYTE);
  }

  @Test
  void fill_isTheSameInEveryBuild() {
    assertThat(HexFormat.of().formatHex(bytes("page", 1, KV, "k", 2), 0, 16))
        .isEqualTo("5e0bb9cd4c3bf0fc847dad9464b11972");
  }

  @Test
  void fill_differsWithEveryPartOfAPlace() {
    Set<String> contents = new HashSet<>();
    int made = 0;
    for (String page : new String[] {"a", "b", "ab", "ba"}) {
      for (int rank = 0; rank < 4; rank++) {
        for (PoolName pool : new PoolName[] {KV, new PoolName("swa"), new PoolName("k")}) {
          for (String component : new String[] {"k", "v", "kv"}) {
            for (int layer = 0; layer < 8; layer++) {
              contents.add(
                  HexFormat.of().formatHex(bytes(page, rank, pool, component, layer), 0, 8));
              made++;
            }
          }
        }
      }
    }

    assertThat(contents).hasSize(made);
  }

  @Test
  void fill_differsFromOffsetToOffset() {
    byte[] content = bytes("page", 0, KV, "k", 0);
    Set<String> words = new HashSet<>();
    for (int at = 0; at < content.length; at += 8) {
      words.add(HexFormat.of().formatHex(content, at, at + 8));
    }

    assertThat(words).hasSize(content.length / 8);
  }

  @Test
  void fill_partOfAWord_isItsBeginningAndNoMore() {
    MemorySegment whole = Arena.ofAuto().allocate(16);
    MemorySegment part = Arena.ofAuto().allocate(16);
    PageContent.fill(7, whole, 0, 16);

    PageContent.fill(7, part, 1, 13);

    assertThat(part.asSlice(1, 13).mismatch(whole.asSlice(0, 13))).isEqualTo(-1);
    assertThat(part.get(ValueLayout.JAVA_BYTE, 0)).isZero();
    assertThat(part.get(ValueLayout.JAVA_BYTE, 14)).isZero();
  }

  @Test
  void poison_makesEveryByteWrong() {
    MemorySegment right = Arena.ofAuto().allocate(13);
    MemorySegment wrong = Arena.ofAuto().allocate(13);

    PageContent.fill(9, right, 0, 13);
    PageContent.poison(9, wrong, 0, 13);

    for (int at = 0; at < 13; at++) {
      assertThat(wrong.get(ValueLayout.JAVA_BYTE, at))
          .isEqualTo((byte) ~right.get(ValueLayout.JAVA_BYTE, at));
    }
  }

  @Test
  void token_isAFixedFunctionOfBlockAndIndex() {
    Set<Integer> tokens = new HashSet<>();
    for (int index = 0; index < 512; index++) {
      assertThat(PageContent.token(3, index))
          .isEqualTo(PageContent.token(3, index))
          .isBetween(0, (1 << 17) - 1);
      tokens.add(PageContent.token(3, index));
    }

    assertThat(tokens).as("tokens of a block").hasSizeGreaterThan(500);
    assertThat(PageContent.token(3, 0)).isNotEqualTo(PageContent.token(4, 0));
  }
}
