package io.unifiedcache.api.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.DeviceMemory;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What a store does that implements nothing beyond the least. */
class CacheStoreTest {
  private static final List<ObjectKey> KEYS = List.of(new ObjectKey("a"));

  static Stream<Arguments> operations() {
    return Stream.of(
        operation(Capability.RANGED_READ, store -> store.openSession(KEYS, Deadline.never())),
        operation(
            Capability.REMOVE,
            store -> store.remove(KEYS, /* evenIfLeased= */ false, Deadline.never())),
        operation(Capability.CLEAR, store -> store.clear(KeyPrefix.EVERYTHING, Deadline.never())),
        operation(
            Capability.LIST,
            store -> store.list(KeyPrefix.EVERYTHING, key -> true, Deadline.never())));
  }

  private static Arguments operation(Capability capability, Consumer<CacheStore> call) {
    return Arguments.of(capability, call);
  }

  @ParameterizedTest
  @MethodSource("operations")
  void undeclaredOperation_isRefusedUniformly(
      Capability capability, Consumer<CacheStore> operation) {
    CacheStore store = new LeastStore();

    assertThatThrownBy(() -> operation.accept(store))
        .isInstanceOf(CacheException.class)
        .hasMessage("this store does not offer " + capability + "; it offers [BOUNDED]")
        .extracting(e -> ((CacheException) e).code())
        .isEqualTo(FailureCode.REFUSED);
  }

  @Test
  void register_doesNothing() {
    Registration registration = new LeastStore().register(new DeviceMemory("cuda:0", 64, 1));

    registration.close();
    registration.close();
    assertThat(registration).isSameAs(Registration.NONE);
  }

  @ParameterizedTest
  @EnumSource
  void isPromise_isSaidOfWhatNoMethodServes(Capability capability) {
    assertThat(capability.isPromise())
        .isEqualTo(
            Set.of(
                    Capability.DURABLE,
                    Capability.SHARED,
                    Capability.BOUNDED,
                    Capability.REPORTS_PRESENT)
                .contains(capability));
  }

  /** A store that implements what it must, and keeps nothing. */
  private static final class LeastStore implements CacheStore {
    @Override
    public Set<Capability> capabilities() {
      return Set.of(Capability.BOUNDED);
    }

    @Override
    public StoreLimits limits() {
      return StoreLimits.NONE;
    }

    @Override
    public BatchResult exists(List<ObjectKey> keys, Deadline by) {
      return BatchResult.all(keys.size(), ObjectStatus.ABSENT);
    }

    @Override
    public BatchResult put(List<PutOp> ops, Deadline by) {
      return BatchResult.allFailed(
          ops.size(), StoreFailure.of(FailureCode.NO_SPACE, "no room at all"));
    }

    @Override
    public BatchResult get(List<GetOp> ops, Deadline by) {
      return BatchResult.all(ops.size(), ObjectStatus.ABSENT);
    }

    @Override
    public StoreStats stats() {
      return new StoreStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }

    @Override
    public StoreHealth probe(Deadline by) {
      return new StoreHealth(StoreHealth.State.UP, "nothing to keep");
    }

    @Override
    public void close() {}
  }
}
