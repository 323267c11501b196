package io.unifiedcache.examples.llama;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A model that llama.cpp has loaded, and one sequence of tokens that it works on.
 *
 * <p>Used by one thread at a time.
 */
final class LlamaModel implements AutoCloseable {
  /** A structure of parameters: passed as a whole, and little is known of what is in it. */
  private static final StructLayout PARAMETERS =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(32, JAVA_LONG));

  private static final StructLayout BATCH =
      MemoryLayout.structLayout(MemoryLayout.sequenceLayout(7, JAVA_LONG));

  private static final long CONTEXT_TOKENS = 0;
  private static final long BATCH_TOKENS = 4;
  private static final long MICRO_BATCH_TOKENS = 8;
  private static final long THREADS = 16;
  private static final long BATCH_THREADS = 20;
  private static final long FLASH_ATTENTION = 99;

  private static final int LONGEST_PIECE = 256;

  /** The sequence of the prompt. */
  private static final int PROMPT = 0;

  /** The sequence that has the cells of a page for as long as they are copied out. */
  private static final int CUT = 1;

  private final Arena arena = Arena.ofShared();
  private final SymbolLookup library = LlamaLibrary.functions();
  private final NativeFunction tokenize =
      function(
          JAVA_INT,
          "llama_tokenize",
          ADDRESS,
          ADDRESS,
          JAVA_INT,
          ADDRESS,
          JAVA_INT,
          JAVA_BOOLEAN,
          JAVA_BOOLEAN);
  private final NativeFunction tokenToPiece =
      function(
          JAVA_INT,
          "llama_token_to_piece",
          ADDRESS,
          JAVA_INT,
          ADDRESS,
          JAVA_INT,
          JAVA_INT,
          JAVA_BOOLEAN);
  private final NativeFunction batchGetOne =
      function(BATCH, "llama_batch_get_one", ADDRESS, JAVA_INT);
  private final NativeFunction decode = function(JAVA_INT, "llama_decode", ADDRESS, BATCH);
  private final NativeFunction getLogits =
      function(ADDRESS, "llama_get_logits_ith", ADDRESS, JAVA_INT);
  private final NativeFunction removeCells =
      function(JAVA_BOOLEAN, "llama_kv_self_seq_rm", ADDRESS, JAVA_INT, JAVA_INT, JAVA_INT);
  private final NativeFunction shareCells =
      NativeFunction.ofVoid(
          library, "llama_kv_self_seq_cp", ADDRESS, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT);
  private final NativeFunction getState =
      function(JAVA_LONG, "llama_state_seq_get_data", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT);
  private final NativeFunction getStateSize =
      function(JAVA_LONG, "llama_state_seq_get_size", ADDRESS, JAVA_INT);
  private final NativeFunction setState =
      function(JAVA_LONG, "llama_state_seq_set_data", ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT);

  private final Path file;
  private final MemorySegment model;
  private final MemorySegment context;
  private final MemorySegment vocabulary;
  private final MemorySegment tokenBuffer;
  private @Nullable String digest;

  /**
   * Loads a model.
   *
   * @param file a GGUF file
   * @param contextTokens the most tokens of a prompt and its answer
   * @param batchTokens the most tokens that are decoded at once
   * @throws IllegalArgumentException if llama.cpp cannot load the file
   * @throws IllegalStateException if the library is not the version that this engine knows
   */
  LlamaModel(Path file, int contextTokens, int batchTokens, int threads) {
    if (!Files.isReadable(file)) {
      throw new IllegalArgumentException("the model cannot be read: " + file);
    }
    this.file = file;
    MemorySegment modelParameters =
        function(PARAMETERS, "llama_model_default_params").callMemory(arena);
    model =
        function(ADDRESS, "llama_model_load_from_file", ADDRESS, PARAMETERS)
            .callMemory(arena.allocateFrom(file.toString()), modelParameters);
    if (model.equals(MemorySegment.NULL)) {
      throw new IllegalArgumentException("llama.cpp cannot load " + file + "; its log says why");
    }
    context =
        function(ADDRESS, "llama_init_from_model", ADDRESS, PARAMETERS)
            .callMemory(model, contextParameters(contextTokens, batchTokens, threads));
    if (context.equals(MemorySegment.NULL)) {
      throw new IllegalArgumentException("llama.cpp cannot make a context; its log says why");
    }
    vocabulary = function(ADDRESS, "llama_model_get_vocab", ADDRESS).callMemory(model);
    tokenBuffer = arena.allocate(JAVA_INT, batchTokens);
  }

  private MemorySegment contextParameters(int contextTokens, int batchTokens, int threads) {
    MemorySegment parameters =
        function(PARAMETERS, "llama_context_default_params").callMemory(arena);
    set(parameters, CONTEXT_TOKENS, 512, contextTokens);
    set(parameters, BATCH_TOKENS, 2048, batchTokens);
    set(parameters, MICRO_BATCH_TOKENS, 512, batchTokens);
    set(parameters, THREADS, 4, threads);
    set(parameters, BATCH_THREADS, 4, threads);
    if (parameters.get(JAVA_BYTE, FLASH_ATTENTION) != 0) {
      throw otherLibrary();
    }
    // With it, values are stored by rows, as keys are.
    parameters.set(JAVA_BYTE, FLASH_ATTENTION, (byte) 1);
    return parameters;
  }

  private static void set(MemorySegment parameters, long offset, int expected, int value) {
    if (parameters.get(JAVA_INT, offset) != expected) {
      throw otherLibrary();
    }
    parameters.set(JAVA_INT, offset, value);
  }

  private static IllegalStateException otherLibrary() {
    return new IllegalStateException(
        "the parameters of this llama.cpp are not those of de.kherud:llama:4.2.0");
  }

  private NativeFunction function(MemoryLayout result, String name, MemoryLayout... parameters) {
    return NativeFunction.of(library, name, result, parameters);
  }

  /** Returns what the model's file says under a key, such as {@code general.architecture}. */
  Optional<String> metadata(String key) {
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment value = scratch.allocate(LONGEST_PIECE);
      int length =
          function(JAVA_INT, "llama_model_meta_val_str", ADDRESS, ADDRESS, ADDRESS, JAVA_LONG)
              .callInt(model, scratch.allocateFrom(key), value, value.byteSize());
      return length < 0 ? Optional.empty() : Optional.of(value.getString(0));
    }
  }

  /** Returns the name that the model's file gives it. */
  String name() {
    return metadata("general.name").orElse(file.getFileName().toString());
  }

  /** Returns the SHA-256 digest of the model's file. */
  String digest() {
    String known = digest;
    if (known == null) {
      known = sha256();
      digest = known;
    }
    return known;
  }

  private String sha256() {
    try (InputStream in = Files.newInputStream(file)) {
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      byte[] buffer = new byte[1 << 16];
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        sha.update(buffer, 0, read);
      }
      return HexFormat.of().formatHex(sha.digest());
    } catch (IOException e) {
      throw new UncheckedIOException("the model cannot be read: " + e, e);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }

  /** Returns the tokens of a text, with the one in front that the model expects there. */
  int[] tokens(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int most = bytes.length + 8;
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment tokens = scratch.allocate(JAVA_INT, most);
      int count =
          tokenize.callInt(
              vocabulary,
              scratch.allocateFrom(JAVA_BYTE, bytes),
              bytes.length,
              tokens,
              most,
              /* addSpecial */ true,
              /* parseSpecial */ false);
      return tokens.asSlice(0, (long) count * Integer.BYTES).toArray(JAVA_INT);
    }
  }

  /** Returns the text of tokens. */
  String text(int... tokens) {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment piece = scratch.allocate(LONGEST_PIECE);
      for (int token : tokens) {
        int length = tokenToPiece.callInt(vocabulary, token, piece, LONGEST_PIECE, 0, false);
        text.writeBytes(piece.asSlice(0, Math.max(0, length)).toArray(JAVA_BYTE));
      }
    }
    return text.toString(StandardCharsets.UTF_8);
  }

  /**
   * Works on {@code count} tokens after those that the sequence has.
   *
   * @throws IllegalStateException if llama.cpp fails, as where the context is full
   */
  void decode(int[] tokens, int from, int count) {
    MemorySegment.copy(tokens, from, tokenBuffer, JAVA_INT, 0, count);
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment batch = batchGetOne.callMemory(scratch, tokenBuffer, count);
      int status = decode.callInt(context, batch);
      if (status != 0) {
        throw new IllegalStateException("llama.cpp cannot decode: status " + status);
      }
    }
  }

  /** Returns a score for each token that may come next. */
  @SuppressWarnings("restricted") // A C array has no length.
  float[] logits() {
    int tokens = function(JAVA_INT, "llama_vocab_n_tokens", ADDRESS).callInt(vocabulary);
    MemorySegment logits = getLogits.callMemory(context, -1);
    return logits.reinterpret((long) tokens * Float.BYTES).toArray(JAVA_FLOAT);
  }

  /** Drops the tokens from the given position on. */
  void truncate(int position) {
    removeCells.run(context, PROMPT, position, -1);
  }

  /** Returns the cached rows of the tokens from one position to another, as llama.cpp has them. */
  MemorySegment rows(Arena where, int from, int to) {
    shareCells.run(context, PROMPT, CUT, from, to);
    try {
      long bytes = getStateSize.callLong(context, CUT);
      MemorySegment state = where.allocate(bytes);
      long written = getState.callLong(context, state, bytes, CUT);
      return state.asSlice(0, written);
    } finally {
      removeCells.run(context, CUT, -1, -1);
    }
  }

  /**
   * Puts cached rows in place of what the sequence has.
   *
   * @throws IllegalStateException if llama.cpp does not take them
   */
  void restore(MemorySegment state) {
    long read = setState.callLong(context, state, state.byteSize(), PROMPT);
    if (read != state.byteSize()) {
      throw new IllegalStateException("llama.cpp does not take the state of a sequence");
    }
  }

  @Override
  public void close() {
    NativeFunction.ofVoid(library, "llama_free", ADDRESS).run(context);
    NativeFunction.ofVoid(library, "llama_model_free", ADDRESS).run(model);
    arena.close();
  }
}
