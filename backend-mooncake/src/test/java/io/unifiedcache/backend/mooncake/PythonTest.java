package io.unifiedcache.backend.mooncake;

import static io.unifiedcache.backend.mooncake.TestPython.allocatedBlocks;
import static io.unifiedcache.backend.mooncake.TestPython.eval;
import static io.unifiedcache.backend.mooncake.TestPython.repr;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.backend.mooncake.ClientLibrary.LoadException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated("it counts the memory of the interpreter, which all tests share")
class PythonTest {
  private Python python;

  @BeforeEach
  void start() throws LoadException {
    python = TestPython.get();
  }

  @Test
  void of_sameInterpreter_isShared() throws LoadException {
    assertThat(TestPython.get()).isSameAs(python);
  }

  @Test
  void of_anotherInterpreter_isRefused() {
    PythonInterpreter other =
        new PythonInterpreter("/elsewhere/bin/python", "3.99", List.of(), List.of(), "");
    assertThatThrownBy(() -> Python.of(other))
        .isInstanceOf(LoadException.class)
        .hasMessageContaining("this process runs " + python + " already")
        .hasMessageContaining("cannot run Python 3.99 (/elsewhere/bin/python) as well");
  }

  @Test
  void of_interpreter_isThatOfItsEnvironment() throws Exception {
    try (PythonFrame frame = python.enter()) {
      long sys = frame.importModule("sys");
      String version = frame.toText(frame.attribute(sys, "version"));
      String executable = frame.toText(frame.attribute(sys, "executable"));
      assertThat(python.toString()).startsWith("Python 3.").endsWith(" (" + executable + ")");
      assertThat(version)
          .startsWith(python.toString().substring("Python ".length()).replaceFirst(" .*", "."));
    }
  }

  @Test
  void call_arguments_arriveAsTheyWere() throws Exception {
    try (PythonFrame frame = python.enter()) {
      long list = frame.list(3);
      frame.set(list, 0, "a\0ü€😀");
      frame.set(list, 1, Long.MIN_VALUE);
      frame.setObject(list, 2, frame.texts(List.of("x", "")));
      long named = frame.dict();
      frame.set(named, "b", frame.bool(false));
      long result =
          frame.callNamed(
              eval(frame, "lambda *a, **n: repr((a, n))"),
              named,
              list,
              frame.integer(-1),
              frame.bool(true));
      assertThat(frame.toText(result))
          .isEqualTo("((['a\\x00ü€😀', -9223372036854775808, ['x', '']], -1, True), {'b': False})");
    }
  }

  @Test
  void set_numbersThatRepeat_areAllThere() throws Exception {
    long[] numbers = {7_000_000_000L, 7_000_000_000L, 1, 1, 7_000_000_000L, 0, 0, -5, -5};
    try (PythonFrame frame = python.enter()) {
      long list = frame.list(numbers.length);
      for (int i = 0; i < numbers.length; i++) {
        frame.set(list, i, numbers[i]);
      }
      assertThat(frame.toLongs(list, numbers.length)).containsExactly(numbers);
    }
  }

  @Test
  void toLongs_extremes_areExact() throws Exception {
    try (PythonFrame frame = python.enter()) {
      assertThat(frame.toLongs(eval(frame, "[-1, 2**63 - 1, -2**63, 0]"), 4))
          .containsExactly(-1, Long.MAX_VALUE, Long.MIN_VALUE, 0);
      assertThat(frame.toLong(eval(frame, "-1"))).isEqualTo(-1);
    }
  }

  @Test
  void toLongs_otherThanSoManyNumbers_throws() throws Exception {
    try (PythonFrame frame = python.enter()) {
      assertThatThrownBy(() -> frame.toLongs(eval(frame, "[1, 2]"), 3))
          .isInstanceOf(PythonException.class)
          .hasMessageContaining("a list of 2 numbers where 3 were expected");
      assertThatThrownBy(() -> frame.toLongs(eval(frame, "(1, 2)"), 2))
          .isInstanceOf(PythonException.class);
      assertThatThrownBy(() -> frame.toLongs(eval(frame, "[1, None]"), 2))
          .isInstanceOf(PythonException.class)
          .hasMessageContaining("TypeError");
      assertThatThrownBy(() -> frame.toLong(eval(frame, "2**63")))
          .isInstanceOf(PythonException.class)
          .hasMessageContaining("OverflowError");
      // Nothing is left over from the exceptions before.
      assertThat(frame.toLongs(eval(frame, "[-1]"), 1)).containsExactly(-1);
    }
  }

  @Test
  void call_thatRaises_throwsTypeAndMessage() throws Exception {
    try (PythonFrame frame = python.enter()) {
      long raising = eval(frame, "lambda e: (_ for _ in ()).throw(e)");
      long iterate = eval(frame, "lambda f, e: list(f(e))");
      assertThatThrownBy(
              () -> frame.call(iterate, raising, eval(frame, "RuntimeError('broken ü', 7)")))
          .isInstanceOfSatisfying(
              PythonException.class, e -> assertThat(e.type()).isEqualTo("RuntimeError"))
          .hasMessage("RuntimeError: ('broken ü', 7)");
      assertThatThrownBy(() -> frame.call(iterate, raising, eval(frame, "KeyboardInterrupt()")))
          .hasMessage("KeyboardInterrupt");
      assertThatThrownBy(() -> frame.importModule("no_such_module"))
          .hasMessageContaining("ModuleNotFoundError: No module named 'no_such_module'");
      assertThatThrownBy(() -> frame.attribute(iterate, "no_such_attribute"))
          .hasMessageContaining("AttributeError");
      assertThat(frame.hasAttribute(iterate, "no_such_attribute")).isFalse();
      assertThat(frame.hasAttribute(iterate, "__call__")).isTrue();
    }
  }

