/**
 * Vectors: what SGLang's own code has answered, held against this build.
 *
 * <p>A file has one JSON object a line, its format recognised row by row. {@link
 * io.unifiedcache.cli.vectors.VectorFile} reads and checks one, and {@link
 * io.unifiedcache.cli.vectors.VectorReport} counts.
 */
@NullMarked
package io.unifiedcache.cli.vectors;

import org.jspecify.annotations.NullMarked;
