package io.unifiedcache.linker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.assertj.core.api.ListAssert;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsSourcesTest {
  private static final String SIZE = "a size such as 4096, 64KiB, 1.5GiB or 16gb";

  private static final Option<ByteSize> CAPACITY =
      Option.bytes("capacity", "How much.").withDefault(ByteSize.parse("1GiB"));
  private static final Option<String> HOST =
      Option.text("local_hostname", "Whose.").withDefault("here");
  private static final Option<Long> THREADS =
      Option.number("linker.offload-threads", "How many.", 1, 64).withDefault(2L);
  private static final Option<Long> PIN = Option.number("pin", "The secret.", 0, 9).asSecret();
  private static final List<Option<?>> OPTIONS = List.of(CAPACITY, HOST, THREADS, PIN);

  private final Path folder;

  SettingsSourcesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Path file(String name, String text) {
    try {
      return Files.writeString(folder.resolve(name), text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static ListAssert<String> assertProblems(
      SettingsSources sources, List<Option<?>> options) {
    SettingsException refusal =
        catchThrowableOfType(SettingsException.class, () -> sources.resolve(options));
    assertThat(refusal.code()).isEqualTo(FailureCode.REFUSED);
    assertThat(refusal.getMessage()).contains(refusal.problems()).doesNotContain("\n");
    return assertThat(refusal.problems());
  }

  @Test
  void resolve_withoutSources_givesTheDefaults() {
    Settings settings = SettingsSources.none().resolve(OPTIONS);

    assertThat(settings.get(CAPACITY)).isEqualTo(ByteSize.parse("1GiB"));
    assertThat(settings.isSet(CAPACITY)).isFalse();
    assertThat(settings.find(PIN)).isEmpty();
    assertThat(settings.options()).containsExactlyElementsOf(OPTIONS);
  }

  @Test
  void resolve_strongerSourceWins_whateverTheOrderOfCalls() {
    Path first = file("first", "capacity=2\nlocal_hostname=first\nlinker.offload-threads=2\npin=2");
    Path second = file("second", "local_hostname=second\nlinker.offload-threads=3\npin=3");
    Map<String, String> environment =
        Map.of("UNIFIED_CACHE_LINKER_OFFLOAD_THREADS", "4", "UNIFIED_CACHE_PIN", "4");

    Settings settings =
        SettingsSources.none()
            .commandLine(List.of("pin=5"))
            .environment(environment)
            .file(first)
            .file(second)
            .program(Map.of("capacity", "1", "local_hostname", "program", "pin", "1"))
            .resolve(OPTIONS);

    assertThat(settings.get(CAPACITY)).isEqualTo(new ByteSize(2));
    assertThat(settings.get(HOST)).isEqualTo("second");
    assertThat(settings.get(THREADS)).isEqualTo(4);
    assertThat(settings.get(PIN)).isEqualTo(5);
  }

  @Test
  void resolve_valuesOfTheProgram_winOverDefaults() {
    assertThat(SettingsSources.of(Map.of("capacity", "4 gb")).resolve(OPTIONS).get(CAPACITY))
        .isEqualTo(new ByteSize(1L << 32));
  }

  @Test
  void sources_areNotChangedByAdding() {
    SettingsSources one = SettingsSources.of(Map.of("pin", "1"));
    var unused = one.program(Map.of("pin", "2")).commandLine(List.of("pin=3"));

    assertThat(one.resolve(OPTIONS).get(PIN)).isEqualTo(1);
  }

  @Test
  void resolve_mistakesOfAllSources_areReportedAtOnceAndInOrder() {
    Option<String> path = Option.text("path", "Where.").asRequired();
    Option<Long> port = Option.number("port", "Which.", 1, 9).asRequired();
    Path file = file("uc.properties", "# note\ncapasity = 1\n\ncapacity = 12 apples\n");
    SettingsSources sources =
        SettingsSources.of(Map.of("capacity", "NaN"))
            .file(file)
            .environment(Map.of("UNIFIED_CACHE_PORT", "x", "UNIFIED_CACHE_THREADS", "1"))
            .commandLine(List.of("offload-threads=1", "zebra=1", "local_hostname"));

    assertProblems(sources, List.of(CAPACITY, HOST, THREADS, path, port))
        .containsExactly(
            "program: capacity: \"NaN\" is not " + SIZE,
            file + ":2: unknown key \"capasity\"; did you mean \"capacity\"?",
            file + ":4: capacity: \"12 apples\" is not " + SIZE,
            "environment variable UNIFIED_CACHE_PORT: port: \"x\" is not a whole number from 1 to"
                + " 9",
            "unknown environment variable UNIFIED_CACHE_THREADS; known are UNIFIED_CACHE_CAPACITY,"
                + " UNIFIED_CACHE_LOCAL_HOSTNAME, UNIFIED_CACHE_LINKER_OFFLOAD_THREADS,"
                + " UNIFIED_CACHE_PATH, UNIFIED_CACHE_PORT",
            "command line: unknown key \"offload-threads\"; did you mean"
                + " \"linker.offload-threads\"?",
            "command line: unknown key \"zebra\"; known are \"capacity\", \"local_hostname\","
                + " \"linker.offload-threads\", \"path\", \"port\"",
            "command line: setting 3 is not of the form key=value",
            "required key \"path\" has no value: Where. (text)");
  }

  @Test
  void message_countsTheMistakes() {
    assertThat(new SettingsException(List.of("a"))).hasMessage("1 mistake in the settings: a");
    assertThat(new SettingsException(List.of("a", "b")))
        .hasMessage("2 mistakes in the settings: a; b");
    assertThatThrownBy(() -> new SettingsException(List.of()))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void resolve_badValueThatAStrongerSourceReplaces_isStillAMistake() {
    assertProblems(
            SettingsSources.of(Map.of("capacity", "-1")).commandLine(List.of("capacity=1")),
            OPTIONS)
        .containsExactly("program: capacity: \"-1\" is not " + SIZE);
  }

  @Test
  void resolve_secrets_areInNoMessageNorCause() {
    Path file = file("secrets", "pin=hunter2\n");
    SettingsSources sources =
        SettingsSources.of(Map.of("pin", "hunter2", "pim", "hunter2"))
            .file(file)
            .environment(Map.of("UNIFIED_CACHE_PIN", "hunter2", "UNIFIED_CACHE_PIM", "hunter2"))
            .commandLine(List.of("pin=hunter2", "pin hunter2", "hunter2", "pim=hunter2"));

    assertThatThrownBy(() -> sources.resolve(OPTIONS))
        .satisfies(
            e -> {
              StringWriter trace = new StringWriter();
              e.printStackTrace(new PrintWriter(trace));
              assertThat(trace.toString()).doesNotContain("hunter2").contains("pin: *** is not");
            })
        .isInstanceOfSatisfying(SettingsException.class, e -> assertThat(e.problems()).hasSize(9));
  }

  @Test
  void file_thatCannotBeRead_isAMistakeAmongTheOthers() throws IOException {
    Path absent = folder.resolve("absent");
    Path latin =
        Files.write(folder.resolve("latin"), "path=ü".getBytes(StandardCharsets.ISO_8859_1));

    assertProblems(
            SettingsSources.none().file(absent).file(latin).file(folder).commandLine(List.of("x")),
            OPTIONS)
        .satisfiesExactly(
            problem -> assertThat(problem).isEqualTo(absent + ": there is no such file"),
            problem -> assertThat(problem).isEqualTo(latin + ": the file is not in UTF-8"),
            problem -> assertThat(problem).startsWith(folder + ": the file cannot be read: "),
            problem -> assertThat(problem).startsWith("command line: setting 1"));
  }

  @Test
  void file_isReadAsUtf8_withOrWithoutByteOrderMark() {
    Path file = file("marked", "\uFEFFlocal_hostname=höst ✓\n");

    assertThat(SettingsSources.none().file(file).resolve(OPTIONS).get(HOST)).isEqualTo("höst ✓");
  }

  @Test
  void file_withAKeyTwice_isAMistakeThatNamesBothLines() {
    Path file = file("twice", "pin=1\n\npin=2\n");

    assertProblems(SettingsSources.none().file(file), OPTIONS)
        .containsExactly(file + ":3: key \"pin\" is on line 1 already");
  }

  @Test
  void file_withAMalformedEscape_isAMistake() {
    Path file = file("escape", "pin=1\nlocal_hostname=\\u00g0\n");

    assertProblems(SettingsSources.none().file(file), OPTIONS)
        .containsExactly(file + ":2: a \\u escape does not have four hexadecimal digits");
  }

  @Test
  void commandLine_laterAssignmentWins() {
    SettingsSources sources =
        SettingsSources.none()
            .commandLine(List.of("pin=1", "local_hostname=a=b", "pin=2"))
            .commandLine(List.of(" pin =3"));

    assertThat(sources.resolve(OPTIONS).get(PIN)).isEqualTo(3);
    assertThat(sources.resolve(OPTIONS).get(HOST)).isEqualTo("a=b");
  }

  @Test
  void environment_ofOthersAndOfTheLauncher_isIgnored() {
    Map<String, String> environment =
        Map.of(
            "PATH", "/bin",
            "UNIFIED_CACHE", "x",
            "unified_cache_pin", "7",
            "UNIFIED_CACHE_PLUGINS", "/plugins",
            "UNIFIED_CACHE_JAVA_OPTS", "-Xmx1g",
            "UNIFIED_CACHE_LOCAL_HOSTNAME", "there");

    Settings settings = SettingsSources.none().environment(environment).resolve(OPTIONS);
    assertThat(settings.get(HOST)).isEqualTo("there");
    assertThat(settings.find(PIN)).isEmpty();
  }

  /** What a container gets beside a service of two ports, and beside one with another name. */
  private static Map<String, String> kubernetes() {
    Map<String, String> variables = new TreeMap<>();
    variables.put("UNIFIED_CACHE_SERVICE_HOST", "10.96.14.3");
    variables.put("UNIFIED_CACHE_SERVICE_PORT", "80");
    variables.put("UNIFIED_CACHE_SERVICE_PORT_HTTP_METRICS", "9100");
    variables.put("UNIFIED_CACHE_PORT", "tcp://10.96.14.3:80");
    variables.put("UNIFIED_CACHE_PORT_80_TCP", "tcp://10.96.14.3:80");
    variables.put("UNIFIED_CACHE_PORT_80_TCP_PROTO", "tcp");
    variables.put("UNIFIED_CACHE_PORT_80_TCP_PORT", "80");
    variables.put("UNIFIED_CACHE_PORT_80_TCP_ADDR", "10.96.14.3");
    variables.put("UNIFIED_CACHE_PORT_9100_UDP", "udp://10.96.14.3:9100");
    variables.put("UNIFIED_CACHE_PORT_9100_UDP_PROTO", "udp");
    variables.put("UNIFIED_CACHE_PORT_9100_UDP_PORT", "9100");
    variables.put("UNIFIED_CACHE_PORT_9100_UDP_ADDR", "10.96.14.3");
    variables.put("UNIFIED_CACHE_MASTER_SERVICE_HOST", "fd00::a");
    variables.put("UNIFIED_CACHE_MASTER_SERVICE_PORT", "50051");
    variables.put("UNIFIED_CACHE_MASTER_PORT", "tcp://[fd00::a]:50051");
    variables.put("UNIFIED_CACHE_MASTER_PORT_50051_TCP", "tcp://[fd00::a]:50051");
    variables.put("UNIFIED_CACHE_MASTER_PORT_50051_TCP_ADDR", "fd00::a");
    return variables;
  }

  @Test
  void environment_besideAKubernetesService_isIgnored() {
    Map<String, String> environment = kubernetes();
    environment.put("UNIFIED_CACHE_LOCAL_HOSTNAME", "there");

    Settings settings = SettingsSources.none().environment(environment).resolve(OPTIONS);

    assertThat(settings.get(HOST)).isEqualTo("there");
    assertThat(settings.isSet(CAPACITY)).isFalse();
  }

  @Test
  void environment_serviceVariableWithTheNameOfAnOption_isASettingIfTheOptionTakesIt() {
    Option<Long> port = Option.number("port", "A port.", 1, 65_535).withDefault(1L);
    Option<Long> servicePort = Option.number("service-port", "One.", 1, 65_535).withDefault(1L);

    Settings settings =
        SettingsSources.none().environment(kubernetes()).resolve(List.of(port, servicePort));

    assertThat(settings.get(port)).isEqualTo(1);
    assertThat(settings.get(servicePort)).isEqualTo(80);
    assertProblems(
            SettingsSources.none().environment(Map.of("UNIFIED_CACHE_PORT", "eighty")),
            List.of(port))
        .containsExactly(
            "environment variable UNIFIED_CACHE_PORT: port: \"eighty\" is not a whole number from 1"
                + " to 65535");
  }

  /** Names like those of Kubernetes with other values, and its values under other names. */
  @ParameterizedTest
  @CsvSource({
    "UNIFIED_CACHE_PORT, 80",
    "UNIFIED_CACHE_PORT, tcp://10.0.0.1:80/",
    "UNIFIED_CACHE_PORT, tcp://10.0.0.1:80000",
    "UNIFIED_CACHE_PORT, http://10.0.0.1:80",
    "UNIFIED_CACHE_PORT, tcp://store:80",
    "UNIFIED_CACHE_PORTS, tcp://10.0.0.1:80",
    "UNIFIED_CACHE_HOST, 10.0.0.1",
    "UNIFIED_CACHE_SERVICE_HOST, /var/cache",
    "UNIFIED_CACHE_SERVICE_HOSTS, 10.0.0.1",
    "UNIFIED_CACHE_SERVICE_PORT, 80000",
    "UNIFIED_CACHE_SERVICE_PORT_HTTP, http",
    "UNIFIED_CACHE_PORT_80_TCP, tcp://10.0.0.1:81",
    "UNIFIED_CACHE_PORT_80_TCP, udp://10.0.0.1:80",
    "UNIFIED_CACHE_PORT_80_TCP_PROTO, udp",
    "UNIFIED_CACHE_PORT_80_TCP_PORT, 81",
    "UNIFIED_CACHE_PORT_80_TCP_ADDR, eighty",
    "UNIFIED_CACHE_PORT_80_TCP_HOST, 10.0.0.1",
    "UNIFIED_CACHE_ROOTT, 10.0.0.1"
  })
  void environment_almostOfAKubernetesService_isAMistake(String variable, String value) {
    assertProblems(SettingsSources.none().environment(Map.of(variable, value)), OPTIONS)
        .singleElement()
        .asString()
        .startsWith("unknown environment variable " + variable + "; ");
  }

  @Test
  void file_thatNeverEnds_isAMistake() {
    Path endless = Path.of("/dev/zero");
    assumeThat(endless).exists();

    assertProblems(SettingsSources.none().file(endless), OPTIONS)
        .containsExactly(
            endless
                + ": the file cannot be read: java.io.IOException: it has more than 1048576 bytes");
  }

  @Test
  void environment_unknownVariable_isAMistakeWithTheNearest() {
    assertProblems(
            SettingsSources.none()
                .environment(Map.of("UNIFIED_CACHE_CAPASITY", "1", "UNIFIED_CACHE_", "1")),
            List.of(CAPACITY))
        .containsExactly(
            "unknown environment variable UNIFIED_CACHE_; known are UNIFIED_CACHE_CAPACITY",
            "unknown environment variable UNIFIED_CACHE_CAPASITY; did you mean"
                + " UNIFIED_CACHE_CAPACITY?");
  }

  @Test
  void options_thatClash_areRefusedEvenIfNoneIsSet() {
    Option<String> dashed = Option.text("local-hostname", "Another.");
    Option<String> again = Option.text("capacity", "Another.");
    Option<String> plugins = Option.text("plugins", "Another.");

    assertProblems(SettingsSources.none(), List.of(CAPACITY, HOST, dashed, again, plugins))
        .containsExactly(
            "options \"local_hostname\" and \"local-hostname\" have the same environment variable"
                + " UNIFIED_CACHE_LOCAL_HOSTNAME",
            "two options are called \"capacity\"",
            "option \"plugins\" has the environment variable UNIFIED_CACHE_PLUGINS, which is the"
                + " launcher's");
  }

  @Test
  void linkerOptions_haveDefaultsAndClashWithNothing() {
    Settings settings = SettingsSources.none().resolve(UnifiedCache.linkerOptions());

    assertThat(settings.options()).allMatch(option -> option.defaultValue().isPresent());
  }

  @Test
  void texts_areThoseOfTheStrongestSource() {
    Option<String> secret = Option.text("secret", "A secret.").asSecret();
    Option<Long> number = Option.number("number", "A number.", 0, 9).withDefault(1L);
    Option<Long> unset = Option.number("unset", "A number.", 0, 9).withDefault(1L);
    SettingsSources sources =
        SettingsSources.of(Map.of("number", "2", "secret", "sesame"))
            .environment(Map.of("UNIFIED_CACHE_NUMBER", " 3"));

    assertThat(sources.texts(List.of(secret, number, unset)))
        .containsExactlyInAnyOrderEntriesOf(Map.of("secret", "sesame", "number", " 3"));
  }

  @Test
  void texts_refuseWhatResolveRefuses() {
    Option<Long> number = Option.number("number", "A number.", 0, 9).asRequired();

    assertThatThrownBy(() -> SettingsSources.none().texts(List.of(number)))
        .isInstanceOf(SettingsException.class)
        .hasMessageContaining("number");
  }
}
