package io.unifiedcache.backend.mooncake;

import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client of Mooncake's Python package.
 *
 * <p>Calls give up the interpreter's lock while they move bytes or wait for an answer, and so does
 * leaving a cluster, so that several run at once. Joining one does not: meanwhile the calls of all
 * clients in this process wait.
 */
final class PythonClient implements MooncakeClient.Scattering {
  /** The methods of Mooncake's class that are called. */
  enum Method {
    BATCH_IS_EXIST,
    BATCH_GET_REPLICA_DESC,
    GET_SIZE,
    BATCH_PUT_FROM,
    BATCH_PUT_FROM_MULTI_BUFFERS,
    BATCH_GET_INTO,
    BATCH_GET_INTO_MULTI_BUFFERS,
    BATCH_REMOVE,
    REMOVE_BY_REGEX,
    REGISTER_BUFFER,
    UNREGISTER_BUFFER,
    BATCH_GET_SESSION_START,
    BATCH_GET_INTO_MULTI_BUFFER_RANGES,
    BATCH_GET_SESSION_END,
    CLOSE;

    String nameInPython() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** A number that each piece of a transfer has. */
  @FunctionalInterface
  private interface OfPiece {
    long of(Transfer objects, int piece);
  }

  private static final Logger LOG = LoggerFactory.getLogger(PythonClient.class);

  private final Python python;
  private final PythonLibrary library;
  private final ClientSetup setup;

  // Kept until close.
  private final Map<Method, Long> methods = new EnumMap<>(Method.class);
  private final long config;

  /** Where objects are moved to; null if they are not. */
  private @Nullable OffloadDirectory ssd;

  /**
   * Creates a client.
   *
   * @param store an object of Mooncake's class that has been set up
   * @param config how it puts objects without a group
   */
  PythonClient(
      Python python,
      PythonLibrary library,
      ClientSetup setup,
      PythonFrame frame,
      long store,
      long config)
      throws PythonException {
    this.python = python;
    this.library = library;
    this.setup = setup;
    for (Method method : Method.values()) {
      // A method that is bound to its object keeps it.
      methods.put(method, frame.keep(frame.attribute(store, method.nameInPython())));
    }
    this.config = frame.keep(config);
  }

  /** Has a directory left to others once this client is closed. */
  void keepUntilClosed(@Nullable OffloadDirectory directory) {
    ssd = directory;
  }

  @Override
  public long[] exists(List<String> keys) throws ClientException {
    return numbers(Method.BATCH_IS_EXIST, keys.size(), frame -> new long[] {frame.texts(keys)});
  }

  @Override
  public long[] sizes(List<String> keys) throws ClientException {
    long[] sizes = replicaSizes(keys);
    for (int i = 0; i < sizes.length; i++) {
      if (sizes[i] < 0) {
        String key = keys.get(i);
        sizes[i] = number(Method.GET_SIZE, frame -> new long[] {frame.text(key)});
      }
    }
    return sizes;
  }

  /** Returns the sizes of objects that are in memory, by one call for all; -1 of the others. */
  private long[] replicaSizes(List<String> keys) throws ClientException {
    try (PythonFrame frame = python.enter()) {
      long replicas = Objects.requireNonNull(methods.get(Method.BATCH_GET_REPLICA_DESC));
      return frame.toLongs(frame.call(library.sizesOf(), replicas, frame.texts(keys)), keys.size());
    } catch (PythonException e) {
      throw failure(Method.BATCH_GET_REPLICA_DESC, e);
    }
  }

  @Override
  public long[] put(Transfer objects) throws ClientException {
    return isPlain(objects)
        ? numbers(
            Method.BATCH_PUT_FROM,
            objects.size(),
            frame ->
                new long[] {
                  keys(frame, objects),
                  plain(frame, objects, Transfer::address),
                  plain(frame, objects, Transfer::bytes),
                  config(frame, objects)
                })
        : numbers(
            Method.BATCH_PUT_FROM_MULTI_BUFFERS,
            objects.size(),
            frame ->
                new long[] {
                  keys(frame, objects),
                  lists(frame, objects, Transfer::address),
                  lists(frame, objects, Transfer::bytes),
                  config(frame, objects)
                });
  }

  @Override
  public long[] get(Transfer objects) throws ClientException {
    return isPlain(objects)
        ? numbers(
            Method.BATCH_GET_INTO,
            objects.size(),
            frame ->
                new long[] {
                  keys(frame, objects),
                  plain(frame, objects, Transfer::address),
                  plain(frame, objects, Transfer::bytes)
                })
        : numbers(
            Method.BATCH_GET_INTO_MULTI_BUFFERS,
            objects.size(),
            frame ->
                new long[] {
                  keys(frame, objects),
                  lists(frame, objects, Transfer::address),
                  lists(frame, objects, Transfer::bytes)
                });
  }

  @Override
  public long[] remove(List<String> keys, boolean force) throws ClientException {
    return numbers(
        Method.BATCH_REMOVE,
        keys.size(),
        frame -> new long[] {frame.texts(keys), frame.bool(force)});
  }

  @Override
  public long removeByRegex(String pattern, boolean force) throws ClientException {
    return number(
        Method.REMOVE_BY_REGEX, frame -> new long[] {frame.text(pattern), frame.bool(force)});
  }

