package io.unifiedcache.examples.llama;

import java.time.Duration;

/**
 * What the model says to a prompt, and what it took.
 *
 * @param tokens the tokens of the answer
 * @param logits the scores among which the first of them was chosen
 * @param cachedTokens the tokens of the prompt that came from the store
 * @param firstToken the time from the prompt to the first token
 */
@SuppressWarnings(
    "ArrayRecordComponent") // Never compared as a whole; arrays keep the example short.
record Answer(int[] tokens, float[] logits, int cachedTokens, Duration firstToken) {}
