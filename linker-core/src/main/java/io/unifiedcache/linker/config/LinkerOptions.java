package io.unifiedcache.linker.config;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import java.time.Duration;
import java.util.List;

/**
 * The settings of a linker, but for those of its keys, which become a key layout.
 *
 * @param loadPath how bytes come from the store into the slots
 * @param lookupTimeout the deadline of the store calls of one lookup
 * @param loadTimeout the deadline of the store calls of one load batch
 * @param offloadTimeout the deadline of the store calls of one offload
 * @param readyTimeout how long an offload waits to be ready before it fails (rule {@code
 *     offload.ready-timeout})
 * @param closeTimeout how long reset and close wait for transfers (rule {@code linker.quiesce})
 * @param rankTimeout how long one rank waits for the others to agree, beyond the longest of the
 *     deadlines of the store
 * @param offloadThreads threads that offload, at least 1
 * @param outageFailures after how many questions in a row that the store does not answer it is
 *     away, 0 for never (rule {@code linker.outage})
 * @param suspectExpiry how long an object that failed to load is not offered (rule {@code
 *     load.no-livelock})
 * @param startPolicy what becomes of a linker whose store cannot be opened (rule {@code
 *     linker.start-policy})
 * @param startTimeout how long opening a linker waits for its store to open
 * @param retryInterval how long after the first failure the store is opened again, from 1 ms to 1
 *     h; the pause is doubled five times
 * @param groups whether the objects of a request are put with a group hint (rule {@code
 *     store.groups})
 */
