/** What a store holds of a prompt, turned into the prefix lengths at which an engine can resume. */
@NullMarked
package io.unifiedcache.linker.restore;

import org.jspecify.annotations.NullMarked;
