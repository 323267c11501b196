package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.ByteSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;

/**
 * SGLang's JSON file and variables mean here what they mean to SGLang, as its own code shows where
 * it is installed.
 */
class SglangSettingsTest {
  private static final String PATH = "SGLANG_HICACHE_MOONCAKE_CONFIG_PATH";

  /** What a client is set up with. */
  private record SetUp(
      String localHostname,
      String metadataServer,
      long globalSegmentSize,
      String protocol,
      String deviceName,
      String masterServerAddress,
      String tenant,
      @Nullable String ssdPath,
      boolean checkServer) {}

  /** The ranks of a process. */
  private record Ranks(int tensor, int tensors, int stage, int stages) {}

  private static final Ranks ALONE = new Ranks(0, 1, 0, 1);
  private static final Ranks ONE_OF_FOUR = new Ranks(1, 2, 1, 2);

  /**
   * A file and variables, and what they mean.
   *
   * @param file what the file says beside {@link #FILE}; null if there is none
   * @param variables those beside {@link #VARIABLES}
   * @param expected what differs from {@link #USUAL}
   */
  private record Case(
      String name,
      @Nullable String file,
      Map<String, String> variables,
      Ranks ranks,
      Map<String, Object> expected) {
    @Override
    public String toString() {
      return name;
    }
  }

  /** What every file says: that whose default here is another one, and the master. */
  private static final String FILE =
      "\"master_server_address\": \"m:1\", \"local_hostname\": \"h\", \"protocol\": \"tcp\","
          + " \"global_segment_size\": \"4gb\"";

  /** What variables say where there is no file. */
  private static final Map<String, String> VARIABLES =
      Map.of(
          "MOONCAKE_MASTER",
          "m:1",
          "MOONCAKE_LOCAL_HOSTNAME",
          "h",
          "MOONCAKE_PROTOCOL",
          "tcp",
          "MOONCAKE_GLOBAL_SEGMENT_SIZE",
          "4gb");

  private static final SetUp USUAL =
      new SetUp("h", "P2PHANDSHAKE", 4L << 30, "tcp", "", "m:1", "default", null, false);

  private static final String BY_RANK = "{\"0\": \"mlx5_0\", \"1\": \"mlx5_1,mlx5_2\"}";

  private static Case file(
      String name, String more, Map<String, String> variables, Map<String, Object> expected) {
    return new Case(name, more, variables, ALONE, expected);
  }

  private static Case variables(
      String name, Map<String, String> variables, Map<String, Object> expected) {
    return new Case(name, null, variables, ALONE, expected);
  }

