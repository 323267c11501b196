package io.unifiedcache.api.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import org.junit.jupiter.api.Test;

class MaintenanceTypesTest {
  private static final class NoMaintenance implements CacheStoreProvider {
    @Override
    public String name() {
      return "none";
    }

    @Override
    public List<Option<?>> options() {
      return List.of();
    }

    @Override
    public Set<Capability> capabilities() {
      return Set.of();
    }

    @Override
    public CacheStore open(Settings settings, StoreContext context) {
      throw new AssertionError("not asked for");
    }
  }

  @Test
  void maintenance_ofAProviderThatSaysNothing_isNone() {
    Settings settings = Settings.builder(List.of()).build();
    assertThat(new NoMaintenance().maintenance(settings, StoreContext.of("test"))).isEmpty();
  }

  @Test
  void inventory_keepsItsDetailsInOrderWhateverBecomesOfTheMap() {
    SequencedMap<String, String> details = new LinkedHashMap<>();
    details.put("z", "1");
    details.put("a", "2");
    StoreInventory inventory = new StoreInventory(1, 2, 3, true, details);
    details.clear();

    assertThat(inventory.details().sequencedKeySet()).containsExactly("z", "a");
    assertThatExceptionOfType(UnsupportedOperationException.class)
        .isThrownBy(() -> inventory.details().clear());
  }

  @Test
  void finding_withoutAMessage_isRefused() {
    assertThatExceptionOfType(IllegalArgumentException.class)
        .isThrownBy(
            () ->
                new Verification.Finding(
                    Optional.empty(), FailureCode.IO, " ", Verification.Remedy.NONE));
  }
}
