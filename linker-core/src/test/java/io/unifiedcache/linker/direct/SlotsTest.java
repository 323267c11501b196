package io.unifiedcache.linker.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.CancelOutcome;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.LoadBatch;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rule {@code linker.slots}: a slot belongs to one transfer that writes it. */
@Timeout(60)
class SlotsTest {
  private final Rig rig = Rig.plan().build();
  private final List<PageKey> pages = Rig.pages("p", 3);

  @AfterEach
  void close() {
    rig.close();
  }

  private static TransferRequest after(CompletionStage<?> ready, TransferRequest request) {
    return new TransferRequest(request.id(), request.transfers(), ready);
  }

  @Test
  @DisplayName("linker.slots: one slot twice in a request is refused by name")
  void request_slotTwice_isRefused() {
    for (Slots slots : List.of(Slots.of(4, 4, 5), Slots.of(4, 5, 4), Slots.of(5, 4, 4))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> new PoolTransfer(PoolName.KV, pages, slots))
          .withMessageContaining("a transfer of source kv has slot 4 twice, for pages p");
    }
    assertThat(new PoolTransfer(PoolName.KV, pages, Slots.of(5, 3, 4)).slots().slot(1))
        .isEqualTo(3);
  }

  @Test
  @DisplayName(
      "linker.slots: a slot in two loads of a batch is refused by name, and the first loads")
  void load_slotOfAnotherLoad_isRefused() {
    rig.store("s", pages);
    rig.linker.load(rig.request("first", pages, 4));

    assertThatIllegalArgumentException()
        .isThrownBy(() -> rig.linker.load(rig.request("second", pages, 6)))
        .withMessage(
            "request second: slot 6 of source kv, for page p0, is still written by request first");
    var unused = rig.linker.startLayerWiseLoading();
    assertThat(rig.pollLoad()).isEqualTo(new Completion("first", List.of()));
    for (int i = 0; i < pages.size(); i++) {
      assertThat(rig.holds(pages.get(i), 4 + i)).isTrue();
    }
    // Answered, so that its slots are free.
    rig.linker.load(rig.request("second", pages, 6));
  }

  @Test
  @DisplayName("linker.slots: a slot is free again after a cancel and after a reset")
  void load_afterCancelOrReset_isTaken() {
    rig.store("s", pages);
    rig.linker.load(rig.request("first", pages, 4));
    assertThat(rig.linker.cancel("first")).isEqualTo(CancelOutcome.CANCELLED_QUEUED);
    rig.linker.load(rig.request("second", pages, 4));
    assertThat(rig.linker.reset().loads()).extracting(Completion::id).containsExactly("second");
    rig.linker.load(rig.request("third", pages, 4));
    var unused = rig.linker.startLayerWiseLoading();
    assertThat(rig.pollLoad().ok()).isTrue();
  }

  @Test
  @DisplayName("linker.slots: what becomes ready too early fails, and touches nothing")
  void load_readyWhileAnotherHasTheSlot_failsAsRefused() {
    rig.store("s", pages);
    List<PageKey> others = Rig.pages("q", 3);
    rig.store("t", others);
    CompletableFuture<String> free = new CompletableFuture<>();
    rig.linker.load(rig.request("first", pages, 4));
    // Legal: it is not ready, and the engine says when the slots are free.
    rig.linker.load(after(free, rig.request("second", others, 4)));
    free.complete("too early");
    LoadBatch batch = rig.linker.startLayerWiseLoading();
    assertThat(batch.requests()).containsExactly("first", "second");

    assertThat(rig.pollLoad()).isEqualTo(new Completion("first", List.of()));
    Completion refused = rig.pollLoad();
    assertThat(refused.failures())
        .hasSize(3)
        .allSatisfy(
            failure -> {
              assertThat(failure.cause().code()).isEqualTo(FailureCode.REFUSED);
              assertThat(failure.cause().message())
                  .contains("slot 4 of source kv", "still written by request first");
            });
    for (int i = 0; i < pages.size(); i++) {
      assertThat(rig.holds(pages.get(i), 4 + i)).isTrue();
    }
    // Nothing is wrong with the pages.
    assertThat(rig.linker.lookup(others, rig.queries()).usablePages()).isEqualTo(3);
  }

  @Test
  @DisplayName("linker.slots: a load may wait for slots that another has, and then has them")
  void load_readyInTime_loads() {
    rig.store("s", pages);
    CompletableFuture<String> free = new CompletableFuture<>();
    rig.linker.load(rig.request("first", pages, 4));
    rig.linker.load(after(free, rig.request("second", pages, 4)));
    assertThat(rig.linker.startLayerWiseLoading().requests()).containsExactly("first");
    assertThat(rig.pollLoad().ok()).isTrue();
    free.complete("now");
    var unused = rig.linker.startLayerWiseLoading();
    assertThat(rig.pollLoad()).isEqualTo(new Completion("second", List.of()));
  }

  @Test
  @DisplayName("linker.slots: an offload is not taken from slots that a load writes")
  void offload_slotOfALoad_isRefused() {
    rig.store("s", pages);
    rig.linker.load(rig.request("load", pages, 4));

    assertThatIllegalArgumentException()
        .isThrownBy(() -> rig.linker.offload(rig.request("offload", Rig.pages("q", 3), 6)))
        .withMessageContaining(
            "slot 6 of source kv, for page q0, is still written by request load");
    CompletableFuture<String> computed = new CompletableFuture<>();
    rig.linker.offload(after(computed, rig.request("later", Rig.pages("q", 3), 4)));
    computed.complete("too early");
    Completion refused = rig.pollOffload();
    assertThat(refused.id()).isEqualTo("later");
    assertThat(refused.failures())
        .allSatisfy(failure -> assertThat(failure.cause().code()).isEqualTo(FailureCode.REFUSED));
    assertThat(rig.linker.lookup(Rig.pages("q", 3), rig.queries()).usablePages()).isZero();
  }

  @Test
  @DisplayName("linker.slots: offloads share what they read, and a load may not write to it")
  void load_slotOfOffloads_isRefusedUntilTheyHaveEnded() {
    for (int i = 0; i < pages.size(); i++) {
      rig.fill(pages.get(i), i);
    }
    rig.linker.offload(rig.request("one", pages, 0));
    rig.linker.offload(rig.request("two", pages, 0));

    assertThatIllegalArgumentException()
        .isThrownBy(() -> rig.linker.load(rig.request("load", pages, 0)))
        .withMessageContaining("slot 0 of source kv, for page p0, is still read by request one");
    assertThat(rig.pollOffload().ok()).isTrue();
    assertThat(rig.pollOffload().ok()).isTrue();
    rig.linker.load(rig.request("load", pages, 0));
  }
}
