/** Tests of the memory store. */
@NullMarked
package io.unifiedcache.backend.memory;

import org.jspecify.annotations.NullMarked;
