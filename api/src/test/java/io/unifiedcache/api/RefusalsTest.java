package io.unifiedcache.api;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.HitPolicy;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.linker.LayerProgress;
import io.unifiedcache.api.linker.PoolQuery;
import io.unifiedcache.api.linker.PoolTransfer;
import io.unifiedcache.api.linker.RestorablePrefixes;
import io.unifiedcache.api.linker.Slots;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.Range;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every refusal of every value class, with the value in its message. */
class RefusalsTest {
  private static final Memory MEMORY = new DeviceMemory("cuda:0", 64, 100);

  /** A construction that is refused, and what the refusal says. */
  record Refusal(ThrowingCallable construction, String message) {
    @Override
    public String toString() {
      return message;
    }
  }

  private static Refusal of(ThrowingCallable construction, String message) {
    return new Refusal(construction, message);
  }

  static Stream<Refusal> text() {
    return Stream.of(
        of(() -> new PageKey(""), "page key must not be empty"),
        of(() -> new ObjectKey(""), "object key must not be empty"),
        of(() -> new PoolName(""), "pool name must not be empty"),
        of(
            () -> KeyPrefix.of(""),
            "key prefix must not be empty; KeyPrefix.EVERYTHING names every key"),
        of(
            () -> new PageKey("a\ud83d"),
            "page key has an unpaired surrogate at index 1: \"a\\ud83d\""),
        of(
            () -> new ObjectKey("\ud83d\ud83d\ude00"),
            "object key has an unpaired surrogate at index 0: \"\\ud83d\\ud83d\\ude00\""),
        of(
            () -> new PoolName("\ude00\n"),
            "pool name has an unpaired surrogate at index 0: \"\\ude00\\u000a\""),
        of(
            () -> KeyPrefix.of("x".repeat(100) + "\ude00"),
            "key prefix has an unpaired surrogate at index 100: \"" + "x".repeat(80) + "...\""));
  }

  static Stream<Refusal> vocabulary() {
    return Stream.of(
        of(() -> new DeviceMemory(" ", 64, 1), "device must not be blank"),
        of(() -> new DeviceMemory("cuda:0", 0, 1), "device address must not be zero"),
        of(
            () -> new DeviceMemory("cuda:0", 64, -1),
            "device memory of -1 bytes at 0x40 is not a run of bytes"),
        of(
            () -> new DeviceMemory("cuda:0", -4, 8),
            "device memory of 8 bytes at 0xfffffffffffffffc is not a run of bytes"),
        of(
            () -> StoreFailure.of(FailureCode.BUSY, " "),
            "the message of a BUSY failure must not be blank"),
        of(
            () -> Deadline.after(Duration.ofMillis(-5)),
            "a deadline cannot lie in the past: PT-0.005S"),
        of(() -> new ByteSize(-1), "a size must not be negative, not -1"));
  }

  static Stream<Refusal> store() {
    return Stream.of(
        of(() -> BatchResult.builder(-1), "a batch cannot have -1 entries"),
        of(() -> BatchResult.all(-2, ObjectStatus.OK), "a batch cannot have -2 entries"),
        of(
            () -> BatchResult.allFailed(-3, StoreFailure.of(FailureCode.IO, "disk")),
            "a batch cannot have -3 entries"),
        of(() -> BatchResult.all(1, ObjectStatus.FAILED), "FAILED needs a failure; use allFailed"),
        of(
            () -> BatchResult.builder(1).set(0, ObjectStatus.FAILED),
            "FAILED needs a failure; use failed"),
        of(() -> new Range(-1, MEMORY), "object offset must not be negative, not -1"),
        of(() -> new ReadOp(-1, List.of()), "entry must not be negative, not -1"),
        of(() -> new ClearResult(-1, 2), "counts must not be negative: removed -1, kept 2"),
        of(() -> new ClearResult(1, -2), "counts must not be negative: removed 1, kept -2"),
        of(
            () -> new StoreHealth(StoreHealth.State.UP, "\t"),
            "the detail of a health must not be blank"),
        of(() -> StoreContext.of(""), "the name of an instance must not be blank"),
        of(() -> limits(0, 1, 1, 1, 1, 0, 0), "batch must be at least 1, not 0"),
        of(() -> limits(1, -1, 1, 1, 1, 0, 0), "keyBytes must be at least 1, not -1"),
        of(() -> limits(1, 1, 0, 1, 1, 0, 0), "objectBytes must be at least 1, not 0"),
        of(() -> limits(1, 1, 1, 0, 1, 0, 0), "pieces must be at least 1, not 0"),
        of(() -> limits(1, 1, 1, 1, 0, 0, 0), "alignment must be at least 1, not 0"),
        of(() -> limits(1, 1, 1, 1, 12, 0, 0), "alignment must be a power of two, not 12"),
        of(() -> limits(1, 1, 1, 1, 1, -1, 0), "grace must not be negative, but is PT-1S"),
        of(() -> limits(1, 1, 1, 1, 1, 0, -2), "busy must not be negative, but is PT-2S"));
  }

