package io.unifiedcache.benchmarks;

import io.unifiedcache.api.PageKey;
import io.unifiedcache.linker.key.PageHasher;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Page hashes of a prompt of 100,000 tokens, beside SHA-256 of as many bytes in one go, which is
 * the limit.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class PageHashBenchmark {
  /** Tokens of a page. */
  @Param({"16", "64", "512"})
  public int pageTokens;

  private final int[] tokens = new int[100_000];
  private final byte[] bytes = new byte[4 * tokens.length];

  /** Draws the tokens. */
  @Setup
  public void prepare() {
    SplittableRandom random = new SplittableRandom(1);
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < tokens.length; i++) {
      tokens[i] = random.nextInt(150_000);
      buffer.putInt(tokens[i]);
    }
  }

  /** Hashes page after page. */
  @Benchmark
  public List<PageKey> pages() {
    return PageHasher.of(pageTokens).pageKeys(tokens);
  }

  /** Hashes all bytes at once. */
  @Benchmark
  public byte[] bytesAtOnce() throws NoSuchAlgorithmException {
    return MessageDigest.getInstance("SHA-256").digest(bytes);
  }
}
