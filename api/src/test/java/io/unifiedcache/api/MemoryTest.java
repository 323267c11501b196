package io.unifiedcache.api;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MemoryTest {
  private static final long BEYOND_32_BITS = (1L << 32) + 5;

  @Test
  void of_heapSegment_isRefused() {
    MemorySegment heap = MemorySegment.ofArray(new byte[8]);

    assertThatThrownBy(() -> HostMemory.of(heap))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("memory must be native, but this segment is on the heap: " + heap);
  }

  @Test
  void of_confinedSegment_isRefused() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment confined = arena.allocate(8);

      assertThatThrownBy(() -> HostMemory.of(confined))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("this segment is confined to one: " + confined);
    }
  }

  @Test
  void of_segmentOfAClosedArena_isRefused() {
    MemorySegment closed;
    try (Arena arena = Arena.ofShared()) {
      closed = arena.allocate(8);
    }

    assertThatThrownBy(() -> HostMemory.of(closed))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("the arena of this segment is closed: " + closed);
  }

  @Test
  void of_segmentThatAnyThreadMayAccess_isTaken() {
    try (Arena shared = Arena.ofShared()) {
      for (MemorySegment segment :
          new MemorySegment[] {
            shared.allocate(8),
            shared.allocate(8).asReadOnly(),
            Arena.ofAuto().allocate(8),
            Arena.global().allocate(8),
            MemorySegment.NULL
          }) {
        HostMemory memory = HostMemory.of(segment);

        assertThat(memory.segment()).isSameAs(segment);
        assertThat(memory.byteSize()).isEqualTo(segment.byteSize());
        assertThat(memory.isAlive()).isTrue();
      }
    }
  }

  @Test
  void isAlive_endsWithTheArena() {
    HostMemory memory;
    try (Arena arena = Arena.ofShared()) {
      memory = HostMemory.of(arena.allocate(8));
      assertThat(memory.isAlive()).isTrue();
    }

    assertThat(memory.isAlive()).isFalse();
  }

  @Test
  void hostMemory_equality_isThatOfTheBytesItCovers() {
    MemorySegment segment = Arena.ofAuto().allocate(16);
    HostMemory memory = HostMemory.of(segment).slice(4, 8);

    assertThat(memory).isEqualTo(HostMemory.of(segment.asSlice(4, 8)));
    assertThat(memory).hasSameHashCodeAs(HostMemory.of(segment.asSlice(4, 8)));
    assertThat(memory).isNotEqualTo(HostMemory.of(segment.asSlice(5, 8)));
    assertThat(memory).isNotEqualTo(HostMemory.of(segment.asSlice(4, 9)));
    assertThat(memory)
        .hasToString("HostMemory[address=0x%x, bytes=8]".formatted(segment.address() + 4));
  }

  @Test
  void slice_isExactPast32Bits(@TempDir Path folder) throws IOException {
    long bytes = 3 * BEYOND_32_BITS;
    // A file without blocks, so that no byte of it takes memory.
    try (FileChannel file = FileChannel.open(folder.resolve("sparse"), CREATE, READ, WRITE);
        Arena arena = Arena.ofShared()) {
      MemorySegment mapped = file.map(MapMode.READ_WRITE, 0, bytes, arena);
      assertSlices(HostMemory.of(mapped), mapped.address());
    }
    assertSlices(new DeviceMemory("cuda:0", 64, bytes), 64);
  }

  private static void assertSlices(Memory memory, long address) {
    Memory slice = memory.slice(BEYOND_32_BITS, BEYOND_32_BITS).slice(BEYOND_32_BITS - 1, 1);

    assertThat(addressOf(slice)).isEqualTo(address + 2 * BEYOND_32_BITS - 1);
    assertThat(slice.byteSize()).isEqualTo(1);
    assertThat(memory.slice(3 * BEYOND_32_BITS, 0).byteSize()).isZero();
    assertThat(slice.isAlive()).isTrue();
  }

  private static long addressOf(Memory memory) {
    return switch (memory) {
      case HostMemory host -> host.segment().address();
      case DeviceMemory device -> device.address();
    };
  }

  @ParameterizedTest
  @CsvSource({"-1,1", "0,-1", "0,101", "100,1", "101,0", "9223372036854775807,2"})
  void slice_outsideTheMemory_isRefused(long offset, long bytes) {
    Memory host = HostMemory.of(Arena.ofAuto().allocate(100));
    Memory device = new DeviceMemory("cuda:0", 64, 100);

    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> host.slice(offset, bytes));
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(() -> device.slice(offset, bytes));
  }

  @Test
  void deviceMemory_toTheEndOfTheAddressSpace_isTaken() {
    assertThat(new DeviceMemory("cuda:0", -8, 7).slice(6, 1).address()).isEqualTo(-2);
  }
}
