/**
 * The store in a folder: durable, crash-safe, shared between processes.
 *
 * <h2>Parts</h2>
 *
 * <p>{@code FileStore} answers calls; {@code IoThreads} do what touches files: {@code PutCall} and
 * {@code ReadCall} for those that copy. {@code FileEngine} is the folder as this process has it
 * open. {@code SharedLog} follows and adds to the {@code IndexLog}, from which all processes know
 * the same {@code Index}. {@code Space} finds room in the {@code Segments}, where {@code ExtentIo}
 * writes and reads objects. {@code Disk} is everything below. The files are described in {@code
 * docs/file-format.md}.
 *
 * <p>{@code SegmentMaintenance} is what operators ask. {@code SglangStore} is another store, which
 * shares a {@code SglangFolder} with SGLang's own.
 *
 * <h2>An object's life</h2>
 *
 * <p>Placed: an extent of one of this process's segments is its own; nobody else knows it. Written:
 * header and payload are in the extent. Live: a record in the log, added under a lock of all
 * processes, says so. Removed or evicted: another record says so; its extent returns to the process
 * that owns the segment, once that process has read the record and no reader of its own holds it.
 */
@NullMarked
package io.unifiedcache.backend.file;

import org.jspecify.annotations.NullMarked;
