/**
 * Benchmarks, each with the limit it is held against in the same run.
 *
 * <p>Only ratios of two benchmarks of one run mean anything; see {@code docs/performance.md}.
 */
@NullMarked
package io.unifiedcache.benchmarks;

import org.jspecify.annotations.NullMarked;
