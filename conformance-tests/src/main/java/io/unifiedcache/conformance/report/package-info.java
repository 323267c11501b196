/** The forms of a report. */
@NullMarked
package io.unifiedcache.conformance.report;

import org.jspecify.annotations.NullMarked;
