package io.unifiedcache.conformance.linker;

import io.unifiedcache.conformance.Mutant;
import java.util.List;
import java.util.stream.Stream;

/** Small edits of a linker, each of which breaks a rule of loads or of a linker's lifecycle. */
public final class LinkerMutants {
  private LinkerMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return Stream.of(LoadMutants.all(), LifecycleMutants.all(), RankMutants.all())
        .flatMap(List::stream)
        .toList();
  }
}