  @SuppressWarnings("UnusedVariable") // By its name.
  private static final List<Case> CASES =
      List.of(
          file("a file", "", Map.of(), Map.of()),
          variables("variables", Map.of(), Map.of()),
          // Variables beside a file.
          file(
              "the file alone says who the master is",
              "",
              Map.of("MOONCAKE_MASTER", "other:2"),
              Map.of()),
          file(
              "metadata_server in the file",
              "\"metadata_server\": \"http://x:8080/metadata\"",
              Map.of("MOONCAKE_TE_META_DATA_SERVER", "http://y:8080/metadata"),
              Map.of("metadataServer", "http://x:8080/metadata")),
          file(
              "metadata_server beside the file",
              "",
              Map.of("MOONCAKE_TE_META_DATA_SERVER", "http://y:8080/metadata"),
              Map.of()),
          variables(
              "metadata_server without a file",
              Map.of("MOONCAKE_TE_META_DATA_SERVER", "http://y:8080/metadata"),
              Map.of("metadataServer", "http://y:8080/metadata")),
          file(
              "local_hostname of the environment",
              "",
              Map.of("MOONCAKE_LOCAL_HOSTNAME", "mine", "LOCAL_HOSTNAME", "other"),
              Map.of("localHostname", "mine")),
          file(
              "local_hostname of the second variable",
              "",
              Map.of("LOCAL_HOSTNAME", "mine"),
              Map.of("localHostname", "mine")),
          file("protocol in the file", "", Map.of("MOONCAKE_PROTOCOL", "efa"), Map.of()),
          file(
              "protocol beside a file that says none",
              "\"protocol\": null",
              Map.of("MOONCAKE_PROTOCOL", "efa"),
              Map.of("protocol", "efa")),
          file("device_name beside the file", "", Map.of("MOONCAKE_DEVICE", "mlx5_9"), Map.of()),
          file(
              "device_name in the file",
              "\"device_name\": \"mlx5_0\"",
              Map.of(),
              Map.of("deviceName", "mlx5_0")),
          variables(
              "device_name without a file",
              Map.of("MOONCAKE_DEVICE", "mlx5_9"),
              Map.of("deviceName", "mlx5_9")),
          // By rank.
          new Case(
              "device_name by rank in the file",
              "\"device_name\": " + new Gson().toJson(BY_RANK),
              Map.of(),
              ONE_OF_FOUR,
              Map.of("deviceName", "mlx5_1,mlx5_2", "globalSegmentSize", 1L << 30)),
          new Case(
              "device_name by rank in the variable",
              null,
              Map.of("MOONCAKE_DEVICE", BY_RANK),
              ONE_OF_FOUR,
              Map.of("deviceName", "mlx5_1,mlx5_2", "globalSegmentSize", 1L << 30)),
          new Case(
              "device_name for a rank that is not in it",
              null,
              Map.of("MOONCAKE_DEVICE", BY_RANK),
              new Ranks(2, 4, 0, 1),
              Map.of("globalSegmentSize", 1L << 30)),
          // Sizes.
          new Case(
              "global_segment_size in bytes, among ranks",
              "\"global_segment_size\": 67108865",
              Map.of("MOONCAKE_GLOBAL_SEGMENT_SIZE", "1gb"),
              new Ranks(0, 2, 0, 1),
              Map.of("globalSegmentSize", 32L << 20)),
          new Case(
              "global_segment_size as text, among ranks",
              null,
              Map.of("MOONCAKE_GLOBAL_SEGMENT_SIZE", "3 GB"),
              new Ranks(2, 3, 0, 1),
              Map.of("globalSegmentSize", 1L << 30)),
          file(
              "global_segment_size of nothing",
              "\"global_segment_size\": \"0\"",
              Map.of(),
              Map.of("globalSegmentSize", 0L)),
          // Flags.
          file("check_server", "\"check_server\": true", Map.of(), Map.of("checkServer", true)),
          file("check_server, 1", "\"check_server\": 1", Map.of(), Map.of("checkServer", true)),
          file("check_server, 0", "\"check_server\": 0.0e5", Map.of(), Map.of()),
          file("check_server, no text", "\"check_server\": \"\"", Map.of(), Map.of()),
          file("check_server beside a file", "", Map.of("MOONCAKE_CHECK_SERVER", "1"), Map.of()),
          variables(
              "check_server, Y", Map.of("MOONCAKE_CHECK_SERVER", "Y"), Map.of("checkServer", true)),
          variables("check_server, no", Map.of("MOONCAKE_CHECK_SERVER", "no"), Map.of()),
          file(
              "standalone_storage beside a file",
              "",
              Map.of("MOONCAKE_STANDALONE_STORAGE", "1"),
              Map.of()),
          file(
              "standalone_storage, not",
              "\"standalone_storage\": false, \"client_server_address\": \"c:2\"",
              Map.of(),
              Map.of()),
          // SSD.
          file(
              "enable_ssd_offload",
              "\"enable_ssd_offload\": true, \"ssd_offload_path\": \"SSD\"",
              Map.of(),
              Map.of("ssdPath", "SSD")),
          variables(
              "enable_ssd_offload by variables",
              Map.of(
                  "MOONCAKE_ENABLE_SSD_OFFLOAD",
                  "true",
                  "MOONCAKE_OFFLOAD_FILE_STORAGE_PATH",
                  "SSD"),
              Map.of("ssdPath", "SSD")),
          file(
              "enable_ssd_offload beside a file",
              "",
              Map.of("MOONCAKE_ENABLE_SSD_OFFLOAD", "1"),
              Map.of()),
          // Tenants.
          file(
              "tenant_id",
              "\"tenant_id\": \" t \"",
              Map.of("MOONCAKE_TENANT_ID", "x"),
              Map.of("tenant", "t")),
          file("tenant_id beside a file", "", Map.of("MOONCAKE_TENANT_ID", "x"), Map.of()),
          file("tenant_id, blank", "\"tenant_id\": \"  \"", Map.of(), Map.of()),
          file("tenant_id, a number", "\"tenant_id\": 7", Map.of(), Map.of("tenant", "7")),
          variables(
              "tenant_id by a variable", Map.of("MOONCAKE_TENANT_ID", "x"), Map.of("tenant", "x")));

  @TempDir Path folder = Path.of("set by JUnit");

