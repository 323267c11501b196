/** What a run is about: the store or linker under test, and the hooks that its author gives. */
@NullMarked
package io.unifiedcache.conformance.subject;

import org.jspecify.annotations.NullMarked;
