package io.unifiedcache.api.linker;

import java.util.List;

/**
 * The end of a request, as all ranks see it (rule {@code load.ranks-agree}).
 *
 * <p>Of a load that is not ok, nothing that its slots hold is valid (rule {@code
 * load.failed-never-loaded}). Of an offload that is not ok, the pages that are not listed are
 * stored (rule {@code offload.partial}).
 *
 * @param id the id of the request
 * @param failures what kept the request from being moved, in the order of its pages: the pages that
 *     failed, or all of them if the request failed as a whole; empty if every page was moved
 */
public record Completion(String id, List<PageFailure> failures) {
  /**
   * Creates a completion.
   *
   * @throws IllegalArgumentException if the id is blank
   */
  public Completion {
    if (id.isBlank()) {
      throw new IllegalArgumentException("the id of a completion must not be blank");
    }
    failures = List.copyOf(failures);
  }

  /** Tells whether every page was moved. */
  public boolean ok() {
    return failures.isEmpty();
  }
}
