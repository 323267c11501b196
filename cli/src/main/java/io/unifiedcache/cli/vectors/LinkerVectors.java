package io.unifiedcache.cli.vectors;

import io.unifiedcache.api.Memory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.linker.UnifiedCache;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Checks rows of calls of the direct linker, by making the same calls of ours over a store that
 * remembers what it is told.
 *
 * <p>Compared is what happens to each object, not how objects are grouped into calls.
 */
final class LinkerVectors {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Set<String> OPS = Set.of("lookup", "offload", "load");

  /** The geometry of each group of pools, which only the rows of offloads describe. */
  private final Map<String, Row> geometries;

  private LinkerVectors(Map<String, Row> geometries) {
    this.geometries = geometries;
  }

  static LinkerVectors of(List<Row> rows) throws VectorException {
    Map<String, Row> geometries = new HashMap<>();
    for (Row row : rows) {
      if (row.has("poolGeometry")) {
        geometries.put(row.object("config").text("poolGroup"), row.object("poolGeometry"));
      }
    }
    return new LinkerVectors(geometries);
  }

  static boolean knows(String op) {
    return OPS.contains(op);
  }

  Verdict check(String op, Row row) throws VectorException {
    Row described =
        row.has("poolGeometry")
            ? row.object("poolGeometry")
            : geometries.get(row.object("config").text("poolGroup"));
    if (described == null) {
      return Verdict.notCovered("no row of this file describes the pools");
    }
    for (String pool : described.members()) {
      if (!described.object(pool).flag("packed")) {
        return Verdict.notCovered("a pool that is not packed");
      }
    }
    PoolGeometry geometry = PoolGeometry.of(described);
    return switch (op) {
      case "lookup" -> lookup(row, geometry);
      case "offload" -> offload(row, geometry);
      default -> load(row, geometry);
    };
  }

  private static Verdict lookup(Row row, PoolGeometry geometry) throws VectorException {
    Map<String, ObjectStatus> objects = new HashMap<>();
    row.texts("existingKeys").forEach(key -> objects.put(key, ObjectStatus.OK));
    List<PageKey> pages = List.of();
    List<PoolQuery> queries = new ArrayList<>();
    for (Row transfer : row.objects("transfers")) {
      PoolName source = new PoolName(transfer.text("pool"));
      List<PageKey> keys = transfer.pages("keys");
      if (source.equals(PoolName.KV)) {
        pages = keys;
      }
      queries.add(
          new PoolQuery(
              source, HitPolicy.parse(transfer.text("hitPolicy")), Math.max(1, keys.size())));
    }
    List<Integer> lengths = new ArrayList<>();
    try (CacheLinker linker = open(row, geometry, ScriptedStore.having(objects))) {
      linker.lookup(pages, queries).restorable().forEach(lengths::add);
    }
    return Verdict.compare("restorable", row.numbers("restorable"), lengths);
  }

  private static Verdict offload(Row row, PoolGeometry geometry) throws VectorException {
    if (!row.flag("accepted")) {
      return Verdict.notCovered("an offload that was not accepted");
    }
    Map<String, List<List<Integer>>> expected = new TreeMap<>();
    Map<String, String> expectedGroups = new TreeMap<>();
    Map<String, ObjectStatus> present = new HashMap<>();
    for (Row call : row.objects("storeCalls")) {
      List<String> keys = call.texts("keys");
      if (call.text("call").equals("exist")) {
        keys.forEach(key -> present.put(key, ObjectStatus.OK));
      } else {
        putsOf(call, keys, expected);
        List<String> groups =
            call.find("groupIds").isPresent() ? call.texts("groupIds") : List.of();
        for (int i = 0; i < groups.size(); i++) {
          expectedGroups.put(keys.get(i), groups.get(i));
        }
      }
    }
    present.keySet().removeAll(expected.keySet());
    ScriptedStore store = ScriptedStore.having(present);
    boolean ok;
    try (CacheLinker linker = open(row, geometry, store)) {
      linker.offload(request("offload", row.objects("transfers"), geometry));
      ok = ended(1, () -> linker.pollOffloads(PATIENCE));
    }
    Map<String, List<List<Integer>>> found = new TreeMap<>();
    Map<String, String> foundGroups = new TreeMap<>();
    for (PutOp put : store.puts()) {
      found.put(put.key().value(), pieces(put.pieces(), geometry));
      put.groupHint().ifPresent(group -> foundGroups.put(put.key().value(), group));
    }
    boolean result = row.flag("result");
    boolean groups = row.object("config").flag("enableGroupSemantics");
    return Verdict.compare("objects put", expected, found)
        .and(
            () ->
                groups
                    ? Verdict.compare("groupIds", expectedGroups, foundGroups)
                    : Verdict.matched())
        .and(() -> Verdict.compare("result", result, ok));
  }

  private static void putsOf(Row call, List<String> keys, Map<String, List<List<Integer>>> puts)
      throws VectorException {
    List<List<Integer>> sizes = call.matrix("sizes");
    List<List<List<Integer>>> targets = call.cube("targets");
    for (int i = 0; i < keys.size(); i++) {
      List<List<Integer>> pieces = new ArrayList<>();
      for (int piece = 0; piece < sizes.get(i).size(); piece++) {
        pieces.add(with(sizes.get(i).get(piece), targets.get(i).get(piece)));
      }
      puts.put(keys.get(i), pieces);
    }
  }

