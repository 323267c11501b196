package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.TestPython.allocatedBlocks;
import static io.unifiedcache.backend.mooncake.TestPython.eval;
import static io.unifiedcache.backend.mooncake.TestPython.repr;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** The client on a module that stands in for Mooncake's: it notes calls and answers as told. */
@Isolated("it counts the memory of the interpreter, which all tests share")
class PythonClientTest {
  private static final String MODULE =
      """
      calls = []
      answers = {'setup': 0, 'close': 0}
      def method(name):
          def call(self, *args, **named):
              calls.append((name,) + args + ((named,) if named else ()))
              answer = answers[name]
              if isinstance(answer, Exception):
                  raise answer
              return answer
          return call
      class MooncakeDistributedStore:
          def __del__(self):
              calls.append(('gone',))
      for name in ('setup', 'close', 'batch_is_exist', 'batch_get_replica_desc', 'get_size', 'batch_put_from',
                   'batch_put_from_multi_buffers', 'batch_get_into',
                   'batch_get_into_multi_buffers', 'batch_remove', 'remove_by_regex',
                   'register_buffer', 'unregister_buffer', 'batch_get_session_start',
                   'batch_get_into_multi_buffer_ranges', 'batch_get_session_end'):
          setattr(MooncakeDistributedStore, name, method(name))
      class ReplicateConfig:
          def __repr__(self):
              return str(vars(self))
      class SoftPinAction:
          ENABLE = 'enabled'
      """;

  private static final ClientSetup SETUP =
      new ClientSetup(
          "host:1",
          "P2PHANDSHAKE",
          1L << 40,
          16 << 20,
          "tcp",
          "",
          "master:2",
          "",
          1,
          false,
          false,
          List.of(),
          /* ssdPath= */ null);

  private static final String CONFIG =
      "{'replica_num': 1, 'with_hard_pin': False, 'preferred_segments': []}";

  private Python python;
  private long module;

  @BeforeEach
  void start() throws Exception {
    python = TestPython.get();
    try (PythonFrame frame = python.enter()) {
      module = frame.keep(TestPython.module(frame, MODULE));
    }
  }

  @AfterEach
  void drop() {
    try (PythonFrame frame = python.enter()) {
      frame.drop(module);
    }
  }

  @Test
  void setUp_settings_arriveInMooncakesOrder() throws Exception {
    var unused = client(SETUP);
    assertThat(calls())
        .isEqualTo(
            "[('setup', 'host:1', 'P2PHANDSHAKE', 1099511627776, 16777216, 'tcp', '',"
                + " 'master:2')]");
  }

  @Test
  void setUp_tenant_isPassedByItsName() throws Exception {
    var unused = client(with("tenant-1", false, false, List.of()));
    assertThat(calls()).contains("'master:2', {'tenant_id': 'tenant-1'})");
    var unusedToo = client(with("default", false, false, List.of()));
    assertThat(calls()).endsWith("'master:2')]");
  }

  @Test
  void setUp_refused_saysTheNumberAndLeavesNothing() throws Exception {
    answer("setup", "-600");
    assertThatThrownBy(() -> client(SETUP))
        .isInstanceOf(ClientException.class)
        .hasMessage("Mooncake's setup answered -600");
    assertThat(calls()).endsWith("('gone',)]");
  }

  @Test
  void setUp_thatRaises_saysWhat() throws Exception {
    answer("setup", "RuntimeError('no port is free')");
    assertThatThrownBy(() -> client(SETUP))
        .isInstanceOf(ClientException.class)
        .hasMessage("Mooncake's setup failed: RuntimeError: no port is free")
        .hasCauseInstanceOf(PythonException.class);
  }

  @Test
  void load_moduleThatLacksAMethod_namesIt() throws Exception {
    try (PythonFrame frame = python.enter()) {
      long unused =
          frame.call(
              eval(frame, "lambda m: delattr(m.MooncakeDistributedStore, 'batch_remove')"), module);
      assertThatThrownBy(() -> new PythonLibrary(python, frame, module))
          .isInstanceOf(PythonException.class)
          .hasMessageContaining("batch_remove");
    }
  }

