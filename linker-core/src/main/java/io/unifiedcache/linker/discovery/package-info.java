/** The search for backends (rule {@code discovery.by-name}). */
@NullMarked
package io.unifiedcache.linker.discovery;

import org.jspecify.annotations.NullMarked;
