package io.unifiedcache.conformance;

import static java.util.Objects.requireNonNull;

import io.unifiedcache.conformance.result.ConformanceReport;
import io.unifiedcache.conformance.result.RuleResult;
import io.unifiedcache.conformance.run.Effort;
import io.unifiedcache.conformance.run.RuleCatalogue;
import io.unifiedcache.conformance.run.Runner;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.security.SecureRandom;
import java.time.LocalDate;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Runs the suite, without JUnit.
 *
 * {@snippet :
 * ConformanceReport report =
 *     Conformance.ofStore(StoreUnderTest.named("memory", Map.of())).run(result -> {});
 * }
 *
 * <p>Used by one thread at a time.
 */
public final class Conformance {
  private static final SecureRandom FRESH = new SecureRandom();

  private final StoreUnderTest subject;
  private final List<RuleCatalogue.Entry> all;
  private final LinkerFactory linkers;
  private Predicate<String> rules = id -> true;
  private Effort effort = Effort.USUAL;
  private long seed = FRESH.nextLong() >>> 16;
  private @Nullable String prefix;
  private final List<Runner.Deviation> deviations = new ArrayList<>();

  Conformance(StoreUnderTest subject, LinkerFactory linkers, List<RuleCatalogue.Entry> all) {
    this.subject = requireNonNull(subject, "subject");
    this.linkers = requireNonNull(linkers, "linkers");
    this.all = all;
  }

  /** Returns a run of all rules on a store, with linkers of this project over it. */
  public static Conformance ofStore(StoreUnderTest store) {
    return new Conformance(store, LinkerFactory.unifiedCache(), Rules.all());
  }

  /** Returns a run of the rules of linkers on linkers of your own, over a store that is right. */
  public static Conformance ofLinkers(LinkerFactory linkers) {
    return new Conformance(
        Rules.referenceStore(),
        linkers,
        Rules.all().stream().filter(each -> each.rule().scope() == Scope.LINKER).toList());
  }

  /** Sets what repeats an earlier run; chosen by chance if it is not set. */
  public Conformance seed(long value) {
    seed = value;
    return this;
  }

  /** Sets which rules to run, by id. */
  public Conformance rules(Predicate<String> chosen) {
    rules = requireNonNull(chosen, "rules");
    return this;
  }

  /** Sets whether to do few rounds and wait briefly. */
  public Conformance quick(boolean on) {
    effort = new Effort(on, effort.large());
    return this;
  }

  /** Sets whether to also store real objects of more than 2^31 bytes. */
  public Conformance large(boolean on) {
    effort = new Effort(effort.quick(), on);
    return this;
  }

  /** Sets what every key begins with, in place of a fresh prefix. */
  public Conformance prefix(String value) {
    prefix = requireNonNull(value, "prefix");
    return this;
  }

  /**
   * Adds the deviations that are annotated on a class.
   *
   * @throws IllegalArgumentException if one names no rule of this run, or its date is not a date
   */
  public Conformance deviationsOf(Class<?> annotated) {
    for (KnownDeviation each : annotated.getAnnotationsByType(KnownDeviation.class)) {
      if (all.stream().noneMatch(entry -> entry.id().equals(each.rule()))) {
        throw new IllegalArgumentException(
            "@KnownDeviation on %s: there is no rule \"%s\""
                .formatted(annotated.getName(), each.rule()));
      }
      deviations.add(new Runner.Deviation(each.rule(), each.reason(), date(annotated, each)));
    }
    return this;
  }

  private static LocalDate date(Class<?> annotated, KnownDeviation deviation) {
    try {
      return LocalDate.parse(deviation.until());
    } catch (DateTimeParseException e) {
      throw new IllegalArgumentException(
          "@KnownDeviation on %s: until must be a date such as 2027-01-31, not \"%s\""
              .formatted(annotated.getName(), deviation.until()),
          e);
    }
  }

  /** Returns the ids of the rules that are chosen, in the order of the catalogue. */
  public List<String> ids() {
    return chosen().stream().map(RuleCatalogue.Entry::id).toList();
  }

  /** Returns what repeats this run. */
  public long seed() {
    return seed;
  }

  private List<RuleCatalogue.Entry> chosen() {
    return all.stream().filter(each -> rules.test(each.id())).toList();
  }

  /**
   * Runs the rules.
   *
   * @param listener is told each result as it comes, one at a time
   * @throws io.unifiedcache.api.CacheException if the store cannot be opened, or holds objects
   *     under the prefix that this run did not write
   * @throws io.unifiedcache.linker.SettingsException if the settings of the store are wrong
   */
  public ConformanceReport run(Consumer<RuleResult> listener) {
    String begin = prefix == null ? freshPrefix() : prefix;
    return Runner.run(
        new Runner.Plan(
            subject, linkers, chosen(), all, effort, seed, begin, deviations, Runner.LONGEST),
        listener);
  }

  /** Not from the seed: a run that repeats another does not meet what the other has left. */
  private static String freshPrefix() {
    byte[] bytes = new byte[8];
    FRESH.nextBytes(bytes);
    return "conformance-" + HexFormat.of().formatHex(bytes) + "-";
  }
}
