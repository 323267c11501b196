package io.unifiedcache.conformance;

import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.Set;
import java.util.function.Supplier;

/**
 * A subject that is broken on purpose.
 *
 * @param breaks the ids of the rules that are to fail on it
 * @param alsoBreaks the ids of the rules that may fail on it besides, since they ask for the same;
 *     no others are to fail
 * @param what what is broken, in words
 * @param says what the message of each failure has in it
 * @param run returns a run of the suite on it
 */
public record Mutant(
    Set<String> breaks,
    Set<String> alsoBreaks,
    String what,
    String says,
    Supplier<Conformance> run) {
  /** Returns a broken store, on which all rules of stores are tried. */
  public static Mutant ofStore(
      Set<String> breaks, String what, String says, Supplier<StoreUnderTest> store) {
    return new Mutant(
        breaks,
        Set.of(),
        what,
        says,
        () -> Conformance.ofStore(store.get()).rules(id -> id.startsWith("store.")));
  }

  /** Returns a broken linker, on which all rules of linkers are tried. */
  public static Mutant ofLinker(
      Set<String> breaks, String what, String says, Supplier<LinkerFactory> linkers) {
    return new Mutant(breaks, Set.of(), what, says, () -> Conformance.ofLinkers(linkers.get()));
  }

  /** Returns the same, on which other rules may fail besides. */
  public Mutant alsoBreaking(String... rules) {
    return new Mutant(breaks, Set.of(rules), what, says, run);
  }

  @Override
  public String toString() {
    return breaks + " " + what;
  }
}