  @ParameterizedTest
  @FieldSource("CASES")
  void settings_mean(Case tried) throws IOException {
    assertThat(ours(tried)).isEqualTo(expected(tried));
  }

  @Test
  void settings_meanTheSameToSglang() throws IOException {
    try (OtherPython sglang = sglang()) {
      for (Case tried : CASES) {
        assertThat(theirs(sglang, tried)).as(tried.name).isEqualTo(expected(tried));
      }
    }
  }

  @Test
  void documentation_namesSglangsDefaults() throws IOException {
    SetUp defaults;
    try (OtherPython sglang = sglang()) {
      defaults = setUp(ask(sglang, Map.of("MOONCAKE_MASTER", "m:1"), ALONE));
    }
    Map<String, Row> rows = documented();
    assertThat(rows)
        .containsOnlyKeys(
            "master_server_address",
            "metadata_server",
            "local_hostname",
            "protocol",
            "device_name",
            "global_segment_size",
            "master_metrics_port",
            "check_server",
            "standalone_storage",
            "client_server_address",
            "enable_ssd_offload",
            "ssd_offload_path",
            "tenant_id");
    assertThat(defaults)
        .isEqualTo(
            new SetUp(
                usual(rows, "local_hostname"),
                usual(rows, "metadata_server"),
                ByteSize.parse(usual(rows, "global_segment_size")).bytes(),
                usual(rows, "protocol"),
                "",
                "m:1",
                usual(rows, "tenant_id"),
                null,
                Boolean.parseBoolean(usual(rows, "check_server"))));
  }

  @Test
  void documentation_saysWhatIsReadBesideAFile() throws IOException {
    int besides = 0;
    String file = write("{\"master_server_address\": \"m:1\"}");
    String moving = write("{\"master_server_address\": \"m:1\", \"enable_ssd_offload\": 1}");
    for (Map.Entry<String, Row> row : documented().entrySet()) {
      for (String variable : row.getValue().variables()) {
        // Without objects that are moved, it makes no difference where to.
        String path = row.getKey().equals("ssd_offload_path") ? moving : file;
        boolean isRead =
            !outcome(Map.of(PATH, path, variable, "12345")).equals(outcome(Map.of(PATH, path)));
        besides += isRead ? 1 : 0;
        assertThat(row.getValue().besideFile().equals("not read")).as(variable).isEqualTo(!isRead);
      }
    }
    assertThat(besides).isEqualTo(4);
  }

  private static Object outcome(Map<String, String> environment) {
    try {
      return ours(environment);
    } catch (CacheException e) {
      return String.valueOf(e.getMessage());
    }
  }

  @Test
  void standaloneClient_isRefusedByName() throws IOException {
    String file = "\"standalone_storage\": true, \"client_server_address\": \"c:50052\"";
    assertRefused(
        Map.of(PATH, write("{" + file + "}")),
        "standalone_storage in the file",
        "(c:50052)",
        "a client in another process",
        "is not supported");
    assertRefused(
        Map.of("MOONCAKE_STANDALONE_STORAGE", "1", "MOONCAKE_CLIENT", "c:50052"),
        "standalone_storage in the variable MOONCAKE_STANDALONE_STORAGE",
        "(c:50052)");
    // Whoever sets the master means to join it.
    assertThat(
            ScriptedStore.settings(
                    Map.of("master_server_address", "m:1"),
                    Map.of("MOONCAKE_STANDALONE_STORAGE", "1"))
                .setup()
                .masterServerAddress())
        .isEqualTo("m:1");
  }

  @Test
  void whatSglangWarnsOfOrMistakes_isRefused() throws IOException {
    assertRefused(
        Map.of(PATH, write("{" + FILE + ", \"check_server\": \"false\"}")),
        "check_server in the file",
        "\"false\" is text, which SGLang takes for true");
    assertRefused(
        Map.of(PATH, write("{" + FILE + ", \"check_server\": {}}")), "neither true nor false");
    assertRefused(
        Map.of("MOONCAKE_MASTER", "m:1", "MOONCAKE_CHECK_SERVER", "on"),
        "check_server in the variable MOONCAKE_CHECK_SERVER",
        "\"on\" is neither true nor false");
    assertRefused(
        Map.of("MOONCAKE_MASTER", "m:1", "MOONCAKE_DEVICE", "{oops"),
        "device_name begins as a map of ranks, and is no JSON");
    assertRefused(
        Map.of("MOONCAKE_MASTER", "m:1", "MOONCAKE_DEVICE", "{\"0\": 5}"),
        "device_name names for rank 0 no text, but 5");
    assertRefused(
        Map.of(PATH, write("{" + FILE + ", \"protocol\": [\"tcp\"]}")),
        "protocol in the file",
        "not one value");
    assertRefused(Map.of(PATH, write("{" + FILE + "} {}")), "is no JSON");
    assertRefused(Map.of(PATH, write("[]")), "holds no JSON object");
    assertRefused(Map.of(PATH, write("{master_server_address: 'm:1'}")), "is no JSON");
    assertRefused(
        Map.of(PATH, write("{\"protocol\": \"tcp\"}"), "MOONCAKE_MASTER", "m:1"),
        "master_server_address has no value",
        "beside a file the variable MOONCAKE_MASTER is not read");
  }

