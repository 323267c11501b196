package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Objects that are held open, on a clock of the test's own. The lease takes 100 ticks. */
class OpenObjectsTest {
  private static final List<String> KEY = List.of("key");

  private final ScriptedReader client = new ScriptedReader();
  private long now = 1_000;
  private final OpenObjects all =
      new OpenObjects(client, Duration.ofNanos(100), /* copyBytes= */ 0, () -> now);
  private final OpenObjects.Opening one = all.new Opening(0);
  private final OpenObjects.Opening other = all.new Opening(0);

  @BeforeEach
  void store() {
    client.objects.put("key", new byte[] {1});
  }

  private static boolean isOver(OpenObjects.Opening opening) {
    return opening.over(KEY).get(0);
  }

  @Test
  void open_objectThatIsHeldOpen_isShared_andEndedByTheLast() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    now += 100;
    assertThat(other.open(KEY)).containsExactly(0);
    assertThat(client.started).containsExactly("key");
    one.end();
    assertThat(client.ended).isEmpty();
    other.end();
    assertThat(client.ended).containsExactly("key");
  }

  @Test
  void open_onceMoreByTheSameOpening_isEndedOnce() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    assertThat(one.open(KEY)).containsExactly(0);
    one.end();
    assertThat(client.ended).containsExactly("key");
    assertThat(other.open(KEY)).containsExactly(0);
    assertThat(client.started).containsExactly("key", "key");
  }

  @Test
  void open_afterTheLease_asksForWhatIsThereNow_andEndsWhatWasOpen() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    now += 101;
    client.objects.remove("key");
    assertThat(other.open(KEY)).containsExactly(Answers.OBJECT_NOT_FOUND);
    client.objects.put("key", new byte[] {2});
    assertThat(other.open(KEY)).containsExactly(0);
    assertThat(client.open.get("key")).containsExactly(2);
    assertThat(isOver(one)).isTrue();
    assertThat(isOver(other)).isFalse();
    // By its key Mooncake knows the new one.
    one.end();
    assertThat(client.ended).isEmpty();
    other.end();
    assertThat(client.ended).containsExactly("key");
  }

  @Test
  void renew_withinAQuarterOfTheLease_asksNothing() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    now += 25;
    assertThat(one.renew(KEY)).containsExactly(0);
    assertThat(client.started).hasSize(1);
  }

  @Test
  void renew_later_lengthensTheLease() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    for (int i = 0; i < 3; i++) {
      now += 60;
      assertThat(one.renew(KEY)).containsExactly(0);
      assertThat(isOver(one)).isFalse();
    }
    assertThat(client.started).hasSize(4);
  }

  @Test
  void renew_afterTheLease_isOver() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    now += 101;
    assertThat(one.renew(KEY)).containsExactly(0);
    assertThat(isOver(one)).isTrue();
    assertThat(client.started).hasSize(1);
  }

  @Test
  void renew_answeredAfterTheLease_isOver() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    now += 60;
    client.startScript =
        key -> {
          now += 41;
          return null;
        };
    assertThat(one.renew(KEY)).containsExactly(0);
    assertThat(isOver(one)).isTrue();
  }

  @Test
  void renew_objectIsGone_isOver_evenIfItIsStoredAnew() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    byte[] object = client.objects.remove("key");
    now += 60;
    assertThat(one.renew(KEY)).containsExactly(Answers.OBJECT_NOT_FOUND);
    client.objects.put("key", object);
    assertThat(one.renew(KEY)).containsExactly(0);
    assertThat(isOver(one)).isTrue();
  }

  @Test
  void renew_failsForTheMoment_goesOnWithinTheLease() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    now += 60;
    client.startScript = key -> Answers.RPC_FAILED;
    assertThat(one.renew(KEY)).containsExactly(Answers.RPC_FAILED);
    client.startScript = key -> null;
    assertThat(one.renew(KEY)).containsExactly(0);
    assertThat(isOver(one)).isFalse();
  }

  @Test
  void forget_removedObject_isOver_andTheNextOpensAnew() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    all.forget(KEY);
    assertThat(isOver(one)).isTrue();
    assertThat(other.open(KEY)).containsExactly(0);
    assertThat(isOver(other)).isFalse();
    assertThat(client.started).hasSize(2);
  }

  @Test
  void open_throws_endsWhatMayHaveBegun() throws Exception {
    assertThat(one.open(KEY)).containsExactly(0);
    now += 101;
    client.startScript =
        key -> {
          throw new ClientException("scripted");
        };
    assertThatThrownBy(() -> other.open(List.of("new", "key")))
        .isInstanceOf(ClientException.class)
        .hasMessage("scripted");
    assertThat(client.ended).containsExactly("new", "key");
    assertThat(isOver(one)).isTrue();
  }
}
