/** Tests of the parts of a replay. */
@NullMarked
package io.unifiedcache.cli.replay;

import org.jspecify.annotations.NullMarked;
