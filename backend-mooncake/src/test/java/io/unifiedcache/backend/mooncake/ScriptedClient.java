package io.unifiedcache.backend.mooncake;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** A client whose cluster is a map, and which answers as a test says. Thread-safe. */
class ScriptedClient implements MooncakeClient {
  final Map<String, byte[]> objects = new ConcurrentHashMap<>();

  /** The names of the calls so far. */
  final List<String> calls = Collections.synchronizedList(new ArrayList<>());

  /** The regions that are registered: sizes by address. */
  final Map<Long, Long> registered = new ConcurrentHashMap<>();

  volatile boolean closed;

  /** What is answered instead for a key, if not null. Called before anything is done. */
  volatile Script putScript = key -> null;

  volatile Script getScript = key -> null;
  volatile Script existsScript = key -> null;
  volatile Script sizesScript = key -> null;
  volatile Script removeScript = key -> null;
  volatile Script clearScript = pattern -> null;
  volatile ToLongFunction<Long> registerScript = address -> 0;
  volatile Runnable unregisterScript = () -> {};

  /** Says what is answered for a key. */
  interface Script {
    @Nullable Long answer(String key) throws ClientException;
  }

  @Override
  public long[] exists(List<String> keys) throws ClientException {
    calls.add("exists");
    return each(keys, existsScript, key -> objects.containsKey(key) ? 1L : 0L);
  }

  @Override
  public long[] sizes(List<String> keys) throws ClientException {
    calls.add("sizes");
    return each(
        keys,
        sizesScript,
        key -> {
          byte[] object = objects.get(key);
          return object == null ? Answers.OBJECT_NOT_FOUND : object.length;
        });
  }

  @Override
  public long[] put(Transfer transfer) throws ClientException {
    calls.add("put");
    requireDistinct(transfer.keys());
    long[] answers = new long[transfer.size()];
    for (int i = 0; i < answers.length; i++) {
      Long scripted = putScript.answer(transfer.key(i));
      if (scripted == null) {
        objects.putIfAbsent(transfer.key(i), memory(transfer, i).toArray(JAVA_BYTE));
      } else {
        answers[i] = scripted;
      }
    }
    return answers;
  }

  @Override
  public long[] get(Transfer transfer) throws ClientException {
    calls.add("get");
    requireDistinct(transfer.keys());
    long[] answers = new long[transfer.size()];
    for (int i = 0; i < answers.length; i++) {
      Long scripted = getScript.answer(transfer.key(i));
      byte[] object = objects.get(transfer.key(i));
      MemorySegment target = memory(transfer, i);
      if (scripted != null) {
        answers[i] = scripted;
      } else if (object == null) {
        answers[i] = Answers.OBJECT_NOT_FOUND;
      } else if (object.length > target.byteSize()) {
        answers[i] = Answers.INVALID_PARAMS;
      } else {
        MemorySegment.copy(object, 0, target, JAVA_BYTE, 0, object.length);
        answers[i] = object.length;
      }
    }
    return answers;
  }

  @Override
  public long[] remove(List<String> keys, boolean force) throws ClientException {
    calls.add(force ? "remove by force" : "remove");
    return each(
        keys, removeScript, key -> objects.remove(key) == null ? Answers.OBJECT_NOT_FOUND : 0L);
  }

  @Override
  public long removeByRegex(String pattern, boolean force) throws ClientException {
    calls.add("remove_by_regex " + pattern);
    Long scripted = clearScript.answer(pattern);
    return scripted == null ? 0 : scripted;
  }

  @Override
  public long register(long address, long bytes) {
    long answer = registerScript.applyAsLong(address);
    if (answer == 0) {
      registered.put(address, bytes);
    }
    return answer;
  }

  @Override
  public long unregister(long address) {
    unregisterScript.run();
    return registered.remove(address) == null ? Answers.INVALID_PARAMS : 0;
  }

  @Override
  public void close() {
    closed = true;
  }

  private static long[] each(List<String> keys, Script script, ToLongFunction<String> otherwise)
      throws ClientException {
    requireDistinct(keys);
    long[] answers = new long[keys.size()];
    for (int i = 0; i < answers.length; i++) {
      Long scripted = script.answer(keys.get(i));
      answers[i] = scripted == null ? otherwise.applyAsLong(keys.get(i)) : scripted;
    }
    return answers;
  }

  private static void requireDistinct(List<String> keys) {
    Set<String> distinct = new HashSet<>(keys);
    if (distinct.size() != keys.size()) {
      throw new IllegalArgumentException("a key is there twice: " + keys);
    }
  }

  @SuppressWarnings("restricted") // Mooncake is given addresses, too.
  private static MemorySegment memory(Transfer transfer, int i) {
    int piece = transfer.firstPiece(i);
    if (transfer.firstPiece(i + 1) != piece + 1) {
      throw new IllegalArgumentException("not one piece");
    }
    return MemorySegment.ofAddress(transfer.address(piece)).reinterpret(transfer.bytes(piece));
  }
}