  @Test
  void put_objectsOfOnePiece_passesFlatLists() throws Exception {
    answer("batch_put_from", "[0, -200]");
    Transfer objects =
        new Transfer(2, 2).object("ä").piece(1L << 47, 10).object("b").piece(4096, 5L << 30);
    assertThat(client(SETUP).put(objects)).containsExactly(0, -200);
    assertThat(lastCall())
        .isEqualTo(
            "('batch_put_from', ['ä', 'b'], [140737488355328, 4096], [10, 5368709120], "
                + CONFIG
                + ")");
  }

  @Test
  void put_objectsOfSeveralPieces_passesListsOfLists() throws Exception {
    answer("batch_put_from_multi_buffers", "[0, 0, 0, 0]");
    Transfer objects =
        new Transfer(4, 8)
            .object("a")
            .piece(100, 10)
            .piece(200, 20)
            .object("b")
            .piece(300, 10)
            .piece(400, 20)
            .object("c")
            .piece(500, 10)
            .object("d")
            .piece(600, 20)
            .piece(700, 10);
    assertThat(client(SETUP).put(objects)).containsExactly(0, 0, 0, 0);
    assertThat(lastCall())
        .isEqualTo(
            "('batch_put_from_multi_buffers', ['a', 'b', 'c', 'd'],"
                + " [[100, 200], [300, 400], [500], [600, 700]],"
                + " [[10, 20], [10, 20], [10], [20, 10]], "
                + CONFIG
                + ")");
  }

  @Test
  void put_pinnedCopiesInPreferredSegments_areInTheConfig() throws Exception {
    answer("batch_put_from", "[0]");
    ClientSetup setup = with("", true, true, List.of("s1", "s2"));
    var unused = client(setup).put(new Transfer(1, 1).object("a").piece(1, 1));
    assertThat(lastCall())
        .endsWith(
            "{'replica_num': 3, 'with_hard_pin': True, 'soft_pin_action': 'enabled',"
                + " 'preferred_segments': ['s1', 's2']})");
  }

  @Test
  void put_softPinOfAnOlderPackage_isAFlag() throws Exception {
    answer("batch_put_from", "[0]");
    try (PythonFrame frame = python.enter()) {
      long unused =
          frame.call(
              eval(frame, "lambda m: setattr(m.ReplicateConfig, 'with_soft_pin', False)"), module);
    }
    var unused =
        client(with("", true, false, List.of())).put(new Transfer(1, 1).object("a").piece(1, 1));
    assertThat(lastCall()).contains("'with_soft_pin': True").doesNotContain("soft_pin_action");
  }

  @Test
  void put_groups_areOnePerKey() throws Exception {
    answer("batch_put_from", "[0, 0, 0]");
    PythonClient client = client(SETUP);
    Transfer objects =
        new Transfer(3, 3)
            .object("a")
            .piece(1, 1)
            .object("b")
            .group("g")
            .piece(2, 1)
            .object("c")
            .piece(3, 1);
    var unused = client.put(objects);
    assertThat(lastCall()).contains("'group_ids': ['', 'g', '']");
    // And nothing of them stays.
    answer("batch_put_from", "[0]");
    var unusedToo = client.put(new Transfer(1, 1).object("a").piece(1, 1));
    assertThat(lastCall()).endsWith(CONFIG + ")");
  }

  @Test
  void get_answers_areThoseOfMooncake() throws Exception {
    answer("batch_get_into", "[5368709120, -1, -704]");
    Transfer objects =
        new Transfer(3, 3).object("a").piece(1, 1).object("b").piece(2, 1).object("c").piece(3, 1);
    assertThat(client(SETUP).get(objects)).containsExactly(5_368_709_120L, -1, -704);
    assertThat(lastCall()).isEqualTo("('batch_get_into', ['a', 'b', 'c'], [1, 2, 3], [1, 1, 1])");
    answer("batch_get_into_multi_buffers", "[3]");
    Transfer pieces = new Transfer(1, 2).object("a").piece(10, 1).piece(20, 2);
    assertThat(client(SETUP).get(pieces)).containsExactly(3);
    assertThat(lastCall())
        .isEqualTo("('batch_get_into_multi_buffers', ['a'], [[10, 20]], [[1, 2]])");
  }

