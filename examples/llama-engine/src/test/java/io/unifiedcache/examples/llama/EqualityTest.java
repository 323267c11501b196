package io.unifiedcache.examples.llama;

import static io.unifiedcache.examples.llama.LlamaEngine.PAGE_TOKENS;
import static org.assertj.core.api.Assertions.assertThat;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
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
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Holds answers to prompts that come from a store, in part, against those of the same model without
 * one: the logits of the first token have equal bits, and 64 greedy tokens are the same.
 *
 * <p>What takes the time is the model, so that there are few prompts, each answered without a store
 * once; what differs from case to case is the store. Two models are at work at a time, with a
 * thread each, and all cases wait for one of them.
 */
@Execution(ExecutionMode.CONCURRENT)
class EqualityTest {
  private static final int ANSWER = 64;

  /** Of Gemma 3 270M: the layers with full attention, and the bytes of a token's keys in one. */
  private static final int FULL_LAYERS = 3;

  private static final long ROW_BYTES = 512;

  /** 24 pages. */
  private static final int STORED = 1536;

  private static final PageHasher PAGES = PageHasher.of(PAGE_TOKENS);

  /** How many tokens of the text the prompts begin with. */
  private static final int SHORT = 64;

  private static final int MEDIUM = 513;
  private static final int LONG = 1500;

  @TempDir static Path folder = Path.of("");

  private static int[] text;
  private static int[] other;
  private static int[] strange;

  private static final BlockingQueue<LlamaModel> IDLE = new LinkedBlockingQueue<>();
  private static int models;

  /** Ends when the store with the whole text is complete; it stays as it is. */
  private static final CompletableFuture<Path> WHOLE = new CompletableFuture<>();

  private static final Map<Integer, CompletableFuture<Answer>> COLD =
      Map.of(
          SHORT,
          new CompletableFuture<>(),
          MEDIUM,
          new CompletableFuture<>(),
          LONG,
          new CompletableFuture<>());

  @RegisterExtension static final ExecutionCondition WEIGHTS = Demanded::modelCondition;

  @BeforeAll
  static void load() {
    Path file = Demanded.model();
    CompletableFuture<LlamaModel> second = CompletableFuture.supplyAsync(() -> model(file));
    LlamaModel cold = model(file);
    int[] licence = cold.tokens(EngineOptions.licence());
    text = Arrays.copyOf(licence, STORED);
    strange = Arrays.copyOfRange(licence, STORED, STORED + PAGE_TOKENS);
    other = Arrays.copyOfRange(cold.tokens("The old lighthouse keeper climbed the stairs"), 1, 8);
    IDLE.add(second.join());
    new Thread(
            () -> {
              try {
                storeAndAnswerCold(cold);
              } catch (RuntimeException | Error e) {
                WHOLE.completeExceptionally(e);
                COLD.values().forEach(answer -> answer.completeExceptionally(e));
              } finally {
                IDLE.add(cold);
              }
            })
        .start();
    models = 2;
  }

  private static LlamaModel model(Path file) {
    return new LlamaModel(
        file, LlamaEngine.CONTEXT_TOKENS, LlamaEngine.PAGE_TOKENS, /* threads= */ 1);
  }

  private static void storeAndAnswerCold(LlamaModel model) {
    Path whole = folder.resolve("whole");
    try (LlamaEngine engine = engine(model, whole)) {
      assertThat(engine.ask(text, 1).cachedTokens()).isZero();
    }
    WHOLE.complete(whole);
    // What the engine has computed is still in the model, and never came from a store.
    ColdModel cold = new ColdModel(model, text);
    for (int begins : List.of(LONG, MEDIUM, SHORT)) {
      answeredCold(begins).complete(cold.ask(prompt(begins), ANSWER));
    }
  }

  @AfterAll
  static void free() throws InterruptedException {
    for (int i = 0; i < models; i++) {
      IDLE.take().close();
    }
  }

  private static LlamaEngine engine(LlamaModel model, Path root) {
    return new LlamaEngine(
        model, /* salt= */ "", linker -> linker.backend("file").settings(settings(root)));
  }