  @Test
  void deviceNameByRank_withoutARank_asksForIt() {
    assertThatThrownBy(
            () ->
                ScriptedStore.settings(
                    Map.of(), Map.of("MOONCAKE_MASTER", "m:1", "MOONCAKE_DEVICE", BY_RANK)))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessage(
            "device_name names devices by rank: set rank to the tensor-parallel rank of this"
                + " process, or device_name to its devices");
  }

  @Test
  void segmentAmongRanks_tooSmallForEach_namesWhatIsEnough() {
    assertThatThrownBy(
            () ->
                ScriptedStore.settings(
                    Map.of("ranks", "8", "global_segment_size", "64MiB"), Map.of()))
        .hasMessageContainingAll("8388608 bytes for each of 8 ranks", "at least 128MiB");
  }

  @Test
  void ssdWithoutADirectory_andACheckWithoutAHost_areRefused() {
    assertThatThrownBy(() -> ScriptedStore.settings(Map.of("enable_ssd_offload", "true"), Map.of()))
        .hasMessageContaining("enable_ssd_offload needs ssd_offload_path");
    assertThatThrownBy(
            () ->
                ScriptedStore.settings(
                    Map.of("check_server", "true", "master_server_address", "etcd://a:1"),
                    Map.of()))
        .hasMessageContaining("check_server asks the master's HTTP interface");
  }

  private String write(String content) throws IOException {
    return Files.writeString(Files.createTempFile(folder, "sglang", ".json"), content).toString();
  }

  private static void assertRefused(Map<String, String> environment, String... texts) {
    assertThatThrownBy(() -> ours(environment))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContainingAll(texts);
  }

  // What a case means.

  private static SetUp expected(Case tried) {
    Map<String, Object> all = new TreeMap<>(tried.expected);
    return new SetUp(
        (String) all.getOrDefault("localHostname", USUAL.localHostname),
        (String) all.getOrDefault("metadataServer", USUAL.metadataServer),
        (long) all.getOrDefault("globalSegmentSize", USUAL.globalSegmentSize),
        (String) all.getOrDefault("protocol", USUAL.protocol),
        (String) all.getOrDefault("deviceName", USUAL.deviceName),
        USUAL.masterServerAddress,
        (String) all.getOrDefault("tenant", USUAL.tenant),
        (String) all.get("ssdPath"),
        (boolean) all.getOrDefault("checkServer", USUAL.checkServer));
  }

  /** Returns the variables of a case, and makes its file. */
  private Map<String, String> environment(Case tried) throws IOException {
    Map<String, String> all = new TreeMap<>();
    if (tried.file == null) {
      all.putAll(VARIABLES);
    } else {
      JsonObject content = JsonParser.parseString("{" + FILE + "}").getAsJsonObject();
      JsonParser.parseString("{" + tried.file + "}")
          .getAsJsonObject()
          .entrySet()
          .forEach(entry -> content.add(entry.getKey(), entry.getValue()));
      // Nothing is said, then.
      content.entrySet().removeIf(entry -> entry.getValue().isJsonNull());
      all.put(PATH, write(content.toString().replace("\"SSD\"", "\"" + ssd() + "\"")));
    }
    all.putAll(tried.variables);
    all.replaceAll((variable, value) -> value.equals("SSD") ? ssd() : value);
    return all;
  }

  private String ssd() {
    return folder.resolve("ssd").toString();
  }

