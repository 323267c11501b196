package io.unifiedcache.conformance.subject;

import io.unifiedcache.api.ObjectKey;
import org.jspecify.annotations.Nullable;

/**
 * Makes things go wrong below a store, so that the suite can see what the store makes of it.
 *
 * <p>A hook that a backend author may give: {@link StoreUnderTest#withFaults}. Without it the rules
 * that need it are tried only as far as an outsider can make things go wrong.
 */
public interface FaultInjector {
  /** What goes wrong with one stored object. */
  enum Fault {
    /** One bit of its stored bytes flips. */
    FLIPPED_BIT,
    /** Its stored bytes end early. */
    TRUNCATED,
    /** It is gone, behind the back of the store. */
    VANISHED
  }

  /**
   * Brings a fault about in an object that was put and is readable.
   *
   * @return whether this injector can do it; if not, nothing has changed
   */
  boolean inject(Fault fault, ObjectKey key);

  /**
   * Stalls everything below the store until the result is closed: calls that need it get no answer.
   *
   * @return what ends the stall, or null if this injector cannot stall
   */
  default @Nullable Stall stall() {
    return null;
  }

  /** A stall under way. */
  interface Stall extends AutoCloseable {
    @Override
    void close();
  }
}
