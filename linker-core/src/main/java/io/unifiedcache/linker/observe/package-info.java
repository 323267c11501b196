/**
 * What a linker tells an operator: events of the JDK's flight recorder.
 *
 * <p>An event is begun by the static {@code begin} of its class, which returns null while the event
 * is switched off, so that then nothing is allocated.
 */
@NullMarked
package io.unifiedcache.linker.observe;

import org.jspecify.annotations.NullMarked;
