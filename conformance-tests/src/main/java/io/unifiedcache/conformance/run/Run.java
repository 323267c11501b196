package io.unifiedcache.conformance.run;

import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.Set;

/**
 * What the trials of one run share.
 *
 * @param subject the store under test
 * @param linkers what opens linkers
 * @param effort how much is to be done
 * @param seed what repeats the run
 * @param prefix what every key of the run begins with; not used by any run before
 * @param sharedStore the store of the rules that are not tried alone
 * @param capabilities what the store declares
 * @param limits its limits
 * @param foreignObjects how many objects of others it holds, or -1 if nobody can tell
 * @param tally what the run has done
 */
record Run(
    StoreUnderTest subject,
    LinkerFactory linkers,
    Effort effort,
    long seed,
    String prefix,
    CacheStore sharedStore,
    Set<Capability> capabilities,
    StoreLimits limits,
    long foreignObjects,
    Tally tally) {}
