package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.LinkerSpec;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** Ways to break a linker: what it is opened with, what it asks of its store, what it answers. */
final class Edits {
  private static final LinkerFactory REAL = LinkerFactory.unifiedCache();

  private Edits() {}

  /** Returns a mutant that breaks one rule. */
  static Mutant mutant(String rule, String what, String says, LinkerFactory broken) {
    return Mutant.ofLinker(Set.of(rule), what, says, () -> broken);
  }

  /** Returns linkers that answer otherwise. */
  static LinkerFactory linker(Function<CacheLinker, CacheLinker> edit) {
    return spec -> edit.apply(REAL.open(spec));
  }

  /** Returns linkers that are opened with something else. */
  static LinkerFactory spec(UnaryOperator<LinkerSpec> edit) {
    return spec -> REAL.open(edit.apply(spec));
  }

  /** Returns linkers that have another store between themselves and theirs. */
  static LinkerFactory store(UnaryOperator<CacheStore> edit) {
    return spec(spec -> withStore(spec, edit));
  }

  /** Returns linkers with a setting changed. */
  static LinkerFactory setting(String key, UnaryOperator<String> change, String otherwise) {
    return spec(
        spec -> {
          Map<String, String> settings = new LinkedHashMap<>(spec.settings());
          settings.put(key, change.apply(settings.getOrDefault(key, otherwise)));
          return withSettings(spec, settings);
        });
  }

  static LinkerSpec withStore(LinkerSpec spec, UnaryOperator<CacheStore> edit) {
    return new LinkerSpec(
        new EditedProvider(spec.backend(), edit),
        spec.identity(),
        spec.pools(),
        spec.ranks(),
        spec.settings(),
        spec.instance());
  }

  static LinkerSpec withSettings(LinkerSpec spec, Map<String, String> settings) {
    return new LinkerSpec(
        spec.backend(), spec.identity(), spec.pools(), spec.ranks(), settings, spec.instance());
  }

  static LinkerSpec withPools(LinkerSpec spec, DevicePools pools) {
    return new LinkerSpec(
        spec.backend(), spec.identity(), pools, spec.ranks(), spec.settings(), spec.instance());
  }

  static LinkerSpec withRanks(LinkerSpec spec, RankCollective ranks) {
    return new LinkerSpec(
        spec.backend(), spec.identity(), spec.pools(), ranks, spec.settings(), spec.instance());
  }

  /** Writes zeros into the slots of a request, in pools of some sources. */
  static void clear(LinkerSpec spec, TransferRequest request, Predicate<PoolName> of) {
    PoolTransfer first = request.transfers().getFirst();
    for (DevicePool pool : spec.pools().pools()) {
      if (of.test(pool.source())) {
        for (Component component : pool.components()) {
          for (LayerBuffer buffer : component.buffers()) {
            HostMemory piece = (HostMemory) buffer.piece(first.slots().slot(0));
            piece.segment().fill((byte) 0);
          }
        }
      }
    }
  }

  private record EditedProvider(CacheStoreProvider provider, UnaryOperator<CacheStore> edit)
      implements CacheStoreProvider {
    @Override
    public String name() {
      return provider.name();
    }

    @Override
    public List<Option<?>> options() {
      return provider.options();
    }

    @Override
    public Set<Capability> capabilities() {
      return provider.capabilities();
    }

    @Override
    public CacheStore open(Settings settings, StoreContext context) {
      return edit.apply(provider.open(settings, context));
    }
  }
}
