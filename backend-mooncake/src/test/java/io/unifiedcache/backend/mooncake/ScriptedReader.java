package io.unifiedcache.backend.mooncake;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A scripted client that reads ranges. As Mooncake does, it knows by a key the object that was
 * there when reading it was started last, and forgets that when reading is ended.
 */
final class ScriptedReader extends ScriptedClient implements MooncakeClient.Scattering {
  /** The bytes of what is held open. */
  final Map<String, byte[]> open = new ConcurrentHashMap<>();

  /** The keys that reading was started for, as often as it was, in order. */
  final List<String> started = new CopyOnWriteArrayList<>();

  /** The keys that reading was ended for. */
  final BlockingQueue<String> ended = new LinkedBlockingQueue<>();

  volatile Script startScript = key -> null;

  /** What happens before ranges are read. */
  volatile Runnable beforeRanges = () -> {};

  @Override
  public long[] startReading(List<String> keys) throws ClientException {
    Set<String> distinct = new HashSet<>(keys);
    if (distinct.size() != keys.size()) {
      throw new IllegalArgumentException("a key is there twice: " + keys);
    }
    long[] answers = new long[keys.size()];
    for (int i = 0; i < answers.length; i++) {
      String key = keys.get(i);
      started.add(key);
      Long scripted = startScript.answer(key);
      byte[] object = objects.get(key);
      if (scripted != null) {
        answers[i] = scripted;
      } else if (object == null) {
        answers[i] = Answers.OBJECT_NOT_FOUND;
      } else {
        open.put(key, object);
      }
    }
    return answers;
  }

  @Override
  @SuppressWarnings("restricted") // Mooncake is given addresses, too.
  public long[] readRanges(Transfer transfer) {
    beforeRanges.run();
    long[] answers = new long[transfer.size()];
    for (int i = 0; i < answers.length; i++) {
      byte[] object = open.get(transfer.key(i));
      if (object == null) {
        answers[i] = Answers.INVALID_PARAMS;
        continue;
      }
      for (int piece = transfer.firstPiece(i); piece < transfer.firstPiece(i + 1); piece++) {
        long bytes = transfer.bytes(piece);
        MemorySegment.copy(
            object,
            (int) transfer.objectOffset(piece),
            MemorySegment.ofAddress(transfer.address(piece)).reinterpret(bytes),
            JAVA_BYTE,
            0,
            (int) bytes);
        answers[i] += bytes;
      }
    }
    return answers;
  }

  @Override
  public long endReading(List<String> keys) {
    for (String key : keys) {
      open.remove(key);
      ended.add(key);
    }
    return 0;
  }
}
