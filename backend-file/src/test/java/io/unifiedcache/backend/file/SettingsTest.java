package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings that cannot work, and stores that cannot serve by them, say so. */
class SettingsTest {
  @TempDir Path folder = Path.of("set by JUnit");

  private static Settings settings(String root, Map<String, String> more) {
    FileStoreProvider provider = new FileStoreProvider();
    Settings.Builder builder = Settings.builder(provider.options());
    builder.parse(FileStoreProvider.ROOT, root);
    provider
        .options()
        .forEach(
            option -> {
              String text = more.get(option.name());
              if (text != null) {
                builder.parse(option, text);
              }
            });
    return builder.build();
  }

  private static CacheStore open(Path root, Map<String, String> more) {
    return FileStoreProvider.open(
        new LocalDisk(), settings(root.toString(), more), StoreContext.of("settings-test"));
  }

  @Test
  void root_thatIsNoPath_isAMistake() {
    for (String root : List.of("", "  ", "a\0b")) {
      assertThatThrownBy(() -> settings(root, Map.of()))
          .as("root=" + root)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("not empty, without NUL");
    }
  }

  @Test
  void segment_belowTheLeast_isAMistakeAndNotRaised() {
    assertThatThrownBy(() -> settings("store", Map.of("segment", "1MiB")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("from 4MiB");
    assertThat(settings("store", Map.of("segment", "4MiB")).get(FileStoreProvider.SEGMENT).bytes())
        .isEqualTo(4 << 20);
  }

  @Test
  void root_thatCanNeverBeADirectory_isRefused() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "text");
    Path foreign = Files.createDirectory(folder.resolve("foreign"));
    Files.writeString(foreign.resolve("letter.txt"), "dear");
    for (Map<String, String> format :
        List.of(Map.of("format", "sglang"), Map.<String, String>of())) {
      for (Path root :
          List.of(
              file,
              file.resolve("below"),
              file.resolve("below").resolve("that"),
              folder.resolve("n".repeat(300)),
              folder.resolve("n".repeat(300)).resolve("below"))) {
        assertRefused(root, format);
      }
    }
    assertRefused(foreign, Map.of());
    assertThat(file).hasContent("text");
  }

  private static void assertRefused(Path root, Map<String, String> options) {
    assertThatThrownBy(() -> open(root, options))
        .as(options + " " + root)
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContaining(root.toString());
  }

  @Test
  void root_thatMayBeThereLater_isNotRefused() throws IOException {
    Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("not-yet"));
    assertThatThrownBy(() -> open(link, Map.of()))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.IO));
    Files.createDirectory(folder.resolve("not-yet"));
    open(link, Map.of()).close();
  }

  @Test
  void probe_ofADiskWithoutRoom_isNotUp() {
    Map<String, String> none = Map.of("min-free", "1024TiB");
    for (Map<String, String> options :
        List.of(none, Map.of("min-free", "1024TiB", "format", "sglang"))) {
      Path root = folder.resolve("store-" + options.size());
      try (CacheStore store = open(root, options)) {
        assertThat(Stores.describe(Stores.put(store, "key", new byte[10])))
            .startsWith("FAILED NO_SPACE");
        StoreHealth health = store.probe(Stores.soon());
        assertThat(health.state()).isEqualTo(StoreHealth.State.DOWN);
        assertThat(health.detail()).contains("min-free");
      }
      Map<String, String> enough = new HashMap<>(options);
      enough.put("min-free", "0");
      try (CacheStore store = open(root, enough)) {
        Stores.putOk(store, "key", new byte[10]);
        assertThat(store.probe(Stores.soon()).state()).isEqualTo(StoreHealth.State.UP);
      }
    }
  }

  @Test
  void probe_ofADiskWithoutRoom_isUpWhereObjectsCanReplaceOthers() {
    Path root = folder.resolve("store");
    TestDisk disk = new TestDisk();
    try (FileStore store = Stores.open(disk, root, Map.of("min-free", "1MiB"))) {
      Stores.putOk(store, "key", new byte[100_000]);
      disk.room = 50_000;
      assertThat(store.probe(Stores.soon()).state()).isEqualTo(StoreHealth.State.UP);
      Stores.putOk(store, "next", new byte[100_000]);
    }
  }

  /** Stores an object with a name that is not ASCII. */
  static final class Elsewhere {
    private Elsewhere() {}

    public static void main(String[] arguments) {
      try (CacheStore store = open(Path.of(arguments[0]), Map.of("format", "sglang"))) {
        Stores.say(Stores.describe(Stores.put(store, "plain", new byte[10])));
        Stores.say(Stores.describe(Stores.put(store, "modèle", new byte[10])));
        Stores.say(Stores.describe(Stores.put(store, "n".repeat(300), new byte[10])));
      }
      try {
        FileStoreProvider.open(
                new LocalDisk(),
                settings(arguments[0] + "-dépôt", Map.of()),
                StoreContext.of("elsewhere"))
            .close();
        Stores.say("open");
      } catch (CacheException e) {
        Stores.say(e.code() + " " + e.getMessage());
      }
    }
  }

  @Test
  void names_thatTheLocaleCannotWrite_areToldApartFromLongOnes() throws IOException {
    try (Child child =
        Child.startWithin("LC_ALL=C; export LC_ALL", Elsewhere.class, folder.resolve("hicache"))) {
      assertThat(child.line()).isEqualTo("OK");
      assertThat(child.line())
          .startsWith("FAILED REFUSED")
          .contains("LC_ALL=C.UTF-8")
          .doesNotContain("255");
      assertThat(child.line()).startsWith("FAILED REFUSED").contains("255");
      assertThat(child.line()).startsWith("REFUSED root=").contains("LC_ALL=C.UTF-8");
    }
    try (Child child =
        Child.startWithin(
            "LC_ALL=C.UTF-8; export LC_ALL", Elsewhere.class, folder.resolve("hicache"))) {
      assertThat(child.line()).isEqualTo("PRESENT");
      assertThat(child.line()).isEqualTo("OK");
      assertThat(child.line()).startsWith("FAILED REFUSED").contains("255");
      assertThat(child.line()).isEqualTo("open");
    }
  }
}
