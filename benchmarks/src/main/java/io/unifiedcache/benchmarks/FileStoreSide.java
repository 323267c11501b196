package io.unifiedcache.benchmarks;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** The file store of this project, with checksums or without. */
final class FileStoreSide implements FileSide {
  /** Rounds that do not count, in which code is compiled and the segments get their pages. */
  private static final int WARMUPS = 4;

  private static final int EXISTS_WARMUPS = 40;

  private final String name;
  private final Map<String, String> options;
  private final MemorySegment source;
  private final MemorySegment target;
  private @Nullable Opened opened;

  private record Opened(Path folder, CacheStore store, long objectBytes) {}

  private int round;
  private List<List<PutOp>> puts = List.of();

  /** Creates a side that moves objects between two memories of a round's size. */
  FileStoreSide(
      String name, Map<String, String> options, MemorySegment source, MemorySegment target) {
    this.name = name;
    this.options = options;
    this.source = source;
    this.target = target;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void prepare(Path folder, long objectBytes) {
    opened = new Opened(folder, open(folder, options), objectBytes);
    for (int i = 0; i < WARMUPS; i++) {
      var unused = put() + get();
    }
    for (int i = 0; i < EXISTS_WARMUPS; i++) {
      var unused = exists();
    }
  }

  /** Opens a file store with two threads for two cores, as it does by default. */
  static CacheStore open(Path folder, Map<String, String> options) {
    Map<String, String> all = new HashMap<>(options);
    all.put("root", folder.toString());
    return Backends.discover().open("file", SettingsSources.of(all), "benchmark");
  }

  private Opened opened() {
    Opened now = opened;
    if (now == null) {
      throw new IllegalStateException("nothing is prepared");
    }
    return now;
  }

  @Override
  public long put() {
    Opened to = opened();
    round++;
    for (long at = 0; at < source.byteSize(); at += 4096) {
      source.set(ValueLayout.JAVA_LONG, at, source.get(ValueLayout.JAVA_LONG, at) + round);
    }
    puts = new ArrayList<>();
    int count = Math.toIntExact(source.byteSize() / to.objectBytes());
    for (int from = 0; from < count; from += FileRounds.BATCH) {
      List<PutOp> batch = new ArrayList<>();
      for (int i = from; i < from + FileRounds.BATCH; i++) {
        batch.add(new PutOp(present(i), List.of(HostMemory.of(at(source, i)))));
      }
      puts.add(batch);
    }
    rest();
    FileRounds.sync();
    return batches(puts, ops -> to.store().put(ops, Deadline.never()));
  }

  private MemorySegment at(MemorySegment memory, long i) {
    long bytes = opened().objectBytes();
    return memory.asSlice(i * bytes, bytes);
  }

  @Override
  public long get() {
    CacheStore store = opened().store();
    target.fill((byte) 0);
    List<List<GetOp>> gets = new ArrayList<>();
    int i = 0;
    for (List<PutOp> batch : puts) {
      List<GetOp> ops = new ArrayList<>();
      for (PutOp op : batch) {
        ops.add(new GetOp(op.key(), List.of(HostMemory.of(at(target, i++)))));
      }
      gets.add(ops);
    }
    long nanos = batches(gets, ops -> store.get(ops, Deadline.never()));
    long at = source.mismatch(target);
    if (at >= 0) {
      throw new IllegalStateException("byte " + at + " differs from what was put");
    }
    return nanos;
  }

  private interface Call<T> {
    BatchResult of(List<T> batch);
  }

  private static <T> long batches(List<List<T>> batches, Call<T> call) {
    long nanos = 0;
    for (List<T> batch : batches) {
      long begin = System.nanoTime();
      BatchResult result = call.of(batch);
      nanos += System.nanoTime() - begin;
      if (result.count(ObjectStatus.OK) != batch.size()) {
        throw new IllegalStateException("not all OK: " + result);
      }
    }
    return nanos;
  }

  @Override
  public boolean knowsKeys() {
    return true;
  }

  @Override
  public long exists() {
    Opened of = opened();
    int count = Math.toIntExact(source.byteSize() / of.objectBytes());
    // The other sides make their keys beforehand, too.
    List<Integer> order = new ArrayList<>();
    List<ObjectKey> asked = new ArrayList<>();
    for (int i = 0; i < FileRounds.EXISTS_KEYS; i++) {
      order.add(i);
    }
    Collections.shuffle(order, new Random(7));
    for (int i : order) {
      asked.add(i % 2 == 0 ? present(i / 2 % count) : absent(i));
    }
    long nanos = 0;
    for (int from = 0; from < asked.size(); from += FileRounds.BATCH) {
      int to = Math.min(from + FileRounds.BATCH, asked.size());
      List<ObjectKey> keys = List.copyOf(asked.subList(from, to));
      long begin = System.nanoTime();
      BatchResult result = of.store().exists(keys, Deadline.never());
      nanos += System.nanoTime() - begin;
      for (int i = 0; i < keys.size(); i++) {
        if ((result.status(i) == ObjectStatus.OK) != (order.get(from + i) % 2 == 0)) {
          throw new IllegalStateException("what is there is not what was put");
        }
      }
    }
    return nanos;
  }

  private ObjectKey present(int i) {
    return new ObjectKey("%016x%048x".formatted(round, i));
  }

  private ObjectKey absent(int i) {
    return new ObjectKey("ffff%012x%048x".formatted(round, i));
  }

  @Override
  public void rest() {
    var unused = opened().store().clear(KeyPrefix.EVERYTHING, Deadline.never());
  }

  @Override
  public void finish() {
    Opened ended = opened();
    opened = null;
    ended.store().close();
    try (var files = Files.list(ended.folder())) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("what the store left cannot be deleted", e);
    }
  }
}
