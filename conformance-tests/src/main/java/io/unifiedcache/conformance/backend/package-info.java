/** The rules of discovery and settings. */
@NullMarked
package io.unifiedcache.conformance.backend;

import org.jspecify.annotations.NullMarked;
