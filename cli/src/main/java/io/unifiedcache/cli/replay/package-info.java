/**
 * Replay of recorded traffic: an engine whose computation is a formula, served by real linkers from
 * a real store, with every byte checked.
 *
 * <p>{@link io.unifiedcache.cli.replay.Replay} runs a {@link io.unifiedcache.cli.replay.Trace} by a
 * {@link io.unifiedcache.cli.replay.ReplayPlan} and returns a {@link
 * io.unifiedcache.cli.replay.ReplayReport}.
 */
@NullMarked
package io.unifiedcache.cli.replay;

import org.jspecify.annotations.NullMarked;
