package io.unifiedcache.backend.mooncake;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one thread does with Python while it holds the interpreter's lock, and the objects that it
 * makes meanwhile: {@link #close} lets go of both.
 *
 * <p>An object is its address. It is valid until the frame is closed, unless it is kept. Used by
 * the platform thread that made it, which must not wait for another thread meanwhile: that may be
 * waiting for the lock.
 */
final class PythonFrame implements AutoCloseable {
  private final CPython python;
  private final int state;

  private long[] owned = new long[16];
  private int count;

  // The number that was last put into a list, which owns the object: numbers repeat.
  private long lastNumber;
  private long lastInteger;

  PythonFrame(CPython python) {
    this.python = python;
    state = python.ensure();
  }

  /** Imports a module. */
  long importModule(String name) throws PythonException {
    return own(python.importModule(name));
  }

  /** Returns an attribute of an object, such as a method that is bound to it. */
  long attribute(long object, String name) throws PythonException {
    return own(python.attribute(object, name));
  }

  /** Tells whether an object has an attribute. */
  boolean hasAttribute(long object, String name) {
    long attribute = python.attribute(object, name);
    if (attribute == 0) {
      python.clearError();
      return false;
    }
    python.decRef(attribute);
    return true;
  }

  /** Sets an attribute of an object. */
  void setAttribute(long object, String name, long value) throws PythonException {
    require(python.setAttribute(object, name, value) == 0);
  }

  /** Calls an object with arguments, and returns the result. */
  long call(long callable, long... arguments) throws PythonException {
    return callNamed(callable, /* named= */ 0, arguments);
  }

  /** Calls an object with arguments and, by a dict, with named arguments. */
  long callNamed(long callable, long named, long... arguments) throws PythonException {
    long tuple = own(python.newTuple(arguments.length));
    for (int i = 0; i < arguments.length; i++) {
      python.incRef(arguments[i]);
      require(python.setTupleItem(tuple, i, arguments[i]) == 0);
    }
    return own(python.call(callable, tuple, named));
  }

  /** Makes a text. */
  long text(String value) throws PythonException {
    return own(newText(value));
  }

  /** Makes a number. */
  long integer(long value) throws PythonException {
    return own(python.newInteger(value));
  }

  /** Makes a truth value. */
  long bool(boolean value) throws PythonException {
    return own(python.newBool(value));
  }

  /** Makes a dict without entries. */
  long dict() throws PythonException {
    return own(python.newDict());
  }

  /** Sets an entry of a dict. */
  void set(long dict, String key, long value) throws PythonException {
    require(python.setDictItem(dict, key, value) == 0);
  }

  /** Makes a list of texts. */
  long texts(List<String> values) throws PythonException {
    long list = list(values.size());
    for (int i = 0; i < values.size(); i++) {
      set(list, i, values.get(i));
    }
    return list;
  }

  /** Makes a list, each of whose items is to be set once before anything else sees the list. */
  long list(int size) throws PythonException {
    return own(python.newList(size));
  }

  /** Sets an item of a new list to a text. */
  void set(long list, int index, String value) throws PythonException {
    require(python.setListItem(list, index, newText(value)) == 0);
  }

  /** Sets an item of a new list to a number. */
  void set(long list, int index, long value) throws PythonException {
    boolean again = lastInteger != 0 && lastNumber == value;
    long integer = again ? lastInteger : required(python.newInteger(value));
    if (again) {
      python.incRef(integer);
    }
    require(python.setListItem(list, index, integer) == 0);
    lastNumber = value;
    lastInteger = integer;
  }

  /** Sets an item of a new list to an object. */
  void setObject(long list, int index, long object) throws PythonException {
    python.incRef(object);
    require(python.setListItem(list, index, object) == 0);
  }

  private long newText(String value) throws PythonException {
    return required(python.newText(value.getBytes(StandardCharsets.UTF_8)));
  }

  /** Returns the value of an object that is a number. */
  long toLong(long object) throws PythonException {
    long value = python.integerValue(object);
    require(value != -1 || python.errorOccurred() == 0);
    return value;
  }

  /**
   * Returns the values of an object that is a list of numbers.
   *
   * @param size how many numbers it must have
   */
  long[] toLongs(long object, int size) throws PythonException {
    long length = python.listSize(object);
    require(length >= 0);
    if (length != size) {
      throw new PythonException(
          "ValueError", "a list of %d numbers where %d were expected".formatted(length, size));
    }
    long[] values = new long[size];
    for (int i = 0; i < size; i++) {
      values[i] = toLong(required(python.listItem(object, i)));
    }
    return values;
  }

  /** Returns what an object that is a text says. */
  String toText(long object) throws PythonException {
    String value = python.textValue(object);
    if (value == null) {
      throw raised();
    }
    return value;
  }

  /** Keeps an object beyond this frame, until a frame is told to {@link #drop} it. */
  long keep(long object) {
    python.incRef(object);
    return object;
  }

  /** Lets go of an object that was kept. */
  void drop(long object) {
    python.decRef(object);
  }

  private long own(long object) throws PythonException {
    required(object);
    if (count == owned.length) {
      owned = Arrays.copyOf(owned, 2 * count);
    }
    owned[count++] = object;
    return object;
  }

  private long required(long object) throws PythonException {
    require(object != 0);
    return object;
  }

  private void require(boolean done) throws PythonException {
    if (!done) {
      throw raised();
    }
  }

  /** Takes the pending exception out of the interpreter. */
  private PythonException raised() {
    long[] error = python.fetchError();
    try {
      String type = error[0] == 0 ? null : said(python.attribute(error[0], "__name__"));
      String message = error[1] == 0 ? null : said(python.str(error[1]));
      return new PythonException(
          type == null ? "unknown exception" : type, message == null ? "" : message);
    } finally {
      for (long object : error) {
        if (object != 0) {
          python.decRef(object);
        }
      }
    }
  }

  /** Returns what a text says, whose reference this takes; null if it is 0 or no text. */
  private @Nullable String said(long text) {
    String said = text == 0 ? null : python.textValue(text);
    if (said == null) {
      python.clearError();
    }
    if (text != 0) {
      python.decRef(text);
    }
    return said;
  }

  @Override
  public void close() {
    for (int i = count - 1; i >= 0; i--) {
      python.decRef(owned[i]);
    }
    count = 0;
    python.release(state);
  }
}
