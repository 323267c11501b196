package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.store.Registration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RegistrationsTest {
  private final ScriptedClient client = new ScriptedClient();
  private final Registrations registrations = new Registrations(client);

  @Test
  void register_overlapping_takesWhatIsNewAndSharesTheRest() {
    Registration middle = registrations.register(memory(1000, 100));
    Registration around = registrations.register(memory(950, 200));
    assertThat(client.registered).isEqualTo(Map.of(1000L, 100L, 950L, 50L, 1100L, 50L));
    assertThat(registrations.covers(memory(1010, 90))).isTrue();
    assertThat(registrations.covers(memory(990, 20))).as("over an edge").isFalse();
    assertThat(registrations.covers(memory(1140, 20))).isFalse();
    middle.close();
    middle.close();
    assertThat(client.registered).hasSize(3);
    around.close();
    assertThat(client.registered).isEmpty();
  }

  @Test
  void register_sameTwice_isOneRegion() {
    Registration first = registrations.register(memory(1000, 100));
    Registration second = registrations.register(memory(1000, 100));
    first.close();
    assertThat(client.registered).containsOnlyKeys(1000L);
    second.close();
    assertThat(client.registered).isEmpty();
  }

  @Test
  void register_oneRegionRefused_undoesTheOthers() {
    Registration middle = registrations.register(memory(1000, 100));
    client.registerScript = address -> address == 1100 ? Answers.INVALID_PARAMS : 0;
    assertThatThrownBy(() -> registrations.register(memory(950, 200)))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContaining("-600");
    assertThat(client.registered).containsOnlyKeys(1000L);
    middle.close();
    assertThat(client.registered).isEmpty();
  }

  @Test
  void register_whereMooncakeDidNotLetGo_hasItLetGoFirst_orFails() {
    Registration first = registrations.register(memory(1000, 100));
    client.unregisterScript =
        () -> {
          throw new IllegalStateException("scripted");
        };
    first.close();
    assertThat(client.registered).containsOnlyKeys(1000L);
    assertThat(registrations.covers(memory(1000, 100))).as("it may be other memory").isFalse();
    client.registerScript =
        address -> client.registered.containsKey(1000L) ? Answers.INVALID_PARAMS : 0;
    assertThatThrownBy(() -> registrations.register(memory(1050, 100)))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("-600");
    client.unregisterScript = () -> {};
    Registration second = registrations.register(memory(1050, 100));
    assertThat(client.registered).isEqualTo(Map.of(1050L, 100L));
    second.close();
    assertThat(client.registered).isEmpty();
  }

  private static DeviceMemory memory(long address, long bytes) {
    return new DeviceMemory("test", address, bytes);
  }
}
