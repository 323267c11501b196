/** Tests of the engine. */
@NullMarked
package io.unifiedcache.examples.llama;

import org.jspecify.annotations.NullMarked;
