package io.unifiedcache.conformance.store;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.conformance.run.Content;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.subject.StoreUnderTest;
import io.unifiedcache.linker.Backends;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests about a store, one line each: the verb, the key in Base64, and numbers.
 *
 * <p>Used by one thread.
 */
public final class StoreServer {
  /** What every line of ours begins with: stores and their libraries print lines as well. */
  static final String MARK = "conformance: ";

  /** Says that the process runs. */
  static final String STARTED = "STARTED";

  /** Says that the store is open. */
  static final String READY = "READY";

  /** Says that the store could not be opened, and why. */
  static final String NOT_OPENED = "NOT_OPENED";

  private final CacheStore store;

  private StoreServer(CacheStore store) {
    this.store = store;
  }

  /**
   * Opens the backend that the arguments name, {@code --backend NAME}, with the settings that are
   * the first line of the standard input, and serves it. Each {@code --plugins DIRECTORY} after
   * that is searched for it, too.
   */
  public static void main(String[] arguments) {
    if (arguments.length < 2 || !arguments[0].equals("--backend")) {
      throw new IllegalArgumentException("--backend NAME is asked for");
    }
    Backends backends = Backends.discover();
    for (int i = 2; i + 1 < arguments.length && arguments[i].equals("--plugins"); i += 2) {
      backends = backends.withPlugins(Path.of(arguments[i + 1]));
    }
    PrintStream out = takeOut();
    say(out, STARTED);
    BufferedReader in = in();
    CacheStore store;
    try {
      StoreUnderTest subject =
          StoreUnderTest.named(arguments[1], settings(in.readLine())).among(backends);
      store = subject.open(instance(arguments[1]));
    } catch (CacheException e) {
      say(out, NOT_OPENED + " " + e.getMessage());
      return;
    } catch (IOException e) {
      throw new IllegalStateException("the settings cannot be read", e);
    }
    serve(store, in, out);
  }

  /** Serves an open store through the standard input and output. */
  public static void serve(CacheStore store) {
    serve(store, in(), takeOut());
  }

  private static BufferedReader in() {
    return new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
  }

  /** Returns the standard output; whatever others print goes where errors go. */
  private static PrintStream takeOut() {
    PrintStream out = System.out;
    System.setOut(System.err);
    return out;
  }

  /** Returns the name of the instance that another process opens. */
  static String instance(String name) {
    return "conformance-" + name + "-other";
  }

  /** Returns a line that says settings. */
  static String line(Map<String, String> settings) {
    StringJoiner line = new StringJoiner(" ");
    settings.forEach((key, value) -> line.add(encoded(key)).add(encoded(value)));
    return line.toString();
  }

  /** Returns the settings that a line says. */
  static Map<String, String> settings(@Nullable String line) {
    Map<String, String> settings = new LinkedHashMap<>();
    if (line == null || line.isEmpty()) {
      return settings;
    }
    String[] words = line.split(" ", -1);
    for (int i = 0; i < words.length; i += 2) {
      settings.put(decoded(words[i]), decoded(words[i + 1]));
    }
    return settings;
  }

  static String encoded(String text) {
    return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String decoded(String text) {
    return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
  }

  /** Says something in one line. */
  private static void say(PrintStream out, String text) {
    out.println(MARK + text.replaceAll("\\R", " "));
    out.flush();
  }

  /** Answers until there are no more requests, and closes the store. */
  private static void serve(CacheStore store, BufferedReader in, PrintStream out) {
    try (store) {
      say(out, READY);
      StoreServer server = new StoreServer(store);
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        say(out, server.answer(line.split(" ", -1)));
      }
    } catch (IOException e) {
      throw new IllegalStateException("requests cannot be read", e);
    }
  }

  private String answer(String[] words) {
    Deadline by = Deadline.after(Trial.PATIENCE);
    List<ObjectKey> keys = List.of(new ObjectKey(decoded(words[1])));
    try {
      return switch (words[0]) {
        case "put" -> put(keys.getFirst(), Long.parseLong(words[2]), Long.parseLong(words[3]), by);
        case "get" -> get(keys.getFirst(), Long.parseLong(words[2]), by);
        case "exists" -> Trial.describe(store.exists(keys, by), 0);
        case "remove" -> Trial.describe(store.remove(keys, /* evenIfLeased= */ true, by), 0);
        default -> throw new IllegalArgumentException(words[0]);
      };
    } catch (CacheException e) {
      return "THROWN " + e.code() + ": " + e.getMessage();
    }
  }

  private String put(ObjectKey key, long content, long bytes, Deadline by) {
    HostMemory memory = memory(bytes);
    new Content(content).fill(memory.segment(), 0);
    return Trial.describe(store.put(List.of(new PutOp(key, List.of(memory))), by), 0);
  }

  private String get(ObjectKey key, long bytes, Deadline by) {
    HostMemory memory = memory(bytes);
    BatchResult result = store.get(List.of(new GetOp(key, List.of(memory))), by);
    return result.status(0) == ObjectStatus.OK
        ? "OK " + checksum(memory.segment())
        : Trial.describe(result, 0);
  }

  private HostMemory memory(long bytes) {
    long alignment = Math.max(64, store.limits().alignment());
    return HostMemory.of(Arena.ofAuto().allocate(Math.max(bytes, 1), alignment)).slice(0, bytes);
  }

  /** Returns a number that other bytes would hardly have. */
  static long checksum(MemorySegment segment) {
    CRC32C sum = new CRC32C();
    byte[] bytes = segment.toArray(ValueLayout.JAVA_BYTE);
    sum.update(bytes, 0, bytes.length);
    return sum.getValue();
  }
}