  @Override
  public long register(long address, long bytes) throws ClientException {
    return number(
        Method.REGISTER_BUFFER, frame -> new long[] {frame.integer(address), frame.integer(bytes)});
  }

  @Override
  public long unregister(long address) throws ClientException {
    return number(Method.UNREGISTER_BUFFER, frame -> new long[] {frame.integer(address)});
  }

  @Override
  public long[] startReading(List<String> keys) throws ClientException {
    return numbers(
        Method.BATCH_GET_SESSION_START, keys.size(), frame -> new long[] {frame.texts(keys)});
  }

  @Override
  public long[] readRanges(Transfer objects) throws ClientException {
    return numbers(
        Method.BATCH_GET_INTO_MULTI_BUFFER_RANGES,
        objects.size(),
        frame ->
            new long[] {
              keys(frame, objects),
              lists(frame, objects, Transfer::address),
              lists(frame, objects, Transfer::bytes),
              lists(frame, objects, Transfer::objectOffset)
            });
  }

  @Override
  public long endReading(List<String> keys) throws ClientException {
    return number(Method.BATCH_GET_SESSION_END, frame -> new long[] {frame.texts(keys)});
  }

  @Override
  public void close() {
    try (PythonFrame frame = python.enter()) {
      try {
        long answer = frame.toLong(call(frame, Method.CLOSE));
        if (answer != 0) {
          LOG.warn("Mooncake's close answered {}", answer);
        }
      } catch (PythonException e) {
        LOG.warn("Mooncake's close failed", e);
      }
      methods.values().forEach(frame::drop);
      frame.drop(config);
    }
    if (ssd != null) {
      ssd.close();
    }
  }

  /** Makes the arguments of a call. */
  @FunctionalInterface
  private interface Arguments {
    long[] in(PythonFrame frame) throws PythonException;
  }

  /** Calls a method that answers with a list of numbers. */
  private long[] numbers(Method method, int size, Arguments arguments) throws ClientException {
    try (PythonFrame frame = python.enter()) {
      return frame.toLongs(call(frame, method, arguments.in(frame)), size);
    } catch (PythonException e) {
      throw failure(method, e);
    }
  }

  /** Calls a method that answers with a number. */
  private long number(Method method, Arguments arguments) throws ClientException {
    try (PythonFrame frame = python.enter()) {
      return frame.toLong(call(frame, method, arguments.in(frame)));
    } catch (PythonException e) {
      throw failure(method, e);
    }
  }

  private long call(PythonFrame frame, Method method, long... arguments) throws PythonException {
    return frame.call(Objects.requireNonNull(methods.get(method)), arguments);
  }

  private static ClientException failure(Method method, PythonException e) {
    return new ClientException(
        "Mooncake's %s failed: %s".formatted(method.nameInPython(), e.getMessage()), e);
  }

  private static boolean isPlain(Transfer objects) {
    return objects.firstPiece(objects.size()) == objects.size();
  }

  private static long keys(PythonFrame frame, Transfer objects) throws PythonException {
    return frame.texts(objects.keys());
  }

  /** Makes the list of a number of each object, all of which have one piece. */
  private static long plain(PythonFrame frame, Transfer objects, OfPiece number)
      throws PythonException {
    long list = frame.list(objects.size());
    for (int i = 0; i < objects.size(); i++) {
      frame.set(list, i, number.of(objects, i));
    }
    return list;
  }

  /** Makes the list of a list for each object, which has a number of each piece. */
  private static long lists(PythonFrame frame, Transfer objects, OfPiece number)
      throws PythonException {
    long list = frame.list(objects.size());
    long inner = 0;
    for (int i = 0; i < objects.size(); i++) {
      // The pieces of pages are alike: where not even their numbers differ, their list is shared.
      if (i == 0 || !isLikeBefore(objects, i, number)) {
        inner = inner(frame, objects, i, number);
      }
      frame.setObject(list, i, inner);
    }
    return list;
  }

  private static boolean isLikeBefore(Transfer objects, int i, OfPiece number) {
    int before = objects.firstPiece(i - 1);
    int first = objects.firstPiece(i);
    int end = objects.firstPiece(i + 1);
    if (first - before != end - first) {
      return false;
    }
    for (int piece = first; piece < end; piece++, before++) {
      if (number.of(objects, piece) != number.of(objects, before)) {
        return false;
      }
    }
    return true;
  }

  private static long inner(PythonFrame frame, Transfer objects, int i, OfPiece number)
      throws PythonException {
    int first = objects.firstPiece(i);
    int pieces = objects.firstPiece(i + 1) - first;
    long list = frame.list(pieces);
    for (int piece = 0; piece < pieces; piece++) {
      frame.set(list, piece, number.of(objects, first + piece));
    }
    return list;
  }

  /** Returns how objects are put: each in its group, if any has one. */
  private long config(PythonFrame frame, Transfer objects) throws PythonException {
    if (!objects.hasGroups()) {
      return config;
    }
    long grouped = library.config(frame, setup);
    long groups = frame.list(objects.size());
    for (int i = 0; i < objects.size(); i++) {
      String group = objects.group(i);
      frame.set(groups, i, group == null ? "" : group);
    }
    frame.setAttribute(grouped, "group_ids", groups);
    return grouped;
  }
}
