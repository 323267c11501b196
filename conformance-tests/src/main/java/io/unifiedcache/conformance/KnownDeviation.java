package io.unifiedcache.conformance;

import io.unifiedcache.conformance.result.Outcome;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Says that a backend breaks a rule, on a subclass of {@link StoreConformance} or {@link
 * LinkerConformance}.
 *
 * <p>Strict: the rule is tried all the same. While it is broken it is {@link Outcome#SET_ASIDE} and
 * the result partial; once it holds, or the date has passed, it is {@link Outcome#FAILED}.
 */
@Documented
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Repeatable(KnownDeviation.All.class)
public @interface KnownDeviation {
  /** Returns the id of the rule. */
  String rule();

  /** Returns why it is broken, in a sentence. */
  String reason();

  /** Returns the last day on which this is accepted, as {@code 2027-01-31}. */
  String until();

  /** Several deviations. */
  @Documented
  @Target(ElementType.TYPE)
  @Retention(RetentionPolicy.RUNTIME)
  @interface All {
    /** Returns the deviations. */
    KnownDeviation[] value();
  }
}
