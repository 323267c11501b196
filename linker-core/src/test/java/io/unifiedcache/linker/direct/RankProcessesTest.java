package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.linker.rank.SocketRanks;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Four ranks in four processes, each with a store of its own, as tensor ranks have objects. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RankProcessesTest {
  private static final int RANKS = 4;

  private final Path folder;
  private final List<Rank> ranks = new ArrayList<>();

  RankProcessesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** A process and its output. */
  private record Rank(Process process, BufferedReader output, Path errors) {
    void tell(String line) throws IOException {
      process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
    }

    String answer() throws IOException {
      String line = output.readLine();
      if (line == null) {
        throw new AssertionError("the process has ended: " + Files.readString(errors));
      }
      return line;
    }
  }

  private void start(Duration timeout) throws Exception {
    UUID session = UUID.randomUUID();
    for (int rank = 0; rank < RANKS; rank++) {
      Path errors = folder.resolve("errors-" + rank);
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:TieredStopAtLevel=1",
                  "-XX:+UseSerialGC",
                  "-cp",
                  classPath(),
                  RankProcess.class.getName(),
                  String.valueOf(rank),
                  String.valueOf(RANKS),
                  session.toString(),
                  timeout.toString())
              .redirectError(errors.toFile())
              .start();
      BufferedReader output =
          new BufferedReader(
              new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      ranks.add(new Rank(process, output, errors));
    }
    String port = ranks.getFirst().answer();
    for (Rank rank : ranks.subList(1, RANKS)) {
      rank.tell(port);
    }
    for (Rank rank : ranks) {
      assertThat(rank.answer()).isEqualTo("ready");
    }
  }

  @AfterEach
  void endAll() throws Exception {
    for (Rank rank : ranks) {
      rank.process().destroyForcibly().waitFor();
    }
  }

  /** Tells the first ranks the same, and returns their answers by rank. */
  private List<String> each(int count, String line) throws IOException {
    for (Rank rank : ranks.subList(0, count)) {
      rank.tell(line);
    }
    List<String> answers = new ArrayList<>();
    for (Rank rank : ranks.subList(0, count)) {
      answers.add(rank.answer());
    }
    return answers;
  }

  private void prepare(int rank, String line) throws IOException {
    ranks.get(rank).tell(line);
    assertThat(ranks.get(rank).answer()).isEqualTo("ok");
  }

  @Test
  @DisplayName("load.ranks-agree: four processes agree, one fails, one is killed")
  void poll_oneProcessFailsAndOneIsKilled_othersAgree() throws Exception {
    // Nothing here may take as long as the timeout: a killed process is known at once.
    start(Duration.ofHours(1));
    assertThat(each(RANKS, "store p 3")).containsOnly("offload ok");
    assertThat(each(RANKS, "store q 2")).containsOnly("offload ok");
    assertThat(each(RANKS, "lookup p 4")).containsOnly("[1-3]");

    prepare(1, "fail PUT r1");
    assertThat(each(RANKS, "store r 2")).containsExactlyElementsOf(failedOn(1, "offload", "r1"));
    assertThat(each(RANKS, "lookup r 2")).containsOnly("[1]");

    prepare(2, "fail READ p1");
    assertThat(each(RANKS, "load p 3")).containsExactlyElementsOf(failedOn(2, "p", "p1"));
    assertThat(each(RANKS, "load q 2")).containsOnly("q ok, in place");
    assertThat(each(RANKS, "lookup p 3")).containsOnly("[1]");

    prepare(3, "hang");
    for (Rank rank : ranks) {
      rank.tell("load q 2");
    }
    assertThat(ranks.get(3).answer()).isEqualTo("hanging");
    ranks.get(3).process().destroyForcibly();
    for (Rank rank : ranks.subList(0, 3)) {
      assertThat(rank.answer())
          .startsWith("q failed ")
          .contains(
              "q0 OTHER_RANK (a rank is lost: rank 3 of 4 is gone",
              "q1 OTHER_RANK (a rank is lost: rank 3 of 4 is gone");
    }
    // From now on each is on its own: nothing is offered, and nothing waits.
    assertThat(each(3, "lookup p 1")).containsOnly("[]");
    assertThat(each(3, "store s 1"))
        .allSatisfy(answer -> assertThat(answer).startsWith("offload failed s0 OTHER_RANK"));
  }

  /** Returns what all say if one page fails on one rank: the same, but for the cause. */
  private static List<String> failedOn(int failing, String id, String page) {
    List<String> answers =
        new ArrayList<>(
            Collections.nCopies(
                RANKS, id + " failed " + page + " OTHER_RANK (another rank failed this page)"));
    answers.set(failing, id + " failed " + page + " IO (scripted)");
    return answers;
  }

  @Test
  @DisplayName("load.ranks-agree: a process that does not come is an outcome by the deadline")
  void poll_oneProcessDoesNotCome_isLostByTheDeadline() throws Exception {
    start(Duration.ofSeconds(3));
    assertThat(each(RANKS, "store p 1")).containsOnly("offload ok");
    // Rank 3 lives, but is told nothing. The others wait for it as long as a store may keep it, and
    // the timeout.
    assertThat(each(3, "load p 1"))
        .allSatisfy(answer -> assertThat(answer).startsWith("p failed p0 OTHER_RANK"));
    assertThat(each(RANKS, "lookup p 1")).containsOnly("[]");
  }

  private static String classPath() {
    return Stream.of(
            RankProcess.class, SocketRanks.class, RankCollective.class, LoggerFactory.class)
        .map(RankProcessesTest::place)
        .collect(Collectors.joining(File.pathSeparator));
  }

  /** Returns the folder or jar that a class is in. */
  private static String place(Class<?> type) {
    String file = type.getName().replace('.', '/') + ".class";
    URL url = Objects.requireNonNull(type.getClassLoader().getResource(file));
    String place = url.toString().replaceFirst("^jar:", "").replaceFirst("!?/" + file + "$", "");
    return Path.of(URI.create(place)).toString();
  }
}
