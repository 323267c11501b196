/**
 * Typed options and their values, in one grammar (rule {@code settings.one-grammar}).
 *
 * <p>Everything here is immutable and safe for use by any number of threads.
 */
@NullMarked
package io.unifiedcache.api.config;

import org.jspecify.annotations.NullMarked;
