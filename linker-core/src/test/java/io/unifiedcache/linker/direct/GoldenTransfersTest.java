package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MonotonicClock;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.linker.config.LinkerOptions;
import io.unifiedcache.linker.direct.ScriptedStore.Call;
import io.unifiedcache.linker.direct.ScriptedStore.Step;
import io.unifiedcache.linker.golden.GoldenKeys;
import io.unifiedcache.linker.golden.GoldenRows;
import io.unifiedcache.linker.key.KeyForm;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The linker moves the same objects, sizes, offsets and pieces as SGLang's.
 *
 * <p>How they are grouped into calls is another matter and not compared.
 */
class GoldenTransfersTest {
  /** A part of an object and its place in a pool: component, buffer, byte offset. */
  private record Piece(long objectOffset, long bytes, int component, int buffer, long offset) {}

  @Test
  void rows_ofThisKind_areAllThere() {
    assertThat(rows("offload")).hasSize(15);
    assertThat(rows("load")).hasSize(15);
  }

  @TestFactory
  @DisplayName("key.order: offloads put the golden objects")
  Stream<DynamicTest> offload_golden_sameObjects() {
    return rows("offload").stream()
        .map(row -> DynamicTest.dynamicTest(row.get("config").toString(), () -> offload(row)));
  }

  @TestFactory
  @DisplayName("key.order: loads read the golden ranges")
  Stream<DynamicTest> load_golden_sameRanges() {
    return rows("load").stream()
        .map(row -> DynamicTest.dynamicTest(row.get("config").toString(), () -> load(row)));
  }

  private static void offload(JsonObject row) {
    try (Fixture fixture = new Fixture(row, row)) {
      fixture.linker.offload(fixture.request("offload", row.getAsJsonArray("transfers")));
      assertThat(fixture.linker.pollOffloads(Rig.LONG)).hasSize(1);
      Map<String, List<Piece>> puts = new LinkedHashMap<>();
      for (Call call : fixture.store.calls(Step.PUT)) {
        for (Object op : call.ops()) {
          PutOp put = (PutOp) op;
          long offset = 0;
          List<Piece> pieces = new ArrayList<>();
          for (Memory piece : put.pieces()) {
            pieces.add(fixture.piece(offset, piece));
            offset += piece.byteSize();
          }
          assertThat(puts.put(put.key().value(), pieces)).isNull();
        }
      }
      assertThat(puts).isEqualTo(golden(row, "putMulti", /* wholeObjects= */ true));
    }
  }

  private static int end(List<Piece> pieces) {
    return (int)
        pieces.stream().mapToLong(each -> each.objectOffset() + each.bytes()).max().orElse(0);
  }

  private static void load(JsonObject row) {
    JsonObject geometry =
        rows("offload").stream()
            .filter(offload -> offload.get("config").equals(row.get("config")))
            .findFirst()
            .orElseThrow();
    try (Fixture fixture = new Fixture(row, geometry)) {
      assertThat(fixture.pools.layers()).isEqualTo(row.get("numLayers").getAsInt());
      // Every object is there, and its ranges are all of it.
      golden(row, "rangeGet", /* wholeObjects= */ false)
          .forEach(
              (key, pieces) ->
                  fixture.store.objects.put(new ObjectKey(key), new byte[end(pieces)]));
      for (JsonElement request : row.getAsJsonArray("requests")) {
        fixture.linker.load(
            fixture.request(
                request.getAsJsonObject().get("rid").getAsString(),
                request.getAsJsonObject().getAsJsonArray("transfers")));
      }
      fixture.linker.startLayerWiseLoading().awaitLayer(fixture.pools.layers() - 1, Rig.LONG);
      Map<String, List<Piece>> reads = new LinkedHashMap<>();
      for (Call call : fixture.store.calls(Step.READ)) {
        for (int i = 0; i < call.ops().size(); i++) {
          List<Piece> pieces =
              reads.computeIfAbsent(call.keys().get(i).value(), key -> new ArrayList<>());
          for (Range range : ((ReadOp) call.ops().get(i)).ranges()) {
            pieces.add(fixture.piece(range.objectOffset(), range.target()));
          }
        }
      }
      assertThat(reads).isEqualTo(golden(row, "rangeGet", /* wholeObjects= */ false));
    }
  }

  /** Returns, by object, the pieces of every golden call of one kind, in order. */
  private static Map<String, List<Piece>> golden(
      JsonObject row, String kind, boolean wholeObjects) {
    Map<String, List<Piece>> byKey = new LinkedHashMap<>();
    for (JsonElement element : row.getAsJsonArray("storeCalls")) {
      JsonObject call = element.getAsJsonObject();
      if (!call.get("call").getAsString().equals(kind)) {
        continue;
      }
      JsonArray keys = call.getAsJsonArray("keys");
      for (int i = 0; i < keys.size(); i++) {
        List<Piece> pieces =
            byKey.computeIfAbsent(keys.get(i).getAsString(), key -> new ArrayList<>());
        JsonArray sizes = call.getAsJsonArray("sizes").get(i).getAsJsonArray();
        JsonArray targets = call.getAsJsonArray("targets").get(i).getAsJsonArray();
        long offset = 0;
        for (int piece = 0; piece < sizes.size(); piece++) {
          JsonArray target = targets.get(piece).getAsJsonArray();
          long bytes = sizes.get(piece).getAsLong();
          if (!wholeObjects) {
            offset =
                call.getAsJsonArray("objectOffsets").get(i).getAsJsonArray().get(piece).getAsLong();
          }
          pieces.add(
              new Piece(
                  offset,
                  bytes,
                  target.get(0).getAsInt(),
                  target.get(1).getAsInt(),
                  target.get(2).getAsLong()));
          offset += bytes;
        }
      }
    }
    return byKey;
  }

