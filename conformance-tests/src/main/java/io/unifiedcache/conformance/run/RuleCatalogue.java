package io.unifiedcache.conformance.run;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The rules of the suite, in the order in which they are published. */
public final class RuleCatalogue {
  /**
   * A rule and the method that tries it.
   *
   * @param rule the rule
   * @param method the method, static, which takes a {@link Trial}
   */
  public record Entry(Rule rule, Method method) {
    /** Returns the id of the rule. */
    public String id() {
      return rule.id();
    }

    /** Tries the rule. Throws whatever the rule throws. */
    void tryIn(Trial trial) throws Throwable {
      try {
        method.invoke(null, trial);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }

  private RuleCatalogue() {}

  /**
   * Returns the rules of the given classes: by class, and within one by their ids.
   *
   * @throws IllegalStateException if a class has none, two have the same id, or a method cannot be
   *     called
   */
  public static List<Entry> of(List<Class<?>> classes) {
    List<Entry> entries = new ArrayList<>();
    Set<String> ids = new TreeSet<>();
    for (Class<?> each : classes) {
      List<Entry> own = new ArrayList<>();
      for (Method method : each.getDeclaredMethods()) {
        Rule rule = method.getAnnotation(Rule.class);
        if (rule != null) {
          method.setAccessible(true);
          own.add(new Entry(rule, method));
          if (!ids.add(rule.id())) {
            throw new IllegalStateException("two rules have the id " + rule.id());
          }
        }
      }
      if (own.isEmpty()) {
        throw new IllegalStateException(each + " has no rules");
      }
      own.sort(Comparator.comparing(Entry::id));
      entries.addAll(own);
    }
    return List.copyOf(entries);
  }
}
