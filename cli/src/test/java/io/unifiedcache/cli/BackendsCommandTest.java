package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.linker.Backends;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BackendsCommandTest {
  @Test
  void backends_showsOriginCapabilitiesAndOptionsOfMemory() {
    CommandRun run = CommandRun.of("backends");

    assertThat(run.status()).isZero();
    assertThat(run.out().lines()).contains("memory");
    assertThat(run.out()).contains("backend-memory", "RANGED_READ", "BOUNDED");
    assertThat(run.out()).containsPattern("capacity +size +[0-9]+GiB +[A-Z]");
    assertThat(run.out()).containsPattern("linker.load-path +choice +auto +[A-Z]");
  }

  @Test
  void backends_providerThatCannotLoad_isShownWithItsReason(@TempDir Path folder)
      throws IOException {
    Path services = Files.createDirectories(folder.resolve("META-INF/services"));
    Files.writeString(
        services.resolve("io.unifiedcache.api.store.CacheStoreProvider"), "org.example.Nowhere\n");
    StringWriter out = new StringWriter();

    try (URLClassLoader loader =
        new URLClassLoader(
            new URL[] {folder.toUri().toURL()}, BackendsCommandTest.class.getClassLoader())) {
      PrintWriter writer = new PrintWriter(out);
      BackendsCommand.show(Backends.discover(loader), writer);
      writer.flush();
    }

    assertThat(out.toString()).contains("org.example.Nowhere cannot be loaded", "reason  ");
    assertThat(out.toString().lines()).as("it does not hide the others").contains("memory");
  }
}
