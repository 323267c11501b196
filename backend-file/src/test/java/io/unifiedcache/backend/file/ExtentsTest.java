package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ExtentsTest {
  private record Taken(int segment, long offset, long bytes) {}

  @Test
  void allocate_byChance_givesPlacesThatDoNotMeetAndAllComesBack() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Extents extents = new Extents(1);
    extents.add(1, 256 * 400, 0);
    extents.add(2, 256 * 300, 0);
    List<Taken> taken = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      if (random.nextInt(3) > 0) {
        long bytes = 256L * (1 + random.nextInt(40));
        Extents.Place place = extents.allocate(bytes);
        if (place != null) {
          Taken next = new Taken(place.segment(), place.offset(), bytes);
          for (Taken other : taken) {
            assertThat(
                    other.segment() == next.segment()
                        && other.offset() < next.offset() + bytes
                        && next.offset() < other.offset() + other.bytes())
                .as("seed " + seed + ": " + next + " meets " + other)
                .isFalse();
          }
          assertThat(next.offset() + bytes)
              .isLessThanOrEqualTo(next.segment() == 1 ? 256 * 400 : 256 * 300);
          taken.add(next);
        }
      } else if (!taken.isEmpty()) {
        Taken gone = taken.remove(random.nextInt(taken.size()));
        extents.release(gone.segment(), gone.offset(), gone.bytes());
      }
    }
    taken.forEach(each -> extents.release(each.segment(), each.offset(), each.bytes()));
    assertThat(extents.empty()).containsExactlyInAnyOrder(1, 2);
    assertThat(extents.allocate(256 * 400)).as("seed " + seed).isEqualTo(new Extents.Place(1, 0));
    assertThat(extents.allocate(256 * 300)).as("seed " + seed).isEqualTo(new Extents.Place(2, 0));
    assertThat(extents.allocate(256)).isNull();
  }

  @Test
  void allocate_withSeveralLanes_takesTurnsByBytes() {
    Extents extents = new Extents(2);
    extents.add(1, 256 * 100, 0);
    extents.add(2, 256 * 100, 0);
    assertThat(extents.fillsLanes()).isTrue();
    assertThat(allocate(extents, 256 * 3)).isEqualTo(1);
    assertThat(allocate(extents, 256)).isEqualTo(2);
    assertThat(allocate(extents, 256)).isEqualTo(2);
    assertThat(allocate(extents, 256 * 2)).isEqualTo(2);
    assertThat(allocate(extents, 256)).isEqualTo(1);
  }

  @Test
  void allocate_withALaneThatHadNoRoom_takesTurnsAgainOnceItHas() {
    Extents extents = new Extents(2);
    assertThat(extents.fillsLanes()).isFalse();
    extents.add(1, 256 * 100, 0);
    assertThat(extents.fillsLanes()).isFalse();
    for (int i = 0; i < 50; i++) {
      assertThat(allocate(extents, 256)).isEqualTo(1);
    }
    extents.add(2, 256 * 100, 0);
    int ofTheNew = 0;
    for (int i = 0; i < 20; i++) {
      ofTheNew += allocate(extents, 256) == 2 ? 1 : 0;
    }
    assertThat(ofTheNew).isEqualTo(10);
  }

  private static int allocate(Extents extents, long bytes) {
    return Objects.requireNonNull(extents.allocate(bytes)).segment();
  }

  @Test
  void allocate_takesTheSmallestThatFitsAndOfEqualOnesTheLastFreed() {
    Extents extents = new Extents(1);
    extents.add(1, 256 * 100, 0);
    List<Extents.Place> places = new ArrayList<>();
    for (int bytes : new int[] {3, 1, 5, 1, 3, 1}) {
      places.add(extents.allocate(256L * bytes));
    }
    extents.release(1, 256 * 4, 256 * 5);
    extents.release(1, 256 * 10, 256 * 3);
    extents.release(1, 0, 256 * 3);
    assertThat(extents.allocate(256 * 3)).isEqualTo(new Extents.Place(1, 0));
    assertThat(extents.allocate(256 * 2)).isEqualTo(new Extents.Place(1, 256 * 10));
    assertThat(extents.allocate(256 * 4)).isEqualTo(new Extents.Place(1, 256 * 4));
    assertThat(places).hasSize(6);
  }

  @Test
  void take_ofWhatIsTaken_isRefused() {
    Extents extents = new Extents(1);
    extents.add(1, 256 * 10, 0);
    assertThat(extents.take(1, 256 * 2, 256 * 3)).isTrue();
    assertThat(extents.take(1, 256 * 4, 256)).isFalse();
    assertThat(extents.take(1, 256, 256 * 2)).isFalse();
    assertThat(extents.take(1, 256 * 9, 256 * 2)).isFalse();
    assertThat(extents.take(3, 0, 256)).isFalse();
    assertThat(extents.take(1, 256 * 5, 256 * 5)).isTrue();
  }

  @Test
  void keepToWritten_usesNothingBeyond() {
    Extents extents = new Extents(1);
    extents.add(1, 256 * 100, 0);
    Extents.Place first = extents.allocate(256 * 10);
    assertThat(first).isNotNull();
    extents.wrote(1, 256 * 10 - 5);
    extents.keepToWritten();
    assertThat(extents.allocate(256)).isNull();
    extents.release(1, 0, 256 * 10);
    assertThat(extents.allocate(256 * 11)).isNull();
    assertThat(extents.allocate(256 * 10)).isEqualTo(first);
  }
}
