/**
 * The suite that a backend author or linker author runs in their own build: {@link
 * io.unifiedcache.conformance.StoreConformance}, {@link
 * io.unifiedcache.conformance.LinkerConformance}, and, without JUnit, {@link
 * io.unifiedcache.conformance.Conformance}.
 */
@NullMarked
package io.unifiedcache.conformance;

import org.jspecify.annotations.NullMarked;
