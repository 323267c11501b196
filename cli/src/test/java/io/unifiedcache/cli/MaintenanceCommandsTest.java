package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands of operators, {@code verify} and {@code stat}. */
class MaintenanceCommandsTest {
  @TempDir Path folder = Path.of("");

  private String root() {
    return "root=" + folder.resolve("store");
  }

  /** Leaves some pages of 1 KiB, as keys and values, in a store. */
  private void fill() {
    CommandRun run =
        CommandRun.of(
            "replay",
            "--requests",
            "5",
            "--page-bytes",
            "1KiB",
            "--backend",
            "file",
            "-o",
            root(),
            "-o",
            "min-free=0");
    assertThat(run.status()).as(run.err()).isZero();
  }

  private CommandRun run(String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(List.of("--backend", "file", "-o", root()));
    return CommandRun.of(all);
  }

  @Test
  void verify_ofASoundStore_findsNothing() {
    fill();

    CommandRun run = run("verify");

    assertThat(run.err()).isEmpty();
    assertThat(run.out())
        .containsPattern("verified  [0-9,]+ objects, [0-9,]+ bytes")
        .contains("findings  0")
        .doesNotContain("unproven");
    assertThat(run.status()).isZero();
  }

  @Test
  void verify_ofADamagedObject_namesItAndRepairSetsItAside() throws IOException {
    fill();
    Path segment = folder.resolve("store/segment-000001");
    try (RandomAccessFile file = new RandomAccessFile(segment.toFile(), "rw")) {
      file.seek(3);
      file.write('x');
    }

    CommandRun found = run("verify");
    assertThat(found.status()).isEqualTo(1);
    assertThat(found.out())
        .containsPattern("CORRUPT: uc2_.*: its header is damaged")
        .contains("findings  1; --repair sets damaged objects aside");

    CommandRun repaired = run("verify", "--repair");
    assertThat(repaired.status()).isEqualTo(1);
    assertThat(repaired.out()).containsPattern("CORRUPT, set aside: uc2_.*kept as .*damaged-");

    assertThat(run("verify").status()).isZero();
    assertThat(run("stat").out()).containsPattern("set aside +2 files");
  }

  @ParameterizedTest
  @ValueSource(strings = {"index-0000000001.log", "unified-cache.store"})
  void verify_ofAStoreWithoutAnIndexOrSuperblock_saysHowManyComeBack(String file)
      throws IOException {
    fill();
    String sound = run("verify").out().replaceAll("(?s)verified  ([0-9,]+ objects).*", "$1");
    try (RandomAccessFile damaged =
        new RandomAccessFile(folder.resolve("store").resolve(file).toFile(), "rw")) {
      damaged.write(new byte[48]);
    }

    CommandRun found = run("verify");
    assertThat(found.err()).isEmpty();
    assertThat(found.status()).isEqualTo(1);
    assertThat(found.out())
        .contains("CORRUPT: the store: ")
        .contains("can be brought back by a repair")
        .contains("findings  1; --repair sets damaged objects aside and rebuilds a lost index");

    CommandRun repaired = run("verify", "--repair");
    assertThat(repaired.err()).isEmpty();
    assertThat(repaired.status()).isEqualTo(1);
    assertThat(repaired.out())
        .contains("CORRUPT, mended: the store: ")
        .contains("were brought back")
        .contains("verified  " + sound);

    assertThat(run("verify").status()).isZero();
  }

  @Test
  void verify_ofObjectsWithoutChecksums_saysSo() {
    CommandRun replay =
        CommandRun.of(
            "replay",
            "--requests",
            "2",
            "--page-bytes",
            "1KiB",
            "--backend",
            "file",
            "-o",
            root(),
            "-o",
            "checksum=off");
    assertThat(replay.status()).as(replay.err()).isZero();

    CommandRun run = run("verify");

    assertThat(run.status()).isZero();
    assertThat(run.out()).containsPattern("unproven  [0-9,]+ objects without checksums");
  }

  @Test
  void stat_showsCountsAgesPrefixesAndRoom() throws IOException {
    fill();
    Path json = folder.resolve("stat.json");

    CommandRun run = run("stat", "-o", "capacity=1GiB", "--json", json.toString());

    assertThat(run.err()).isEmpty();
    assertThat(run.status()).isZero();
    assertThat(run.out())
        .containsPattern("(?m)^objects +[0-9]+$")
        .containsPattern("(?m)^bytes +[0-9,]+, 0.0 % of the capacity$")
        .containsPattern("(?m)^capacity +1,073,741,824 bytes")
        .containsPattern("(?m)^free extents +[0-9]+, [0-9,]+ bytes")
        .containsPattern("(?m)^  in the last minute  +[0-9]+ objects")
        .containsPattern("(?m)^  uc2_.*_sh~_\\*  +[0-9]+ objects");
    JsonObject object = JsonParser.parseString(Files.readString(json)).getAsJsonObject();
    long objects = object.get("objects").getAsLong();
    assertThat(objects).isPositive();
    assertThat(object.get("bytes").getAsLong()).isEqualTo(512 * objects);
    assertThat(
            object.getAsJsonArray("prefixes").get(0).getAsJsonObject().get("objects").getAsLong())
        .isEqualTo(objects);
  }

  @Test
  void stat_ofAnEmptyStoreWithoutABudget_showsNoGroups() {
    fillAndClear();

    CommandRun run = run("stat");

    assertThat(run.status()).as(run.err()).isZero();
    assertThat(run.out())
        .containsPattern("(?m)^objects +0$")
        .containsPattern("(?m)^capacity +unknown$")
        .doesNotContain("stored\n");
  }

  /** The suite removes what it has stored. */
  private void fillAndClear() {
    CommandRun run =
        CommandRun.of(
            "conform",
            "--quick",
            "--rule",
            "store.absent",
            "--backend",
            "file",
            "-o",
            root(),
            "-o",
            "min-free=0");
    assertThat(run.status()).as(run.out()).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"verify", "stat"})
  void command_ofABackendWithoutMaintenance_saysSo(String command) {
    CommandRun run = CommandRun.of(command);

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).contains("backend memory has nothing to look after");
    assertThat(run.out()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "verify --backend file | required key \"root\"",
        "verify --backend fil | did you mean \"file\"?",
        "verify --backend file -o root=nowhere | nowhere cannot be used: it is not there",
        "stat --backend file -o root=nowhere | nowhere cannot be used: it is not there",
        "stat --backend file -o rot=nowhere | did you mean \"root\"?",
        "stat --repair | --repair",
      })
  void command_mistake_isToldInOneLine(String arguments, String message) {
    CommandRun run = CommandRun.of(arguments.split(" ", -1));

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).contains(message);
    assertThat(run.out()).isEmpty();
  }
}
