/** The command line: one command per class. */
@NullMarked
package io.unifiedcache.cli;

import org.jspecify.annotations.NullMarked;
