package io.unifiedcache.linker.direct;

import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import java.util.Objects;
import java.util.Set;

/**
 * What a linker is among the ranks of its model.
 *
 * @param collective how it agrees with the others
 * @param owner whether this rank writes the pages that are equal on all tensor ranks (rule {@code
 *     offload.owner}); without meaning unless the pools are rank-replicated
 * @param sources the sources of the pools of all ranks, which are those that requests may name
 */
public record RankMember(RankCollective collective, boolean owner, Set<PoolName> sources) {
  /** Creates a member. */
  public RankMember {
    Objects.requireNonNull(collective, "collective");
    sources = Set.copyOf(sources);
  }

  /** Returns the only rank. */
  public static RankMember alone(DevicePools pools) {
    return new RankMember(RankCollective.ALONE, /* owner= */ true, pools.sources());
  }
}
