package io.unifiedcache.examples.llama;

import static io.unifiedcache.examples.llama.LlamaEngine.PAGE_TOKENS;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import io.unifiedcache.linker.key.PageHasher;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Holds answers to prompts that come from a store, in part, against those of the same model without
 * one: the logits of the first token have equal bits, and 64 greedy tokens are the same.
 */
class EqualityTest {
  private static final int THREADS = 2;
  private static final int ANSWER = 64;

  /** Of Gemma 3 270M: the layers with full attention, and the bytes of a token's keys in one. */
  private static final int FULL_LAYERS = 3;

  private static final long ROW_BYTES = 512;

  /** 24 pages. */
  private static final int STORED = 1536;

  /** 12 pages are shared where something is wrong with one of them. */
  private static final int DAMAGED = 768;

  private static final List<Integer> SHARED = List.of(0, 1, 63, 64, 511, 512, 513, DAMAGED, 1500);

  @TempDir static Path folder = Path.of("");

  private static LlamaModel coldModel;
  private static LlamaModel model;
  private static int[] text;
  private static int[] other;
  private static final Map<Integer, Answer> COLD = new HashMap<>();

  @BeforeAll
  static void storeAndAnswerCold() {
    Path file = Demanded.model();
    coldModel = load(file);
    model = load(file);
    int[] licence = coldModel.tokens(EngineOptions.licence());
    text = Arrays.copyOf(licence, STORED);
    other =
        Arrays.stream(
                coldModel.tokens(
                    """
                    The old lighthouse keeper climbed the stairs each evening, counting them aloud,
                    and lit the lamp. Far out at sea a small boat turned towards it, and
                    """))
            .skip(1)
            .toArray();
    try (LlamaEngine engine = engine(coldModel, folder.resolve("stored"))) {
      assertThat(engine.ask(text, 1).cachedTokens()).isZero();
    }
    // What the engine has computed is still in the model, and never came from a store.
    ColdModel cold = new ColdModel(coldModel, text);
    SHARED.stream()
        .sorted(Comparator.reverseOrder())
        .forEach(shared -> COLD.put(shared, cold.ask(prompt(shared), ANSWER)));
  }

  @AfterAll
  static void free() {
    Stream.of(coldModel, model).filter(Objects::nonNull).forEach(LlamaModel::close);
  }

  private static LlamaModel load(Path file) {
    return new LlamaModel(file, LlamaEngine.CONTEXT_TOKENS, LlamaEngine.PAGE_TOKENS, THREADS);
  }

  private static LlamaEngine engine(LlamaModel model, Path root) {
    return new LlamaEngine(model, linker -> linker.backend("file").settings(settings(root)));
  }

  private static Map<String, String> settings(Path root) {
    return Map.of("root", root.toString(), "capacity", "256MiB");
  }

  /** Returns a prompt that shares exactly so many tokens with what is stored. */
  private static int[] prompt(int shared) {
    assertThat(other[0]).isNotEqualTo(text[shared]);
    return IntStream.concat(Arrays.stream(text, 0, shared), Arrays.stream(other)).toArray();
  }

  private static void expectEqual(Answer answer, int shared) {
    Answer cold = Objects.requireNonNull(COLD.get(shared), "answered cold");
    assertThat(bits(answer.logits())).as("bits of logits").isEqualTo(bits(cold.logits()));
    assertThat(answer.tokens()).as("tokens").hasSize(ANSWER).isEqualTo(cold.tokens());
  }

  private static int[] bits(float[] logits) {
    return IntStream.range(0, logits.length).map(i -> Float.floatToRawIntBits(logits[i])).toArray();
  }

  @ParameterizedTest(name = "{0} tokens shared, {1} restored")
  @CsvSource({"0, 0", "1, 0", "63, 0", "64, 64", "511, 448", "512, 512", "513, 512", "1500, 1472"})
  void ask_promptThatSharesTokens_answersAsWithoutStore(int shared, int restored) {
    try (LlamaEngine engine = engine(model, folder.resolve("stored"))) {
      Answer answer = engine.ask(prompt(shared), ANSWER);

      assertThat(answer.cachedTokens()).isEqualTo(restored);
      expectEqual(answer, shared);
    }
  }

  @Test
  void ask_nothingStored_answersAsFromWhatTheModelKept() {
    try (LlamaEngine engine = engine(model, folder.resolve("empty"))) {
      Answer answer = engine.ask(prompt(513), ANSWER);

      assertThat(answer.cachedTokens()).isZero();
      expectEqual(answer, 513);
    }
  }

  @Test
  void ask_restore_loadsOnlyTheLastPagesOfTheWindow() {
    try (LlamaEngine engine = engine(model, folder.resolve("stored"))) {
      engine.ask(prompt(DAMAGED), 1);

      // 12 pages of the KV pool and 8 of the SWA pool, each an object of keys and one of values.
      assertThat(engine.stats().objectsLoaded()).isEqualTo(2 * (12 + 8));
    }
  }

