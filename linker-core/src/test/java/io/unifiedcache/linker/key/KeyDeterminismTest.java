package io.unifiedcache.linker.key;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.PageKey;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rule {@code key.deterministic}: a JVM with other defaults makes the same keys. */
class KeyDeterminismTest {
  /** Prints keys of all forms in ASCII. */
  private static final String PROBE =
      """
      import io.unifiedcache.api.*;
      import io.unifiedcache.api.linker.*;
      import io.unifiedcache.linker.key.*;
      import java.lang.foreign.Arena;
      import java.util.*;

      class Probe {
        public static void main(String[] arguments) {
          CacheIdentity.Builder identity =
              CacheIdentity.builder().tag("\\u6807_I\\u0131").model("/org/\\u00e9 I").revision("r")
                  .elementType("BF16").pageTokens(1234567).salt("S")
                  .tensor(1, 2).pipeline(1, 2).context(10, 12).decodeContext(0, 2, 1048576);
          List<String> keys = new ArrayList<>();
          PageHasher hasher =
              PageHasher.of(2).withNamespace(Optional.of("\\u00e9\\ud83d\\ude00"), Optional.of("I"));
          hasher.pageKeys(new int[] {1, 2, 3, 4}).forEach(key -> keys.add(key.value()));
          PageKey page = new PageKey("I\\u00e9");
          for (KeyForm form : KeyForm.values()) {
            if (form == KeyForm.SGLANG_LINKER) {
              continue;
            }
            List<String> components =
                form == KeyForm.SGLANG_STORE ? List.of("k") : List.of("page");
            KeyLayout layout = KeyLayout.of(form, identity.build(), false, EmptySegments.FILTER);
            keys.add(layout.templates(pool(components)).get(0).key(page).value());
            keys.add(layout.groupHint(page).orElseThrow());
          }
          KeyLayout linker =
              KeyLayout.of(
                  KeyForm.SGLANG_LINKER,
                  CacheIdentity.builder().tag("I").tensor(11, 12).build(),
                  false,
                  EmptySegments.KEEP);
          keys.add(linker.templates(pool(List.of("page"))).get(0).key(page).value());
          StringBuilder ascii = new StringBuilder("charset of this run aside:");
          for (String key : keys) {
            ascii.append('\\n');
            key.chars().forEach(c -> ascii.append(Integer.toHexString(c)).append(' '));
          }
          System.out.println(ascii);
        }

        private static DevicePool pool(List<String> components) {
          List<LayerBuffer> memory =
              List.of(new LayerBuffer(0, HostMemory.of(Arena.global().allocate(123456)), 123456));
          return new DevicePool(
              PoolName.KV, components.stream().map(name -> new Component(name, memory)).toList());
        }
      }
      """;

  @Test
  void keys_otherLocaleZoneAndCharset_areEqual(@TempDir Path folder) throws Exception {
    Path probe = Files.writeString(folder.resolve("Probe.java"), PROBE);

    List<String> usual =
        run(probe, "-Dfile.encoding=UTF-8", "-Duser.language=en", "-Duser.timezone=UTC");
    List<String> turkish =
        run(
            probe,
            "-Dfile.encoding=COMPAT",
            "-Dnative.encoding=ISO-8859-9",
            "-Duser.language=tr",
            "-Duser.country=TR",
            "-Duser.timezone=Asia/Istanbul");
    List<String> arabic =
        run(
            probe,
            "-Dfile.encoding=COMPAT",
            "-Duser.language=ar",
            "-Duser.country=EG",
            "-Duser.extensions=u-nu-arab",
            "-Duser.timezone=Africa/Cairo");

    assertThat(usual).hasSize(10);
    assertThat(turkish).isEqualTo(usual);
    assertThat(arabic).isEqualTo(usual);
  }

  private static List<String> run(Path probe, String... options)
      throws IOException, InterruptedException, URISyntaxException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(options));
    command.add("-cp");
    command.add(place(PageHasher.class) + File.pathSeparator + place(PageKey.class));
    command.add(probe.toString());
    Path errors = probe.resolveSibling("errors");
    Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    assertThat(process.waitFor()).as(Files.readString(errors)).isZero();
    return output.lines().toList();
  }

  private static Path place(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
  }
}
