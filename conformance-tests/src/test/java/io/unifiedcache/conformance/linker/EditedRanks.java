package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import java.util.BitSet;

/** A rank that does as another does, but for what is overridden. */
class EditedRanks implements RankCollective {
  private final RankCollective ranks;

  EditedRanks(RankCollective ranks) {
    this.ranks = ranks;
  }

  @Override
  public int rank() {
    return ranks.rank();
  }

  @Override
  public int size() {
    return ranks.size();
  }

  @Override
  public BitSet and(BitSet bits, Deadline by) throws RankLostException {
    return ranks.and(bits, by);
  }

  @Override
  public void leave(String why) {
    ranks.leave(why);
  }
}
