package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MainTest {
  @Test
  void help_namesEveryCommand() {
    CommandRun run = CommandRun.of("--help");

    assertThat(run.status()).isZero();
    assertThat(run.out()).contains("backends", "vectors", "replay", "conform", "verify", "stat");
  }

  @Test
  void version_isOneLineThatNamesTheTool() {
    CommandRun run = CommandRun.of("--version");

    assertThat(run.status()).isZero();
    assertThat(run.out().lines()).hasSize(1);
    assertThat(run.out()).startsWith("unified-cache ");
  }

  @Test
  void noCommand_isAMistakeInOneLine() {
    CommandRun run = CommandRun.of();

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).startsWith("unified-cache: ").contains("--help");
  }

  @Test
  void unknownOption_isAMistakeInOneLineThatNamesIt() {
    CommandRun run = CommandRun.of("replay", "--sped", "3");

    assertThat(run.status()).isEqualTo(2);
    assertThat(run.err().lines()).hasSize(1);
    assertThat(run.err()).startsWith("unified-cache replay: ").contains("--sped");
  }
}
