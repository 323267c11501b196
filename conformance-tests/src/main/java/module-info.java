import org.jspecify.annotations.NullMarked;

/** The suite that tells whether a store or a linker keeps the rules. */
@NullMarked
module io.unifiedcache.conformance {
  requires transitive io.unifiedcache.api;
  requires transitive io.unifiedcache.linker;
  requires static transitive org.jspecify;
  requires static org.junit.jupiter.api;
  requires com.google.gson;
  requires java.management;
  requires java.xml;

  exports io.unifiedcache.conformance;
  exports io.unifiedcache.conformance.result;
  exports io.unifiedcache.conformance.subject;
}
