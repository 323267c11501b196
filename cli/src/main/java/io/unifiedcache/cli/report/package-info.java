/** The page that shows what a replay has found. */
@NullMarked
package io.unifiedcache.cli.report;

import org.jspecify.annotations.NullMarked;
