package io.unifiedcache.cli.replay;

import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.FilterReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Recorded requests, in the order in which they came.
 *
 * <p>The format is the one that Mooncake's traces are published in: one JSON object a line, with
 * the members {@code timestamp} (milliseconds), {@code input_length}, {@code output_length}
 * (tokens) and {@code hash_ids} (one number per 512 tokens of the prompt). Other members are
 * ignored, as are empty lines; a file may be compressed with gzip.
 *
 * <p>Immutable and thread-safe.
 */
public final class Trace {
  /** Tokens of a block, and of a page of a replay. */
  public static final int BLOCK_TOKENS = 512;

  private static final String FORM =
      "an object such as {\"timestamp\": 0, \"input_length\": 1030, \"output_length\": 5,"
          + " \"hash_ids\": [0, 1, 2]}";

  private static final String SAMPLE = "conversation-sample.jsonl.gz";

  private final String name;
  private final List<TraceRequest> requests;

  private Trace(String name, List<TraceRequest> requests) {
    this.name = name;
    this.requests = List.copyOf(requests);
  }

  /** Returns the trace that comes with the tool: the first 1,000 requests of Mooncake's chats. */
  public static Trace sample() throws TraceException {
    InputStream in = Trace.class.getResourceAsStream(SAMPLE);
    if (in == null) {
      throw new IllegalStateException("the resource " + SAMPLE + " is missing");
    }
    return read("sample", in);
  }

  /**
   * Returns the trace of a file.
   *
   * @throws TraceException if the file cannot be read, or a line is not in the format, naming it
   */
  public static Trace of(Path file) throws TraceException {
    try {
      return read(file.toString(), Files.newInputStream(file));
    } catch (NoSuchFileException e) {
      throw new TraceException("there is no trace file " + file, e);
    } catch (IOException e) {
      throw new TraceException("cannot read the trace " + file + ": " + e.getMessage(), e);
    }
  }

  /**
   * Returns a part of this trace.
   *
   * @param skip requests to leave out at the start
   * @param most requests to keep after them, at most
   */
  public Trace part(int skip, int most) {
    int from = Math.min(skip, requests.size());
    int to = from + Math.min(most, requests.size() - from);
    return new Trace(name, requests.subList(from, to));
  }

  /** Returns the name to show. */
  public String name() {
    return name;
  }

  /** Returns the number of requests. */
  public int size() {
    return requests.size();
  }

  List<TraceRequest> requests() {
    return requests;
  }

  /** Returns the tokens of all prompts. */
  long promptTokens() {
    return requests.stream().mapToLong(TraceRequest::inputLength).sum();
  }

  /** Returns the pages of the longest prompt. */
  int longestPrompt() {
    return requests.stream().mapToInt(TraceRequest::pages).max().orElse(0);
  }

  /** Returns what caches of every size would have had of it. */
  Reuse reuse() {
    return Reuse.of(requests);
  }

  /** Returns the trace that is read to the end of a stream, which is closed. */
  static Trace read(String name, InputStream raw) throws TraceException {
    List<TraceRequest> requests = new ArrayList<>();
    try (raw;
        BufferedReader lines =
            new BufferedReader(
                new BoundedLines(new InputStreamReader(unzipped(raw), StandardCharsets.UTF_8)))) {
      int number = 0;
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        number++;
        if (!line.isBlank()) {
          requests.add(parse(name + ":" + number, line));
        }
      }
    } catch (IOException e) {
      throw new TraceException("cannot read the trace " + name + ": " + e.getMessage(), e);
    }
    if (requests.isEmpty()) {
      throw new TraceException("the trace " + name + " has no requests");
    }
    return new Trace(name, requests);
  }

  private static InputStream unzipped(InputStream raw) throws IOException {
    BufferedInputStream in = new BufferedInputStream(raw);
    in.mark(2);
    boolean zipped = in.read() == 0x1f && in.read() == 0x8b;
    in.reset();
    return zipped ? new GZIPInputStream(in) : in;
  }

  private static TraceRequest parse(String where, String line) throws TraceException {
    try {
      return new Line(where).parse(line);
    } catch (IOException | IllegalStateException | NumberFormatException e) {
      throw new TraceException(where + ": expected " + FORM + ", not " + shortened(line), e);
    }
  }

  /** Fails where a line is longer than any of a trace: a file may be a device that never ends. */
  private static final class BoundedLines extends FilterReader {
    private static final int MAX_CHARS = 16 << 20;

    private int inLine;

    BoundedLines(Reader in) {
      super(in);
    }

    @Override
    public int read(char[] chars, int offset, int length) throws IOException {
      int count = super.read(chars, offset, length);
      for (int i = offset; i < offset + count; i++) {
        inLine = chars[i] == '\n' || chars[i] == '\r' ? 0 : inLine + 1;
      }
      if (inLine > MAX_CHARS) {
        throw new IOException("a line has more than " + MAX_CHARS + " characters");
      }
      return count;
    }
  }

  private static String shortened(String line) {
    return line.length() <= 80 ? line : line.substring(0, 80) + "...";
  }

  /** A line while it is read. */
  private static final class Line {
    private final String where;
    private @Nullable Double timestamp;
    private @Nullable Long inputLength;
    private @Nullable Long outputLength;
    private @Nullable List<Long> hashIds;

    private Line(String where) {
      this.where = where;
    }

    private TraceRequest parse(String line) throws IOException, TraceException {
      JsonReader json = new JsonReader(new StringReader(line));
      json.setStrictness(Strictness.STRICT);
      json.beginObject();
      while (json.hasNext()) {
        String member = json.nextName();
        switch (member) {
          case "timestamp" -> timestamp = json.nextDouble();
          case "input_length" -> inputLength = count(json, member, Integer.MAX_VALUE);
          case "output_length" -> outputLength = count(json, member, Long.MAX_VALUE);
          case "hash_ids" -> hashIds = numbers(json);
          default -> json.skipValue();
        }
      }
      json.endObject();
      if (json.peek() != JsonToken.END_DOCUMENT) {
        throw new IllegalStateException("more than one object on a line");
      }
      return checked();
    }

    private long count(JsonReader json, String member, long most)
        throws IOException, TraceException {
      long value = json.nextLong();
      if (value < 0 || value > most) {
        throw new TraceException(
            where + ": expected " + member + " from 0 to " + most + ", not " + value);
      }
      return value;
    }

    private static List<Long> numbers(JsonReader json) throws IOException {
      List<Long> numbers = new ArrayList<>();
      json.beginArray();
      while (json.hasNext()) {
        numbers.add(json.nextLong());
      }
      json.endArray();
      return numbers;
    }

    private TraceRequest checked() throws TraceException {
      if (timestamp == null || inputLength == null || outputLength == null || hashIds == null) {
        throw new TraceException(
            where
                + ": expected the members timestamp, input_length, output_length and hash_ids, but "
                + (timestamp == null
                    ? "timestamp"
                    : inputLength == null
                        ? "input_length"
                        : outputLength == null ? "output_length" : "hash_ids")
                + " is missing");
      }
      int full = inputLength.intValue() / BLOCK_TOKENS;
      int blocks = (int) ((inputLength + BLOCK_TOKENS - 1) / BLOCK_TOKENS);
      if (hashIds.size() < full || hashIds.size() > blocks) {
        throw new TraceException(
            "%s: expected %d hash_ids for an input_length of %d, one per %d tokens, not %d"
                .formatted(where, blocks, inputLength, BLOCK_TOKENS, hashIds.size()));
      }
      return new TraceRequest(timestamp, inputLength.intValue(), outputLength, hashIds);
    }
  }
}
