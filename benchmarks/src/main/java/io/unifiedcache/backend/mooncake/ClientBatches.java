package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The batches of a round that one of the Java clients of Mooncake puts and gets by itself, on the
 * caller's thread: what a store is built on, without what the store adds.
 */
public final class ClientBatches implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final MooncakeClient client;
  private final long bytes;
  private final int batch;
  private final MemorySegment sources;
  private final MemorySegment targets;
  private List<List<String>> keys = new ArrayList<>();
  private long rounds;

  /**
   * Sets up a client.
   *
   * @param settings those of the store, by name
   * @param roundBytes bytes of a round
   * @param bytes bytes of an object
   * @param batch objects of a batch
   */
  public ClientBatches(Map<String, String> settings, long roundBytes, long bytes, int batch)
      throws Exception {
    Settings.Builder builder = Settings.builder(MooncakeSettings.OPTIONS);
    for (Option<?> option : MooncakeSettings.OPTIONS) {
      String text = settings.get(option.name());
      if (text != null) {
        builder.parse(option, text);
      }
    }
    MooncakeSettings resolved = MooncakeSettings.of(builder.build(), Map.of());
    ClientSetup setup = resolved.setup();
    client = ClientLibraries.load(resolved).setUp(setup.at(Master.withPort(setup.localHostname())));
    this.bytes = bytes;
    this.batch = batch;
    sources = arena.allocate(roundBytes, 4096);
    targets = arena.allocate(roundBytes, 4096).fill((byte) 2);
    SplittableRandom random = new SplittableRandom(bytes);
    for (long at = 0; at < roundBytes; at += Long.BYTES) {
      sources.set(ValueLayout.JAVA_LONG, at, random.nextLong());
    }
    requireZero(client.register(sources.address(), roundBytes));
    requireZero(client.register(targets.address(), roundBytes));
  }

  /**
   * Puts all objects, under keys that are not in the store; returns the nanoseconds of the calls.
   */
  public long put() {
    try {
      remove();
      long round = rounds++;
      for (long from = 0; from < sources.byteSize() / bytes; from += batch) {
        List<String> some = new ArrayList<>(batch);
        for (long i = from; i < from + batch; i++) {
          some.add("client-" + ProcessHandle.current().pid() + "-" + round + "-" + i);
        }
        keys.add(some);
      }
      List<Transfer> transfers = transfers(sources);
      long begin = System.nanoTime();
      for (Transfer transfer : transfers) {
        requireZero(client.put(transfer));
      }
      return System.nanoTime() - begin;
    } catch (ClientException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Gets all objects, and holds every byte against what was put. */
  public long get() {
    try {
      targets.fill((byte) 0);
      List<Transfer> transfers = transfers(targets);
      long begin = System.nanoTime();
      for (Transfer transfer : transfers) {
        for (long answer : client.get(transfer)) {
          require(answer == bytes, answer);
        }
      }
      long nanos = System.nanoTime() - begin;
      long differs = sources.mismatch(targets);
      require(differs < 0, differs);
      return nanos;
    } catch (ClientException e) {
      throw new IllegalStateException(e);
    }
  }

  private List<Transfer> transfers(MemorySegment memory) {
    List<Transfer> transfers = new ArrayList<>(keys.size());
    long address = memory.address();
    for (List<String> some : keys) {
      Transfer transfer = new Transfer(batch, batch);
      for (String key : some) {
        transfer.object(key).piece(address, bytes);
        address += bytes;
      }
      transfers.add(transfer);
    }
    return transfers;
  }

  private void remove() throws ClientException {
    for (List<String> some : keys) {
      requireZero(client.remove(some, /* force= */ true));
    }
    keys = new ArrayList<>();
  }

  private static void requireZero(long... answers) {
    for (long answer : answers) {
      require(answer == 0, answer);
    }
  }

  private static void require(boolean right, long answer) {
    if (!right) {
      throw new IllegalStateException("Mooncake's client answered " + answer);
    }
  }

  @Override
  public void close() throws ClientException {
    remove();
    requireZero(client.unregister(sources.address()));
    requireZero(client.unregister(targets.address()));
    client.close();
    arena.close();
  }
}
