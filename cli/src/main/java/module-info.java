/** The command line. */
@SuppressWarnings("requires-automatic") // HdrHistogram has no module descriptor.
module io.unifiedcache.cli {
  requires io.unifiedcache.api;
  requires io.unifiedcache.conformance;
  requires io.unifiedcache.linker;
  requires static org.jspecify;
  requires org.slf4j;
  requires info.picocli;
  requires com.google.gson;
  requires HdrHistogram;

  opens io.unifiedcache.cli to
      info.picocli;
}
