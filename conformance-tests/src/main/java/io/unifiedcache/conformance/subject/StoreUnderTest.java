package io.unifiedcache.conformance.subject;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsException;
import io.unifiedcache.linker.SettingsSources;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongFunction;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The store that a run is about: how to open it, again and again, and the hooks that its author
 * gives.
 *
 * <p>A backend that is found {@linkplain #named by name} needs no hook for what concerns processes
 * and budgets: the suite opens it in other JVMs by itself, and sets its option {@value #CAPACITY},
 * where it has one that is a size, to give it a small budget.
 *
 * <p>Immutable and thread-safe.
 */
public final class StoreUnderTest {
  /** The name of the option that is taken for the budget of a named backend, in bytes. */
  public static final String CAPACITY = "capacity";

  private final String name;
  private final Map<String, String> settings;
  private final boolean named;
  private final @Nullable Backends backends;
  private final @Nullable Supplier<? extends CacheStore> opening;
  private final @Nullable LongFunction<? extends CacheStore> openingWithBudget;
  private final @Nullable FaultInjector faults;
  private final @Nullable Supplier<ProcessBuilder> process;
  private final @Nullable Consumer<Duration> clock;

  private StoreUnderTest(
      String name,
      Map<String, String> settings,
      boolean named,
      @Nullable Backends backends,
      @Nullable Supplier<? extends CacheStore> opening,
      @Nullable LongFunction<? extends CacheStore> openingWithBudget,
      @Nullable FaultInjector faults,
      @Nullable Supplier<ProcessBuilder> process,
      @Nullable Consumer<Duration> clock) {
    this.name = name;
    this.settings = Map.copyOf(settings);
    this.named = named;
    this.backends = backends;
    this.opening = opening;
    this.openingWithBudget = openingWithBudget;
    this.faults = faults;
    this.process = process;
    this.clock = clock;
  }

  /** Returns the backend of the given name with the given settings, by key. */
  public static StoreUnderTest named(String backend, Map<String, String> settings) {
    return new StoreUnderTest(
        requireNonNull(backend, "backend"),
        settings,
        /* named= */ true,
        null,
        null,
        null,
        null,
        null,
        null);
  }

  /**
   * Returns a store that code opens.
   *
   * @param name the name of the store in reports
   * @param opening opens the store; called again after the store it returned was closed, and then
   *     to open what is left of it
   */
  public static StoreUnderTest of(String name, Supplier<? extends CacheStore> opening) {
    return new StoreUnderTest(
        requireNonNull(name, "name"),
        Map.of(),
        /* named= */ false,
        null,
        requireNonNull(opening, "opening"),
        null,
        null,
        null,
        null);
  }

  /** Sets among which backends to look for a named one; all that are found if it is not set. */
  public StoreUnderTest among(Backends found) {
    return new StoreUnderTest(
        name, settings, named, found, opening, openingWithBudget, faults, process, clock);
  }

  /**
   * Sets how to open the store with a small budget.
   *
   * @param budgeted opens the store with about so many bytes of capacity
   */
  public StoreUnderTest withBudget(LongFunction<? extends CacheStore> budgeted) {
    return new StoreUnderTest(
        name, settings, named, backends, opening, budgeted, faults, process, clock);
  }

  /** Sets what makes things go wrong below the store. */
  public StoreUnderTest withFaults(FaultInjector injector) {
    return new StoreUnderTest(
        name, settings, named, backends, opening, openingWithBudget, injector, process, clock);
  }

  /**
   * Sets how to start another process that opens the same store: one whose {@code main} calls
   * {@code StoreProcess.serve}. A named backend needs none.
   */
  public StoreUnderTest withProcess(Supplier<ProcessBuilder> builder) {
    return new StoreUnderTest(
        name, settings, named, backends, opening, openingWithBudget, faults, builder, clock);
  }

  /**
   * Sets what moves the clock of the store ahead, so that the suite does not wait for a lease to
   * end.
   */
  public StoreUnderTest withClock(Consumer<Duration> ahead) {
    return new StoreUnderTest(
        name, settings, named, backends, opening, openingWithBudget, faults, process, ahead);
  }

  /** Returns the name of the backend or store. */
  public String name() {
    return name;
  }

  /** Tells whether the store is opened by the name of its backend. */
  public boolean isNamed() {
    return named;
  }

  /** Returns the settings that were given, by key, as text; not masked. */
  public Map<String, String> settings() {
    return settings;
  }

  /**
   * Returns the settings that were given, by key, secret ones masked.
   *
   * @throws CacheException if there is no such backend
   * @throws SettingsException if the settings are wrong
   */
  public Map<String, String> shownSettings() {
    if (!named) {
      return Map.of();
    }
    List<Option<?>> options = List.copyOf(provider().options());
    Settings resolved = SettingsSources.of(settings).resolve(options);
    Map<String, String> shown = new LinkedHashMap<>();
    for (Option<?> option : options) {
      if (resolved.isSet(option)) {
        shown.put(option.name(), show(resolved, option));
      }
    }
    return shown;
  }

  private static <T> String show(Settings resolved, Option<T> option) {
    return option.show(resolved.get(option));
  }

  /**
   * Returns the provider of a named backend.
   *
   * @throws IllegalStateException if the store is opened by code
   * @throws CacheException if there is no such backend
   */
  public CacheStoreProvider provider() {
    if (!named) {
      throw new IllegalStateException(name + " is opened by code and has no provider");
    }
    return backends().named(name);
  }

  /** Returns the backends among which a named one is looked for. */
  public Backends backends() {
    Backends among = backends;
    return among == null ? Backends.discover() : among;
  }

  /**
   * Opens the store.
   *
   * @throws CacheException if it cannot be opened
   * @throws SettingsException if the settings are wrong
   */
  public CacheStore open() {
    Supplier<? extends CacheStore> code = opening;
    return code == null
        ? open(settings, "conformance-" + name)
        : requireNonNull(code.get(), "the store of " + name);
  }

  /**
   * Opens a named backend as the given instance.
   *
   * @throws CacheException if it cannot be opened
   */
  public CacheStore open(String instance) {
    return open(settings, instance);
  }

  /**
   * Returns how to open the store with about the given budget, if there is a way.
   *
   * @param bytes the budget
   */
  public Optional<Supplier<CacheStore>> budgeted(long bytes) {
    LongFunction<? extends CacheStore> code = openingWithBudget;
    if (code != null) {
      return Optional.of(() -> requireNonNull(code.apply(bytes), "the store of " + name));
    }
    if (!named) {
      return Optional.empty();
    }
    for (Option<?> option : provider().options()) {
      if (option.name().equals(CAPACITY) && option.type().equals("size")) {
        Map<String, String> small = new LinkedHashMap<>(settings);
        small.put(CAPACITY, new ByteSize(bytes).toString());
        return Optional.of(() -> open(small, "conformance-" + name));
      }
    }
    return Optional.empty();
  }

  private CacheStore open(Map<String, String> values, String instance) {
    CacheStoreProvider provider = provider();
    Settings resolved = SettingsSources.of(values).resolve(provider.options());
    CacheStore store;
    try {
      store = provider.open(resolved, StoreContext.of(instance));
    } catch (CacheException e) {
      throw e;
    } catch (RuntimeException | LinkageError e) {
      // A missing native library is a LinkageError.
      throw new CacheException(
          FailureCode.INTERNAL, "backend " + name + " could not be opened: " + e, e);
    }
    if (store == null) {
      throw new CacheException(
          FailureCode.INTERNAL, "backend " + name + " opened no store, but returned null");
    }
    return store;
  }

  /** Returns what makes things go wrong below the store, if it was given. */
  public Optional<FaultInjector> faults() {
    return Optional.ofNullable(faults);
  }

  /** Returns how to start another process on the same store, if that was given. */
  public Optional<Supplier<ProcessBuilder>> process() {
    return Optional.ofNullable(process);
  }

  /** Returns what moves the clock of the store ahead, if it was given. */
  public Optional<Consumer<Duration>> clock() {
    return Optional.ofNullable(clock);
  }

  @Override
  public String toString() {
    return name;
  }
}