  private static StoreLimits limits(
      int batch, int key, long object, int pieces, long alignment, int grace, int busy) {
    return new StoreLimits(
        batch, key, object, pieces, alignment, Duration.ofSeconds(grace), Duration.ofSeconds(busy));
  }

  static Stream<Refusal> geometry() {
    Component component = new Component("k", List.of(new LayerBuffer(0, MEMORY, 10)));
    DevicePool kv = new DevicePool(PoolName.KV, List.of(component));
    return Stream.of(
        of(() -> new LayerBuffer(-1, MEMORY, 10), "a layer must not be negative, not -1"),
        of(
            () -> new LayerBuffer(3, MEMORY, 10, 0),
            "a piece of layer 3 must have at least 1 byte, not 0"),
        of(
            () -> new LayerBuffer(3, MEMORY, 9, 10),
            "slots of layer 3 would overlap: the stride is 9 bytes and a piece 10"),
        of(
            () -> new LayerBuffer(3, MEMORY, 101),
            "the buffer of layer 3 has 100 bytes, too few for a piece of 101"),
        of(() -> new Component(" ", List.of()), "the name of a component must not be blank"),
        of(() -> new Component("k", List.of()), "component k has no buffers"),
        of(() -> new DevicePool(PoolName.KV, List.of()), "pool kv has no components"),
        of(
            () -> new DevicePool(PoolName.KV, List.of(component, component)),
            "pool kv has two components called k"),
        of(
            () -> new DevicePools(List.of(), false),
            "a model needs at least one pool with memory of its own"),
        of(() -> new DevicePools(List.of(kv, kv), false), "two pools are called kv"));
  }

  static Stream<Refusal> requests() {
    PageKey page = new PageKey("p");
    PoolTransfer transfer = new PoolTransfer(PoolName.KV, List.of(page), Slots.of(1));
    return Stream.of(
        of(() -> RestorablePrefixes.of(1, 0), "a prefix has at least 1 page, not 0"),
        of(() -> RestorablePrefixes.upTo(-1), "a prefix cannot have -1 pages"),
        of(() -> Slots.of(3, -7), "a slot must not be negative, not -7"),
        of(() -> Slots.range(-1, 2), "a slot must not be negative, not -1"),
        of(() -> Slots.range(0, -2), "there cannot be -2 slots"),
        of(
            () -> PoolQuery.trailingPages(PoolName.KV, 0),
            "the window of pool kv must be at least 1 page, not 0"),
        of(() -> PoolQuery.allPages(PoolName.KV).firstPage(-1), "a prefix cannot have -1 pages"),
        of(
            () -> HitPolicy.parse("Trailing"),
            "unknown hit policy \"Trailing\"; known are all_pages, trailing_pages"),
        of(
            () -> new PoolTransfer(PoolName.KV, List.of(), Slots.of()),
            "a transfer of source kv has no pages"),
        of(
            () -> new PoolTransfer(PoolName.KV, List.of(page), Slots.of(1, 2)),
            "a transfer of source kv has 1 pages but 2 slots"),
        of(
            () -> new TransferRequest("", List.of(transfer)),
            "the id of a request must not be blank"),
        of(() -> new TransferRequest("r", List.of()), "request r has no transfers"),
        of(
            () -> new TransferRequest("r", List.of(transfer, transfer)),
            "request r has two transfers of source kv"),
        of(() -> new Completion(" ", List.of()), "the id of a completion must not be blank"),
        of(() -> new LayerProgress(-1, Map.of()), "a layer must not be negative, not -1"));
  }

  @ParameterizedTest
  @MethodSource({"text", "vocabulary", "store", "geometry", "requests"})
  void construction_ofWhatIsNoValue_isRefusedAndNamed(Refusal refusal) {
    assertThatThrownBy(refusal.construction())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(refusal.message());
  }
}
