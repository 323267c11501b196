package io.unifiedcache.benchmarks;

import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.backend.mooncake.ClientBatches;
import io.unifiedcache.benchmarks.Engine.Shape;
import io.unifiedcache.benchmarks.Table.Goal;
import io.unifiedcache.linker.Backends;
import io.unifiedcache.linker.SettingsSources;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Prints how the Mooncake store compares with Mooncake's own Python client in a process of its own,
 * on one cluster and with the same calls: batches of 32, put and got from registered memory, and
 * pages that are loaded layer by layer. A put of the store is two calls, since the answer to the
 * first does not say that an object is there, and so it is beside the store; the last row of a size
 * has the other side do without. The Java client that the store is built on is measured by itself,
 * too.
 *
 * <p>Both take turns round after round, and only one works at a time. A ratio is the bytes per
 * second of the store by those of the client. What is got is compared with what was put. The code
 * of the store is compiled before, in rounds of small objects. The cluster needs a gigabyte of
 * memory.
 */
public final class BesideMooncake {
  private static final Rounds ROUNDS = new Rounds(/* warmups= */ 20, /* rounds= */ 401);

  /** Rounds of small objects, 512 batches each, in which the code of the store is compiled. */
  private static final Rounds COMPILING = new Rounds(/* warmups= */ 8, /* rounds= */ 1);

  private static final long SMALL_BYTES = 4096;
  private static final String PEER = "benchmarks/peers/mooncake_client.py";
  private static final int LAYERS = 32;
  private static final int PAGES = 64;
  private static final long PIECE_BYTES = 16 << 10;

  private BesideMooncake() {}

  /**
   * Measures on the cluster of a master, beside the client of a Python interpreter. What follows
   * are settings of the store, such as {@code client=native}, and what to measure: {@code 64KiB},
   * {@code 1MiB}, {@code 4MiB} or {@code layers}; all of them if none is named.
   */
  public static void main(String[] args) throws Exception {
    if (args.length < 2) {
      throw new IllegalArgumentException("name the master's host:port and a Python interpreter");
    }
    String master = args[0];
    String python = args[1];
    Map<String, String> settings = new HashMap<>();
    settings.put("master_server_address", master);
    settings.put("local_hostname", "127.0.0.1");
    settings.put("client", "python");
    settings.put("python", python);
    List<String> measures = new ArrayList<>();
    for (String arg : List.of(args).subList(2, args.length)) {
      int equals = arg.indexOf('=');
      if (equals < 0) {
        measures.add(arg);
      } else {
        settings.put(arg.substring(0, equals), arg.substring(equals + 1));
      }
    }
    if (measures.isEmpty()) {
      measures.addAll(List.of("64KiB", "1MiB", "4MiB", "layers"));
    }
    Table table = new Table(System.out);
    try (CacheStore store =
        Backends.discover().open("mooncake", SettingsSources.of(settings), "benchmark")) {
      compile(store);
      for (String measure : measures) {
        switch (measure) {
          case "64KiB" -> batches(store, master, python, settings, "64 KiB", 64 << 10, table);
          case "1MiB" -> batches(store, master, python, settings, "1 MiB", 1 << 20, table);
          case "4MiB" -> batches(store, master, python, settings, "4 MiB", 4 << 20, table);
          case "layers" -> layers(store, master, python, table);
          default -> throw new IllegalArgumentException("there is nothing like " + measure);
        }
      }
    }
  }

  private static void compile(CacheStore store) {
    try (MooncakeBatches small = new MooncakeBatches(store, SMALL_BYTES)) {
      Rounds.Spread unused = COMPILING.ratio(small.put(), small.get());
    }
  }

  private static void batches(
      CacheStore store,
      String master,
      String python,
      Map<String, String> settings,
      String size,
      long bytes,
      Table table)
      throws Exception {
    try (PeerProcess peer = new PeerProcess(List.of(python, PEER, master));
        MooncakeBatches batches = new MooncakeBatches(store, bytes)) {
      peer.prepare(batches.roundBytes(), bytes, MooncakeBatches.BATCH);
      Side alone = () -> peer.nanos("put-unseen");
      String of =
          "%s: batches of %d of %s".formatted(settings.get("client"), MooncakeBatches.BATCH, size);
      try (var client =
          new ClientBatches(settings, batches.roundBytes(), bytes, MooncakeBatches.BATCH)) {
        table.row("put / client=" + of, ROUNDS.ratio(alone, client::put), Goal.atLeast(0.95));
        table.row("get / client=" + of, ROUNDS.ratio(peer::get, client::get), Goal.atLeast(0.95));
      }
      Side put = batches.put();
      table.row("put / store, " + of, ROUNDS.ratio(peer::put, put), Goal.atLeast(0.95));
      table.row("get / store, " + of, ROUNDS.ratio(peer::get, batches.get()), Goal.atLeast(0.95));
      table.row(
          "put / store, " + of + ", beside a client that does not ask what is there",
          ROUNDS.ratio(alone, put),
          Goal.NONE);
    }
  }

  private static void layers(CacheStore store, String master, String python, Table table)
      throws IOException {
    Shape shape = new Shape(PAGES, /* pools= */ 1, LAYERS, PIECE_BYTES);
    try (PeerProcess peer =
            new PeerProcess(List.of(python, PEER, master, Integer.toString(LAYERS)));
        Engine engine = new Engine(shape, store, RankCollective.ALONE)) {
      peer.prepare(shape.bytes(), shape.pageBytes(), PAGES);
      long unused = peer.put();
      engine.offload();
      engine.lookup();
      table.row(
          "load layer by layer: %d pages of %d KiB, %d layers"
              .formatted(PAGES, shape.pageBytes() >> 10, LAYERS),
          ROUNDS.ratio(peer::get, () -> engine.load().last()),
          Goal.atLeast(0.9));
    }
  }
}
