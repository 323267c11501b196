/** Tests of the command line, in this JVM. */
@NullMarked
package io.unifiedcache.cli;

import org.jspecify.annotations.NullMarked;
