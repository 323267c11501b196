package io.unifiedcache.backend.mooncake;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A client that Mooncake's C library has set up: whole objects, in one piece each. */
final class NativeClient implements MooncakeClient {
  /** The offsets of the C structure of how to store objects. */
  private static final long REPLICA_NUM = 0;

  private static final long WITH_SOFT_PIN = 8;
  private static final long WITH_HARD_PIN = 12;
  private static final long PREFERRED_SEGMENTS = 16;
  private static final long PREFERRED_SEGMENTS_COUNT = 24;
  private static final long REPLICATE_CONFIG_BYTES = 32;

  private final NativeLibrary library;
  private final MemorySegment store;

  /** Holds how objects are stored. */
  private final Arena arena = Arena.ofShared();

  private final MemorySegment config;

  private NativeClient(NativeLibrary library, MemorySegment store, ClientSetup setup) {
    this.library = library;
    this.store = store;
    List<String> preferred = setup.preferredSegments();
    config = arena.allocate(REPLICATE_CONFIG_BYTES, Long.BYTES);
    config.set(JAVA_LONG, REPLICA_NUM, setup.replicaNum());
    config.set(JAVA_INT, WITH_SOFT_PIN, setup.softPin() ? 1 : 0);
    config.set(JAVA_INT, WITH_HARD_PIN, setup.hardPin() ? 1 : 0);
    if (!preferred.isEmpty()) {
      MemorySegment names = arena.allocate(ADDRESS, preferred.size());
      for (int i = 0; i < preferred.size(); i++) {
        names.setAtIndex(ADDRESS, i, arena.allocateFrom(preferred.get(i)));
      }
      config.set(ADDRESS, PREFERRED_SEGMENTS, names);
      config.set(JAVA_LONG, PREFERRED_SEGMENTS_COUNT, preferred.size());
    }
  }

