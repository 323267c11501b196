package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MooncakeSettingsTest {
  @TempDir Path folder = Path.of("");

  @Test
  void value_setBeatsFileBeatsEnvironmentBeatsDefault() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("mooncake.json"),
            """
            {"protocol": "RDMA", "global_segment_size": 1048576, "local_buffer_size": "2gb",
             "metadata_server": null, "enable_ssd_offload": true}
            """);
    Map<String, String> environment =
        Map.of(
            "MOONCAKE_CONFIG_PATH",
            file.toString(),
            "MOONCAKE_MASTER",
            "one:50051",
            "MOONCAKE_PROTOCOL",
            "tcp",
            "MOONCAKE_TE_META_DATA_SERVER",
            "etcd://two",
            "MOONCAKE_DEVICE",
            "",
            "LOCAL_HOSTNAME",
            "three");
    ClientSetup setup =
        ScriptedStore.settings(Map.of("local_buffer_size", "4KiB"), environment).setup();
    assertThat(setup.localBufferSize()).isEqualTo(4096);
    assertThat(setup.protocol()).isEqualTo("rdma");
    assertThat(setup.globalSegmentSize()).isEqualTo(1 << 20);
    assertThat(setup.masterServerAddress()).isEqualTo("one:50051");
    assertThat(setup.metadataServer()).isEqualTo("etcd://two");
    assertThat(setup.localHostname()).isEqualTo("three");
    assertThat(setup.deviceName()).isEmpty();
    assertThat(setup.tenant()).isEqualTo("default");
    assertThat(setup.replicaNum()).isEqualTo(1);
  }

  @Test
  void masterAddress_nowhere_namesThePlaces() {
    assertThatThrownBy(() -> ScriptedStore.settings(Map.of(), Map.of("HOME", "/")))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContaining("master_server_address")
        .hasMessageContaining("MOONCAKE_MASTER");
  }

  @Test
  void badValues_areNamedWithTheirPlacesAllAtOnce() throws IOException {
    Path file =
        Files.writeString(folder.resolve("mooncake.json"), "{\"global_segment_size\": \"much\"}");
    assertThatThrownBy(
            () ->
                ScriptedStore.settings(
                    Map.of("config", file.toString()),
                    Map.of("MOONCAKE_LOCAL_BUFFER_SIZE", "-1", "MOONCAKE_MASTER", "m:1")))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("global_segment_size in the file " + file)
        .hasMessageContaining("local_buffer_size in the variable MOONCAKE_LOCAL_BUFFER_SIZE");
  }

  @Test
  void config_missingOrNoJson_isNamed() throws IOException {
    Path missing = folder.resolve("none.json");
    assertThatThrownBy(() -> ScriptedStore.settings(Map.of("config", missing.toString()), Map.of()))
        .hasMessageContaining(missing + " of config cannot be read");
    Path broken = Files.writeString(folder.resolve("broken.json"), "{");
    assertThatThrownBy(() -> ScriptedStore.settings(Map.of("config", broken.toString()), Map.of()))
        .hasMessageContaining(broken + " of config is no JSON");
  }

  @Test
  void preferredSegments_areSeparatedByCommas() {
    assertThat(
            ScriptedStore.settings(Map.of("preferred_segments", " a:1, b:2 ,"), Map.of())
                .setup()
                .preferredSegments())
        .containsExactly("a:1", "b:2");
  }
}