  @Test
  void ask_holesInTheSlidingWindowPool_resumesAtTheLongestRestorableLength() throws Exception {
    Path root = copyOfStored("holes");
    // No longer in the window after 12 pages, so that it is not missed.
    remove(root, 2);
    try (LlamaEngine engine = engine(model, root)) {
      assertThat(engine.ask(prompt(DAMAGED), 1).cachedTokens()).isEqualTo(12 * PAGE_TOKENS);
    }
    // In the window after 12 pages; after 11 neither is, and after 3 to 10 the first one is.
    remove(root, 11);
    try (LlamaEngine engine = engine(model, root)) {
      Answer answer = engine.ask(prompt(DAMAGED), ANSWER);

      assertThat(answer.cachedTokens()).isEqualTo(11 * PAGE_TOKENS);
      expectEqual(answer, DAMAGED);
      // The hole has been filled with what was computed.
      assertThat(engine.ask(prompt(DAMAGED), 1).cachedTokens()).isEqualTo(12 * PAGE_TOKENS);
    }
  }

  private static void remove(Path root, int page) {
    try (CacheStore store = openStore(root)) {
      List<ObjectKey> keys = objectsOf(store, page, PagePools.SWA);
      assertThat(keys).hasSize(2);
      assertThat(store.remove(keys, /* evenIfLeased= */ false, soon()).count(ObjectStatus.OK))
          .isEqualTo(2);
    }
  }

  /** Returns the keys of a page's objects in a pool; they end with pool and component. */
  private static List<ObjectKey> objectsOf(CacheStore store, int page, PoolName pool) {
    String key = PageHasher.of(PAGE_TOKENS).pageKeys(text).get(page).value();
    List<ObjectKey> found = new ArrayList<>();
    store.list(
        KeyPrefix.EVERYTHING,
        object -> {
          int at = object.value().indexOf(key);
          if (at >= 0 && object.value().indexOf(pool.value(), at + key.length()) > 0) {
            found.add(object);
          }
          return true;
        },
        soon());
    return found;
  }

  private static CacheStore openStore(Path root) {
    CacheStoreProvider provider = Backends.discover().named("file");
    return provider.open(
        SettingsSources.of(settings(root)).resolve(provider.options()), StoreContext.of("test"));
  }

  private static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(30));
  }

  @Test
  void ask_layerThatFails_computesAndAnswersAsWithoutStore() throws Exception {
    Path root = copyOfStored("failing");
    try (FailingStore store = new FailingStore(openStore(root));
        LlamaEngine engine = new LlamaEngine(model, linker -> linker.store(store))) {
      store.failReadsFrom(5);
      Answer answer = engine.ask(prompt(DAMAGED), ANSWER);

      assertThat(store.failed()).isPositive();
      assertThat(engine.stats().failedLoads()).isPositive();
      assertThat(answer.cachedTokens()).isZero();
      expectEqual(answer, DAMAGED);

      store.failReadsFrom(Integer.MAX_VALUE);
      assertThat(engine.ask(prompt(DAMAGED), 1).cachedTokens()).isEqualTo(12 * PAGE_TOKENS);
    }
  }

  @Test
  void ask_corruptObject_restoresWhatIsBeforeItAndAnswersAsWithoutStore() throws Exception {
    Path root = copyOfStored("corrupt");
    corrupt(root, 5);
    try (LlamaEngine engine = engine(model, root)) {
      Answer answer = engine.ask(prompt(DAMAGED), ANSWER);

      assertThat(engine.stats().failures()).containsKey(FailureCode.CORRUPT);
      assertThat(answer.cachedTokens()).isEqualTo(5 * PAGE_TOKENS);
      expectEqual(answer, DAMAGED);
      // It has been stored anew.
      assertThat(engine.ask(prompt(DAMAGED), 1).cachedTokens()).isEqualTo(12 * PAGE_TOKENS);
    }
  }

  /** Changes a byte in the middle of a page's keys, in the file in which they are. */
  private static void corrupt(Path root, int page) throws IOException {
    byte[] object;
    try (CacheStore store = openStore(root);
        Arena arena = Arena.ofShared()) {
      ObjectKey keys = objectsOf(store, page, PoolName.KV).getFirst();
      HostMemory memory = HostMemory.of(arena.allocate(FULL_LAYERS * PAGE_TOKENS * ROW_BYTES));
      assertThat(store.get(List.of(new GetOp(keys, List.of(memory))), soon()).isOk(0)).isTrue();
      object = memory.segment().toArray(ValueLayout.JAVA_BYTE);
    }
    int found = 0;
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
        byte[] bytes = Files.readAllBytes(file);
        int at = indexOf(bytes, object);
        if (at >= 0) {
          bytes[at + object.length / 2] ^= 1;
          Files.write(file, bytes);
          found++;
        }
      }
    }
    assertThat(found).as("files that hold the object").isOne();
  }

  private static int indexOf(byte[] bytes, byte[] part) {
    for (int at = 0; at + part.length <= bytes.length; at++) {
      if (Arrays.equals(bytes, at, at + part.length, part, 0, part.length)) {
        return at;
      }
    }
    return -1;
  }

  private static Path copyOfStored(String name) throws IOException {
    Path from = folder.resolve("stored");
    Path to = folder.resolve(name);
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, to.resolve(from.relativize(file)));
      }
    }
    return to;
  }
}