  private static Map<String, String> settings(Path root) {
    return Map.of("root", root.toString(), "capacity", "256MiB");
  }

  /** Returns a prompt that begins with so many tokens of the text, and then differs. */
  private static int[] prompt(int begins) {
    assertThat(other[0]).isNotEqualTo(text[begins]);
    return IntStream.concat(Arrays.stream(text, 0, begins), Arrays.stream(other)).toArray();
  }

  /** Lends one of the models. */
  private static <T> T lend(Function<LlamaModel, T> use) throws InterruptedException {
    LlamaModel model = IDLE.take();
    try {
      return use.apply(model);
    } finally {
      IDLE.add(model);
    }
  }

  private static Answer ask(Path root, int[] prompt, int answerTokens) throws InterruptedException {
    return lend(
        model -> {
          try (LlamaEngine engine = engine(model, root)) {
            return engine.ask(prompt, answerTokens);
          }
        });
  }

  private static CompletableFuture<Answer> answeredCold(int begins) {
    return Objects.requireNonNull(COLD.get(begins), "a prompt that is answered cold");
  }

  private static void expectEqual(Answer answer, int begins) {
    Answer cold = answeredCold(begins).join();
    assertThat(answer.logits()).as("logits").hasSameSizeAs(cold.logits());
    assertThat(Arrays.mismatch(bits(answer.logits()), bits(cold.logits())))
        .as("the first of the logits whose bits differ")
        .isEqualTo(-1);
    assertThat(answer.tokens()).as("tokens").hasSize(ANSWER).isEqualTo(cold.tokens());
  }

  private static int[] bits(float[] logits) {
    return IntStream.range(0, logits.length).map(i -> Float.floatToRawIntBits(logits[i])).toArray();
  }

  @ParameterizedTest(name = "{0} tokens shared, {2} restored")
  @CsvSource({
    "0, 64, 0",
    "1, 64, 0",
    "63, 64, 0",
    "64, 64, 64",
    "511, 513, 448",
    "512, 513, 512",
    "513, 513, 512",
    "1500, 1500, 1472"
  })
  void ask_promptThatSharesTokens_answersAsWithoutStore(int shared, int begins, int restored)
      throws Exception {
    Path root = storeThatShares(shared, begins);

    Answer answer = ask(root, prompt(begins), ANSWER);

    assertThat(answer.cachedTokens()).isEqualTo(restored);
    expectEqual(answer, begins);
  }

  /** Returns a store that has exactly so many tokens of a prompt, and then a page that differs. */
  private static Path storeThatShares(int shared, int begins) throws Exception {
    Path root = folder.resolve("shares-" + shared);
    if (shared == begins) {
      return copyWhole(root);
    }
    int pages = shared / PAGE_TOKENS;
    if (pages > 0) {
      copyWhole(root);
      removeFrom(root, pages);
    }
    int[] stored = Arrays.copyOf(text, (pages + 1) * PAGE_TOKENS);
    System.arraycopy(strange, 0, stored, shared, stored.length - shared);
    assertThat(Arrays.mismatch(stored, prompt(begins))).isEqualTo(shared);
    assertThat(ask(root, stored, 1).cachedTokens()).isEqualTo(pages * PAGE_TOKENS);
    return root;
  }

  private static void removeFrom(Path root, int page) {
    List<PageKey> kept = PAGES.pageKeys(text).subList(0, page);
    try (CacheStore store = openStore(root)) {
      List<ObjectKey> gone =
          objects(
              store,
              object -> kept.stream().noneMatch(key -> object.value().contains(key.value())));
      remove(store, gone);
    }
  }

  @Test
  void ask_restore_loadsOnlyTheLastPagesOfTheWindow() throws Exception {
    Path root = copyWhole(folder.resolve("window"));
    lend(
        model -> {
          try (LlamaEngine engine = engine(model, root)) {
            engine.ask(prompt(LONG), 1);

            // 23 pages of the KV pool and 8 of the SWA pool, each an object of keys and one of
            // values.
            return assertThat(engine.stats().objectsLoaded()).isEqualTo(2 * (23 + 8));
          }
        });
  }

