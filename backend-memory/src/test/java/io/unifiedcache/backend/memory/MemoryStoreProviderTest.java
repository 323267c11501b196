package io.unifiedcache.backend.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import org.junit.jupiter.api.Test;

class MemoryStoreProviderTest {
  private final MemoryStoreProvider provider = new MemoryStoreProvider();

  @Test
  void name_isMemory() {
    assertThat(provider.name()).isEqualTo("memory");
  }

  @Test
  void capabilities_areThoseOfTheStore() {
    try (CacheStore store = provider.open(settings("1MiB"), StoreContext.of("test"))) {
      assertThat(store.capabilities())
          .isEqualTo(provider.capabilities())
          .containsExactlyInAnyOrder(
              Capability.REMOVE,
              Capability.CLEAR,
              Capability.LIST,
              Capability.RANGED_READ,
              Capability.BOUNDED,
              Capability.REPORTS_PRESENT);
    }
  }

  @Test
  void options_haveDefaultsAndOneLineEach() {
    assertThat(provider.options())
        .allSatisfy(
            option -> {
              assertThat(option.defaultValue()).isPresent();
              assertThat(option.description()).doesNotContain("\n");
            })
        .extracting(Option::name)
        .containsExactly("capacity", "copy-threads");
  }

  @Test
  void open_withACapacity_isBoundedByIt() {
    try (CacheStore store = provider.open(settings("1.5MiB"), StoreContext.of("test"))) {
      assertThat(store.stats().capacityBytes()).isEqualTo(3 << 19);
    }
  }

  @Test
  void open_withoutSettings_hasRoomForFourGibibytes() {
    Settings settings = Settings.builder(provider.options()).build();
    try (CacheStore store = provider.open(settings, StoreContext.of("test"))) {
      assertThat(store.stats().capacityBytes()).isEqualTo(ByteSize.parse("4GiB").bytes());
    }
  }

  @Test
  void parse_ofATinyCapacity_isRefusedWithTheAcceptedForm() {
    assertThatThrownBy(() -> settings("4095"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("at least 4KiB");
  }

  private Settings settings(String capacity) {
    return Settings.builder(provider.options())
        .parse(MemoryStoreProvider.CAPACITY, capacity)
        .build();
  }
}