  @Test
  void readRanges_offsets_arePassed() throws Exception {
    answer("batch_get_into_multi_buffer_ranges", "[6, 6]");
    Transfer ranges =
        new Transfer(2, 4)
            .object("a")
            .range(7, 100, 2)
            .range(9, 200, 4)
            .object("b")
            .range(7, 300, 2)
            .range(8, 400, 4);
    assertThat(client(SETUP).readRanges(ranges)).containsExactly(6, 6);
    assertThat(lastCall())
        .isEqualTo(
            "('batch_get_into_multi_buffer_ranges', ['a', 'b'], [[100, 200], [300, 400]],"
                + " [[2, 4], [2, 4]], [[7, 9], [7, 8]])");
  }

  @Test
  void otherCalls_arguments_arePassed() throws Exception {
    Map<String, String> answers =
        Map.of(
            "batch_is_exist", "[1, 0]",
            "batch_get_replica_desc", "{}",
            "get_size", "7",
            "batch_remove", "[0, -706]",
            "remove_by_regex", "12",
            "register_buffer", "0",
            "unregister_buffer", "-600",
            "batch_get_session_start", "[0, -704]",
            "batch_get_session_end", "0");
    for (Map.Entry<String, String> each : answers.entrySet()) {
      answer(each.getKey(), each.getValue());
    }
    PythonClient client = client(SETUP);
    List<String> keys = List.of("a", "b");
    assertThat(client.exists(keys)).containsExactly(1, 0);
    assertThat(lastCall()).isEqualTo("('batch_is_exist', ['a', 'b'])");
    assertThat(client.sizes(keys)).containsExactly(7, 7);
    assertThat(calls()).endsWith("('get_size', 'a'), ('get_size', 'b')]");
    assertThat(client.remove(keys, true)).containsExactly(0, -706);
    assertThat(lastCall()).isEqualTo("('batch_remove', ['a', 'b'], True)");
    assertThat(client.removeByRegex("^a\\..*", false)).isEqualTo(12);
    assertThat(lastCall()).isEqualTo("('remove_by_regex', '^a\\\\..*', False)");
    assertThat(client.register(1L << 47, 5L << 30)).isZero();
    assertThat(lastCall()).isEqualTo("('register_buffer', 140737488355328, 5368709120)");
    assertThat(client.unregister(1L << 47)).isEqualTo(-600);
    assertThat(lastCall()).isEqualTo("('unregister_buffer', 140737488355328)");
    assertThat(client.startReading(keys)).containsExactly(0, -704);
    assertThat(lastCall()).isEqualTo("('batch_get_session_start', ['a', 'b'])");
    assertThat(client.endReading(keys)).isZero();
    assertThat(lastCall()).isEqualTo("('batch_get_session_end', ['a', 'b'])");
  }

  @Test
  void sizes_ofWhatIsInMemory_takeOneCall() throws Exception {
    try (PythonFrame frame = python.enter()) {
      long made =
          frame.call(
              eval(
                  frame,
                  """
                  lambda N: {
                      key: [N(is_memory_replica=lambda m=memory: m,
                              status=N(name=status),
                              get_memory_descriptor=lambda n=size: N(buffer_descriptor=N(size=n)))
                            for memory, status, size in replicas]
                      for key, replicas in {
                          'a': [(False, 'COMPLETE', 9), (True, 'COMPLETE', 5 << 30)],
                          'disk': [(False, 'COMPLETE', 9)],
                          'half': [(True, 'PROCESSING', 9)]}.items()}\
                  """),
              frame.attribute(frame.importModule("types"), "SimpleNamespace"));
      frame.set(frame.attribute(module, "answers"), "batch_get_replica_desc", made);
    }
    PythonClient client = client(SETUP);
    assertThat(client.sizes(List.of("a", "a"))).containsExactly(5L << 30, 5L << 30);
    assertThat(lastCall()).isEqualTo("('batch_get_replica_desc', ['a', 'a'])");
    answer("get_size", "7");
    assertThat(client.sizes(List.of("a", "disk", "half", "none")))
        .containsExactly(5L << 30, 7, 7, 7);
    assertThat(calls())
        .endsWith("('get_size', 'disk'), ('get_size', 'half'), ('get_size', 'none')]");
  }

