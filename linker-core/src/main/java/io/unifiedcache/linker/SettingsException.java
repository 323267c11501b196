package io.unifiedcache.linker;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.io.Serial;
import java.util.List;

/**
 * Settings that cannot be used, with every mistake that they have (rule {@code settings.strict}).
 *
 * <p>No message contains a value of a secret option.
 */
public class SettingsException extends CacheException {
  @Serial private static final long serialVersionUID = 1;

  // Of the JDK's own immutable lists, which are serializable.
  @SuppressWarnings("serial")
  private final List<String> problems;

  /**
   * Creates an exception.
   *
   * @param problems a sentence per mistake, at least one
   */
  public SettingsException(List<String> problems) {
    super(FailureCode.REFUSED, message(problems));
    this.problems = List.copyOf(problems);
  }

  private static String message(List<String> problems) {
    return switch (problems.size()) {
      case 0 -> throw new IllegalArgumentException("an exception needs a mistake");
      case 1 -> "1 mistake in the settings: " + problems.getFirst();
      default -> problems.size() + " mistakes in the settings: " + String.join("; ", problems);
    };
  }

  /** Returns a sentence per mistake, in the order of the sources; at least one. */
  public List<String> problems() {
    return problems;
  }
}