  @Test
  void call_exceptionThatCannotSayItself_throwsItsType() throws Exception {
    try (PythonFrame frame = python.enter()) {
      long mute =
          eval(
              frame,
              "type('Mute', (Exception,), {'__str__': lambda self: 1 / 0,"
                  + " 'do': lambda self: (_ for _ in ()).throw(self)})()");
      assertThatThrownBy(
              () -> frame.call(eval(frame, "next"), frame.call(frame.attribute(mute, "do"))))
          .isInstanceOf(PythonException.class)
          .hasMessage("Mute");
      assertThat(frame.toLong(eval(frame, "-1"))).isEqualTo(-1);
    }
  }

  @Test
  void keep_object_livesUntilDropped() throws Exception {
    long kept;
    long gone;
    try (PythonFrame frame = python.enter()) {
      gone = frame.keep(frame.list(0));
      long object =
          frame.call(
              eval(
                  frame,
                  "lambda gone: type('Kept', (), {'__del__': lambda self: gone.append(1)})()"),
              gone);
      kept = frame.keep(object);
    }
    try (PythonFrame frame = python.enter()) {
      assertThat(repr(frame, gone)).isEqualTo("[]");
      frame.drop(kept);
      assertThat(repr(frame, gone)).isEqualTo("[1]");
      frame.drop(gone);
    }
  }

  @Test
  void close_frames_leaveNothingBehind() throws Exception {
    long before = 0;
    for (int round = 0; round < 3_000; round++) {
      if (round == 1_000) {
        // What was made once for all is there by now.
        try (PythonFrame frame = python.enter()) {
          before = allocatedBlocks(frame);
        }
      }
      useAll(round);
    }
    try (PythonFrame frame = python.enter()) {
      assertThat(allocatedBlocks(frame) - before).isLessThan(500);
    }
  }

  private void useAll(int round) throws PythonException {
    try (PythonFrame frame = python.enter()) {
      long list = frame.list(40);
      for (int i = 0; i < 40; i++) {
        frame.set(list, i, (1L << 40) + (round + i) / 2);
      }
      long outer = frame.list(2);
      frame.setObject(outer, 0, list);
      frame.set(outer, 1, "text " + round);
      long named = frame.dict();
      frame.set(named, "flag", frame.bool(round % 2 == 0));
      long copy =
          frame.callNamed(
              eval(frame, "lambda a, b, flag: [flag, a, b]"), named, outer, frame.integer(round));
      assertThat(repr(frame, copy)).contains("text " + round);
      assertThat(frame.toLongs(list, 40)).hasSize(40);
      assertThatThrownBy(() -> frame.toLongs(copy, 3)).isInstanceOf(PythonException.class);
      assertThatThrownBy(() -> frame.importModule("no_such_module"))
          .isInstanceOf(PythonException.class);
      assertThat(frame.hasAttribute(list, "no_such_attribute")).isFalse();
    }
  }

  @Test
  void enter_manyThreads_takeTurns() throws Exception {
    int threads = 8;
    int rounds = 500;
    long counter;
    try (PythonFrame frame = python.enter()) {
      counter = frame.keep(frame.list(0));
    }
    try (ExecutorService executor = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> all = new ArrayList<>();
      for (int thread = 0; thread < threads; thread++) {
        all.add(
            executor.submit(
                () -> {
                  for (int round = 0; round < rounds; round++) {
                    try (PythonFrame frame = python.enter()) {
                      long unused =
                          frame.call(frame.attribute(counter, "append"), frame.integer(round));
                    }
                  }
                  return null;
                }));
      }
      for (Future<?> each : all) {
        var unused = each.get(1, TimeUnit.MINUTES);
      }
    }
    try (PythonFrame frame = python.enter()) {
      assertThat(frame.toLong(frame.call(frame.attribute(counter, "__len__"))))
          .isEqualTo((long) threads * rounds);
      frame.drop(counter);
    }
  }

  @Test
  void enter_whileAnotherThreadWaitsInPython_isNotKeptOut() throws Exception {
    long begun;
    long asked;
    long waiting;
    try (PythonFrame frame = python.enter()) {
      long queue = frame.attribute(frame.importModule("queue"), "SimpleQueue");
      begun = frame.keep(frame.call(queue));
      asked = frame.keep(frame.call(queue));
      waiting = frame.keep(eval(frame, "lambda begun, asked: begun.put(1) or asked.get()"));
    }
    CompletableFuture<Long> answered =
        CompletableFuture.supplyAsync(
            () -> {
              try (PythonFrame frame = python.enter()) {
                return frame.toLong(frame.call(waiting, begun, asked));
              } catch (PythonException e) {
                throw new IllegalStateException(e);
              }
            });
    try (PythonFrame frame = python.enter()) {
      assertThat(frame.toLong(frame.call(frame.attribute(begun, "get")))).isEqualTo(1);
      long unused = frame.call(frame.attribute(asked, "put"), frame.integer(7));
    }
    assertThat(answered.get(1, TimeUnit.MINUTES)).isEqualTo(7);
    try (PythonFrame frame = python.enter()) {
      frame.drop(begun);
      frame.drop(asked);
      frame.drop(waiting);
    }
  }
}
