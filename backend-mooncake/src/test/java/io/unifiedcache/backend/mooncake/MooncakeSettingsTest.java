package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Option;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MooncakeSettingsTest {
  @TempDir Path folder = Path.of("");

  @Test
  void value_setBeatsFileBeatsEnvironmentBeatsDefault() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("mooncake.json"),
            """
            {"master_server_address": "one:50051", "protocol": "RDMA", "other": {},
             "global_segment_size": 16777216, "local_buffer_size": "2gb", "metadata_server": null}
            """);
    Map<String, String> environment =
        Map.of(
            "MOONCAKE_CONFIG_PATH",
            file.toString(),
            "MOONCAKE_MASTER",
            "other:50051",
            "MOONCAKE_PROTOCOL",
            "tcp",
            "MOONCAKE_TE_META_DATA_SERVER",
            "etcd://two:2379",
            "MOONCAKE_DEVICE",
            "",
            "LOCAL_HOSTNAME",
            "three");
    ClientSetup setup =
        ScriptedStore.settings(Map.of("local_buffer_size", "4KiB"), environment).setup();
    assertThat(setup.localBufferSize()).isEqualTo(4096);
    assertThat(setup.protocol()).isEqualTo("rdma");
    assertThat(setup.globalSegmentSize()).isEqualTo(16 << 20);
    assertThat(setup.masterServerAddress()).isEqualTo("one:50051");
    assertThat(setup.metadataServer()).isEqualTo("P2PHANDSHAKE");
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
        Files.writeString(
            folder.resolve("mooncake.json"),
            "{\"global_segment_size\": \"much\", \"metadata_server\": \"x\"}");
    assertThatThrownBy(
            () ->
                ScriptedStore.settings(
                    Map.of("config", file.toString(), "master_server_address", "m:1"),
                    Map.of("LOCAL_HOSTNAME", "mine")))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("global_segment_size in the file " + file)
        .hasMessageContaining("metadata_server in the file " + file);
    assertThatThrownBy(
            () ->
                ScriptedStore.settings(
                    Map.of(),
                    Map.of(
                        "MOONCAKE_LOCAL_BUFFER_SIZE", "-1", "MOONCAKE_TE_META_DATA_SERVER", "x")))
        .isInstanceOf(CacheException.class)
        .hasMessageContaining("metadata_server in the variable MOONCAKE_TE_META_DATA_SERVER")
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

  @Test
  void masterAddress_withoutAPort_isRefusedWithItsPlaceAndWhatIsExpected() {
    assertThatThrownBy(
            () -> ScriptedStore.settings(Map.of(), Map.of("MOONCAKE_MASTER", "10.0.0.1")))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContaining("master_server_address in the variable MOONCAKE_MASTER")
        .hasMessageContaining("\"10.0.0.1\" is not")
        .hasMessageContaining("host:port");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"mooncake_master:50051", " [::1]:50051 ", "etcd://a:1;b:2", "a:1,b:2", "host:1"})
  void masterAddress_thatMooncakeMayTake_isPassedOn(String address) {
    assertThat(
            ScriptedStore.settings(Map.of(), Map.of("MOONCAKE_MASTER", address))
                .setup()
                .masterServerAddress())
        .isEqualTo(address.strip());
  }

  @ParameterizedTest
  @CsvSource({"tcp,false", "RPC_only,false", "cxl,false", "rdma,true", "ascend,true", "efa,true"})
  void onlyRegistered_isSoOfTransportsThatReachDevices(String protocol, boolean expected) {
    assertThat(ScriptedStore.settings(Map.of("protocol", protocol), Map.of()).onlyRegistered())
        .isEqualTo(expected);
  }

  @Test
  void documentation_namesEverySettingAndItsDefault() throws IOException {
    Map<String, Row> documented = documented();
    assertThat(documented)
        .containsOnlyKeys(MooncakeSettings.OPTIONS.stream().map(Option::name).toList());
    int defaults = 0;
    for (Option<?> option : MooncakeSettings.OPTIONS) {
      Matcher code = CODE.matcher(Objects.requireNonNull(documented.get(option.name())).usual());
      if (code.lookingAt()) {
        defaults++;
        assertThat(Optional.of(option.parse(code.group(1))))
            .as(option.name())
            .isEqualTo(option.defaultValue());
      }
    }
    assertThat(defaults).isGreaterThanOrEqualTo(10);
  }

  @Test
  void documentation_namesEveryVariable() throws IOException {
    Asked environment = new Asked(Map.of("MOONCAKE_MASTER", "m:1"));
    var unused = ScriptedStore.settings(Map.of(), environment);
    Set<String> documented = new TreeSet<>();
    documented().values().forEach(row -> documented.addAll(row.variables()));
    SglangSettingsTest.documented().values().forEach(row -> documented.addAll(row.variables()));
    assertThat(documented).isEqualTo(environment.asked);
  }

  @Test
  void variables_doAsTheirSettings_theFirstFirst() throws IOException {
    int tried = 0;
    for (Map.Entry<String, Row> each : documented().entrySet()) {
      String setting = each.getKey();
      Map<String, String> rest = rest(setting);
      List<String> variables = each.getValue().variables();
      for (int i = 0; i < variables.size(); i++) {
        tried++;
        Map<String, String> environment = new HashMap<>(rest);
        for (String later : variables.subList(i, variables.size())) {
          environment.put(later, valueOf(setting, "54321"));
        }
        String value = valueOf(setting, "12345");
        environment.put(variables.get(i), value);
        assertThat(ScriptedStore.settings(Map.of(), environment))
            .as(variables.get(i))
            .isEqualTo(ScriptedStore.settings(Map.of(setting, value), rest));
        assertThat(outcome(environment)).as(variables.get(i)).isNotEqualTo(outcome(rest));
      }
    }
    assertThat(tried).isGreaterThanOrEqualTo(15);
  }

  /** Returns the variables beside which a setting makes a difference. */
  private static Map<String, String> rest(String setting) {
    return switch (setting) {
      case "enable_ssd_offload" ->
          Map.of("MOONCAKE_MASTER", "m:1", "MOONCAKE_OFFLOAD_FILE_STORAGE_PATH", "/ssd");
      case "ssd_offload_path" ->
          Map.of("MOONCAKE_MASTER", "m:1", "MOONCAKE_ENABLE_SSD_OFFLOAD", "yes");
      default -> Map.of("MOONCAKE_MASTER", "m:1");
    };
  }

  private static Object outcome(Map<String, String> environment) {
    try {
      return ScriptedStore.settings(Map.of(), environment);
    } catch (CacheException e) {
      return String.valueOf(e.getMessage());
    }
  }

  @Test
  void localHostname_environmentBeatsTheFileThatHostsShare() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("shared.json"),
            "{\"master_server_address\": \"m:1\", \"local_hostname\": \"of-the-file\"}");
    Map<String, String> settings = Map.of("config", file.toString());
    assertThat(localHostname(settings, Map.of("OTHER", "x"))).isEqualTo("of-the-file");
    assertThat(localHostname(settings, Map.of("LOCAL_HOSTNAME", "mine"))).isEqualTo("mine");
    assertThat(
            localHostname(
                Map.of("config", file.toString(), "local_hostname", "set"),
                Map.of("LOCAL_HOSTNAME", "mine")))
        .isEqualTo("set");
  }

  private static String localHostname(
      Map<String, String> settings, Map<String, String> environment) {
    return ScriptedStore.settings(settings, environment).setup().localHostname();
  }

  /** Returns a value that a setting takes, which is not its default. */
  private String valueOf(String setting, String number) throws IOException {
    return switch (setting) {
      case "master_server_address", "metadata_server" -> "host:" + number;
      case "global_segment_size" -> number + "0000";
      case "config" ->
          Files.writeString(
                  folder.resolve(number + ".json"),
                  "{\"master_server_address\": \"m:1\", \"device_name\": \"" + number + "\"}")
              .toString();
      case "check_server", "enable_ssd_offload" -> "true";
      default -> number;
    };
  }

  /**
   * What is documented of a setting.
   *
   * @param usual its default, in words that begin with a value if it has one
   */
  private record Row(List<String> variables, String usual) {}

  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| (`[^|]+`) \\| ([^|]*?) ?\\| ([^|]+) \\|$");

  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  /** Returns the table of settings. */
  private static Map<String, Row> documented() throws IOException {
    String text = Files.readString(Path.of("..", "docs", "mooncake.md"));
    int from = text.indexOf("| setting | variable | default |");
    Matcher row = ROW.matcher(text.substring(from, text.indexOf("\n\n", from)));
    Map<String, Row> rows = new TreeMap<>();
    while (row.find()) {
      for (String setting : codes(row.group(1))) {
        rows.put(setting, new Row(codes(row.group(2)), row.group(3)));
      }
    }
    return rows;
  }

  private static List<String> codes(String cell) {
    return CODE.matcher(cell).results().map(match -> match.group(1)).toList();
  }

  /** An environment that notes what it is asked for. */
  private static final class Asked extends AbstractMap<String, String> {
    final Set<String> asked = new TreeSet<>();
    private final Map<String, String> variables;

    Asked(Map<String, String> variables) {
      this.variables = variables;
    }

    @Override
    public @Nullable String get(@Nullable Object variable) {
      asked.add(String.valueOf(variable));
      return variables.get(variable);
    }

    @Override
    public Set<Map.Entry<String, String>> entrySet() {
      return variables.entrySet();
    }
  }
}
