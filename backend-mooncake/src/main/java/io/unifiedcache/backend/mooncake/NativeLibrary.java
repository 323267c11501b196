package io.unifiedcache.backend.mooncake;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Mooncake's C library, {@code libmooncake_store.so}.
 *
 * <p>It has no symbol for its version, so that each function is looked up when the library is
 * loaded, and those that are missing are named.
 */
final class NativeLibrary implements ClientLibrary {
  /** The file, without the folder. */
  static final String FILE = "libmooncake_store.so";

  private static final Map<String, NativeLibrary> LOADED = new ConcurrentHashMap<>();

  private final String name;

  final MethodHandle create;
  final MethodHandle destroy;
  final MethodHandle setup;
  final MethodHandle setupWithTenant;
  final MethodHandle batchIsExist;
  final MethodHandle getSize;
  final MethodHandle batchPutFrom;
  final MethodHandle batchGetInto;
  final MethodHandle remove;
  final MethodHandle removeByRegex;
  final MethodHandle registerBuffer;
  final MethodHandle unregisterBuffer;

  private NativeLibrary(String name, SymbolLookup lookup) throws LoadException {
    this.name = name;
    Functions functions = new Functions(lookup);
    create = functions.find("create", FunctionDescriptor.of(ADDRESS));
    destroy = functions.find("destroy", FunctionDescriptor.ofVoid(ADDRESS));
    setup =
        functions.find(
            "setup",
            FunctionDescriptor.of(
                JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS,
                ADDRESS));
    setupWithTenant =
        functions.find(
            "setup_with_tenant",
            FunctionDescriptor.of(
                JAVA_INT, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS,
                ADDRESS, ADDRESS));
    batchIsExist =
        functions.find(
            "batch_is_exist",
            FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
    getSize = functions.find("get_size", FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS));
    batchPutFrom =
        functions.find(
            "batch_put_from",
            FunctionDescriptor.of(
                JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS));
    batchGetInto =
        functions.find(
            "batch_get_into",
            FunctionDescriptor.of(
                JAVA_INT, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
    remove = functions.find("remove", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
    removeByRegex =
        functions.find(
            "remove_by_regex", FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS, JAVA_INT));
    registerBuffer =
        functions.find(
            "register_buffer", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG));
    unregisterBuffer =
        functions.find("unregister_buffer", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS));
    if (!functions.missing.isEmpty()) {
      throw new LoadException(
          name
              + " lacks "
              + String.join(", ", functions.missing)
              + "; it has to be the C library of Mooncake 0.3.12 or newer");
    }
  }

  /**
   * Loads the library.
   *
   * @param library its file, or its name alone for the system's linker to look for; null for the
   *     usual name
   */
  static ClientLibrary load(@Nullable String library) throws LoadException {
    String name = library == null ? FILE : library;
    NativeLibrary loaded = LOADED.get(name);
    if (loaded == null) {
      SymbolLookup lookup = OneLibrary.load("the library " + name, () -> open(name));
      NativeLibrary fresh = new NativeLibrary(name, lookup);
      loaded = LOADED.putIfAbsent(name, fresh);
      return loaded == null ? fresh : loaded;
    }
    return loaded;
  }

  // The whole purpose of this class is native access.
  @SuppressWarnings("restricted")
  private static SymbolLookup open(String name) throws LoadException {
    try {
      return name.indexOf('/') < 0
          ? SymbolLookup.libraryLookup(name, Arena.global())
          : SymbolLookup.libraryLookup(Path.of(name).toAbsolutePath(), Arena.global());
    } catch (InvalidPathException e) {
      throw new LoadException("no file can be called \"" + name + "\"", e);
    } catch (IllegalArgumentException e) {
      throw new LoadException(reason(name), e);
    }
  }

  /** Asks the system's linker why it does not load a library, which the JVM does not tell. */
  @SuppressWarnings("restricted") // As above.
  private static String reason(String name) {
    String fallback = name + " cannot be loaded";
    try (Arena arena = Arena.ofConfined()) {
      Linker linker = Linker.nativeLinker();
      MemorySegment open = linker.defaultLookup().find("dlopen").orElse(MemorySegment.NULL);
      MemorySegment error = linker.defaultLookup().find("dlerror").orElse(MemorySegment.NULL);
      if (open.equals(MemorySegment.NULL) || error.equals(MemorySegment.NULL)) {
        return fallback;
      }
      int lazily = 1;
      MemorySegment handle =
          (MemorySegment)
              linker
                  .downcallHandle(open, FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT))
                  .invokeExact(arena.allocateFrom(name), lazily);
      MemorySegment text =
          (MemorySegment)
              linker.downcallHandle(error, FunctionDescriptor.of(ADDRESS)).invokeExact();
      return handle.equals(MemorySegment.NULL) && !text.equals(MemorySegment.NULL)
          ? text.reinterpret(Long.MAX_VALUE).getString(0)
          : fallback;
    } catch (Throwable e) {
      // What was asked is only why something else has failed.
      return fallback + " (" + e + ")";
    }
  }

  @Override
  public String description() {
    return "Mooncake's C library " + name;
  }

  @Override
  public MooncakeClient setUp(ClientSetup setup) throws ClientException {
    if (setup.ssdPath() != null) {
      throw new CacheException(
          FailureCode.REFUSED,
          "enable_ssd_offload is not known to "
              + description()
              + ": set client=python, or let a mooncake_client with --enable_offload=true give the"
              + " memory");
    }
    return NativeClient.setUp(this, setup);
  }

  /** Looks functions up, and remembers those that are missing. */
  private static final class Functions {
    private final SymbolLookup lookup;
    private final List<String> missing = new ArrayList<>();

    Functions(SymbolLookup lookup) {
      this.lookup = lookup;
    }

    @SuppressWarnings("restricted") // As above.
    MethodHandle find(String name, FunctionDescriptor descriptor) {
      String symbol = "mooncake_store_" + name;
      MemorySegment address = lookup.find(symbol).orElse(MemorySegment.NULL);
      if (address.equals(MemorySegment.NULL)) {
        missing.add(symbol);
        // Never called: the library is refused.
        return Linker.nativeLinker().downcallHandle(descriptor);
      }
      return Linker.nativeLinker().downcallHandle(address, descriptor);
    }
  }
}
