/**
 * Tests of what is built: the jars, their modules and services, and the script that starts them.
 */
@NullMarked
package io.unifiedcache.cli.packaging;

import org.jspecify.annotations.NullMarked;
