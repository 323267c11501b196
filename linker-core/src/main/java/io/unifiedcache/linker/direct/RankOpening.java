package io.unifiedcache.linker.direct;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.key.CacheIdentity;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Set;

/**
 * How ranks open their linkers together, or none does (rule {@code linker.ranks}): first they see
 * whether they fit together, and then each opens its store, and waits for the others.
 */
public final class RankOpening {
  private final RankCollective ranks;
  private final Settings settings;

  /**
   * Begins with a rank that has not opened anything.
   *
   * @param settings of at least all {@link LinkerOptions#options()}
   */
  public RankOpening(RankCollective ranks, Settings settings) {
    this.ranks = ranks;
    this.settings = settings;
  }

  /**
   * Waits for the others and sees whether all fit together.
   *
   * @return the sources of the pools of all ranks
   * @throws CacheException on every rank with code {@code REFUSED} and all differences, if they do
   *     not; with code {@code OTHER_RANK} if a rank did not come or has given up
   */
  public Set<PoolName> agree(CacheIdentity identity, DevicePools pools) {
    if (ranks.size() == 1) {
      return pools.sources();
    }
    RankProfile own = RankProfile.of(identity, pools, settings);
    List<RankProfile> all = new ArrayList<>();
    try {
      Deadline by = Deadline.after(Agreement.patience(options()));
      for (byte[] said : RankExchange.tellAll(ranks, "what the ranks are", own.encode(), by)) {
        all.add(RankProfile.decode(said));
      }
    } catch (RankLostException e) {
      throw lost(e);
    } catch (IOException e) {
      throw new CacheException(
          FailureCode.OTHER_RANK,
          "rank %d of %d is not understood: %s".formatted(all.size(), ranks.size(), e.getMessage()),
          e);
    }
    List<String> differences = RankProfile.differences(all);
    if (!differences.isEmpty()) {
      throw new CacheException(
          FailureCode.REFUSED,
          "the ranks do not fit together, so none is opened: " + String.join("; ", differences));
    }
    return RankProfile.sources(all);
  }

  /**
   * Waits until every rank has opened its linker.
   *
   * @throws CacheException with code {@code OTHER_RANK} if one did not
   */
  public void awaitAll() {
    if (ranks.size() == 1) {
      return;
    }
    Duration patience = Agreement.patience(options()).plus(options().startTimeout());
    try {
      BitSet unused =
          Agreement.askAll(ranks, "all are open", new BitSet(), Deadline.after(patience));
    } catch (RankLostException e) {
      throw lost(e);
    }
  }

  private LinkerOptions options() {
    return LinkerOptions.from(settings);
  }

  private CacheException lost(RankLostException cause) {
    return new CacheException(
        FailureCode.OTHER_RANK,
        "rank %d of %d is not opened, since a rank is lost: %s"
            .formatted(ranks.rank(), ranks.size(), cause.getMessage()),
        cause);
  }
}
