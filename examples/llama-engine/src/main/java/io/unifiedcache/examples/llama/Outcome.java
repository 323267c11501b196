package io.unifiedcache.examples.llama;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;

/**
 * What one process tells of the prompt that it answered.
 *
 * @param promptTokens the tokens of the prompt
 * @param cachedTokens those that came from the store
 * @param firstToken the time to the first token
 * @param answer the tokens of the answer, as text to be compared
 */
record Outcome(int promptTokens, int cachedTokens, Duration firstToken, String answer) {
  private static final String PROMPT = "prompt";
  private static final String CACHED = "cached";
  private static final String FIRST = "first-token";
  private static final String ANSWER = "answer";

  static Outcome of(int promptTokens, Answer answer) {
    return new Outcome(
        promptTokens, answer.cachedTokens(), answer.firstToken(), Arrays.toString(answer.tokens()));
  }

  /** Reads what {@link #write} has written. */
  static Outcome read(Path file) throws IOException {
    Properties properties = new Properties();
    try (Reader in = Files.newBufferedReader(file)) {
      properties.load(in);
    }
    return new Outcome(
        Integer.parseInt(properties.getProperty(PROMPT)),
        Integer.parseInt(properties.getProperty(CACHED)),
        Duration.parse(properties.getProperty(FIRST)),
        properties.getProperty(ANSWER));
  }

  void write(Path file) throws IOException {
    Properties properties = new Properties();
    properties.setProperty(PROMPT, Integer.toString(promptTokens));
    properties.setProperty(CACHED, Integer.toString(cachedTokens));
    properties.setProperty(FIRST, firstToken.toString());
    properties.setProperty(ANSWER, answer);
    try (Writer out = Files.newBufferedWriter(file)) {
      properties.store(out, null);
    }
  }
}
