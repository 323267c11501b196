/**
 * The rules of keys, restorable sets, loads and offloads, through a linker over the store under
 * test.
 */
@NullMarked
package io.unifiedcache.conformance.linker;

import org.jspecify.annotations.NullMarked;
