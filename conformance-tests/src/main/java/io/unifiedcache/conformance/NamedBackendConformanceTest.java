package io.unifiedcache.conformance;

import io.unifiedcache.conformance.subject.StoreUnderTest;
import java.util.Map;
import java.util.TreeMap;

/**
 * The suite on a backend that system properties name: no code is needed.
 *
 * <p>{@value #BACKEND} is the name of the backend, and {@value #OPTION}{@code KEY} sets its option
 * {@code KEY}. Maven's Surefire runs this class where its {@code dependenciesToScan} names this
 * artifact. The other properties are those of {@link StoreConformance}.
 */
public final class NamedBackendConformanceTest extends StoreConformance {
  /** The system property that names the backend. */
  public static final String BACKEND = "conformance.backend";

  /** What the system properties that set an option begin with. */
  public static final String OPTION = "conformance.option.";

  /** Creates the test. */
  public NamedBackendConformanceTest() {}

  @Override
  protected StoreUnderTest store() {
    String backend = System.getProperty(BACKEND);
    if (backend == null) {
      throw new IllegalStateException(
          "the system property "
              + BACKEND
              + " names no backend: set it, as in <"
              + BACKEND
              + ">memory</"
              + BACKEND
              + "> within Surefire's <systemPropertyVariables>");
    }
    Map<String, String> settings = new TreeMap<>();
    for (String property : System.getProperties().stringPropertyNames()) {
      if (property.startsWith(OPTION)) {
        settings.put(property.substring(OPTION.length()), System.getProperty(property));
      }
    }
    return StoreUnderTest.named(backend, settings);
  }
}