  private SetUp ours(Case tried) throws IOException {
    Ranks ranks = tried.ranks;
    SetUp all =
        shown(
            ScriptedStore.settings(
                Map.of(
                    "rank",
                    Integer.toString(ranks.tensor),
                    "ranks",
                    Integer.toString(ranks.tensors * ranks.stages)),
                environment(tried)));
    return ssd().equals(all.ssdPath) ? withSsd(all) : all;
  }

  private static SetUp ours(Map<String, String> environment) {
    return shown(ScriptedStore.settings(Map.of("rank", "0"), environment));
  }

  private static SetUp withSsd(SetUp all) {
    return new SetUp(
        all.localHostname,
        all.metadataServer,
        all.globalSegmentSize,
        all.protocol,
        all.deviceName,
        all.masterServerAddress,
        all.tenant,
        "SSD",
        all.checkServer);
  }

  private static SetUp shown(MooncakeSettings settings) {
    ClientSetup setup = settings.setup();
    return new SetUp(
        setup.localHostname(),
        setup.metadataServer(),
        setup.globalSegmentSize(),
        setup.protocol(),
        setup.deviceName(),
        setup.masterServerAddress(),
        setup.tenant().isEmpty() ? "default" : setup.tenant(),
        setup.ssdPath(),
        settings.checkServer());
  }

  // What SGLang makes of it.

  private OtherPython sglang() throws IOException {
    String python = System.getenv("SGLANG_PYTHON");
    String none = "SGLANG_PYTHON names no Python with SGLang";
    assertThat(python != null || System.getenv("DEMAND_SGLANG") == null).as(none).isTrue();
    Assumptions.assumeTrue(python != null, none);
    return OtherPython.start(
        Path.of(String.valueOf(python)), folder, folder, "sglang_setup.py", List.of());
  }

  private SetUp theirs(OtherPython sglang, Case tried) throws IOException {
    SetUp all = setUp(ask(sglang, environment(tried), tried.ranks));
    if (all.ssdPath == null) {
      return all;
    }
    assertThat(all.ssdPath).startsWith(ssd());
    return withSsd(all);
  }

  private static JsonObject ask(OtherPython sglang, Map<String, String> environment, Ranks ranks) {
    Map<String, Object> question = new LinkedHashMap<>();
    question.put("env", environment);
    question.put("tp_rank", ranks.tensor);
    question.put("tp_size", ranks.tensors);
    question.put("pp_rank", ranks.stage);
    question.put("pp_size", ranks.stages);
    return JsonParser.parseString(sglang.ask(new Gson().toJson(question))).getAsJsonObject();
  }

  private static SetUp setUp(JsonObject answer) {
    assertThat(answer.has("setup")).as(answer.toString()).isTrue();
    JsonArray setup = answer.getAsJsonArray("setup");
    JsonObject named = answer.getAsJsonObject("named");
    boolean moved =
        named.has("enable_ssd_offload") && named.get("enable_ssd_offload").getAsBoolean();
    return new SetUp(
        setup.get(0).getAsString(),
        setup.get(1).getAsString(),
        setup.get(2).getAsLong(),
        setup.get(4).getAsString(),
        setup.get(5).getAsString(),
        setup.get(6).getAsString(),
        named.has("tenant_id") ? named.get("tenant_id").getAsString() : "default",
        moved && named.has("ssd_offload_path") ? named.get("ssd_offload_path").getAsString() : null,
        answer.get("check_server").getAsBoolean());
  }

  // What is documented.

  /** A row of the table of SGLang's settings. */
  record Row(List<String> variables, String besideFile, String usual) {}

  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| `([a-z_]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\| [^|]+ \\|$");

  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  /** Returns the table of SGLang's settings, by their names. */
  static Map<String, Row> documented() throws IOException {
    String text = Files.readString(Path.of("..", "docs", "mooncake.md"));
    int from = text.indexOf("| in SGLang's JSON | variable |");
    Matcher row = ROW.matcher(text.substring(from, text.indexOf("\n\n", from)));
    Map<String, Row> rows = new TreeMap<>();
    while (row.find()) {
      rows.put(row.group(1), new Row(codes(row.group(2)).toList(), row.group(3), row.group(4)));
    }
    return rows;
  }

  private static Stream<String> codes(String cell) {
    return CODE.matcher(cell).results().map(match -> match.group(1));
  }

  private static String usual(Map<String, Row> rows, String name) {
    Row row = rows.get(name);
    assertThat(row).as(name).isNotNull();
    List<String> codes = new ArrayList<>(codes(row.usual()).toList());
    assertThat(codes).as(name).hasSize(1);
    return codes.getFirst();
  }
}