  @Test
  void ask_holesInTheSlidingWindowPool_resumesAtTheLongestRestorableLength() throws Exception {
    Path root = copyWhole(folder.resolve("holes"));
    // No longer in the window after 23 pages, so that it is not missed.
    removeSliding(root, 2);
    assertThat(ask(root, prompt(LONG), 1).cachedTokens()).isEqualTo(23 * PAGE_TOKENS);
    // In the window after 22 and 23 pages; after 21 neither is, and after 3 to 10 the first one is.
    removeSliding(root, 21);

    Answer answer = ask(root, prompt(LONG), ANSWER);

    assertThat(answer.cachedTokens()).isEqualTo(21 * PAGE_TOKENS);
    // The hole has been filled with what was computed.
    assertThat(ask(root, prompt(LONG), 1).cachedTokens()).isEqualTo(23 * PAGE_TOKENS);
    expectEqual(answer, LONG);
  }

  private static void removeSliding(Path root, int page) {
    try (CacheStore store = openStore(root)) {
      List<ObjectKey> keys = objectsOf(store, page, PoolName.SWA);
      assertThat(keys).hasSize(2);
      remove(store, keys);
    }
  }

  private static void remove(CacheStore store, List<ObjectKey> keys) {
    assertThat(store.remove(keys, /* evenIfLeased= */ false, soon()).count(ObjectStatus.OK))
        .isEqualTo(keys.size());
  }

  /** Returns the keys of a page's objects in a pool; they end with pool and component. */
  private static List<ObjectKey> objectsOf(CacheStore store, int page, PoolName pool) {
    String key = PAGES.pageKeys(text).get(page).value();
    return objects(
        store,
        object -> {
          int at = object.value().indexOf(key);
          return at >= 0 && object.value().indexOf(pool.value(), at + key.length()) > 0;
        });
  }

  private static List<ObjectKey> objects(CacheStore store, Predicate<ObjectKey> wanted) {
    List<ObjectKey> found = new ArrayList<>();
    store.list(
        KeyPrefix.EVERYTHING,
        object -> {
          if (wanted.test(object)) {
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
  void ask_layerThatFails_computesAllOfItAndAnswersAsWithoutStore() throws Exception {
    Path root = copyWhole(folder.resolve("failing"));
    Answer answer =
        lend(
            model -> {
              try (FailingStore store = new FailingStore(openStore(root));
                  LlamaEngine engine =
                      new LlamaEngine(model, /* salt= */ "", linker -> linker.store(store))) {
                store.failReadsFrom(5);
                Answer failing = engine.ask(prompt(MEDIUM), ANSWER);

                assertThat(store.failed()).isPositive();
                assertThat(engine.stats().failedLoads()).isPositive();
                assertThat(failing.cachedTokens()).isZero();

                store.failReadsFrom(Integer.MAX_VALUE);
                assertThat(engine.ask(prompt(MEDIUM), 1).cachedTokens()).isEqualTo(512);
                return failing;
              }
            });
    expectEqual(answer, MEDIUM);
  }

  @Test
  void ask_corruptObject_restoresWhatIsBeforeItAndAnswersAsWithoutStore() throws Exception {
    Path root = copyWhole(folder.resolve("corrupt"));
    corrupt(root, 6);
    Answer answer =
        lend(
            model -> {
              try (LlamaEngine engine = engine(model, root)) {
                Answer damaged = engine.ask(prompt(MEDIUM), ANSWER);

                assertThat(engine.stats().failures()).containsKey(FailureCode.CORRUPT);
                assertThat(damaged.cachedTokens()).isEqualTo(6 * PAGE_TOKENS);
                // It has been stored anew.
                assertThat(engine.ask(prompt(MEDIUM), 1).cachedTokens()).isEqualTo(512);
                return damaged;
              }
            });
    expectEqual(answer, MEDIUM);
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

  /** Copies the store with the whole text, once it is there. */
  private static Path copyWhole(Path to) throws IOException {
    Path from = WHOLE.join();
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, to.resolve(from.relativize(file)));
      }
    }
    return to;
  }
}
