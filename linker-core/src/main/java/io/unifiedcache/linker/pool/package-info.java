/**
 * How the pools of the known model families are cut into objects.
 *
 * <p>Everything here is immutable and safe for use by any number of threads.
 */
@NullMarked
package io.unifiedcache.linker.pool;

import org.jspecify.annotations.NullMarked;
