package io.unifiedcache.examples.llama;

import static io.unifiedcache.examples.llama.LlamaEngine.PAGE_TOKENS;

import java.time.Duration;
import java.util.Arrays;

/**
 * Answers prompts without store or linker: what has been computed stays in llama.cpp, which drops
 * the tokens behind the last page that a prompt shares with the one before it.
 */
final class ColdModel {
  private final LlamaModel model;
  private int[] computed;

  /**
   * Takes over a model.
   *
   * @param computed the tokens that its sequence begins with, in pages
   */
  ColdModel(LlamaModel model, int[] computed) {
    this.model = model;
    this.computed = computed;
  }

  Answer ask(int[] prompt, int answerTokens) {
    int mismatch = Arrays.mismatch(prompt, computed);
    int common = mismatch < 0 ? prompt.length : mismatch;
    int from = Math.min(common, prompt.length - 1) / PAGE_TOKENS * PAGE_TOKENS;
    model.truncate(from);
    for (int at = from; at < prompt.length; at += PAGE_TOKENS) {
      model.decode(prompt, at, Math.min(PAGE_TOKENS, prompt.length - at));
    }
    computed = prompt;
    float[] logits = model.logits();
    int[] answer = new int[answerTokens];
    answer[0] = LlamaEngine.likeliest(logits);
    for (int i = 1; i < answerTokens; i++) {
      model.decode(answer, i - 1, 1);
      answer[i] = LlamaEngine.likeliest(model.logits());
    }
    return new Answer(answer, logits, 0, Duration.ZERO);
  }
}
