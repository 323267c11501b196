/** The rules of stores. */
@NullMarked
package io.unifiedcache.conformance.store;

import org.jspecify.annotations.NullMarked;