  /** Returns the size of each piece, and where it is. */
  private static List<List<Integer>> pieces(List<Memory> pieces, PoolGeometry geometry) {
    List<List<Integer>> located = new ArrayList<>();
    for (Memory piece : pieces) {
      located.add(with((int) piece.byteSize(), geometry.locate(piece)));
    }
    return located;
  }

  private static Verdict load(Row row, PoolGeometry geometry) throws VectorException {
    Map<String, List<List<Integer>>> expected = new TreeMap<>();
    for (Row call : row.objects("storeCalls")) {
      if (call.text("call").equals("rangeGet")) {
        rangesOf(call, expected);
      }
    }
    ScriptedStore store = ScriptedStore.holding(sizes(expected));
    boolean ok;
    List<Row> requests = row.objects("requests");
    try (CacheLinker linker = open(row, geometry, store)) {
      for (Row request : requests) {
        linker.load(request(request.text("rid"), request.objects("transfers"), geometry));
      }
      var unused = linker.startLayerWiseLoading();
      ok = ended(requests.size(), () -> linker.pollLoads(PATIENCE));
    }
    Map<String, List<List<Integer>>> found = new TreeMap<>();
    store
        .reads()
        .forEach(
            (key, ranges) -> {
              List<List<Integer>> located = new ArrayList<>();
              for (Range range : ranges) {
                located.add(
                    with(
                        (int) range.objectOffset(),
                        with((int) range.target().byteSize(), geometry.locate(range.target()))));
              }
              found.put(key, located);
            });
    boolean landed = row.flag("landed");
    inOrder(expected);
    inOrder(found);
    return Verdict.compare("ranges read", expected, found)
        .and(() -> Verdict.compare("landed", landed, ok));
  }

  private static void rangesOf(Row call, Map<String, List<List<Integer>>> ranges)
      throws VectorException {
    List<String> keys = call.texts("keys");
    List<List<Integer>> sizes = call.matrix("sizes");
    List<List<Integer>> offsets = call.matrix("objectOffsets");
    List<List<List<Integer>>> targets = call.cube("targets");
    for (int i = 0; i < keys.size(); i++) {
      List<List<Integer>> ofKey = ranges.computeIfAbsent(keys.get(i), key -> new ArrayList<>());
      for (int piece = 0; piece < sizes.get(i).size(); piece++) {
        ofKey.add(
            with(
                offsets.get(i).get(piece),
                with(sizes.get(i).get(piece), targets.get(i).get(piece))));
      }
    }
  }

  /**
   * Returns the sizes of objects, all of whose ranges are known: offset, size and target of each.
   */
  private static Map<String, Long> sizes(Map<String, List<List<Integer>>> ranges) {
    Map<String, Long> sizes = new HashMap<>();
    ranges.forEach(
        (key, ofKey) -> {
          for (List<Integer> range : ofKey) {
            sizes.merge(key, (long) range.get(0) + range.get(1), Math::max);
          }
        });
    return sizes;
  }

  private static void inOrder(Map<String, List<List<Integer>>> ranges) {
    ranges.values().forEach(each -> each.sort(Comparator.comparing(List::getFirst)));
  }

  private static List<Integer> with(int first, List<Integer> others) {
    List<Integer> all = new ArrayList<>();
    all.add(first);
    all.addAll(others);
    return all;
  }

  private static TransferRequest request(String id, List<Row> transfers, PoolGeometry geometry)
      throws VectorException {
    List<PoolTransfer> moved = new ArrayList<>();
    for (Row transfer : transfers) {
      String source = transfer.text("pool");
      int pageSize = geometry.pageSize(source);
      List<PageKey> keys = transfer.pages("keys");
      List<Integer> indices = transfer.numbers("deviceIndices");
      if (indices.size() != keys.size() * pageSize) {
        throw new VectorException(
            "%s: expected %d deviceIndices for %d pages, not %d"
                .formatted(transfer.where(), keys.size() * pageSize, keys.size(), indices.size()));
      }
      long[] slots = new long[keys.size()];
      for (int i = 0; i < slots.length; i++) {
        slots[i] = indices.get(i * pageSize) / pageSize;
      }
      moved.add(new PoolTransfer(new PoolName(source), keys, Slots.of(slots)));
    }
    return new TransferRequest(id, moved);
  }

  /** Waits for completions and tells whether all of them are ok. */
  private static boolean ended(int count, Supplier<List<Completion>> poll) {
    boolean ok = true;
    for (int left = count; left > 0; ) {
      List<Completion> completions = poll.get();
      if (completions.isEmpty()) {
        return false;
      }
      ok &= completions.stream().allMatch(Completion::ok);
      left -= completions.size();
    }
    return ok;
  }

  private static CacheLinker open(Row row, PoolGeometry geometry, ScriptedStore store)
      throws VectorException {
    Row config = row.object("config");
    return UnifiedCache.builder()
        .store(store)
        .settings(
            Map.of(
                "keys",
                "sglang-linker",
                "linker.load-path",
                "layers",
                "linker.groups",
                Boolean.toString(config.flag("enableGroupSemantics"))))
        .identity(KeyVectors.identity(config, "modelPath"))
        .pools(geometry.pools(config.flag("rankReplicated")))
        .instance("vectors")
        .open();
  }
}
