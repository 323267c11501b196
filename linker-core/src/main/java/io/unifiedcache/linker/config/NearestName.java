package io.unifiedcache.linker.config;

import java.util.Collection;
import java.util.Locale;
import java.util.Optional;

/** Finds the name that was probably meant. */
public final class NearestName {
  private NearestName() {}

  /**
   * Returns the known name that differs from the given one by the fewest mistakes, if they are at
   * most one for every three characters: a character too many, missing or wrong, or two neighbours
   * swapped. Case does not count, nor which of {@code .}, {@code -} and {@code _} joins words, nor
   * whether the parts before the last dot are there. Of equally near names the first is returned.
   */
  public static Optional<String> among(Collection<String> known, String name) {
    String nearest = null;
    int fewest = Math.max(1, name.length() / 3) + 1;
    for (String candidate : known) {
      String lastPart = candidate.substring(candidate.lastIndexOf('.') + 1);
      if (name.length() - candidate.length() >= fewest) {
        // So much longer that it would be dear to find out by how many mistakes.
        continue;
      }
      int mistakes = Math.min(mistakes(name, candidate), mistakes(name, lastPart));
      if (mistakes < fewest) {
        nearest = candidate;
        fewest = mistakes;
      }
    }
    return Optional.ofNullable(nearest);
  }

  /** Returns the distance of optimal string alignment. */
  private static int mistakes(String one, String other) {
    String a = comparable(one);
    String b = comparable(other);
    int[] twoBefore = new int[b.length() + 1];
    int[] before = new int[b.length() + 1];
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int[] free = twoBefore;
      twoBefore = before;
      before = row;
      row = free;
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int wrong = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
        int best = Math.min(Math.min(before[j], row[j - 1]) + 1, before[j - 1] + wrong);
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          best = Math.min(best, twoBefore[j - 2] + 1);
        }
        row[j] = best;
      }
    }
    return row[b.length()];
  }

  private static String comparable(String name) {
    return name.toLowerCase(Locale.ROOT).replace('.', '-').replace('_', '-');
  }
}