  @Test
  void calls_thatRaiseOrAnswerOtherwise_fail() throws Exception {
    PythonClient client = client(SETUP);
    List<String> keys = List.of("a", "b");
    answer("batch_is_exist", "ValueError('store is closed')");
    assertThatThrownBy(() -> client.exists(keys))
        .isInstanceOf(ClientException.class)
        .hasMessage("Mooncake's batch_is_exist failed: ValueError: store is closed");
    for (String wrong : List.of("[1]", "[1, 0, 0]", "None", "-1", "['1', '0']", "[1, None]")) {
      answer("batch_is_exist", wrong);
      assertThatThrownBy(() -> client.exists(keys))
          .as(wrong)
          .isInstanceOf(ClientException.class)
          .hasMessageContaining("Mooncake's batch_is_exist failed: ");
    }
    answer("remove_by_regex", "None");
    assertThatThrownBy(() -> client.removeByRegex("a", false))
        .isInstanceOf(ClientException.class)
        .hasMessageContaining("Mooncake's remove_by_regex failed: TypeError");
  }

  @Test
  void close_client_closesMooncakesAndLetsGoOfIt() throws Exception {
    client(SETUP).close();
    assertThat(calls()).endsWith("('close',), ('gone',)]");
  }

  @Test
  void close_thatRaises_letsGoAllTheSame() throws Exception {
    answer("close", "RuntimeError('busy')");
    client(SETUP).close();
    assertThat(calls()).endsWith("('close',), ('gone',)]");
  }

  @Test
  void calls_manyOfThem_leaveNothingBehind() throws Exception {
    answer("batch_put_from_multi_buffers", "[0, 0]");
    answer("batch_get_into", "RuntimeError('no')");
    PythonClient client = client(SETUP);
    Transfer put =
        new Transfer(2, 4)
            .object("a")
            .group("g")
            .piece(1L << 40, 10)
            .piece(2L << 40, 20)
            .object("b")
            .piece(3L << 40, 10)
            .piece(4L << 40, 20);
    Transfer get = new Transfer(1, 1).object("a").piece(1L << 40, 10);
    long before = 0;
    for (int round = 0; round < 3_000; round++) {
      if (round == 1_000) {
        before = blocks();
      }
      assertThat(client.put(put)).containsExactly(0, 0);
      assertThatThrownBy(() -> client.get(get)).isInstanceOf(ClientException.class);
    }
    assertThat(blocks() - before).isLessThan(500);
    client.close();
  }

  /** Forgets the calls, and returns how many blocks there are without them. */
  private long blocks() throws PythonException {
    try (PythonFrame frame = python.enter()) {
      long unused = frame.call(frame.attribute(frame.attribute(module, "calls"), "clear"));
      return allocatedBlocks(frame);
    }
  }

  private static ClientSetup with(
      String tenant, boolean softPin, boolean hardPin, List<String> segments) {
    return new ClientSetup(
        SETUP.localHostname(),
        SETUP.metadataServer(),
        SETUP.globalSegmentSize(),
        SETUP.localBufferSize(),
        SETUP.protocol(),
        SETUP.deviceName(),
        SETUP.masterServerAddress(),
        tenant,
        3,
        softPin,
        hardPin,
        segments,
        /* ssdPath= */ null);
  }

  private PythonClient client(ClientSetup setup) throws Exception {
    PythonLibrary library;
    try (PythonFrame frame = python.enter()) {
      library = new PythonLibrary(python, frame, module);
    }
    return (PythonClient) library.setUp(setup);
  }

  /** Sets what a method answers, or raises. */
  private void answer(String method, String expression) throws PythonException {
    try (PythonFrame frame = python.enter()) {
      frame.set(frame.attribute(module, "answers"), method, eval(frame, expression));
    }
  }

  private String calls() throws PythonException {
    try (PythonFrame frame = python.enter()) {
      return repr(frame, frame.attribute(module, "calls"));
    }
  }

  private String lastCall() throws PythonException {
    try (PythonFrame frame = python.enter()) {
      return repr(
          frame,
          frame.call(eval(frame, "lambda calls: calls[-1]"), frame.attribute(module, "calls")));
    }
  }
}
