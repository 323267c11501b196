package io.unifiedcache.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.NoSuchElementException;
import org.junit.jupiter.api.Test;

class SettingsTest {
  private static final Option<ByteSize> CAPACITY =
      Option.bytes("capacity", "How much.").withDefault(ByteSize.parse("8GiB"));
  private static final Option<String> PATH = Option.text("path", "Where.").asRequired();
  private static final Option<String> TOKEN = Option.text("token", "The secret.").asSecret();
  private static final List<Option<?>> OPTIONS = List.of(CAPACITY, PATH, TOKEN);

  @Test
  void get_returnsWhatWasSetLast_orTheDefault() {
    Settings settings = Settings.builder(OPTIONS).set(PATH, "/a").parse(PATH, "/b").build();

    assertThat(settings.get(PATH)).isEqualTo("/b");
    assertThat(settings.get(CAPACITY)).isEqualTo(ByteSize.parse("8GiB"));
    assertThat(settings.find(TOKEN)).isEmpty();
    assertThat(settings.isSet(PATH)).isTrue();
    assertThat(settings.isSet(CAPACITY)).isFalse();
    assertThat(settings.options()).containsExactlyElementsOf(OPTIONS);
    assertThatThrownBy(() -> settings.get(TOKEN))
        .isInstanceOf(NoSuchElementException.class)
        .hasMessage("option token has no value");
  }

  @Test
  void toString_masksSecrets() {
    assertThat(Settings.builder(OPTIONS).set(PATH, "/a").set(TOKEN, "hunter2").build())
        .hasToString("{capacity=8GiB, path=/a, token=***}");
  }

  @Test
  void build_withoutRequired_isRefusedAndNamesThem() {
    Option<String> host = Option.text("host", "Whose.").asRequired();

    assertThatThrownBy(() -> Settings.builder(List.of(PATH, CAPACITY, host)).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("required options have no value: [path, host]");
  }

  @Test
  void build_isNotChangedByLaterUseOfTheBuilder() {
    Settings.Builder builder = Settings.builder(OPTIONS).set(PATH, "/a");
    Settings settings = builder.build();
    builder.set(PATH, "/b");

    assertThat(settings.get(PATH)).isEqualTo("/a");
  }

  @Test
  void optionsWithOneName_areRefused() {
    Option<String> other = Option.text("path", "Another.");

    assertThatThrownBy(() -> Settings.builder(List.of(PATH, other)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("two options are called path");
  }

  @Test
  void anotherOptionOfTheSameName_isRefused() {
    Option<String> other = Option.text("path", "Another.");
    Settings settings = Settings.builder(OPTIONS).set(PATH, "/a").build();
    String refusal = "option path is not among [capacity, path, token]";

    assertThatThrownBy(() -> settings.get(other)).hasMessage(refusal);
    assertThatThrownBy(() -> settings.find(other)).hasMessage(refusal);
    assertThatThrownBy(() -> settings.isSet(other)).hasMessage(refusal);
    assertThatThrownBy(() -> settings.only(List.of(other))).hasMessage(refusal);
    assertThatThrownBy(() -> Settings.builder(OPTIONS).set(other, "/a")).hasMessage(refusal);
  }

  @Test
  void parse_badValue_isRefusedWithKeyValueAndForm() {
    assertThatThrownBy(() -> Settings.builder(OPTIONS).parse(CAPACITY, "12 apples"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("capacity: \"12 apples\" is not a size such as 4096, 64KiB, 1.5GiB or 16gb");
  }

  @Test
  void only_keepsWhatWasSetOfSomeOptions() {
    Settings all = Settings.builder(OPTIONS).set(PATH, "/a").set(TOKEN, "t").build();
    Settings some = all.only(List.of(PATH, CAPACITY));

    assertThat(some.options()).containsExactly(PATH, CAPACITY);
    assertThat(some.get(PATH)).isEqualTo("/a");
    assertThat(some.isSet(CAPACITY)).isFalse();
    assertThatThrownBy(() -> some.find(TOKEN)).isInstanceOf(IllegalArgumentException.class);
  }
}
