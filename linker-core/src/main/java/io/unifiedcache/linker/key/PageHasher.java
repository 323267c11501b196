package io.unifiedcache.linker.key;

import io.unifiedcache.api.PageKey;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Names the pages of a prompt by the hash chain of SGLang 0.5.23 (rule {@code key.golden}).
 *
 * <p>The key of a page is the SHA-256 digest, in 64 lower-case hexadecimal digits, of
 *
 * <ol>
 *   <li>the digest of the page before it, 32 bytes; for the first page the namespace, if there is
 *       one, and otherwise nothing;
 *   <li>one byte {@code 0xFF}, if a token of this page is above 2<sup>32</sup> - 1;
 *   <li>the tokens, little-endian, as 4 bytes each, or 8 if such a token is among them.
 * </ol>
 *
 * <p>So a key stands for all tokens up to the end of its page. It does not stand for the size of
 * pages, the model or the element type: those belong in the {@link CacheIdentity}.
 *
 * <p>A unit is a token, or {@linkplain #withBigrams() a pair of neighbours}.
 *
 * <p>Immutable and thread-safe. Equal input gives equal keys in any JVM (rule {@code
 * key.deterministic}). Hashing allocates the keys, the list of them and a few kilobytes per call,
 * and nothing per token. A negative token is refused with an {@link IllegalArgumentException} that
 * names its index, even where its page is not hashed.
 */
public final class PageHasher {
  private static final int DIGEST_BYTES = 32;
  private static final int BUFFER_BYTES = 4096;
  private static final byte WIDE_MARK = (byte) 0xFF;
  private static final String NAMESPACE_VERSION = "sglang-cache-namespace-v1";

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final int pageTokens;
  private final boolean bigrams;

  /** The digest that the first page is chained to, or null. */
  private final byte @Nullable [] prior;

  private PageHasher(int pageTokens, boolean bigrams, byte @Nullable [] prior) {
    this.pageTokens = pageTokens;
    this.bigrams = bigrams;
    this.prior = prior;
  }

  /**
   * Returns a hasher of pages of {@code pageTokens} tokens, in no namespace.
   *
   * @throws IllegalArgumentException if {@code pageTokens} is below 1
   */
  public static PageHasher of(int pageTokens) {
    if (pageTokens < 1) {
      throw new IllegalArgumentException("a page has at least 1 token, not " + pageTokens);
    }
    return new PageHasher(pageTokens, false, null);
  }

  /**
   * Returns this hasher with pairs of neighbouring tokens as units, as speculative decoding with
   * EAGLE has them: n tokens are n - 1 units, and a page is {@code pageTokens} units.
   */
  public PageHasher withBigrams() {
    return new PageHasher(pageTokens, true, prior);
  }

  /**
   * Returns this hasher with chains that begin in the namespace of a request. As in SGLang, an
   * empty salt counts as none, and an empty extra key does not.
   *
   * @param extraKey what keeps requests apart on purpose, such as an adapter
   * @param cacheSalt what keeps tenants apart
   * @throws IllegalArgumentException if one has an unpaired surrogate
   */
  public PageHasher withNamespace(Optional<String> extraKey, Optional<String> cacheSalt) {
    Optional<String> salt = cacheSalt.filter(text -> !text.isEmpty());
    return new PageHasher(pageTokens, bigrams, seed(extraKey, salt));
  }

  /**
   * Returns this hasher for the pages that follow the given one: its first page is chained to
   * {@code prior}, and its tokens are those after the end of that page.
   *
   * @throws IllegalArgumentException if {@code prior} is not 64 hexadecimal digits, of either case
   */
  public PageHasher after(PageKey prior) {
    return new PageHasher(pageTokens, bigrams, digestOf(prior));
  }

  /**
   * Returns what the first page of a namespace is chained to, or empty if both parts are absent. An
   * empty part differs from an absent one.
   *
   * <p>It is the SHA-256 digest of {@code sglang-cache-namespace-v1} and, for the extra key and
   * then the salt, a zero byte if it is absent, or else a one byte, its length in UTF-8 as 8 bytes
   * little-endian, and its UTF-8.
   *
   * @throws IllegalArgumentException if one has an unpaired surrogate
   */
  public static Optional<PageKey> namespaceSeed(
      Optional<String> extraKey, Optional<String> cacheSalt) {
    byte[] seed = seed(extraKey, cacheSalt);
    return seed == null ? Optional.empty() : Optional.of(keyOf(seed));
  }

  /** Returns the number of tokens, or of pairs, in a page. */
  public int pageTokens() {
    return pageTokens;
  }

  /** Returns the keys of the full pages of a prompt, the first page first. */
  public List<PageKey> pageKeys(int[] tokens) {
    return chain(Tokens.of(tokens), false);
  }

  /** Returns the keys of the full pages of a prompt, the first page first. */
  public List<PageKey> pageKeys(long[] tokens) {
    return chain(Tokens.of(tokens), false);
  }

  /**
   * Returns the keys of the full pages that follow the given one: those of {@code after(prior)}.
   *
   * @throws IllegalArgumentException if {@code prior} is not 64 hexadecimal digits
   */
  public List<PageKey> pageKeys(int[] tokens, PageKey prior) {
    return after(prior).pageKeys(tokens);
  }

  /**
   * Returns the keys of the full pages that follow the given one: those of {@code after(prior)}.
   *
   * @throws IllegalArgumentException if {@code prior} is not 64 hexadecimal digits
   */
  public List<PageKey> pageKeys(long[] tokens, PageKey prior) {
    return after(prior).pageKeys(tokens);
  }

  /**
   * Returns the keys of all pages of a prompt, of a last one that is not full, too. An engine does
   * not store that one: its key changes with the next token.
   */
  public List<PageKey> pageKeysWithTail(long[] tokens) {
    return chain(Tokens.of(tokens), true);
  }

  /** Returns one key for all tokens, as if they were one page, however many there are. */
  public PageKey wholeKey(long[] tokens) {
    Tokens all = Tokens.of(tokens);
    return keyOf(new Chain(prior).next(all, 0, units(all)));
  }

  @Override
  public String toString() {
    return "PageHasher[pageTokens=%d, bigrams=%b, prior=%s]"
        .formatted(pageTokens, bigrams, prior == null ? "none" : HexFormat.of().formatHex(prior));
  }

  private List<PageKey> chain(Tokens tokens, boolean withTail) {
    int units = units(tokens);
    int pages = units / pageTokens + (withTail && units % pageTokens != 0 ? 1 : 0);
    List<PageKey> keys = new ArrayList<>(pages);
    Chain chain = new Chain(prior);
    for (int page = 0; page < pages; page++) {
      int from = page * pageTokens;
      keys.add(keyOf(chain.next(tokens, from, Math.min(pageTokens, units - from))));
    }
    return List.copyOf(keys);
  }

  private int units(Tokens tokens) {
    return bigrams ? Math.max(0, tokens.size() - 1) : tokens.size();
  }

  private static PageKey keyOf(byte[] digest) {
    return new PageKey(HexFormat.of().formatHex(digest));
  }

  private static byte[] digestOf(PageKey page) {
    String hex = page.value();
    if (hex.length() == 2 * DIGEST_BYTES) {
      try {
        return HexFormat.of().parseHex(hex);
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(
            "a page to chain to must be 64 hexadecimal digits, not " + hex, e);
      }
    }
    throw new IllegalArgumentException(
        "a page to chain to must be 64 hexadecimal digits, not " + hex.length() + ": " + hex);
  }

  private static byte @Nullable [] seed(Optional<String> extraKey, Optional<String> cacheSalt) {
    if (extraKey.isEmpty() && cacheSalt.isEmpty()) {
      return null;
    }
    MessageDigest sha256 = sha256();
    sha256.update(NAMESPACE_VERSION.getBytes(StandardCharsets.US_ASCII));
    absorb(sha256, "extra key", extraKey);
    absorb(sha256, "cache salt", cacheSalt);
    return sha256.digest();
  }

  private static void absorb(MessageDigest sha256, String what, Optional<String> part) {
    if (part.isEmpty()) {
      sha256.update((byte) 0);
      return;
    }
    byte[] text = WellFormed.utf8(what, part.get());
    byte[] length = new byte[Long.BYTES];
    LONG.set(length, 0, (long) text.length);
    sha256.update((byte) 1);
    sha256.update(length);
    sha256.update(text);
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }

  /** The tokens of a prompt, all of them checked not to be negative. */
  private static final class Tokens {
    private final int @Nullable [] ints;
    private final long @Nullable [] longs;
    private final int size;

    private Tokens(int @Nullable [] ints, long @Nullable [] longs, int size) {
      this.ints = ints;
      this.longs = longs;
      this.size = size;
    }

    static Tokens of(int[] tokens) {
      for (int i = 0; i < tokens.length; i++) {
        requireNotNegative(i, tokens[i]);
      }
      return new Tokens(tokens, null, tokens.length);
    }

    static Tokens of(long[] tokens) {
      for (int i = 0; i < tokens.length; i++) {
        requireNotNegative(i, tokens[i]);
      }
      return new Tokens(null, tokens, tokens.length);
    }

    private static void requireNotNegative(int index, long token) {
      if (token < 0) {
        throw new IllegalArgumentException(
            "token " + token + " at index " + index + " must not be negative");
      }
    }

    int size() {
      return size;
    }

    long at(int index) {
      if (ints != null) {
        return ints[index];
      }
      return longs == null ? 0 : longs[index];
    }
  }

  /** One walk along a prompt, with the digest of the page before the next. */
  private final class Chain {
    private final MessageDigest sha256 = sha256();
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private final byte[] digest = new byte[DIGEST_BYTES];
    private int filled;
    private boolean first;

    Chain(byte @Nullable [] prior) {
      first = prior == null;
      if (prior != null) {
        System.arraycopy(prior, 0, digest, 0, DIGEST_BYTES);
      }
    }

    /** Returns the digest of the page of {@code units} units from unit {@code from} on. */
    byte[] next(Tokens tokens, int from, int units) {
      if (!first) {
        sha256.update(digest);
      }
      first = false;
      boolean wide = isWide(tokens, from, units);
      if (wide) {
        sha256.update(WIDE_MARK);
      }
      filled = 0;
      for (int unit = from; unit < from + units; unit++) {
        put(tokens.at(unit), wide);
        if (bigrams) {
          put(tokens.at(unit + 1), wide);
        }
      }
      sha256.update(buffer, 0, filled);
      try {
        sha256.digest(digest, 0, DIGEST_BYTES);
      } catch (DigestException e) {
        throw new IllegalStateException("a digest of SHA-256 has 32 bytes", e);
      }
      return digest;
    }

    private boolean isWide(Tokens tokens, int from, int units) {
      int to = units > 0 && bigrams ? from + units + 1 : from + units;
      for (int i = from; i < to; i++) {
        if (tokens.at(i) > 0xFFFF_FFFFL) {
          return true;
        }
      }
      return false;
    }

    private void put(long token, boolean wide) {
      int bytes = wide ? Long.BYTES : Integer.BYTES;
      if (filled + bytes > BUFFER_BYTES) {
        sha256.update(buffer, 0, filled);
        filled = 0;
      }
      if (wide) {
        LONG.set(buffer, filled, token);
      } else {
        INT.set(buffer, filled, (int) token);
      }
      filled += bytes;
    }
  }
}
