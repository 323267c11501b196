package io.unifiedcache.backend.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SlabsTest {
  private static final int GRANULE = Slabs.GRANULE;

  @Test
  void granulesOf_sizes_roundUpAndAreExactForLongSizes() {
    assertThat(Slabs.granulesOf(0)).isEqualTo(1);
    assertThat(Slabs.granulesOf(1)).isEqualTo(1);
    assertThat(Slabs.granulesOf(GRANULE)).isEqualTo(1);
    assertThat(Slabs.granulesOf(GRANULE + 1)).isEqualTo(2);
    assertThat(Slabs.granulesOf((1L << 40) + 1)).isEqualTo((1L << 40) / GRANULE + 1);
    assertThat(Slabs.granulesOf(Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE / GRANULE + 1);
  }

  @Test
  void grow_upToTheLimit_theLastSlabIsShorter() {
    try (Slabs slabs = new Slabs(10 * GRANULE + 1, 8 * GRANULE)) {
      assertThat(slabs.limit()).isEqualTo(11);
      grow(slabs);
      assertThat(slabs.freeGranules()).isEqualTo(8);
      grow(slabs);
      assertThat(slabs.freeGranules()).isEqualTo(11);
      assertThat(slabs.canGrow()).isFalse();
    }
  }

  @Test
  void allocate_ofAPowerOfTwo_isOneBlock() {
    try (Slabs slabs = new Slabs(64 * GRANULE, 64 * GRANULE)) {
      grow(slabs);
      assertThat(slabs.allocate(16)).hasSize(1);
      assertThat(slabs.allocate(18)).hasSize(2);
    }
  }

  @Test
  void allocate_ofScatteredMemory_usesAllOfIt() {
    try (Slabs slabs = new Slabs(64 * GRANULE, 64 * GRANULE)) {
      grow(slabs);
      List<long[]> singles = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        singles.add(slabs.allocate(1));
      }
      singles.sort((a, b) -> Long.compare(slabs.offsetOf(a[0]), slabs.offsetOf(b[0])));
      for (int i = 0; i < 64; i += 2) {
        slabs.free(singles.get(i));
      }
      assertThat(slabs.allocate(32)).hasSize(32);
      assertThatThrownBy(() -> slabs.allocate(1)).isInstanceOf(IllegalStateException.class);
    }
  }

  @Test
  void allocateAndFree_atRandom_neverOverlapAndJoinAgain() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    int slab = 256;
    int total = 3 * slab - 17;
    try (Slabs slabs = new Slabs((long) total * GRANULE, (long) slab * GRANULE)) {
      grow(slabs);
      grow(slabs);
      grow(slabs);
      BitSet used = new BitSet();
      List<long[]> taken = new ArrayList<>();
      for (int step = 0; step < 20_000; step++) {
        if (random.nextInt(5) < 3) {
          int wanted = 1 + random.nextInt(random.nextBoolean() ? 4 : 200);
          if (wanted > slabs.freeGranules()) {
            continue;
          }
          long[] blocks = slabs.allocate(wanted);
          int sum = 0;
          for (long block : blocks) {
            int first = granule(slabs, block, slab);
            int length = (int) (Slabs.bytesOf(block) / GRANULE);
            assertThat(used.get(first, first + length).isEmpty()).as("seed %d", seed).isTrue();
            used.set(first, first + length);
            sum += length;
          }
          assertThat(sum).isEqualTo(wanted);
          taken.add(blocks);
        } else if (!taken.isEmpty()) {
          long[] blocks = taken.remove(random.nextInt(taken.size()));
          for (long block : blocks) {
            int first = granule(slabs, block, slab);
            used.clear(first, first + (int) (Slabs.bytesOf(block) / GRANULE));
          }
          slabs.free(blocks);
        }
        assertThat(slabs.freeGranules()).as("seed %d", seed).isEqualTo(total - used.cardinality());
      }
      taken.forEach(slabs::free);
      assertThat(slabs.freeGranules()).isEqualTo(total);
      assertThat(slabs.allocate(slab)).as("a whole slab, seed %d", seed).hasSize(1);
      assertThat(slabs.allocate(slab)).as("another one, seed %d", seed).hasSize(1);
    }
  }

  private static int granule(Slabs slabs, long block, int slab) {
    // A block's number is its first granule, of which slabs have as many each as a full one has.
    long offset = slabs.offsetOf(block) / GRANULE;
    long base = 0;
    for (long other = block; slabs.segmentOf(other) != slabs.segmentOf(0); base += slab) {
      other -= (long) slab << 6;
    }
    return (int) (base + offset);
  }

  private static void grow(Slabs slabs) {
    slabs.endGrowth(slabs.reserve(slabs.beginGrowth()));
  }
}
