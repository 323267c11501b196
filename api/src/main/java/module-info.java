import org.jspecify.annotations.NullMarked;

/**
 * The contracts of unified-cache: the vocabulary, the store service-provider interface, the linker
 * that engines call, and typed options.
 *
 * <p>This module holds value classes and interfaces and depends on no other module of the project.
 * A backend depends on it alone.
 */
@NullMarked
module io.unifiedcache.api {
  requires static transitive org.jspecify;

  exports io.unifiedcache.api;
  exports io.unifiedcache.api.config;
  exports io.unifiedcache.api.linker;
  exports io.unifiedcache.api.store;
}
