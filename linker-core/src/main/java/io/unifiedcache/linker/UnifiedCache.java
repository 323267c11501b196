package io.unifiedcache.linker;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.direct.DirectLinker;
import io.unifiedcache.linker.direct.RankMember;
import io.unifiedcache.linker.direct.RankOpening;
import io.unifiedcache.linker.direct.StoreSource;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.KeyLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens linkers.
 *
 * {@snippet :
 * CacheLinker linker =
 *     UnifiedCache.builder()
 *         .backend("memory")
 *         .settings(Map.of("capacity", "8GiB"))
 *         .identity(CacheIdentity.builder().model("org/model-a").elementType("bf16").build())
 *         .pools(pools)
 *         .open();
 * }
 */
public final class UnifiedCache {
  private static final Logger LOG = LoggerFactory.getLogger(UnifiedCache.class);

  private UnifiedCache() {}

  /** Returns a builder of a linker. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns the options that every linker understands beside those of its backend, in the order to
   * show them.
   */
  public static List<Option<?>> linkerOptions() {
    return LinkerOptions.options();
  }

  /** Collects what a linker needs. Used by one thread at a time. */
  public static final class Builder {
    private String backend = "memory";
    private @Nullable Backends backends;
    private @Nullable CacheStore store;
    private SettingsSources settings = SettingsSources.none();
    private @Nullable CacheIdentity identity;
    private @Nullable DevicePools pools;
    private RankCollective ranks = RankCollective.ALONE;
    private String instance = "unified-cache";
    private MonotonicClock clock = MonotonicClock.SYSTEM;

    private Builder() {}

    /** Sets the name of the backend; {@code memory} if it is not set. */
    public Builder backend(String name) {
      backend = requireNonNull(name, "backend");
      return this;
    }

    /** Sets among which backends to look; {@link Backends#discover()} if they are not set. */
    public Builder backends(Backends found) {
      backends = requireNonNull(found, "backends");
      return this;
    }

    /** Sets a store to use in place of a backend. It is borrowed: the linker does not close it. */
    public Builder store(CacheStore borrowed) {
      store = requireNonNull(borrowed, "store");
      return this;
    }

    /** Sets where the settings of the backend and of the linker come from. */
    public Builder settings(SettingsSources sources) {
      settings = requireNonNull(sources, "settings");
      return this;
    }

    /** Sets the settings of the backend and of the linker, by key. */
    public Builder settings(Map<String, String> values) {
      return settings(SettingsSources.of(values));
    }

    /** Sets what the cached bytes depend on. Required. */
    public Builder identity(CacheIdentity value) {
      identity = requireNonNull(value, "identity");
      return this;
    }

    /** Sets the memory of the engine. Required. It stays allocated until the linker has closed. */
    public Builder pools(DevicePools value) {
      pools = requireNonNull(value, "pools");
      return this;
    }

    /** Sets how this rank agrees with the others; {@link RankCollective#ALONE} if it is not set. */
    public Builder ranks(RankCollective collective) {
      ranks = requireNonNull(collective, "ranks");
      return this;
    }

    /**
     * Sets the name of this linker in logs and thread names.
     *
     * @throws IllegalArgumentException if it is blank
     */
    public Builder instance(String name) {
      if (name.isBlank()) {
        throw new IllegalArgumentException("the name of an instance must not be blank");
      }
      instance = name;
      return this;
    }

    /** Sets the clock, for tests. */
    Builder clock(MonotonicClock value) {
      clock = value;
      return this;
    }

    /**
     * Opens a linker and its store. If anything is wrong, a store that was opened is closed again.
     *
     * <p>A store that cannot be opened is an error if {@code linker.start-policy} is {@code
     * fail-fast}, by {@code linker.start-timeout}, even if the backend hangs. If it is {@code
     * degraded}, the linker opens without its store, which is tried again in the background (rule
     * {@code linker.start-policy}).
     *
     * <p>With several ranks, all of them call this at the same time. They are opened only if they
     * fit together: their identities are equal but for the ranks, which differ; so are the settings
     * of the linkers, and the pools of the ranks of a pipeline stage (rule {@code linker.ranks}).
     * If one is not opened, none is, and the collective is over.
     *
     * @throws IllegalStateException if there is no identity or there are no pools
     * @throws SettingsException with every mistake in the settings of the backend and the linker
     * @throws CacheException with code {@code REFUSED} if there is no such backend, if the keys
     *     have no names for a pool's components, if pools of device memory meet a store that cannot
     *     address it (rule {@code linker.device-memory}), or if layers are to be loaded from a
     *     store that cannot read ranges: whatever the policy, as far as the backend tells or the
     *     first try shows; on every rank and with all that differs, if the ranks do not fit
     *     together; with code {@code OTHER_RANK} if another rank did not come or was not opened,
     *     and says why, as far as it could be told; if the policy is to fail fast, with code {@code
     *     TIMEOUT} if the store did not open by the timeout, otherwise as it could not be opened
     */
    public CacheLinker open() {
      try {
        return openAmongRanks();
      } catch (RuntimeException | Error e) {
        ranks.leave(
            "rank %d of %d could not open its linker: %s"
                .formatted(ranks.rank(), ranks.size(), e.getMessage()));
        throw e;
      }
    }

