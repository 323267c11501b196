package io.unifiedcache.backend.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.pool.PoolLayouts;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One folder with SGLang's own {@code HiCacheFile}, which runs in a Python process beside. */
class SglangEngineTest {
  /** The variable of the environment that names a Python which has SGLang. */
  private static final String PYTHON = "SGLANG_PYTHON";

  /** The variable of the environment under which a missing SGLang is a failure. */
  private static final String DEMAND = "DEMAND_SGLANG";

  private static final String MISSING =
      PYTHON
          + " names no Python with SGLang; pip install --no-deps sglang==0.5.23 in an environment"
          + " of Python 3.11 is enough";

  private static final String PAGE =
      "34fb5c825de7ca4aea6e712f19d439c1da0c92c37b423936c5f618545ca4fa1f";

  @TempDir Path folder = Path.of("set by JUnit");

  private String python = "";

  @BeforeEach
  void requireSglang() throws IOException {
    String named = System.getenv(PYTHON);
    assertThat(named != null || System.getenv(DEMAND) == null).as(MISSING).isTrue();
    Assumptions.assumeTrue(named != null, MISSING);
    python = String.valueOf(named);
    Files.createDirectory(root());
  }

  private Path root() {
    return folder.resolve("hicache");
  }

  private CacheStore open() {
    return FileStoreProvider.open(
        new LocalDisk(),
        Settings.builder(new FileStoreProvider().options())
            .set(FileStoreProvider.ROOT, root().toString())
            .set(FileStoreProvider.FORMAT, FileStoreProvider.Format.SGLANG)
            .build(),
        StoreContext.of("sglang-engine-test"));
  }

  /** SGLang's class, which answers line by line. */
  private final class Engine implements AutoCloseable {
    private final Process process;
    private final BufferedReader output;
    private final Writer input;

    Engine(String model, int rank, int ranks, boolean mla) throws IOException {
      Path script = folder.resolve("hicache_file.py");
      try (InputStream source = SglangEngineTest.class.getResourceAsStream("hicache_file.py")) {
        assertThat(source).isNotNull();
        Files.write(script, source.readAllBytes());
      }
      List<String> command =
          List.of(
              python,
              script.toString(),
              root().toString(),
              model,
              Integer.toString(rank),
              Integer.toString(ranks),
              Boolean.toString(mla));
      process =
          new ProcessBuilder(command).redirectError(folder.resolve("python.err").toFile()).start();
      output = process.inputReader();
      input = process.outputWriter();
      assertThat(answer()).isEqualTo("ready");
    }

    private String answer() throws IOException {
      String line = output.readLine();
      while (line != null && !line.startsWith(Child.MARK)) {
        line = output.readLine();
      }
      assertThat(line).as(Files.readString(folder.resolve("python.err"))).isNotNull();
      return String.valueOf(line).substring(Child.MARK.length());
    }

    String ask(String call) throws IOException {
      input.write(call + "\n");
      input.flush();
      return answer();
    }

    String set(String key, byte[] bytes) throws IOException {
      return ask("set " + key + " " + HexFormat.of().formatHex(bytes));
    }

    @Override
    public void close() {
      process.destroyForcibly();
    }
  }

  /** Returns the key of a page's object, in the form sglang-file. */
  private static String key(
      String model, int rank, int ranks, boolean mla, PoolName pool, String page) {
    KeyLayout layout =
        KeyLayout.of(
            KeyForm.SGLANG_FILE,
            CacheIdentity.builder().model(model).tensor(rank, ranks).build(),
            mla,
            EmptySegments.KEEP);
    List<LayerBuffer> memory =
        List.of(new LayerBuffer(0, HostMemory.of(Arena.global().allocate(1)), 1));
    ObjectKey key =
        layout.templates(PoolLayouts.packed(pool, memory)).getFirst().key(new PageKey(page));
    return key.value();
  }

  @Test
  void pages_ofSglang_areReadHereAndOursThere() throws IOException {
    PoolName mamba = new PoolName("mamba");
    for (boolean mla : List.of(false, true)) {
      String model = "org/model-" + mla;
      try (Engine engine = new Engine(model, 1, 2, mla);
          CacheStore store = open()) {
        for (Optional<PoolName> side :
            List.of(
                Optional.<PoolName>empty(), Optional.of(mamba), Optional.of(new PoolName("swa")))) {
          PoolName pool = side.orElse(PoolName.KV);
          String suffix = side.map(name -> "." + name).orElse("");
          byte[] theirs = Stores.bytes(10_000, 1);
          byte[] ours = Stores.bytes(10_001, 2);
          String what = pool + ", mla " + mla;

          assertThat(engine.set("theirs" + suffix, theirs)).as(what).isEqualTo("True");
          String theirKey = key(model, 1, 2, mla, pool, "theirs");
          Stores.expect(store, theirKey, theirs);
          assertThat(Stores.describe(Stores.put(store, theirKey, ours)))
              .as(what)
              .isEqualTo("PRESENT");

          String ourKey = key(model, 1, 2, mla, pool, PAGE);
          assertThat(engine.ask("exists " + PAGE + suffix)).as(what).isEqualTo("False");
          Stores.putOk(store, ourKey, ours);
          assertThat(engine.ask("exists " + PAGE + suffix)).as(what).isEqualTo("True");
          assertThat(engine.ask("get " + PAGE + suffix + " 10001"))
              .as(what)
              .isEqualTo(HexFormat.of().formatHex(ours));
          // A page that is there is left as it is.
          assertThat(engine.set(PAGE + suffix, theirs)).as(what).isEqualTo("True");
          Stores.expect(store, ourKey, ours);
        }
      }
    }
  }

  @Test
  void prefix_ofPagesOfBoth_isCountedByBoth() throws IOException {
    try (Engine engine = new Engine("m", 0, 1, false);
        CacheStore store = open()) {
      assertThat(engine.set("a", new byte[10])).isEqualTo("True");
      Stores.putOk(store, key("m", 0, 1, false, PoolName.KV, "b"), new byte[10]);
      assertThat(engine.ask("prefix a,b,c")).isEqualTo("2");
      long[] keys = new long[1];
      store.list(KeyPrefix.EVERYTHING, key -> ++keys[0] > 0, Stores.soon());
      assertThat(keys[0]).isEqualTo(2);
    }
  }

  @Test
  void clear_bySglang_leavesAStoreThatGoesOn() throws IOException {
    try (Engine engine = new Engine("m", 0, 1, false);
        CacheStore store = open()) {
      String key = key("m", 0, 1, false, PoolName.KV, "a");
      Stores.putOk(store, key, new byte[10]);
      assertThat(engine.ask("clear")).isEqualTo("True");
      assertThat(Stores.exists(store, key)).isFalse();
      Stores.putOk(store, key, new byte[] {7});
      assertThat(engine.ask("get a 1")).isEqualTo("07");
    }
  }

  @Test
  void remove_here_isAbsentThere() throws IOException {
    try (Engine engine = new Engine("m", 0, 1, false);
        CacheStore store = open()) {
      assertThat(engine.set("a", new byte[10])).isEqualTo("True");
      String key = key("m", 0, 1, false, PoolName.KV, "a");
      assertThat(Stores.get(store, key, 11).result().failure(0).code().name())
          .isEqualTo("SIZE_MISMATCH");
      assertThat(Stores.remove(store, key).name()).isEqualTo("OK");
      assertThat(engine.ask("get a 10")).isEqualTo("absent");
    }
  }
}
