/**
 * Where an engine or gateway begins: choose a backend, give settings, open a linker.
 *
 * <p>Values are immutable and safe for use by any number of threads; builders are used by one.
 */
@NullMarked
package io.unifiedcache.linker;

import org.jspecify.annotations.NullMarked;