  /** Sets up a client. */
  static MooncakeClient setUp(NativeLibrary library, ClientSetup setup) throws ClientException {
    MemorySegment store = create(library);
    int status;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment hostname = arena.allocateFrom(setup.localHostname());
      MemorySegment metadata = arena.allocateFrom(setup.metadataServer());
      MemorySegment protocol = arena.allocateFrom(setup.protocol());
      MemorySegment devices = arena.allocateFrom(setup.deviceName());
      MemorySegment master = arena.allocateFrom(setup.masterServerAddress());
      status =
          setup.tenant().isEmpty()
              ? (int)
                  library.setup.invokeExact(
                      store,
                      hostname,
                      metadata,
                      setup.globalSegmentSize(),
                      setup.localBufferSize(),
                      protocol,
                      devices,
                      master)
              : (int)
                  library.setupWithTenant.invokeExact(
                      store,
                      hostname,
                      metadata,
                      setup.globalSegmentSize(),
                      setup.localBufferSize(),
                      protocol,
                      devices,
                      master,
                      arena.allocateFrom(setup.tenant()));
    } catch (Throwable e) {
      throw unforeseen("setup", e);
    }
    if (status != 0) {
      destroy(library, store);
      throw new ClientException("setup answered " + status);
    }
    return new NativeClient(library, store, setup);
  }

  /**
   * Creates a store on a thread of its own, which Mooncake leaves with signals blocked that the JVM
   * needs.
   */
  private static MemorySegment create(NativeLibrary library) throws ClientException {
    AtomicReference<@Nullable MemorySegment> created = new AtomicReference<>();
    Thread thread =
        Thread.ofPlatform()
            .daemon()
            .name("mooncake-create")
            .start(
                () -> {
                  try {
                    created.set((MemorySegment) library.create.invokeExact());
                  } catch (Throwable e) {
                    throw new IllegalStateException("create of " + library.description(), e);
                  }
                });
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    MemorySegment store = created.get();
    if (store == null || store.equals(MemorySegment.NULL)) {
      throw new ClientException("create answered no store");
    }
    return store;
  }

  private static void destroy(NativeLibrary library, MemorySegment store) {
    try {
      library.destroy.invokeExact(store);
    } catch (Throwable e) {
      throw new IllegalStateException("destroy of " + library.description(), e);
    }
  }

  @Override
  public long[] exists(List<String> keys) throws ClientException {
    try (Arena scratch = Arena.ofConfined()) {
      int count = keys.size();
      MemorySegment answers = scratch.allocate(JAVA_INT, count);
      requireDone(
          "batch_is_exist",
          (int)
              library.batchIsExist.invokeExact(
                  store, strings(keys, scratch), (long) count, answers));
      return ints(answers, count);
    } catch (ClientException e) {
      throw e;
    } catch (Throwable e) {
      throw unforeseen("batch_is_exist", e);
    }
  }

  @Override
  public long[] sizes(List<String> keys) throws ClientException {
    long[] sizes = new long[keys.size()];
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment strings = strings(keys, scratch);
      for (int i = 0; i < sizes.length; i++) {
        sizes[i] = (long) library.getSize.invokeExact(store, strings.getAtIndex(ADDRESS, i));
      }
      return sizes;
    } catch (Throwable e) {
      throw unforeseen("get_size", e);
    }
  }

  @Override
  public long[] put(Transfer objects) throws ClientException {
    try (Arena scratch = Arena.ofConfined()) {
      int count = objects.size();
      MemorySegment answers = scratch.allocate(JAVA_INT, count);
      requireDone(
          "batch_put_from",
          (int)
              library.batchPutFrom.invokeExact(
                  store,
                  strings(objects.keys(), scratch),
                  addresses(objects, scratch),
                  sizes(objects, scratch),
                  (long) count,
                  config,
                  answers));
      return ints(answers, count);
    } catch (ClientException e) {
      throw e;
    } catch (Throwable e) {
      throw unforeseen("batch_put_from", e);
    }
  }

  @Override
  public long[] get(Transfer objects) throws ClientException {
    try (Arena scratch = Arena.ofConfined()) {
      int count = objects.size();
      MemorySegment answers = scratch.allocate(JAVA_LONG, count);
      requireDone(
          "batch_get_into",
          (int)
              library.batchGetInto.invokeExact(
                  store,
                  strings(objects.keys(), scratch),
                  addresses(objects, scratch),
                  sizes(objects, scratch),
                  (long) count,
                  answers));
      return answers.toArray(JAVA_LONG);
    } catch (ClientException e) {
      throw e;
    } catch (Throwable e) {
      throw unforeseen("batch_get_into", e);
    }
  }

  @Override
  public long[] remove(List<String> keys, boolean force) throws ClientException {
    long[] answers = new long[keys.size()];
    try (Arena scratch = Arena.ofConfined()) {
      MemorySegment strings = strings(keys, scratch);
      for (int i = 0; i < answers.length; i++) {
        answers[i] =
            (int) library.remove.invokeExact(store, strings.getAtIndex(ADDRESS, i), force ? 1 : 0);
      }
      return answers;
    } catch (Throwable e) {
      throw unforeseen("remove", e);
    }
  }

  @Override
  public long removeByRegex(String pattern, boolean force) throws ClientException {
    try (Arena scratch = Arena.ofConfined()) {
      return (long)
          library.removeByRegex.invokeExact(store, scratch.allocateFrom(pattern), force ? 1 : 0);
    } catch (Throwable e) {
      throw unforeseen("remove_by_regex", e);
    }
  }

  @Override
  public long register(long address, long bytes) throws ClientException {
    try {
      return (int)
          library.registerBuffer.invokeExact(store, MemorySegment.ofAddress(address), bytes);
    } catch (Throwable e) {
      throw unforeseen("register_buffer", e);
    }
  }

  @Override
  public long unregister(long address) throws ClientException {
    try {
      return (int) library.unregisterBuffer.invokeExact(store, MemorySegment.ofAddress(address));
    } catch (Throwable e) {
      throw unforeseen("unregister_buffer", e);
    }
  }

  @Override
  public void close() {
    destroy(library, store);
    arena.close();
  }

  private static void requireDone(String call, int status) throws ClientException {
    if (status != 0) {
      throw new ClientException(call + " answered " + status);
    }
  }

  private static ClientException unforeseen(String call, Throwable cause) {
    return new ClientException(call + " failed: " + cause, cause);
  }

  /** Returns the keys as C strings, one after the other, and the addresses of them in order. */
  private static MemorySegment strings(List<String> keys, Arena scratch) {
    int count = keys.size();
    byte[][] encoded = new byte[count][];
    long bytes = 0;
    for (int i = 0; i < count; i++) {
      encoded[i] = keys.get(i).getBytes(StandardCharsets.UTF_8);
      bytes += encoded[i].length + 1;
    }
    MemorySegment text = scratch.allocate(bytes);
    MemorySegment addresses = scratch.allocate(ADDRESS, count);
    long at = 0;
    for (int i = 0; i < count; i++) {
      MemorySegment.copy(encoded[i], 0, text, JAVA_BYTE, at, encoded[i].length);
      addresses.setAtIndex(JAVA_LONG, i, text.address() + at);
      at += encoded[i].length + 1;
    }
    return addresses;
  }

  private static MemorySegment addresses(Transfer objects, Arena scratch) {
    MemorySegment addresses = scratch.allocate(ADDRESS, objects.size());
    for (int i = 0; i < objects.size(); i++) {
      addresses.setAtIndex(JAVA_LONG, i, objects.address(i));
    }
    return addresses;
  }

  private static MemorySegment sizes(Transfer objects, Arena scratch) {
    MemorySegment sizes = scratch.allocate(JAVA_LONG, objects.size());
    for (int i = 0; i < objects.size(); i++) {
      sizes.setAtIndex(JAVA_LONG, i, objects.bytes(i));
    }
    return sizes;
  }

  private static long[] ints(MemorySegment answers, int count) {
    long[] longs = new long[count];
    for (int i = 0; i < count; i++) {
      longs[i] = answers.getAtIndex(JAVA_INT, i);
    }
    return longs;
  }
}
