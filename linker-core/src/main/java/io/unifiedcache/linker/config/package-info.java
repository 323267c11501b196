/** The linker's own settings. */
@NullMarked
package io.unifiedcache.linker.config;

import org.jspecify.annotations.NullMarked;
