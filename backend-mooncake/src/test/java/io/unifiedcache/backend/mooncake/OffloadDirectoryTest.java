package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OffloadDirectoryTest {
  @TempDir Path folder = Path.of("set by JUnit");

  @Test
  void claim_isTheFirstThatNoOtherHas_byAnyPath() throws IOException {
    Path ssd = folder.resolve("ssd/pages");
    Path alias = Files.createSymbolicLink(folder.resolve("alias"), folder.resolve("ssd"));
    OffloadDirectory first = OffloadDirectory.claim(ssd);
    OffloadDirectory second = OffloadDirectory.claim(alias.resolve("pages"));
    assertThat(first.path()).isEqualTo(ssd.resolve("client-0")).isDirectory();
    assertThat(second.path()).isEqualTo(alias.resolve("pages/client-1")).isDirectory();
    first.close();
    try (OffloadDirectory third = OffloadDirectory.claim(ssd)) {
      assertThat(third.path()).isEqualTo(ssd.resolve("client-0"));
    }
    second.close();
  }

  @Test
  void claim_whatAnotherProcessHas_isLeftToIt() throws Exception {
    Process other =
        JavaProcess.of(List.of(), ClaimingProcess.class, List.of(folder.toString())).start();
    try (BufferedReader output = other.inputReader()) {
      assertThat(output.readLine()).isEqualTo(folder.resolve("client-0").toString());
      try (OffloadDirectory mine = OffloadDirectory.claim(folder)) {
        assertThat(mine.path()).isEqualTo(folder.resolve("client-1"));
      }
    } finally {
      // Whatever ends it, its lock goes with it.
      other.destroyForcibly();
      assertThat(other.waitFor(1, TimeUnit.MINUTES)).isTrue();
    }
    try (OffloadDirectory left = OffloadDirectory.claim(folder)) {
      assertThat(left.path()).isEqualTo(folder.resolve("client-0"));
    }
  }

  @Test
  void claim_underAFile_saysSo() throws IOException {
    Path file = Files.createFile(folder.resolve("file"));
    assertThatThrownBy(() -> OffloadDirectory.claim(file)).isInstanceOf(IOException.class);
  }
}
