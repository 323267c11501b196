package io.unifiedcache.backend.mooncake;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.StoreContext;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** Stores over a client that answers as a test says, and what they are called with. */
final class ScriptedStore {
  /** What the names of a store's threads begin with. */
  static final String INSTANCE = "scripted";

  private ScriptedStore() {}

  /** Opens a store over a client, with some settings by name. */
  static MooncakeStore over(MooncakeClient client, Map<String, String> settings) {
    return over(client, settings, new IgnoredGroups(message -> {}));
  }

  /** Opens a store that says what it has to of groups that are not passed on. */
  static MooncakeStore over(
      MooncakeClient client, Map<String, String> settings, IgnoredGroups ignoredGroups) {
    MooncakeSettings resolved = settings(settings, Map.of());
    StoreContext context = StoreContext.of(INSTANCE);
    return new MooncakeStore(
        client,
        "a scripted client",
        resolved,
        new Master("127.0.0.1:1", 1, "default"),
        new CallThreads(1, context.threads()),
        context,
        ignoredGroups);
  }

  /** Resolves settings by name; the master has an address unless it is set. */
  static MooncakeSettings settings(Map<String, String> byName, Map<String, String> environment) {
    Map<String, String> all = new HashMap<>(byName);
    if (environment.isEmpty()) {
      all.putIfAbsent("master_server_address", "127.0.0.1:1");
    }
    Settings.Builder builder = Settings.builder(MooncakeSettings.OPTIONS);
    for (Option<?> option : MooncakeSettings.OPTIONS) {
      String text = all.remove(option.name());
      if (text != null) {
        builder.parse(option, text);
      }
    }
    if (!all.isEmpty()) {
      throw new IllegalArgumentException("no such settings: " + all);
    }
    return MooncakeSettings.of(builder.build(), environment);
  }

  static ObjectKey key(String value) {
    return new ObjectKey(value);
  }

  /** Returns memory of the given sizes, filled with a byte, one piece after the other. */
  static List<Memory> pieces(int fill, long... sizes) {
    List<Memory> pieces = new ArrayList<>();
    for (long size : sizes) {
      MemorySegment segment = Arena.ofAuto().allocate(Math.max(1, size)).asSlice(0, size);
      segment.fill((byte) fill);
      pieces.add(HostMemory.of(segment));
    }
    return pieces;
  }

  /** Returns all bytes of pieces. */
  static byte[] bytes(List<Memory> pieces) {
    int size = (int) pieces.stream().mapToLong(Memory::byteSize).sum();
    byte[] all = new byte[size];
    int at = 0;
    for (Memory piece : pieces) {
      byte[] some = ((HostMemory) piece).segment().toArray(JAVA_BYTE);
      System.arraycopy(some, 0, all, at, some.length);
      at += some.length;
    }
    return all;
  }

  static PutOp put(String key, int fill, long... sizes) {
    return new PutOp(key(key), pieces(fill, sizes));
  }

  static GetOp get(String key, long... sizes) {
    return new GetOp(key(key), pieces(0, sizes));
  }

  /** A deadline that no test should meet. */
  static Deadline soon() {
    return Deadline.after(Duration.ofSeconds(30));
  }

  /** Returns a deadline that passes as soon as something is so, however slow the machine is. */
  static Deadline once(BooleanSupplier isSo) {
    return Deadline.after(Duration.ofNanos(1), () -> isSo.getAsBoolean() ? 1 : 0);
  }
}
