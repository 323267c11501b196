/**
 * A small engine on unified-cache: Gemma 3 by llama.cpp, whose prompts survive a restart.
 *
 * <p>{@link io.unifiedcache.examples.llama.PromptCache} is all that an engine has to do with the
 * linker; {@link io.unifiedcache.examples.llama.LlamaEngine} shows where an engine calls it. The
 * rest is llama.cpp's.
 */
@NullMarked
package io.unifiedcache.examples.llama;

import org.jspecify.annotations.NullMarked;
