package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** How keys are counted in what a master lists. */
class MasterKeysTest {
  @Test
  void countLines_prefixAtTheBeginOfLinesOnly() throws IOException {
    assertThat(count("pre-1\nx\npre-2\nxpre-3\npre", "pre-")).isEqualTo(2);
    assertThat(count("pre-1\nx\npre-2\nxpre-3\npre", "pre")).isEqualTo(3);
    assertThat(count("", "pre")).isZero();
    assertThat(count("\n\n", "pre")).isZero();
    assertThat(count("a\nb\n", "")).isEqualTo(2);
    assertThat(count("a\nb", "")).isEqualTo(2);
  }

  @Test
  void countLines_prefixWithLineBreaks_overlappingOnesToo() throws IOException {
    assertThat(count("a\na\na\na", "a\na")).isEqualTo(3);
    assertThat(count("a\nb\na\nb\n", "a\nb\n")).isEqualTo(2);
    assertThat(count("a\n\nb", "\n")).isEqualTo(1);
  }

  @Test
  void countLines_ofLongText_isAsCountedOneByOne() throws IOException {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    for (int i = 0; i < 200; i++) {
      String text = text(random, random.nextInt(100_000));
      String prefix = text(random, random.nextInt(6));
      long expected = 0;
      for (int at = 0; at < text.length(); at++) {
        if ((at == 0 || text.charAt(at - 1) == '\n') && text.startsWith(prefix, at)) {
          expected++;
        }
      }
      assertThat(count(text, prefix))
          .as("seed %d, prefix \"%s\"", seed, prefix)
          .isEqualTo(expected);
    }
  }

  private static String text(Random random, int length) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < length; i++) {
      text.append("ab\n".charAt(random.nextInt(3)));
    }
    return text.toString();
  }

  @Test
  void countLines_ofManyKeys_holdsFewOfThem() throws IOException {
    byte[] line = "pre-0123456789\n".getBytes(StandardCharsets.UTF_8);
    long lines = 1 << 20;
    Set<byte[]> buffers = Collections.newSetFromMap(new IdentityHashMap<>());
    InputStream text =
        new InputStream() {
          private long at;

          @Override
          public int read() {
            return at == lines * line.length ? -1 : line[(int) (at++ % line.length)];
          }

          @Override
          public int read(byte[] target, int from, int length) {
            buffers.add(target);
            int count = 0;
            int next;
            while (count < length && (next = read()) >= 0) {
              target[from + count++] = (byte) next;
            }
            return count == 0 ? -1 : count;
          }
        };
    assertThat(Master.countLines(text, "pre-".getBytes(StandardCharsets.UTF_8))).isEqualTo(lines);
    assertThat(buffers.stream().mapToLong(buffer -> buffer.length).sum())
        .as("the bytes of all buffers")
        .isBetween(1L, 1L << 20);
  }

  private static long count(String text, String prefix) throws IOException {
    return Master.countLines(
        new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)),
        prefix.getBytes(StandardCharsets.UTF_8));
  }
}
