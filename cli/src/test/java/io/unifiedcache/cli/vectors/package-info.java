/** Tests of recorded values. */
@NullMarked
package io.unifiedcache.cli.vectors;

import org.jspecify.annotations.NullMarked;
