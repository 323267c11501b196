/** What a run found out, and the forms in which it is told. */
@NullMarked
package io.unifiedcache.conformance.result;

import org.jspecify.annotations.NullMarked;
