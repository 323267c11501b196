package io.unifiedcache.backend.mooncake;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;

/**
 * The functions of CPython's C interface that embedding takes, in one loaded library.
 *
 * <p>Objects are addresses: a {@code PyObject*} is a {@code long} here, as pointers and longs are
 * passed alike on the 64-bit systems that Java and Mooncake share. Whoever calls holds the
 * interpreter's lock, but for what begins with it: {@link #version}, {@link #isInitialized}, {@link
 * #initialize} and {@link #ensure}. A result of 0, or of -1 of those that answer whether they
 * succeeded, leaves an exception pending.
 *
 * <p>Functions that return at once, whatever they are given here, are called without leaving the
 * state of a thread that runs Java code. Those that may wait, run Python code or collect garbage
 * are not: while such a call runs, the JVM could not stop that thread.
 */
// Calls into a library are restricted, and this class is where they are made.
@SuppressWarnings("restricted")
final class CPython {
  private static final int WITHOUT_SIGNAL_HANDLERS = 0;

  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
  private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;

  // One handle for each shape of function, which is told the address: so they are constants, though
  // the library is known only once an interpreter has been asked for it.
  private static final MethodHandle CALL_LONG_0 = handle(FunctionDescriptor.of(LONG));
  private static final MethodHandle CALL_LONG_1 = handle(FunctionDescriptor.of(LONG, LONG));
  private static final MethodHandle CALL_LONG_2 = handle(FunctionDescriptor.of(LONG, LONG, LONG));
  private static final MethodHandle CALL_LONG_3 =
      handle(FunctionDescriptor.of(LONG, LONG, LONG, LONG));
  private static final MethodHandle CALL_INT_0 = handle(FunctionDescriptor.of(INT));
  private static final MethodHandle CALL_INT_3 =
      handle(FunctionDescriptor.of(INT, LONG, LONG, LONG));
  private static final MethodHandle CALL_VOID_0 = handle(FunctionDescriptor.ofVoid());
  private static final MethodHandle CALL_VOID_INT = handle(FunctionDescriptor.ofVoid(INT));
  private static final MethodHandle CALL_VOID_1 = handle(FunctionDescriptor.ofVoid(LONG));
  private static final MethodHandle CALL_VOID_3 =
      handle(FunctionDescriptor.ofVoid(LONG, LONG, LONG));
  private static final MethodHandle QUICK_LONG_0 =
      handle(FunctionDescriptor.of(LONG), Linker.Option.critical(false));
  private static final MethodHandle QUICK_LONG_1 =
      handle(FunctionDescriptor.of(LONG, LONG), Linker.Option.critical(false));
  private static final MethodHandle QUICK_LONG_2 =
      handle(FunctionDescriptor.of(LONG, LONG, LONG), Linker.Option.critical(false));
  private static final MethodHandle QUICK_INT_3 =
      handle(FunctionDescriptor.of(INT, LONG, LONG, LONG), Linker.Option.critical(false));
  private static final MethodHandle QUICK_VOID_1 =
      handle(FunctionDescriptor.ofVoid(LONG), Linker.Option.critical(false));
  private static final MethodHandle QUICK_TEXT =
      handle(FunctionDescriptor.of(LONG, ValueLayout.ADDRESS, LONG), Linker.Option.critical(true));

  private final MemorySegment getVersion;
  private final MemorySegment isInitialized;
  private final MemorySegment setProgramName;
  private final MemorySegment initialize;
  private final MemorySegment ensure;
  private final MemorySegment release;
  private final MemorySegment saveThread;
  private final MemorySegment incRef;
  private final MemorySegment decRef;
  private final MemorySegment importModule;
  private final MemorySegment getAttribute;
  private final MemorySegment setAttribute;
  private final MemorySegment call;
  private final MemorySegment str;
  private final MemorySegment newTuple;
  private final MemorySegment setTupleItem;
  private final MemorySegment newList;
  private final MemorySegment setListItem;
  private final MemorySegment listSize;
  private final MemorySegment listItem;
  private final MemorySegment newDict;
  private final MemorySegment setDictItem;
  private final MemorySegment newInteger;
  private final MemorySegment integerValue;
  private final MemorySegment newBool;
  private final MemorySegment newText;
  private final MemorySegment textValue;
  private final MemorySegment errorOccurred;
  private final MemorySegment fetchError;
  private final MemorySegment normalizeError;
  private final MemorySegment clearError;

