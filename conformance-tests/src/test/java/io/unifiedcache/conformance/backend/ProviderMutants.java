package io.unifiedcache.conformance.backend;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.conformance.Conformance;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.store.ReferenceStore;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import io.unifiedcache.linker.Backends;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Small edits of a correct provider, each of which breaks a rule. */
public final class ProviderMutants {
  private ProviderMutants() {}

  /** A provider of the reference store that keeps the rules. */
  private static class Reference implements CacheStoreProvider {
    private static final List<Option<?>> OPTIONS =
        List.of(
            Option.number("shards", "How many parts the store has.", 1, 64).withDefault(1L),
            Option.text("access-token", "What opens the store.").asSecret());

    private final String name;

    private Reference(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public List<Option<?>> options() {
      return OPTIONS;
    }

    @Override
    public Set<Capability> capabilities() {
      return ReferenceStore.ALL;
    }

    @Override
    public CacheStore open(Settings settings, StoreContext context) {
      return new ReferenceStore();
    }
  }

  /** Returns a provider that keeps the rules. */
  static CacheStoreProvider right() {
    return new Reference("right");
  }

  /** Returns the provider under test among nothing but itself. */
  static StoreUnderTest named(String name, CacheStoreProvider provider) {
    return StoreUnderTest.named(name, Map.of())
        .among(Backends.of(List.of(new Backends.Found(name, provider, "this test"))));
  }

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        mutant(
            "discovery.by-name",
            "a name that is not legal",
            "My_Store",
            "My_Store",
            new Reference("My_Store")),
        mutant(
            "discovery.by-name",
            "a name that changes",
            "name() of the provider",
            "changing",
            new Reference("changing") {
              private int asked;

              @Override
              public String name() {
                asked++;
                return asked == 1 ? "changing" : "changing-" + asked;
              }
            }),
        mutant(
            "discovery.by-name",
            "a store that offers more than its provider says",
            "no more than its provider",
            "modest",
            new Reference("modest") {
              @Override
              public Set<Capability> capabilities() {
                return Set.of(Capability.REMOVE);
              }
            }),
        mutant(
            "settings.strict",
            "a secret that is shown",
            "access-token to be a secret",
            "telling",
            new Reference("telling") {
              private final List<Option<?>> own =
                  List.of(Option.text("access-token", "What opens the store."));

              @Override
              public List<Option<?>> options() {
                return own;
              }
            }),
        mutant(
            "settings.strict",
            "options that are made anew for each call",
            "same instances",
            "forgetful",
            new Reference("forgetful") {
              @Override
              public List<Option<?>> options() {
                return List.of(Option.text("root", "Where the store is."));
              }
            }),
        mutant(
            "settings.strict",
            "an option of the linker's",
            "linker.retries",
            "intruding",
            new Reference("intruding") {
              private final List<Option<?>> own =
                  List.of(Option.number("linker.retries", "How often to try.", 0, 9));

              @Override
              public List<Option<?>> options() {
                return own;
              }
            }),
        mutant(
            "settings.one-grammar",
            "a size in a grammar of its own",
            "64mb",
            "own-grammar",
            new Reference("own-grammar") {
              private final List<Option<?>> own =
                  List.of(Option.text("buffer", "The size of the buffer.").withDefault("64mb"));

              @Override
              public List<Option<?>> options() {
                return own;
              }
            }));
  }

  private static Mutant mutant(
      String rule, String what, String says, String name, CacheStoreProvider provider) {
    return new Mutant(
        Set.of(rule),
        Set.of(),
        what,
        says,
        () ->
            Conformance.ofStore(named(name, provider))
                .rules(id -> id.startsWith("discovery.") || id.startsWith("settings.")));
  }
}
