/** The means by which ranks agree. */
@NullMarked
package io.unifiedcache.linker.rank;

import org.jspecify.annotations.NullMarked;
