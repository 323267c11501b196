package io.unifiedcache.linker.key;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.DevicePool;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * The parts of an object key in the strict form.
 *
 * <p>The key is {@code uc2} and these parts, joined by {@code _}: tag, model, revision, element
 * type, page tokens, salt, {@code tp} rank{@code -}size, {@code pp} rank{@code -}size, {@code cp}
 * rank{@code -}size, {@code dcp} rank{@code -}size{@code -}logical page tokens, {@code sh} shares
 * of heads, page, pool, {@linkplain #layoutOf layout of the pool}, component. Text is written as
 * ASCII letters, digits and {@code -}, and every other byte of its UTF-8 as {@code %} and two
 * upper-case hexadecimal digits; an absent part, or the tensor rank of a rank-replicated set, as
 * {@code ~}. So a key is also a file name, and a regular expression that matches itself and nothing
 * else.
 *
 * <p>No two values have the same key (rules {@code key.isolation} and {@code key.layout}).
 *
 * @param identity the identity; of tensor rank 0 if {@code rankReplicated}
 * @param rankReplicated whether all tensor ranks share the object
 * @param page the page
 * @param pool the pool
 * @param layout the layout of the pool, 8 lower-case hexadecimal digits
 * @param component the component
 */
public record StrictKey(
    CacheIdentity identity,
    boolean rankReplicated,
    PageKey page,
    PoolName pool,
    String layout,
    String component) {
  private static final int PARTS = 16;
  private static final Pattern LAYOUT = Pattern.compile("[0-9a-f]{8}");

  /**
   * Creates the parts of a key.
   *
   * @throws IllegalArgumentException if {@code rankReplicated} and the tensor rank is not 0, or
   *     {@code layout} is not 8 lower-case hexadecimal digits
   */
  public StrictKey {
    Objects.requireNonNull(page, "page");
    Objects.requireNonNull(pool, "pool");
    Objects.requireNonNull(component, "component");
    if (!LAYOUT.matcher(layout).matches()) {
      throw new IllegalArgumentException(
          "a layout is written as 8 lower-case hexadecimal digits, not as " + layout);
    }
    if (rankReplicated && identity.tensor().rank() != 0) {
      throw new IllegalArgumentException(
          "a key that all tensor ranks share names none, but here is rank "
              + identity.tensor().rank());
    }
  }

  /**
   * Returns how the keys name the layout of a pool's pages (rule {@code key.layout}).
   *
   * <p>It is the beginning, in hexadecimal digits, of the SHA-256 digest of, for each component in
   * order: the length of its name and the name in UTF-8, the number of its buffers, and for each
   * buffer in order its layer and the bytes of a piece. Numbers are big-endian, the bytes of a
   * piece take 8 bytes and all others 4. Where the slots are in memory does not matter, and neither
   * does their number.
   *
   * @throws IllegalArgumentException if the name of a component has an unpaired surrogate
   */
  public static String layoutOf(DevicePool pool) {
    return StrictKeyLayout.layoutOf(pool);
  }

  /**
   * Returns the parts of a key.
   *
   * @throws IllegalArgumentException if the key is not in the strict form
   */
  public static StrictKey parse(ObjectKey key) {
    StrictKey parts;
    try {
      parts = parse(key.value().split("_", PARTS + 1));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("not a key in the strict form: " + key, e);
    }
    if (!parts.key().equals(key)) {
      throw new IllegalArgumentException(
          "not a key in the strict form: " + key + " should read " + parts.key());
    }
    return parts;
  }

  /** Returns the key. */
  public ObjectKey key() {
    return new StrictKeyLayout(identity, rankReplicated)
        .template(pool, layout, component)
        .key(page);
  }

  private static StrictKey parse(String[] parts) {
    if (parts.length != PARTS || !parts[0].equals(StrictKeyLayout.VERSION)) {
      throw new IllegalArgumentException(
          "it has not %d parts, of which the first is %s"
              .formatted(PARTS, StrictKeyLayout.VERSION));
    }
    String[] tensor = numbers("tp", parts[7], 2);
    boolean rankReplicated = tensor[0].equals(StrictText.ABSENT);
    CacheIdentity identity =
        new CacheIdentity(
            text(parts[1]),
            text(parts[2]),
            text(parts[3]),
            text(parts[4]),
            number(parts[5]),
            text(parts[6]),
            new CacheIdentity.Shard(
                rankReplicated ? 0 : Integer.parseInt(tensor[0]), Integer.parseInt(tensor[1])),
            shard(numbers("pp", parts[8], 2)),
            shard(numbers("cp", parts[9], 2)),
            decodeContext(parts[10]),
            number(after("sh", parts[11])));
    return new StrictKey(
        identity,
        rankReplicated,
        new PageKey(StrictText.decode(parts[12])),
        new PoolName(StrictText.decode(parts[13])),
        parts[14],
        StrictText.decode(parts[15]));
  }

  private static Optional<String> text(String part) {
    return part.equals(StrictText.ABSENT) ? Optional.empty() : Optional.of(StrictText.decode(part));
  }

  private static OptionalInt number(String part) {
    return part.equals(StrictText.ABSENT)
        ? OptionalInt.empty()
        : OptionalInt.of(Integer.parseInt(part));
  }

  private static Optional<CacheIdentity.DecodeContext> decodeContext(String part) {
    if (after("dcp", part).equals(StrictText.ABSENT)) {
      return Optional.empty();
    }
    String[] numbers = numbers("dcp", part, 3);
    return Optional.of(
        new CacheIdentity.DecodeContext(shard(numbers), Integer.parseInt(numbers[2])));
  }

  private static CacheIdentity.Shard shard(String[] numbers) {
    return new CacheIdentity.Shard(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
  }

  private static String[] numbers(String name, String part, int count) {
    String[] numbers = after(name, part).split("-", -1);
    if (numbers.length != count) {
      throw new IllegalArgumentException(part + " has not " + count + " numbers");
    }
    return numbers;
  }

  private static String after(String name, String part) {
    if (!part.startsWith(name)) {
      throw new IllegalArgumentException(part + " does not begin with " + name);
    }
    return part.substring(name.length());
  }
}
