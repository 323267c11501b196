package io.unifiedcache.linker;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever the environment and the command line say, it is a setting or a mistake. */
class SettingsFuzzTest {
  /** Each line is a variable without its prefix, if it has a colon, or an assignment. */
  @MethodSource("lines")
  @FuzzTest
  void resolve_anyVariablesAndAssignments_areSettingsOrMistakes(byte[] bytes) {
    Map<String, String> variables = new HashMap<>();
    List<String> assignments = new ArrayList<>();
    for (String line : new String(bytes, StandardCharsets.UTF_8).lines().toList()) {
      int colon = line.indexOf(':');
      if (colon < 0) {
        assignments.add(line);
      } else {
        variables.put("UNIFIED_CACHE_" + line.substring(0, colon), line.substring(colon + 1));
      }
    }
    List<Option<?>> options = UnifiedCache.linkerOptions();
    SettingsSources sources =
        SettingsSources.none().environment(variables).commandLine(assignments);
    try {
      Settings settings = sources.resolve(options);
      assertThat(settings.options()).containsExactlyElementsOf(options);
    } catch (SettingsException e) {
      assertThat(e.problems()).isNotEmpty();
      assertThat(e.problems().size()).isLessThanOrEqualTo(variables.size() + assignments.size());
    }
  }

  static Stream<byte[]> lines() {
    return Stream.of(
            "linker.load-path=auto",
            "linker.lod-path=auto\n=\n\nLINKER_LOAD_PATH:auto",
            "PORT:tcp://10.0.0.1:80\nPORT_80_TCP:tcp://10.0.0.1:80\nSERVICE_HOST:10.0.0.1",
            "MASTER_SERVICE_PORT_HTTP:99999\nPORT_1_UDP_ADDR:::1\nPORT:tcp://[::]:0",
            "A_".repeat(1_000) + "SERVICE_HOST:" + "1.".repeat(1_000),
            "PORT:tcp://" + ":".repeat(1_000),
            "k".repeat(1_000) + "=v",
            ":\n:")
        .map(text -> text.getBytes(StandardCharsets.UTF_8));
  }
}