    private CacheLinker openAmongRanks() {
      CacheIdentity theIdentity = required(identity, "identity");
      DevicePools thePools = required(pools, "pools");
      CacheStore borrowed = store;
      CacheStoreProvider provider = borrowed == null ? provider() : null;
      List<Option<?>> own = provider == null ? List.of() : optionsOf(provider);
      List<Option<?>> all = new ArrayList<>(own);
      all.addAll(LinkerOptions.options());
      Settings resolved = settings.resolve(all);
      KeyLayout layout = layout(resolved, theIdentity, thePools);
      LinkerOptions options = LinkerOptions.from(resolved);
      StoreSource source = provider == null ? null : source(provider, resolved.only(own));
      RankOpening opening = new RankOpening(ranks, resolved);
      RankMember member =
          new RankMember(
              ranks, theIdentity.tensor().rank() == 0, opening.agree(theIdentity, thePools));
      CacheLinker linker =
          link(
              layout,
              () ->
                  borrowed != null
                      ? DirectLinker.open(
                          borrowed,
                          /* ownsStore= */ false,
                          layout,
                          thePools,
                          member,
                          options,
                          clock,
                          instance)
                      : DirectLinker.open(
                          requireNonNull(source),
                          layout,
                          thePools,
                          member,
                          options,
                          clock,
                          instance));
      try {
        opening.awaitAll();
      } catch (RuntimeException | Error e) {
        linker.close();
        throw e;
      }
      return linker;
    }

    private static <T> T required(@Nullable T part, String name) {
      if (part == null) {
        throw new IllegalStateException("a linker needs " + name + ": call " + name + "(...)");
      }
      return part;
    }

    private CacheStoreProvider provider() {
      Backends among = backends == null ? Backends.discover() : backends;
      CacheStoreProvider provider = among.named(backend);
      for (Backends.Broken broken : among.broken()) {
        LOG.warn(
            "{}: backend {} of {} cannot be loaded: {}",
            instance,
            broken.provider(),
            broken.origin(),
            broken.cause());
      }
      return provider;
    }

    private List<Option<?>> optionsOf(CacheStoreProvider provider) {
      try {
        return List.copyOf(provider.options());
      } catch (RuntimeException | LinkageError e) {
        throw new CacheException(
            FailureCode.INTERNAL, "backend " + backend + " does not tell its options: " + e, e);
      }
    }

    private static KeyLayout layout(
        Settings resolved, CacheIdentity theIdentity, DevicePools thePools) {
      try {
        return KeyLayout.of(
            resolved.get(LinkerOptions.KEYS),
            theIdentity,
            thePools.rankReplicated(),
            resolved.get(LinkerOptions.EMPTY_SEGMENTS));
      } catch (IllegalArgumentException e) {
        throw new CacheException(
            FailureCode.REFUSED, "the identity does not fit the keys: " + e.getMessage(), e);
      }
    }

    private StoreSource source(CacheStoreProvider provider, Settings own) {
      ThreadFactory threads = StoreContext.of(instance).threads();
      StoreContext context = new StoreContext(instance, clock, threads);
      String name = backend;
      return new StoreSource(
          capabilitiesOf(provider), () -> Backends.open(name, provider, own, context));
    }

    private Set<Capability> capabilitiesOf(CacheStoreProvider provider) {
      try {
        return Set.copyOf(provider.capabilities());
      } catch (RuntimeException | LinkageError e) {
        throw new CacheException(
            FailureCode.INTERNAL, "backend " + backend + " does not tell what it offers: " + e, e);
      }
    }

    private CacheLinker link(KeyLayout layout, Supplier<CacheLinker> opening) {
      CacheLinker linker;
      try {
        linker = opening.get();
      } catch (IllegalArgumentException e) {
        throw new CacheException(
            FailureCode.REFUSED,
            "the pools do not fit the keys or the store: " + e.getMessage(),
            e);
      }
      layout.warning().ifPresent(warning -> LOG.warn("{}: {}", instance, warning));
      return linker;
    }
  }
}
