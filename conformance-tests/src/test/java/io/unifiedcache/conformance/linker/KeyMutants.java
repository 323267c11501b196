package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.LinkerSpec;
import io.unifiedcache.linker.key.CacheIdentity;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

/** Small edits of this project's linker, each of which breaks a rule of keys. */
public final class KeyMutants {
  private static final String KEYS = "keys";
  private static final String EMPTY_SEGMENTS = "sglang.empty-segments";

  /** The layout in a key of the strict form, behind the pool. */
  private static final Pattern LAYOUT = Pattern.compile("_[0-9a-f]{8}_(?=[^_]*$)");

  private static final AtomicLong OPENED = new AtomicLong();

  private KeyMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        Edits.mutant(
            "key.single-tag",
            "every key has the tag twice",
            "to appear once",
            tagging(/* form= */ "strict", /* reading= */ true, /* writing= */ true)),
        Edits.mutant(
            "key.single-tag",
            "keys that are read are tagged once more",
            "to appear once",
            tagging(/* form= */ "sglang-store", /* reading= */ true, /* writing= */ false)),
        Edits.mutant(
            "key.single-tag",
            "keys that are removed are others than those that were put",
            "to use the objects that were offloaded",
            over(
                (spec, store) ->
                    new EditedStore(store) {
                      @Override
                      public BatchResult remove(
                          List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
                        boolean own = form(spec).equals("sglang-store");
                        return super.remove(
                            own ? keys.stream().map(KeyMutants::other).toList() : keys,
                            evenIfLeased,
                            by);
                      }
                    })),
        Edits.mutant(
            "key.isolation",
            "the revision is left out",
            "to share no object",
            identified(
                old ->
                    new CacheIdentity(
                        old.tag(),
                        old.model(),
                        Optional.empty(),
                        old.elementType(),
                        old.pageTokens(),
                        old.salt(),
                        old.tensor(),
                        old.pipeline(),
                        old.context(),
                        old.decodeContext(),
                        old.splitHeads()))),
        Edits.mutant(
            "key.isolation",
            "an absent model is an empty one",
            "to share no object",
            identified(old -> old.model().isPresent() ? old : old.toBuilder().model("").build())),
        Edits.mutant(
                "key.isolation",
                "tag and model are joined",
                "to share no object",
                identified(
                    old ->
                        new CacheIdentity(
                            old.tag().map(tag -> tag + old.model().map(m -> "_" + m).orElse("")),
                            Optional.empty(),
                            old.revision(),
                            old.elementType(),
                            old.pageTokens(),
                            old.salt(),
                            old.tensor(),
                            old.pipeline(),
                            old.context(),
                            old.decodeContext(),
                            old.splitHeads())))
            .alsoBreaking("linker.ranks"),
        Edits.mutant(
            "key.isolation",
            "the rank is named, and not of how many it is",
            "to share no object",
            identified(old -> old.toBuilder().tensor(old.tensor().rank(), 64).build())),
        Edits.mutant(
            "key.isolation",
            "the case of the model is folded",
            "to share no object",
            identified(
                old ->
                    old.model().isEmpty()
                        ? old
                        : old.toBuilder()
                            .model(old.model().get().toLowerCase(Locale.ROOT))
                            .build())),
        Edits.mutant(
                "key.isolation",
                "the size of a page is left out",
                "to share no object",
                identified(
                    old ->
                        new CacheIdentity(
                            old.tag(),
                            old.model(),
                            old.revision(),
                            old.elementType(),
                            OptionalInt.empty(),
                            old.salt(),
                            old.tensor(),
                            old.pipeline(),
                            old.context(),
                            old.decodeContext(),
                            old.splitHeads())))
            .alsoBreaking("linker.ranks"),
        Edits.mutant(
            "key.layout",
            "the layout is left out",
            "to share no object",
            keyed((pool, key) -> LAYOUT.matcher(key).replaceFirst("_"))),
        Edits.mutant(
            "key.layout",
            "the size of a page stands for its layout",
            "to share no object",
            keyed((pool, key) -> LAYOUT.matcher(key).replaceFirst("_" + pool.pageBytes() + "_"))),
        Edits.mutant(
            "key.layout",
            "the number of slots is part of the layout",
            "to change no key",
            keyed((pool, key) -> key + pool.slots())),
        Edits.mutant(
            "key.deterministic",
            "keys have a text whose case was changed as the locale has it",
            "tr-TR",
            marked(old -> old.model().map(model -> model.toLowerCase(Locale.getDefault())))),
        Edits.mutant(
            "key.deterministic",
            "keys have a number that was written as the locale has it",
            "with its digits",
            marked(
                old ->
                    Optional.of(
                        String.format(Locale.getDefault(), "%d", old.pageTokens().orElse(1))))),
        Edits.mutant(
            "key.deterministic",
            "keys have the name of the time zone",
            "in time zone",
            marked(old -> Optional.of(TimeZone.getDefault().getID()))),
        Edits.mutant(
            "key.deterministic",
            "keys differ from linker to linker",
            "a second linker",
            marked(old -> Optional.of("" + OPENED.getAndIncrement()))),
        Edits.mutant(
            "key.empty-segment",
            "empty parts are never left out",
            "= filter",
            set(settings -> settings.remove(EMPTY_SEGMENTS))),
        Edits.mutant(
            "key.empty-segment",
            "empty parts are always left out",
            "= keep",
            set(settings -> settings.put(EMPTY_SEGMENTS, "filter"))),
        Edits.mutant(
            "key.empty-segment",
            "an empty part at the end is kept",
            "= filter",
            spec -> {
              boolean ends =
                  spec.identity().model().filter(model -> model.endsWith("/")).isPresent();
              return LinkerFactory.unifiedCache()
                  .open(ends ? with(spec, settings -> settings.remove(EMPTY_SEGMENTS)) : spec);
            }));
  }

  private static String form(LinkerSpec spec) {
    return spec.settings().getOrDefault(KEYS, "strict");
  }

  // Edits of keys on their way to the store.

  private interface Edit {
    CacheStore apply(LinkerSpec spec, CacheStore store);
  }

  private static LinkerFactory over(Edit edit) {
    return spec ->
        LinkerFactory.unifiedCache().open(Edits.withStore(spec, store -> edit.apply(spec, store)));
  }

  private static LinkerFactory tagging(String form, boolean reading, boolean writing) {
    return over(
        (spec, store) -> {
          String tag = spec.identity().tag().orElse("");
          return form(spec).equals(form) && !tag.isEmpty()
              ? new Keyed(store, tagging(tag, reading), tagging(tag, writing))
              : store;
        });
  }

  /** Tags keys that have a tag already. */
  private static UnaryOperator<ObjectKey> tagging(String tag, boolean on) {
    return key -> on ? new ObjectKey(tag + "_" + key.value()) : key;
  }

  /** Writes keys of the strict form otherwise, as the first pool and the right key have it. */
  private static LinkerFactory keyed(BiFunction<DevicePool, String, String> edit) {
    return over(
        (spec, store) -> {
          DevicePool pool = spec.pools().pools().getFirst();
          UnaryOperator<ObjectKey> edited = key -> new ObjectKey(edit.apply(pool, key.value()));
          return form(spec).equals("strict") ? new Keyed(store, edited, edited) : store;
        });
  }

  /** Writes keys otherwise, each in one way. */
  private static final class Keyed extends EditedStore {
    private final UnaryOperator<ObjectKey> reading;
    private final UnaryOperator<ObjectKey> writing;

    Keyed(CacheStore store, UnaryOperator<ObjectKey> reading, UnaryOperator<ObjectKey> writing) {
      super(store);
      this.reading = reading;
      this.writing = writing;
    }

    @Override
    public BatchResult exists(List<ObjectKey> keys, Deadline by) {
      return super.exists(keys.stream().map(writing).toList(), by);
    }

    @Override
    public BatchResult put(List<PutOp> ops, Deadline by) {
      return super.put(
          ops.stream()
              .map(op -> new PutOp(writing.apply(op.key()), op.pieces(), op.groupHint()))
              .toList(),
          by);
    }

    @Override
    public BatchResult get(List<GetOp> ops, Deadline by) {
      return super.get(
          ops.stream().map(op -> new GetOp(reading.apply(op.key()), op.pieces())).toList(), by);
    }

    @Override
    public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
      return super.openSession(keys.stream().map(reading).toList(), by);
    }

    @Override
    public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
      return super.remove(keys.stream().map(writing).toList(), evenIfLeased, by);
    }
  }

  private static ObjectKey other(ObjectKey key) {
    return new ObjectKey(key.value() + "-removed");
  }

  // Edits of what keys are made of.

  private static LinkerFactory identified(UnaryOperator<CacheIdentity> edit) {
    return spec ->
        LinkerFactory.unifiedCache()
            .open(
                form(spec).equals("strict") ? identified(spec, edit.apply(spec.identity())) : spec);
  }

  private static LinkerSpec identified(LinkerSpec spec, CacheIdentity identity) {
    return new LinkerSpec(
        spec.backend(), identity, spec.pools(), spec.ranks(), spec.settings(), spec.instance());
  }

  private interface Mark {
    Optional<String> of(CacheIdentity identity);
  }

  /** Adds something to the salt of identities that tell their model and revision. */
  private static LinkerFactory marked(Mark mark) {
    return identified(
        old ->
            old.model().isPresent() && old.revision().isPresent()
                ? old.toBuilder().salt(old.salt().orElse("") + mark.of(old).orElse("")).build()
                : old);
  }

  private interface Setting {
    void change(Map<String, String> settings);
  }

  private static LinkerFactory set(Setting change) {
    return spec -> LinkerFactory.unifiedCache().open(with(spec, change));
  }

  private static LinkerSpec with(LinkerSpec spec, Setting change) {
    Map<String, String> settings = new TreeMap<>(spec.settings());
    change.change(settings);
    return new LinkerSpec(
        spec.backend(), spec.identity(), spec.pools(), spec.ranks(), settings, spec.instance());
  }
}
