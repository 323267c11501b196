package io.unifiedcache.linker.key;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What the bytes of a cache depend on, besides the tokens: who computed them, with which model, cut
 * in which way, and which part this rank holds.
 *
 * <p>Two deployments with equal identities can use each other's objects. In the strict form of keys
 * those with different ones share none (rule {@code key.isolation}); an absent part differs from
 * every present one, the empty text included.
 *
 * <p>What distinguishes requests, such as an adapter or a tenant's salt, is no part of the
 * identity: it enters the {@linkplain PageHasher#withNamespace page keys}.
 *
 * <p>Immutable and thread-safe.
 *
 * @param tag keeps apart what nothing else here tells apart; SGLang's {@code extra_backend_tag}
 * @param model the name or path of the model, such as {@code org/model-a}
 * @param revision the revision of its weights
 * @param elementType the type of the cached elements, such as {@code bf16}
 * @param pageTokens tokens of a page, at least 1
 * @param salt a salt of the deployment
 * @param tensor the tensor-parallel rank
 * @param pipeline the pipeline stage
 * @param context the context-parallel rank of attention
 * @param decodeContext the decode-context rank, if pages are cut that way
 * @param splitHeads if heads are stored in shares that several tensor sizes have in common, the
 *     number of shares among all ranks: a multiple of the tensor size
 */
public record CacheIdentity(
    Optional<String> tag,
    Optional<String> model,
    Optional<String> revision,
    Optional<String> elementType,
    OptionalInt pageTokens,
    Optional<String> salt,
    Shard tensor,
    Shard pipeline,
    Shard context,
    Optional<DecodeContext> decodeContext,
    OptionalInt splitHeads) {

  /**
   * One of several ranks among which something is divided.
   *
   * @param rank the number of this rank, from 0 to {@code size - 1}
   * @param size the number of ranks, at least 1
   */
  public record Shard(int rank, int size) {
    /** The only rank. */
    public static final Shard WHOLE = new Shard(0, 1);

    /**
     * Creates a shard.
     *
     * @throws IllegalArgumentException if there is no such rank
     */
    public Shard {
      if (rank < 0 || rank >= size) {
        throw new IllegalArgumentException("there is no rank " + rank + " of " + size);
      }
    }
  }

  /**
   * The part of a decode-context rank, which holds some tokens of each page.
   *
   * @param shard the rank
   * @param logicalPageTokens tokens of a page over all decode-context ranks, at least 1
   */
  public record DecodeContext(Shard shard, int logicalPageTokens) {
    /**
     * Creates a part.
     *
     * @throws IllegalArgumentException if {@code logicalPageTokens} is below 1
     */
    public DecodeContext {
      Objects.requireNonNull(shard, "shard");
      if (logicalPageTokens < 1) {
        throw new IllegalArgumentException(
            "a logical page has at least 1 token, not " + logicalPageTokens);
      }
    }
  }

  /**
   * Creates an identity; {@link #builder()} is shorter.
   *
   * @throws IllegalArgumentException if a text has an unpaired surrogate, {@code pageTokens} is
   *     below 1, or {@code splitHeads} is not a multiple of the tensor size
   */
  public CacheIdentity {
    tag.ifPresent(text -> WellFormed.utf8("tag", text));
    model.ifPresent(text -> WellFormed.utf8("model", text));
    revision.ifPresent(text -> WellFormed.utf8("revision", text));
    elementType.ifPresent(text -> WellFormed.utf8("elementType", text));
    salt.ifPresent(text -> WellFormed.utf8("salt", text));
    if (pageTokens.isPresent() && pageTokens.getAsInt() < 1) {
      throw new IllegalArgumentException(
          "a page has at least 1 token, not " + pageTokens.getAsInt());
    }
    Objects.requireNonNull(tensor, "tensor");
    Objects.requireNonNull(pipeline, "pipeline");
    Objects.requireNonNull(context, "context");
    Objects.requireNonNull(decodeContext, "decodeContext");
    if (splitHeads.isPresent()
        && (splitHeads.getAsInt() < 1 || splitHeads.getAsInt() % tensor.size() != 0)) {
      throw new IllegalArgumentException(
          "heads in "
              + splitHeads.getAsInt()
              + " shares cannot be divided evenly among "
              + tensor.size()
              + " tensor ranks");
    }
  }

  /** Returns a builder of an identity with no part and one rank. */
  public static Builder builder() {
    return new Builder();
  }

  /** Returns a builder that starts from this identity. */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.tag = tag;
    builder.model = model;
    builder.revision = revision;
    builder.elementType = elementType;
    builder.pageTokens = pageTokens;
    builder.salt = salt;
    builder.tensor = tensor;
    builder.pipeline = pipeline;
    builder.context = context;
    builder.decodeContext = decodeContext;
    builder.splitHeads = splitHeads;
    return builder;
  }

  /** Collects the parts of an identity. Used by one thread at a time. */
  public static final class Builder {
    private Optional<String> tag = Optional.empty();
    private Optional<String> model = Optional.empty();
    private Optional<String> revision = Optional.empty();
    private Optional<String> elementType = Optional.empty();
    private OptionalInt pageTokens = OptionalInt.empty();
    private Optional<String> salt = Optional.empty();
    private Shard tensor = Shard.WHOLE;
    private Shard pipeline = Shard.WHOLE;
    private Shard context = Shard.WHOLE;
    private Optional<DecodeContext> decodeContext = Optional.empty();
    private OptionalInt splitHeads = OptionalInt.empty();

    private Builder() {}

    /** Sets what keeps apart what nothing else tells apart. */
    public Builder tag(String value) {
      tag = Optional.of(value);
      return this;
    }

    /** Sets the name or path of the model. */
    public Builder model(String value) {
      model = Optional.of(value);
      return this;
    }

    /** Sets the revision of the weights. */
    public Builder revision(String value) {
      revision = Optional.of(value);
      return this;
    }

    /** Sets the type of the cached elements. */
    public Builder elementType(String value) {
      elementType = Optional.of(value);
      return this;
    }

    /** Sets the tokens of a page. */
    public Builder pageTokens(int value) {
      pageTokens = OptionalInt.of(value);
      return this;
    }

    /** Sets the salt of the deployment. */
    public Builder salt(String value) {
      salt = Optional.of(value);
      return this;
    }

    /** Sets the tensor-parallel rank. */
    public Builder tensor(int rank, int size) {
      tensor = new Shard(rank, size);
      return this;
    }

    /** Sets the pipeline stage. */
    public Builder pipeline(int rank, int size) {
      pipeline = new Shard(rank, size);
      return this;
    }

    /** Sets the context-parallel rank of attention. */
    public Builder context(int rank, int size) {
      context = new Shard(rank, size);
      return this;
    }

    /** Sets the decode-context rank and the tokens of a page over all such ranks. */
    public Builder decodeContext(int rank, int size, int logicalPageTokens) {
      decodeContext = Optional.of(new DecodeContext(new Shard(rank, size), logicalPageTokens));
      return this;
    }

    /** Sets the number of shares of heads among all tensor ranks. */
    public Builder splitHeads(int shares) {
      splitHeads = OptionalInt.of(shares);
      return this;
    }

    /**
     * Returns the identity.
     *
     * @throws IllegalArgumentException if the parts do not fit each other
     */
    public CacheIdentity build() {
      return new CacheIdentity(
          tag,
          model,
          revision,
          elementType,
          pageTokens,
          salt,
          tensor,
          pipeline,
          context,
          decodeContext,
          splitHeads);
    }
  }
}
