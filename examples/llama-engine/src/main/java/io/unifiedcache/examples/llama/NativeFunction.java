package io.unifiedcache.examples.llama;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * A C function. Called a few times per token, so that the plain way to call it is good enough.
 *
 * <p>Thread-safe as far as the function is.
 */
final class NativeFunction {
  private final String name;
  private final MethodHandle handle;

  private NativeFunction(String name, MethodHandle handle) {
    this.name = name;
    this.handle = handle;
  }

  /**
   * Finds a function that returns nothing.
   *
   * @throws UnsatisfiedLinkError if the library has no such function
   */
  static NativeFunction ofVoid(SymbolLookup library, String name, MemoryLayout... parameters) {
    return link(library, name, FunctionDescriptor.ofVoid(parameters));
  }

  /**
   * Finds a function that returns something.
   *
   * @throws UnsatisfiedLinkError if the library has no such function
   */
  static NativeFunction of(
      SymbolLookup library, String name, MemoryLayout result, MemoryLayout... parameters) {
    return link(library, name, FunctionDescriptor.of(result, parameters));
  }

  /** Calls a function that returns nothing, or something that does not matter. */
  void run(Object... arguments) {
    Object unused = call(arguments);
  }

  /** Calls a function that returns an {@code int}. */
  int callInt(Object... arguments) {
    return (int) call(arguments);
  }

  /** Calls a function that returns a {@code long}. */
  long callLong(Object... arguments) {
    return (long) call(arguments);
  }

  /** Calls a function that returns a pointer; or a structure, then with an allocator in front. */
  MemorySegment callMemory(Object... arguments) {
    return (MemorySegment) call(arguments);
  }

  private Object call(Object... arguments) {
    try {
      return handle.invokeWithArguments(arguments);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(name + " cannot be called: " + e, e);
    }
  }

  @SuppressWarnings("restricted") // Calling C is what this example is about.
  private static NativeFunction link(
      SymbolLookup library, String name, FunctionDescriptor descriptor) {
    MemorySegment address =
        library
            .find(name)
            .orElseThrow(
                () -> new UnsatisfiedLinkError("llama.cpp's library has no function " + name));
    return new NativeFunction(name, Linker.nativeLinker().downcallHandle(address, descriptor));
  }
}
