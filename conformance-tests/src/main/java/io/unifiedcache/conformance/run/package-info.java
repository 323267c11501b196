/** How rules are run: one trial per rule, and what it has to say. */
@NullMarked
package io.unifiedcache.conformance.run;

import org.jspecify.annotations.NullMarked;
