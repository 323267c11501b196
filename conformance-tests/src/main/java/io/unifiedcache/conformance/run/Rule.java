package io.unifiedcache.conformance.run;

import io.unifiedcache.api.store.Capability;
import io.unifiedcache.conformance.result.Level;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A rule, beside the method that tries it: a static method that takes a {@link Trial}.
 *
 * <p>This is the one place where a rule is written; the catalogue is made from it.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface Rule {
  /** Returns the id, which is never given to another rule. */
  String id();

  /** Returns how binding the rule is. */
  Level level() default Level.MUST;

  /** Returns the edition of the rules in which it came. */
  int since() default 1;

  /** Returns on what it is tried. */
  Scope scope();

  /** Returns the rule in words. */
  String text();

  /** Returns what to check first when it is broken. */
  String hint();

  /** Returns the capabilities without all of which the rule says nothing. */
  Capability[] needs() default {};

  /**
   * Returns whether it is tried with no other rule beside it and no store open but its own: because
   * it counts, fills, reopens or kills.
   */
  boolean alone() default false;
}
