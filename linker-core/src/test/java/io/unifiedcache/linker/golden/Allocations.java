package io.unifiedcache.linker.golden;

import java.lang.reflect.Method;

/**
 * Measures what a piece of code allocates.
 *
 * <p>The meter of the JDK is reached by reflection, since the module under test does not require
 * the module that it is in.
 */
public final class Allocations {
  private Allocations() {}

  /** Returns the fewest bytes that a run allocated, of many after a few to warm up. */
  public static long of(Runnable code) {
    long fewest = Long.MAX_VALUE;
    for (int i = 0; i < 30; i++) {
      long before = allocated();
      code.run();
      fewest = Math.min(fewest, allocated() - before);
    }
    return fewest;
  }

  private static long allocated() {
    try {
      Object bean =
          Class.forName("java.lang.management.ManagementFactory")
              .getMethod("getThreadMXBean")
              .invoke(null);
      Method meter =
          Class.forName("com.sun.management.ThreadMXBean")
              .getMethod("getCurrentThreadAllocatedBytes");
      return (long) meter.invoke(bean);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("this JVM does not tell what a thread allocates", e);
    }
  }
}
