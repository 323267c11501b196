package io.unifiedcache.linker;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.LinkerStats;
import java.util.Locale;
import java.util.Objects;
import java.util.function.ToDoubleFunction;

/**
 * Publishes the counters of a linker to Micrometer, which the application brings.
 *
 * <table>
 * <caption>Meters; all count since the linker was opened, but for the gauge</caption>
 * <tr><th>name</th><th>tags</th><th>what it counts</th></tr>
 * <tr><td>{@code unified.cache.lookups}</td><td></td><td>lookups that asked the store</td></tr>
 * <tr><td>{@code unified.cache.lookup.failures}</td><td></td><td>objects that a lookup could not
 *     find out about</td></tr>
 * <tr><td>{@code unified.cache.outages}</td><td></td><td>how often the store was taken to be
 *     away</td></tr>
 * <tr><td>{@code unified.cache.loads}</td><td>{@code result}: {@code ok}, {@code failed}</td>
 *     <td>loads</td></tr>
 * <tr><td>{@code unified.cache.offloads}</td><td>{@code result}: {@code ok}, {@code failed}</td>
 *     <td>offloads</td></tr>
 * <tr><td>{@code unified.cache.objects}</td><td>{@code outcome}: {@code loaded}, {@code stored},
 *     {@code present}</td><td>objects</td></tr>
 * <tr><td>{@code unified.cache.bytes}</td><td>{@code outcome}: {@code loaded}, {@code stored}</td>
 *     <td>bytes of objects</td></tr>
 * <tr><td>{@code unified.cache.failures}</td><td>{@code reason}: a {@link FailureCode} in lower
 *     case</td><td>objects, and whole requests, that failed</td></tr>
 * <tr><td>{@code unified.cache.suspects}</td><td></td><td>gauge: objects under suspicion now</td>
 *     </tr>
 * </table>
 *
 * <p>Immutable and thread-safe. The linker is asked only when the registry publishes; see {@link
 * LinkerStats} for the exact meaning of each number.
 */
// Not transitive: whoever does not use this class must be able to compile without Micrometer.
@SuppressWarnings("exports")
public final class LinkerMeters implements MeterBinder {
  private static final String PREFIX = "unified.cache.";

  private final CacheLinker linker;
  private final Tags tags;

  /** Publishes the counters of {@code linker} with the given tags added to each meter. */
  public LinkerMeters(CacheLinker linker, Iterable<Tag> tags) {
    this.linker = Objects.requireNonNull(linker, "linker");
    this.tags = Tags.of(tags);
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    count(registry, "lookups", Tags.empty(), LinkerStats::lookups);
    count(registry, "lookup.failures", Tags.empty(), LinkerStats::lookupFailures);
    count(registry, "outages", Tags.empty(), LinkerStats::outages);
    count(registry, "loads", Tags.of("result", "ok"), LinkerStats::loads);
    count(registry, "loads", Tags.of("result", "failed"), LinkerStats::failedLoads);
    count(registry, "offloads", Tags.of("result", "ok"), LinkerStats::offloads);
    count(registry, "offloads", Tags.of("result", "failed"), LinkerStats::failedOffloads);
    count(registry, "objects", Tags.of("outcome", "loaded"), LinkerStats::objectsLoaded);
    count(registry, "objects", Tags.of("outcome", "stored"), LinkerStats::objectsStored);
    count(registry, "objects", Tags.of("outcome", "present"), LinkerStats::objectsPresent);
    count(registry, "bytes", Tags.of("outcome", "loaded"), LinkerStats::bytesLoaded);
    count(registry, "bytes", Tags.of("outcome", "stored"), LinkerStats::bytesStored);
    for (FailureCode reason : FailureCode.values()) {
      count(
          registry,
          "failures",
          Tags.of("reason", reason.name().toLowerCase(Locale.ROOT)),
          stats -> stats.failures().getOrDefault(reason, 0L));
    }
    Gauge.builder(PREFIX + "suspects", linker, source -> source.stats().suspects())
        .tags(tags)
        .strongReference(true)
        .register(registry);
  }

  private void count(
      MeterRegistry registry, String name, Tags own, ToDoubleFunction<LinkerStats> number) {
    FunctionCounter.builder(PREFIX + name, linker, source -> number.applyAsDouble(source.stats()))
        .tags(tags.and(own))
        .register(registry);
  }
}
