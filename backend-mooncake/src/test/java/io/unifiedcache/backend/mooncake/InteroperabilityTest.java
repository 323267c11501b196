package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Pages that a linker stores are those that Mooncake's Python client and SGLang's own classes find,
 * under the same keys and with the same bytes, and the other way round.
 */
class InteroperabilityTest {
  /** Whose keys are written. */
  enum Keys {
    /** Those of SGLang's store: an object of keys and one of values. */
    STORE("sglang-store", "store", false) {
      @Override
      List<String> of(String tag, String page) {
        String stem = tag + "_org-model_" + page + "_0_";
        return List.of(stem + "k", stem + "v");
      }
    },
    /** Those of SGLang's linker: one object. */
    LINKER("sglang-linker", "linker", true) {
      @Override
      List<String> of(String tag, String page) {
        return List.of(tag + "_org-model_" + page + "_tp0_cp0_pp0_k");
      }
    };

    final String setting;
    final String inSglang;
    final boolean packed;

    Keys(String setting, String inSglang, boolean packed) {
      this.setting = setting;
      this.inSglang = inSglang;
      this.packed = packed;
    }

    /** Returns the keys of the objects of a page. */
    abstract List<String> of(String tag, String page);

    long objectBytes() {
      return EnginePages.LAYERS * EnginePages.PIECE_BYTES * (packed ? 2 : 1);
    }

    List<String> hashes(EnginePages pages) {
      return packed ? pages.hashes() : pages.hashesOfHalves();
    }
  }

  @RegisterExtension static final MooncakeCluster CLUSTER = MooncakeCluster.withLeases(60_000);

  /** The Python that has SGLang; Mooncake's package it need not have. */
  private static final @Nullable String SGLANG_PYTHON = System.getenv("SGLANG_PYTHON");

  private static final String NO_SGLANG =
      "SGLANG_PYTHON names no Python with SGLang; pip install --no-deps sglang==0.5.23 numpy in an"
          + " environment of Python 3.11 is enough";

  private static final int PAGES = 5;
  private static final AtomicLong RUNS = new AtomicLong();

  @TempDir Path folder = Path.of("set by JUnit");

  private long seed;
  private String tag = "";
  private List<String> pages = List.of();

  @BeforeEach
  void choosePages() {
    seed = RUNS.incrementAndGet();
    tag = "tag-" + seed;
    pages = EnginePages.keys(seed, PAGES);
  }

  @ParameterizedTest
  @EnumSource
  void offload_pages_areReadByMooncakesClient(Keys keys) throws IOException {
    try (EnginePages engine = engine(keys)) {
      engine.fill(seed);
      engine.offload();
      assertThat(keysInMaster()).isEqualTo(objects(keys).sorted().toList());
      List<String> read = new ArrayList<>();
      try (OtherPython python = mooncake()) {
        objects(keys).forEach(key -> read.add(python.ask("get " + key + " " + keys.objectBytes())));
      }
      assertThat(read).isEqualTo(keys.hashes(engine));
    }
  }

  @ParameterizedTest
  @EnumSource
  void load_pagesOfMooncakesClient_areWhatItStored(Keys keys) throws IOException {
    List<String> stored = new ArrayList<>();
    try (OtherPython python = mooncake()) {
      objects(keys).forEach(key -> stored.add(python.ask("put " + key + " " + keys.objectBytes())));
    }
    assertThat(keysInMaster()).isEqualTo(objects(keys).sorted().toList());
    try (EnginePages engine = engine(keys)) {
      engine.load();
      assertThat(keys.hashes(engine)).isEqualTo(stored);
    }
  }

  @ParameterizedTest
  @EnumSource
  void offload_pages_areReadBySglang(Keys keys) throws IOException {
    requireSglang();
    try (EnginePages engine = engine(keys)) {
      engine.fill(seed);
      engine.offload();
      assertThat(sglang(keys, "get")).isEqualTo(engine.hashes());
    }
  }

  @ParameterizedTest
  @EnumSource
  void load_pagesOfSglang_areWhatItStored(Keys keys) throws IOException {
    requireSglang();
    List<String> stored = sglang(keys, "put");
    assertThat(keysInMaster()).isEqualTo(objects(keys).sorted().toList());
    try (EnginePages engine = engine(keys)) {
      engine.load();
      assertThat(engine.hashes()).isEqualTo(stored);
    }
  }

  private EnginePages engine(Keys keys) {
    Map<String, String> settings = new HashMap<>(CLUSTER.settings());
    settings.put("client", "python");
    settings.put("python", Installation.python().toString());
    settings.put("keys", keys.setting);
    return new EnginePages(tag, keys.packed, pages, settings);
  }

  private Stream<String> objects(Keys keys) {
    return pages.stream().flatMap(page -> keys.of(tag, page).stream());
  }

  /** Returns the keys of this test, as the master lists them. */
  private List<String> keysInMaster() {
    return CLUSTER.keys().stream().filter(key -> key.startsWith(tag + "_")).toList();
  }

  private OtherPython mooncake() throws IOException {
    return OtherPython.start(
        Installation.python(), folder, folder, "mooncake_objects.py", List.of(CLUSTER.address()));
  }

  /** Has SGLang's classes put or get all pages, and returns their hashes. */
  private List<String> sglang(Keys keys, String action) throws IOException {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                keys.inSglang,
                action,
                CLUSTER.address(),
                EnginePages.MODEL,
                tag,
                Integer.toString(EnginePages.LAYERS),
                Long.toString(EnginePages.PIECE_BYTES)));
    arguments.addAll(pages);
    List<String> hashes = new ArrayList<>();
    try (OtherPython python =
        OtherPython.start(
            Path.of(String.valueOf(SGLANG_PYTHON)),
            mooncakeModules(),
            folder,
            "sglang_pages.py",
            arguments)) {
      while (hashes.size() < pages.size()) {
        String line = python.nextLine();
        if (line.startsWith("page ")) {
          hashes.add(line.substring("page ".length()));
        }
      }
    }
    return hashes;
  }

  private static void requireSglang() {
    boolean named = SGLANG_PYTHON != null;
    assertThat(named || System.getenv("DEMAND_SGLANG") == null).as(NO_SGLANG).isTrue();
    Assumptions.assumeTrue(named, NO_SGLANG);
  }

  /** Returns the folder of the modules of the interpreter that has Mooncake's. */
  private static Path mooncakeModules() throws IOException {
    Path lib = Installation.python().resolve("../../lib").normalize();
    try (Stream<Path> versions = Files.list(lib)) {
      return versions.findFirst().orElseThrow().resolve("site-packages");
    }
  }
}
