/** Tests of the page of a replay. */
@NullMarked
package io.unifiedcache.cli.report;

import org.jspecify.annotations.NullMarked;