  /**
   * Finds the functions of a library.
   *
   * @throws NoSuchElementException if the library lacks one, naming it
   */
  CPython(SymbolLookup library) {
    getVersion = find(library, "Py_GetVersion");
    isInitialized = find(library, "Py_IsInitialized");
    setProgramName = find(library, "Py_SetProgramName");
    initialize = find(library, "Py_InitializeEx");
    ensure = find(library, "PyGILState_Ensure");
    release = find(library, "PyGILState_Release");
    saveThread = find(library, "PyEval_SaveThread");
    incRef = find(library, "Py_IncRef");
    decRef = find(library, "Py_DecRef");
    importModule = find(library, "PyImport_ImportModule");
    getAttribute = find(library, "PyObject_GetAttrString");
    setAttribute = find(library, "PyObject_SetAttrString");
    call = find(library, "PyObject_Call");
    str = find(library, "PyObject_Str");
    newTuple = find(library, "PyTuple_New");
    setTupleItem = find(library, "PyTuple_SetItem");
    newList = find(library, "PyList_New");
    setListItem = find(library, "PyList_SetItem");
    listSize = find(library, "PyList_Size");
    listItem = find(library, "PyList_GetItem");
    newDict = find(library, "PyDict_New");
    setDictItem = find(library, "PyDict_SetItemString");
    newInteger = find(library, "PyLong_FromLongLong");
    integerValue = find(library, "PyLong_AsLongLong");
    newBool = find(library, "PyBool_FromLong");
    newText = find(library, "PyUnicode_FromStringAndSize");
    textValue = find(library, "PyUnicode_AsUTF8AndSize");
    errorOccurred = find(library, "PyErr_Occurred");
    fetchError = find(library, "PyErr_Fetch");
    normalizeError = find(library, "PyErr_NormalizeException");
    clearError = find(library, "PyErr_Clear");
  }

  private static MemorySegment find(SymbolLookup library, String name) {
    return library
        .find(name)
        .orElseThrow(() -> new NoSuchElementException("it has no function " + name));
  }

  /** Returns the version, such as {@code 3.11.2 (main, ...)}; works before the initialisation. */
  String version() {
    return MemorySegment.ofAddress(callLong(getVersion)).reinterpret(Long.MAX_VALUE).getString(0);
  }

  boolean isInitialized() {
    return callInt(isInitialized) != 0;
  }

  /**
   * Initialises the interpreter without signal handlers. This thread does not hold its lock
   * afterwards.
   *
   * @param executable the path of the interpreter, from which it finds its libraries
   */
  void initialize(String executable) {
    // The interpreter keeps the address. A wchar_t has four bytes wherever this runs.
    MemorySegment name = Arena.global().allocateFrom(executable, StandardCharsets.UTF_32LE);
    callVoid(setProgramName, name.address());
    callVoid(initialize, WITHOUT_SIGNAL_HANDLERS);
    long unused = callLong(saveThread);
  }

  /** Waits for the lock, and returns what {@link #release} wants to know. */
  int ensure() {
    return callInt(ensure);
  }

  void release(int state) {
    callVoid(release, state);
  }

  void incRef(long object) {
    quickVoid(incRef, object);
  }

  void decRef(long object) {
    callVoid(decRef, object);
  }

  long importModule(String name) {
    try (Arena arena = Arena.ofConfined()) {
      return callLong(importModule, arena.allocateFrom(name).address());
    }
  }

  long attribute(long object, String name) {
    try (Arena arena = Arena.ofConfined()) {
      return callLong(getAttribute, object, arena.allocateFrom(name).address());
    }
  }

  int setAttribute(long object, String name, long value) {
    try (Arena arena = Arena.ofConfined()) {
      return callInt(setAttribute, object, arena.allocateFrom(name).address(), value);
    }
  }

  /** Calls an object with a tuple of arguments, and a dict of named ones or 0. */
  long call(long callable, long arguments, long named) {
    return callLong(call, callable, arguments, named);
  }

  long str(long object) {
    return callLong(str, object);
  }

  // Not quick, like those of lists and dicts: it may begin with collecting garbage.
  long newTuple(long size) {
    return callLong(newTuple, size);
  }

  /** Sets an item of a new tuple, which takes over the reference to it. */
  int setTupleItem(long tuple, long index, long item) {
    return quickInt(setTupleItem, tuple, index, item);
  }

  long newList(long size) {
    return callLong(newList, size);
  }

  /** Sets an item of a new list, which takes over the reference to it. */
  int setListItem(long list, long index, long item) {
    return quickInt(setListItem, list, index, item);
  }

