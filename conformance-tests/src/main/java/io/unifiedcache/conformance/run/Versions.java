package io.unifiedcache.conformance.run;

/** The versions of artifacts, for reports. */
final class Versions {
  private Versions() {}

  /** Returns the version of the jar of a class, or {@code development} outside of a jar. */
  static String of(Class<?> type) {
    String version = type.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }
}
