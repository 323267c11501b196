/**
 * The vocabulary shared by stores and linkers: keys, memory, deadlines and failures.
 *
 * <p>Everything here is immutable and safe for use by any number of threads.
 */
@NullMarked
package io.unifiedcache.api;

import org.jspecify.annotations.NullMarked;