  private static List<JsonObject> rows(String op) {
    return GoldenRows.of("keys-direct-linker.jsonl", "op", op);
  }

  /** The pools of a golden row and a linker over them. */
  private static final class Fixture implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final ScriptedStore store = new ScriptedStore();
    private final Map<Memory, int[]> places = new LinkedHashMap<>();
    private final DevicePools pools;
    private final CacheLinker linker;

    private Fixture(JsonObject row, JsonObject geometry) {
      JsonObject config = row.getAsJsonObject("config");
      List<DevicePool> list = new ArrayList<>();
      geometry
          .getAsJsonObject("poolGeometry")
          .asMap()
          .forEach((name, pool) -> list.add(pool(name, pool.getAsJsonObject())));
      boolean replicated = config.get("rankReplicated").getAsBoolean();
      pools = new DevicePools(list, replicated);
      linker =
          DirectLinker.open(
              store,
              /* ownsStore= */ true,
              GoldenKeys.layout(KeyForm.SGLANG_LINKER, config),
              pools,
              new RankMember(
                  RankCollective.ALONE, config.get("tpRank").getAsInt() == 0, pools.sources()),
              LinkerOptions.defaults(),
              MonotonicClock.SYSTEM,
              "golden");
    }

    private DevicePool pool(String name, JsonObject pool) {
      JsonArray components = pool.getAsJsonArray("buffers");
      List<LayerBuffer> buffers = new ArrayList<>();
      for (int component = 0; component < components.size(); component++) {
        JsonArray ofComponent = components.get(component).getAsJsonArray();
        for (int buffer = 0; buffer < ofComponent.size(); buffer++) {
          JsonObject shape = ofComponent.get(buffer).getAsJsonObject();
          Memory memory =
              HostMemory.of(
                  arena.allocate(
                      shape.get("rows").getAsLong() * shape.get("rowBytes").getAsLong()));
          places.put(memory, new int[] {component, buffer});
          buffers.add(
              new LayerBuffer(
                  layer(pool.getAsJsonObject("layerMapping"), buffer),
                  memory,
                  shape.get("pageBytes").getAsLong()));
        }
      }
      DevicePool packed =
          new DevicePool(
              new PoolName(name),
              new PoolName(pool.get("source").getAsString()),
              List.of(new Component(Component.PACKED, buffers)));
      assertThat(packed.pageBytes()).isEqualTo(pool.get("objectBytes").getAsLong());
      return packed;
    }

    private static int layer(JsonObject mapping, int buffer) {
      for (Map.Entry<String, JsonElement> entry : mapping.entrySet()) {
        JsonElement value = entry.getValue();
        boolean mine =
            value.isJsonArray()
                ? value.getAsJsonArray().asList().stream().anyMatch(e -> e.getAsInt() == buffer)
                : value.getAsInt() == buffer;
        if (mine) {
          return Integer.parseInt(entry.getKey());
        }
      }
      throw new AssertionError("no layer has buffer " + buffer + ": " + mapping);
    }

    /** Turns token slots into slots of whole pages. */
    private TransferRequest request(String id, JsonArray transfers) {
      List<PoolTransfer> list = new ArrayList<>();
      for (JsonElement element : transfers) {
        JsonObject transfer = element.getAsJsonObject();
        String source = transfer.get("pool").getAsString();
        List<PageKey> pages =
            transfer.getAsJsonArray("keys").asList().stream()
                .map(key -> new PageKey(key.getAsString()))
                .toList();
        JsonArray tokens = transfer.getAsJsonArray("deviceIndices");
        int perPage = tokens.size() / pages.size();
        long[] slots = new long[pages.size()];
        for (int page = 0; page < slots.length; page++) {
          slots[page] = tokens.get(page * perPage).getAsLong() / perPage;
        }
        list.add(new PoolTransfer(new PoolName(source), pages, Slots.of(slots)));
      }
      return new TransferRequest(id, list);
    }

    private Piece piece(long objectOffset, Memory piece) {
      MemorySegment segment = ((HostMemory) piece).segment();
      for (Map.Entry<Memory, int[]> place : places.entrySet()) {
        MemorySegment buffer = ((HostMemory) place.getKey()).segment();
        long offset = segment.address() - buffer.address();
        if (offset >= 0 && offset < buffer.byteSize()) {
          return new Piece(
              objectOffset, piece.byteSize(), place.getValue()[0], place.getValue()[1], offset);
        }
      }
      throw new AssertionError("piece of no buffer: " + piece);
    }

    @Override
    public void close() {
      linker.close();
      arena.close();
    }
  }
}
