package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.backend.mooncake.ConfigFile.FormException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever a JSON file says, it is settings, or it is refused with its name. */
class ConfigFileFuzzTest {
  /** Reads the bytes as a file, and as a device_name of a variable. */
  @MethodSource("files")
  @FuzzTest
  void settings_anyBytes_areSettingsOrRefused(byte[] bytes) throws Exception {
    expectValuesOrFormException(bytes);
    Path file = Files.createTempFile("fuzzed", ".json");
    try {
      expectSettingsOrRefusal(
          Map.of("SGLANG_HICACHE_MOONCAKE_CONFIG_PATH", Files.write(file, bytes).toString()));
    } finally {
      Files.delete(file);
    }
    expectSettingsOrRefusal(
        Map.of(
            "MOONCAKE_MASTER",
            "m:1",
            "MOONCAKE_DEVICE",
            new String(bytes, StandardCharsets.UTF_8)));
  }

  private static void expectValuesOrFormException(byte[] bytes) {
    ConfigFile file;
    try {
      file = ConfigFile.of(bytes);
    } catch (FormException e) {
      assertThat(e).hasMessageContaining("what is expected is one JSON object");
      return;
    }
    for (Option<?> option : MooncakeSettings.OPTIONS) {
      String name = option.name();
      try {
        String text = file.text(name);
        assertThat(text != null).isEqualTo(file.has(name));
        assertThat(text == null ? 0 : text.length())
            .isLessThanOrEqualTo(ConfigFile.MAX_VALUE_CHARS);
        Boolean truth = file.truth(name);
        assertThat(truth != null).isEqualTo(file.has(name));
      } catch (FormException e) {
        assertThat(file.has(name)).isTrue();
      }
    }
  }

  private static void expectSettingsOrRefusal(Map<String, String> environment) {
    try {
      MooncakeSettings settings =
          ScriptedStore.settings(Map.of("rank", "1", "ranks", "2"), environment);
      ClientSetup setup = settings.setup();
      assertThat(Master.isAddress(setup.masterServerAddress())).isTrue();
      assertThat(MetadataServer.isAddress(setup.metadataServer())).isTrue();
      assertThat(setup.globalSegmentSize())
          .satisfiesAnyOf(
              size -> assertThat(size).isZero(),
              size -> assertThat(size).isBetween(16L << 20, Long.MAX_VALUE / 2));
      assertThat(setup.deviceName()).doesNotStartWith("{");
    } catch (CacheException e) {
      assertThat(e.code()).isEqualTo(FailureCode.REFUSED);
      // What is wrong is named.
      assertThat(e.getMessage())
          .containsPattern(
              MooncakeSettings.OPTIONS.stream().map(Option::name).collect(Collectors.joining("|")));
    }
  }

  /** Returns files of SGLang's, and some that are cut or none. */
  static List<byte[]> files() {
    String master = "{\"master_server_address\": \"m:1\"";
    return Stream.of(
            "{}",
            "[]",
            "null",
            "{",
            master + "}",
            master + "} {}",
            master
                + ", \"device_name\": \"{\\\"0\\\": \\\"mlx5_0\\\", \\\"1\\\": \\\"mlx5_1\\\"}\"}",
            master + ", \"device_name\": {\"1\": \"mlx5_1\"}}",
            "{\"1\": \"mlx5_1\"}",
            "{\"1\": null}",
            "{\"1\": {}}",
            master + ", \"global_segment_size\": \"4gb\", \"tenant_id\": null}",
            master + ", \"global_segment_size\": 1e18, \"master_metrics_port\": 0.9e4}",
            master + ", \"global_segment_size\": " + "9".repeat(1_000) + "}",
            master + ", \"check_server\": true, \"metadata_server\": \"http://h:8080/metadata\"}",
            master + ", \"enable_ssd_offload\": 1, \"ssd_offload_path\": \"\\u0000\"}",
            "{\"standalone_storage\": \"yes\", \"client_server_address\": \"c:2\"}",
            "{\"a\": " + "[".repeat(1_000),
            "{\"check_server\": \"false\", \"protocol\": [1], \"local_hostname\": -0.0E-1}")
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toList();
  }
}
