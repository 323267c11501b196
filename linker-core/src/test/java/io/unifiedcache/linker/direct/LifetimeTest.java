package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.PageKey;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** Looks at a process that opens and closes linkers, with the JDK's own bookkeeping of memory. */
@Timeout(120)
class LifetimeTest {
  /** One life takes several times as much; a level may waver by less than this. */
  private static final long TOLERANCE_KIB = 4 * 1024;

  /** What a process uses. */
  private record Level(int threads, long nativeKib) {}

  @Test
  @DisplayName("200 opens and closes leave threads and native memory at their level")
  void openAndClose_twoHundredTimes_keepsThreadsAndNativeMemory(@TempDir Path folder)
      throws Exception {
    Path errors = folder.resolve("errors");
    Process process =
        new ProcessBuilder(
                tool("java"),
                "-Xmx64m",
                "-XX:NativeMemoryTracking=summary",
                "-cp",
                classPath(),
                Openings.class.getName())
            .redirectError(errors.toFile())
            .start();
    try (BufferedReader output = process.inputReader(StandardCharsets.US_ASCII)) {
      assertThat(live(process, output, 30)).as(Files.readString(errors)).isGreaterThanOrEqualTo(20);
      Level before = level(process);
      assertThat(live(process, output, 200)).isGreaterThanOrEqualTo(20);
      Level after = level(process);
      assertThat(before.nativeKib()).as("the level is measured at all").isPositive();
      assertThat(after.nativeKib())
          .as("KiB outside the heap")
          .isLessThan(before.nativeKib() + TOLERANCE_KIB);
      assertThat(after.threads()).as("threads").isLessThanOrEqualTo(before.threads() + 2);
    } finally {
      process.destroy();
    }
  }

  private static int live(Process process, BufferedReader output, int lives) throws IOException {
    process.outputWriter(StandardCharsets.US_ASCII).append(lives + "\n").flush();
    String line = output.readLine();
    return line == null ? 0 : Integer.parseInt(line);
  }

  private static Level level(Process process) throws IOException, InterruptedException {
    Process jcmd =
        new ProcessBuilder(
                tool("jcmd"), Long.toString(process.pid()), "VM.native_memory", "summary")
            .redirectErrorStream(true)
            .start();
    String report = new String(jcmd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(jcmd.waitFor()).as(report).isZero();
    return new Level(
        (int) number(report, "\\(threads #(\\d+)\\)"),
        number(report, "Other \\(reserved=\\d+KB, committed=(\\d+)KB"));
  }

  private static long number(String report, String pattern) {
    Matcher matcher = Pattern.compile(pattern).matcher(report);
    assertThat(matcher.find()).as("%s in %s", pattern, report).isTrue();
    return Long.parseLong(matcher.group(1));
  }

  private static String tool(String name) {
    return Path.of(System.getProperty("java.home"), "bin", name).toString();
  }

  private static String classPath() {
    return Stream.of(Openings.class, DirectLinker.class, PageKey.class, LoggerFactory.class)
        .map(LifetimeTest::place)
        .distinct()
        .collect(Collectors.joining(File.pathSeparator));
  }

  /** Returns the folder or jar of a class, also of one that is patched into a module. */
  private static String place(Class<?> type) {
    String file = type.getName().replace('.', '/') + ".class";
    String url = String.valueOf(type.getResource("/" + file));
    String root = url.substring(0, url.length() - file.length());
    try {
      return Path.of(
              new URI(
                  root.startsWith("jar:")
                      ? root.substring("jar:".length(), root.length() - "!/".length())
                      : root))
          .toString();
    } catch (URISyntaxException e) {
      throw new AssertionError(url, e);
    }
  }
}
