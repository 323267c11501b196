package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.StoreContext;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.jspecify.annotations.NullMarked;

/**
 * Prints what a call costs around Mooncake's own call: a store and the Python client, on a module
 * that stands in for Mooncake's and answers at once, with batches of 32.
 *
 * <p>In the package of the backend, since the stand-in takes the place of what that keeps to
 * itself.
 */
@NullMarked
public final class JavaCost {
  private static final int BATCH = 32;
  private static final long PIECE_BYTES = 4096;
  private static final int WARMUPS = 20_000;
  private static final int ROUNDS = 2_001;

  /** The goals in nanoseconds: of a key with one piece, and of each further piece. */
  private static final double KEY_GOAL = 2_000;

  private static final double PIECE_GOAL = 300;

  private static final String MODULE =
      """
      class MooncakeDistributedStore:
          def setup(self, *args, **named): return 0
          def close(self): return 0
          def get_size(self, key): return %1$d
          def register_buffer(self, *args): return 0
          def unregister_buffer(self, *args): return 0
          def remove_by_regex(self, *args): return 0
          def batch_is_exist(self, keys): return [1] * len(keys)
          def batch_remove(self, keys, force): return [0] * len(keys)
          def batch_put_from(self, keys, *args): return [0] * len(keys)
          def batch_put_from_multi_buffers(self, keys, *args): return [0] * len(keys)
          def batch_get_into(self, keys, addresses, sizes): return sizes
          def batch_get_into_multi_buffers(self, keys, addresses, sizes):
              return [%1$d * len(sizes[0])] * len(keys)
          def batch_get_into_multi_buffer_ranges(self, keys, addresses, sizes, offsets):
              return [%1$d * len(sizes[0])] * len(keys)
          def batch_get_session_start(self, keys): return [0] * len(keys)
          def batch_get_session_end(self, keys): return 0
      class ReplicateConfig:
          with_soft_pin = False
      """
          .formatted(PIECE_BYTES);

  /** A call that is measured. */
  private interface Work {
    void run();
  }

  private JavaCost() {}

  /** Measures with the Python of an interpreter, {@code python3} if none is named. */
  public static void main(String[] args) throws Exception {
    String interpreter = args.length == 0 ? "python3" : args[0];
    PrintStream out = System.out;
    out.println("| call | ns for a key of 1 piece | goal | ns for a further piece | goal |");
    out.println("|---|---|---|---|---|");
    try (ServerSocket master = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Arena arena = Arena.ofShared();
        CacheStore store = open(interpreter, master.getLocalPort())) {
      MemorySegment memory = arena.allocate(BATCH * 64 * PIECE_BYTES, 4096).fill((byte) 1);
      row(out, "put", pieces -> put(store, memory, pieces));
      row(out, "get", pieces -> get(store, memory, pieces));
      try (ReadSession session = store.openSession(keys(), Deadline.never())) {
        row(out, "read of ranges", pieces -> read(session, memory, pieces));
      }
    }
  }

  private static MooncakeStore open(String interpreter, int masterPort) throws Exception {
    Python python = Python.of(PythonInterpreter.ask(interpreter, "sys"));
    PythonLibrary library;
    try (PythonFrame frame = python.enter()) {
      long module =
          frame.call(
              frame.attribute(frame.importModule("types"), "ModuleType"), frame.text("stand-in"));
      long unused =
          frame.call(
              frame.attribute(frame.importModule("builtins"), "exec"),
              frame.text(MODULE),
              frame.attribute(module, "__dict__"));
      library = new PythonLibrary(python, frame, frame.keep(module));
    }
    String address = "127.0.0.1:" + masterPort;
    MooncakeSettings settings =
        MooncakeSettings.of(
            Settings.builder(MooncakeSettings.OPTIONS)
                .set(MooncakeSettings.MASTER_SERVER_ADDRESS, address)
                .set(MooncakeSettings.LOCAL_HOSTNAME, "127.0.0.1:1")
                .build(),
            java.util.Map.of());
    StoreContext context = StoreContext.of("cost");
    return new MooncakeStore(
        library.setUp(settings.setup()),
        "a stand-in",
        settings,
        new Master(address, 1, "default"),
        new CallThreads(1, context.threads()),
        context);
  }

  /** Makes the call with so many pieces for each key. */
  private interface WithPieces {
    Work of(int pieces);
  }

  private static void row(PrintStream out, String name, WithPieces work) {
    double one = nanosPerKey(work.of(1));
    // From two pieces on, so that both sides make lists of lists.
    double few = nanosPerKey(work.of(2));
    double many = nanosPerKey(work.of(64));
    double further = (many - few) / 62;
    out.printf(
        Locale.ROOT,
        "| %s | %.0f | at most %.0f, %s | %.0f | at most %.0f, %s |%n",
        name,
        one,
        KEY_GOAL,
        one <= KEY_GOAL ? "met" : "missed",
        further,
        PIECE_GOAL,
        further <= PIECE_GOAL ? "met" : "missed");
  }

  /** Returns the median. */
  private static double nanosPerKey(Work work) {
    for (int i = 0; i < WARMUPS; i++) {
      work.run();
    }
    long[] nanos = new long[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      long begin = System.nanoTime();
      work.run();
      nanos[i] = System.nanoTime() - begin;
    }
    Arrays.sort(nanos);
    return (double) nanos[ROUNDS / 2] / BATCH;
  }

  private static Work put(CacheStore store, MemorySegment memory, int pieces) {
    List<PutOp> ops = new ArrayList<>();
    for (int i = 0; i < BATCH; i++) {
      ops.add(new PutOp(keys().get(i), pieces(memory, i, pieces)));
    }
    return () -> requireOk(store.put(ops, Deadline.never()));
  }

  private static Work get(CacheStore store, MemorySegment memory, int pieces) {
    List<GetOp> ops = new ArrayList<>();
    for (int i = 0; i < BATCH; i++) {
      ops.add(new GetOp(keys().get(i), pieces(memory, i, pieces)));
    }
    return () -> requireOk(store.get(ops, Deadline.never()));
  }

  private static Work read(ReadSession session, MemorySegment memory, int pieces) {
    List<ReadOp> ops = new ArrayList<>();
    for (int i = 0; i < BATCH; i++) {
      List<Range> ranges = new ArrayList<>();
      for (Memory piece : pieces(memory, i, pieces)) {
        ranges.add(new Range(2L * ranges.size() * PIECE_BYTES, piece));
      }
      ops.add(new ReadOp(i, ranges));
    }
    return () -> requireOk(session.read(ops, Deadline.never()));
  }

  private static List<ObjectKey> keys() {
    String page = "0123456789abcdef".repeat(4);
    return IntStream.range(0, BATCH)
        .mapToObj(i -> new ObjectKey("org-model_" + page + "_tp0_cp0_pp0_k" + i))
        .toList();
  }

  /** Returns the pieces of a key, in an order in which no two are one. */
  private static List<Memory> pieces(MemorySegment memory, int key, int pieces) {
    return IntStream.range(0, pieces)
        .<Memory>mapToObj(
            piece ->
                HostMemory.of(
                    memory.asSlice(((long) piece * BATCH + key) * PIECE_BYTES, PIECE_BYTES)))
        .toList();
  }

  private static void requireOk(BatchResult result) {
    if (result.count(ObjectStatus.OK) != result.size()) {
      throw new IllegalStateException("not all OK: " + result + ", " + result.failure(0));
    }
  }
}
