/** Recorded vectors of SGLang, and what a row of them means in the words of this project. */
@NullMarked
package io.unifiedcache.linker.golden;

import org.jspecify.annotations.NullMarked;