  /** Returns the number of items, -1 if the object is no list. */
  long listSize(long list) {
    return quickLong(listSize, list);
  }

  /** Returns an item, without a reference of its own. */
  long listItem(long list, long index) {
    return quickLong(listItem, list, index);
  }

  long newDict() {
    return callLong(newDict);
  }

  /** Sets an item of a dict, which takes a reference of its own. */
  int setDictItem(long dict, String key, long value) {
    try (Arena arena = Arena.ofConfined()) {
      return callInt(setDictItem, dict, arena.allocateFrom(key).address(), value);
    }
  }

  long newInteger(long value) {
    return quickLong(newInteger, value);
  }

  // Not quick: an object that is no integer may be converted by code of its own.
  long integerValue(long object) {
    return callLong(integerValue, object);
  }

  long newBool(boolean value) {
    return quickLong(newBool, value ? 1 : 0);
  }

  long newText(byte[] utf8) {
    try {
      return (long)
          QUICK_TEXT.invokeExact(newText, MemorySegment.ofArray(utf8), (long) utf8.length);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns what a text says; null, with an exception pending, if the object is none. */
  @Nullable String textValue(long object) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment size = arena.allocate(LONG);
      long utf8 = callLong(textValue, object, size.address());
      return utf8 == 0
          ? null
          : new String(
              MemorySegment.ofAddress(utf8).reinterpret(size.get(LONG, 0)).toArray(BYTE),
              StandardCharsets.UTF_8);
    }
  }

  /** Returns the class of the pending exception, 0 if there is none. */
  long errorOccurred() {
    return quickLong(errorOccurred);
  }

  /** Takes the pending exception: its class, the exception and its traceback, each 0 or owned. */
  long[] fetchError() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment error = arena.allocate(LONG, 3);
      long at = error.address();
      callVoid(fetchError, at, at + LONG.byteSize(), at + 2 * LONG.byteSize());
      callVoid(normalizeError, at, at + LONG.byteSize(), at + 2 * LONG.byteSize());
      return error.toArray(LONG);
    }
  }

  void clearError() {
    callVoid(clearError);
  }

  private static long callLong(MemorySegment function) {
    try {
      return (long) CALL_LONG_0.invokeExact(function);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static long callLong(MemorySegment function, long a) {
    try {
      return (long) CALL_LONG_1.invokeExact(function, a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static long callLong(MemorySegment function, long a, long b) {
    try {
      return (long) CALL_LONG_2.invokeExact(function, a, b);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static long callLong(MemorySegment function, long a, long b, long c) {
    try {
      return (long) CALL_LONG_3.invokeExact(function, a, b, c);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static int callInt(MemorySegment function) {
    try {
      return (int) CALL_INT_0.invokeExact(function);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static int callInt(MemorySegment function, long a, long b, long c) {
    try {
      return (int) CALL_INT_3.invokeExact(function, a, b, c);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static void callVoid(MemorySegment function) {
    try {
      CALL_VOID_0.invokeExact(function);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static void callVoid(MemorySegment function, int a) {
    try {
      CALL_VOID_INT.invokeExact(function, a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static void callVoid(MemorySegment function, long a) {
    try {
      CALL_VOID_1.invokeExact(function, a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static void callVoid(MemorySegment function, long a, long b, long c) {
    try {
      CALL_VOID_3.invokeExact(function, a, b, c);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static long quickLong(MemorySegment function) {
    try {
      return (long) QUICK_LONG_0.invokeExact(function);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static long quickLong(MemorySegment function, long a) {
    try {
      return (long) QUICK_LONG_1.invokeExact(function, a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static long quickLong(MemorySegment function, long a, long b) {
    try {
      return (long) QUICK_LONG_2.invokeExact(function, a, b);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static int quickInt(MemorySegment function, long a, long b, long c) {
    try {
      return (int) QUICK_INT_3.invokeExact(function, a, b, c);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static void quickVoid(MemorySegment function, long a) {
    try {
      QUICK_VOID_1.invokeExact(function, a);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  private static MethodHandle handle(FunctionDescriptor descriptor, Linker.Option... options) {
    return Linker.nativeLinker().downcallHandle(descriptor, options);
  }

  /** A handle throws nothing but what is a defect here, such as a wrong type of argument. */
  private static IllegalStateException unexpected(Throwable e) {
    return new IllegalStateException("a call of a native function could not be made", e);
  }
}