public record LinkerOptions(
    LoadPath loadPath,
    Duration lookupTimeout,
    Duration loadTimeout,
    Duration offloadTimeout,
    Duration readyTimeout,
    Duration closeTimeout,
    Duration rankTimeout,
    int offloadThreads,
    int outageFailures,
    Duration suspectExpiry,
    StartPolicy startPolicy,
    Duration startTimeout,
    Duration retryInterval,
    boolean groups) {
  /** The form of object keys. */
  public static final Option<KeyForm> KEYS =
      Option.choice(
              "keys",
              "How object keys are written: strict keeps all deployments apart; the others are"
                  + " SGLang's, to share a store with it.",
              KeyForm.class)
          .withDefault(KeyForm.STRICT);

  /** What becomes of empty parts of a model's name, in SGLang's forms of keys. */
  public static final Option<EmptySegments> EMPTY_SEGMENTS =
      Option.choice(
              "sglang.empty-segments",
              "Whether SGLang's forms of keys keep the empty parts of a model's name, as SGLang"
                  + " does, or leave them out.",
              EmptySegments.class)
          .withDefault(EmptySegments.KEEP);

  private static final Option<LoadPath> LOAD_PATH =
      Option.choice(
              "linker.load-path",
              "How bytes come from the store: layer after layer, or whole pages; auto takes layers"
                  + " where the store can read ranges.",
              LoadPath.class)
          .withDefault(LoadPath.AUTO);

  private static final Option<Duration> LOOKUP_TIMEOUT =
      timeout("linker.lookup-timeout", "How long one lookup may take.", 5);

  private static final Option<Duration> LOAD_TIMEOUT =
      timeout("linker.load-timeout", "How long the store may take to load one batch.", 30);

  private static final Option<Duration> OFFLOAD_TIMEOUT =
      timeout("linker.offload-timeout", "How long the store may take for one offload.", 30);

  private static final Option<Duration> READY_TIMEOUT =
      timeout(
          "linker.ready-timeout",
          "How long an offload waits for the engine to say that its pages are computed; the"
              + " offloads behind it are told of when it has ended.",
          300);

  private static final Option<Duration> CLOSE_TIMEOUT =
      timeout("linker.close-timeout", "How long reset and close wait for running transfers.", 30);

  private static final Option<Duration> RANK_TIMEOUT =
      timeout(
          "linker.rank-timeout",
          "How long a rank waits for the others, beyond what their store calls may take.",
          10);

  private static final Option<Long> OFFLOAD_THREADS =
      Option.number("linker.offload-threads", "Threads that offload pages.", 1, 64).withDefault(2L);

  private static final Option<Long> OUTAGE_FAILURES =
      Option.number(
              "linker.outage-failures",
              "After how many questions in a row that the store does not answer lookups find"
                  + " nothing at once, until it answers one in the background, which is asked at"
                  + " intervals from linker.retry-interval on; 0 for never.",
              0,
              1_000)
          .withDefault(3L);

  private static final Option<Duration> SUSPECT_EXPIRY =
      Option.duration(
              "linker.suspect-expiry",
              "How long an object that failed to load is not offered, unless it is stored anew.")
          .withDefault(Duration.ofMinutes(10));

  private static final Option<StartPolicy> START_POLICY =
      Option.choice(
              "linker.start-policy",
              "What to do if the store cannot be opened: fail at once, or begin without hits and"
                  + " try again in the background.",
              StartPolicy.class)
          .withDefault(StartPolicy.FAIL_FAST);

  private static final Option<Duration> START_TIMEOUT =
      timeout(
          "linker.start-timeout",
          "How long the start waits for the store to open, before it fails or goes on without it.",
          10);

  private static final Duration LEAST_RETRY = Duration.ofMillis(1);
  private static final Duration MOST_RETRY = Duration.ofHours(1);

  private static final Option<Duration> RETRY_INTERVAL =
      Option.duration(
              "linker.retry-interval",
              "How long after a failed start the store is tried again; doubles with each failure,"
                  + " up to 32 times this.")
          .where("1ms to 1h", LinkerOptions::isRetryInterval)
          .withDefault(Duration.ofSeconds(1));

  private static final Option<Boolean> GROUPS =
      Option.bool(
              "linker.groups",
              "Tell the store which objects are used together, for stores that make use of it.")
          .withDefault(false);

  private static final List<Option<?>> OPTIONS =
      List.of(
          KEYS,
          EMPTY_SEGMENTS,
          LOAD_PATH,
          LOOKUP_TIMEOUT,
          LOAD_TIMEOUT,
          OFFLOAD_TIMEOUT,
          READY_TIMEOUT,
          CLOSE_TIMEOUT,
          RANK_TIMEOUT,
          OFFLOAD_THREADS,
          OUTAGE_FAILURES,
          SUSPECT_EXPIRY,
          START_POLICY,
          START_TIMEOUT,
          RETRY_INTERVAL,
          GROUPS);

  /**
   * Creates the settings of a linker.
   *
   * @throws IllegalArgumentException if a timeout is not positive, the expiry is negative, the
   *     retry interval is out of its range, or there is no thread to offload
   */
  public LinkerOptions {
    requireNonNull(loadPath, "loadPath");
    requirePositive("lookupTimeout", lookupTimeout);
    requirePositive("loadTimeout", loadTimeout);
    requirePositive("offloadTimeout", offloadTimeout);
    requirePositive("readyTimeout", readyTimeout);
    requirePositive("closeTimeout", closeTimeout);
    requirePositive("rankTimeout", rankTimeout);
    if (offloadThreads < 1) {
      throw new IllegalArgumentException(
          "offloadThreads must be at least 1, not " + offloadThreads);
    }
    if (suspectExpiry.isNegative()) {
      throw new IllegalArgumentException(
          "suspectExpiry must not be negative, but is " + suspectExpiry);
    }
    requireNonNull(startPolicy, "startPolicy");
    requirePositive("startTimeout", startTimeout);
    if (!isRetryInterval(retryInterval)) {
      throw new IllegalArgumentException(
          "retryInterval must be from 1 ms to 1 h, but is " + retryInterval);
    }
  }

  /** Returns the options, in the order to show them. */
  public static List<Option<?>> options() {
    return OPTIONS;
  }

  /**
   * Returns what the settings say.
   *
   * @param settings of at least all {@link #options()}
   */
  public static LinkerOptions from(Settings settings) {
    return new LinkerOptions(
        settings.get(LOAD_PATH),
        settings.get(LOOKUP_TIMEOUT),
        settings.get(LOAD_TIMEOUT),
        settings.get(OFFLOAD_TIMEOUT),
        settings.get(READY_TIMEOUT),
        settings.get(CLOSE_TIMEOUT),
        settings.get(RANK_TIMEOUT),
        Math.toIntExact(settings.get(OFFLOAD_THREADS)),
        Math.toIntExact(settings.get(OUTAGE_FAILURES)),
        settings.get(SUSPECT_EXPIRY),
        settings.get(START_POLICY),
        settings.get(START_TIMEOUT),
        settings.get(RETRY_INTERVAL),
        settings.get(GROUPS));
  }

  /** Returns the defaults. */
  public static LinkerOptions defaults() {
    return from(Settings.builder(OPTIONS).build());
  }

  private static Option<Duration> timeout(String name, String description, long seconds) {
    return Option.duration(name, description)
        .where("more than 0s", Duration::isPositive)
        .withDefault(Duration.ofSeconds(seconds));
  }

  private static boolean isRetryInterval(Duration value) {
    return value.compareTo(LEAST_RETRY) >= 0 && value.compareTo(MOST_RETRY) <= 0;
  }

  private static void requirePositive(String name, Duration value) {
    if (!value.isPositive()) {
      throw new IllegalArgumentException(name + " must be positive, but is " + value);
    }
  }
}
