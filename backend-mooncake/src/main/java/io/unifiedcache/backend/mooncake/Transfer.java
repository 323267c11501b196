package io.unifiedcache.backend.mooncake;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The objects of one call to a client, and the pieces of memory of each.
 *
 * <p>Every object has at least one piece, exactly one unless the client is {@link
 * MooncakeClient.Scattering}, and every piece at least one byte. Pieces are numbered through all
 * objects: those of object {@code i} are {@code firstPiece(i)} up to, without, {@code firstPiece(i
 * + 1)}.
 *
 * <p>Filled by one thread, then only read.
 */
final class Transfer {
  private final List<String> keys;
  private @Nullable String @Nullable [] groups;
  private int[] firstPieces;
  private long[] addresses;
  private long[] bytes;
  private long[] objectOffsets;
  private int pieces;

  /** Creates a transfer of no objects, with room for some. */
  Transfer(int objects, int pieces) {
    keys = new ArrayList<>(objects);
    firstPieces = new int[objects + 1];
    addresses = new long[Math.max(1, pieces)];
    bytes = new long[addresses.length];
    objectOffsets = new long[addresses.length];
  }

  /** Adds an object, whose pieces are added next. */
  Transfer object(String key) {
    if (keys.size() + 1 == firstPieces.length) {
      firstPieces = Arrays.copyOf(firstPieces, 2 * firstPieces.length);
    }
    keys.add(key);
    firstPieces[keys.size()] = pieces;
    return this;
  }

  /** Puts the last object into a group. */
  Transfer group(String group) {
    @Nullable String[] all = groups;
    if (all == null || all.length < keys.size()) {
      all = all == null ? new @Nullable String[keys.size()] : Arrays.copyOf(all, 2 * keys.size());
      groups = all;
    }
    all[keys.size() - 1] = group;
    return this;
  }

  /** Adds a piece of the last object, to be read or written after those before it. */
  Transfer piece(long address, long size) {
    return range(0, address, size);
  }

  /** Adds a range of the last object. */
  Transfer range(long objectOffset, long address, long size) {
    if (pieces == addresses.length) {
      addresses = Arrays.copyOf(addresses, 2 * pieces);
      bytes = Arrays.copyOf(bytes, 2 * pieces);
      objectOffsets = Arrays.copyOf(objectOffsets, 2 * pieces);
    }
    addresses[pieces] = address;
    bytes[pieces] = size;
    objectOffsets[pieces] = objectOffset;
    pieces++;
    firstPieces[keys.size()] = pieces;
    return this;
  }

  /** Returns the number of objects. */
  int size() {
    return keys.size();
  }

  /** Returns the keys of the objects. */
  List<String> keys() {
    return Collections.unmodifiableList(keys);
  }

  /** Returns the key of object {@code i}. */
  String key(int i) {
    return keys.get(i);
  }

  /** Tells whether any object has a group. */
  boolean hasGroups() {
    return groups != null;
  }

  /** Returns the group of object {@code i}, or null if it has none. */
  @Nullable String group(int i) {
    @Nullable String[] all = groups;
    return all == null || i >= all.length ? null : all[i];
  }

  /** Returns the number of the first piece of object {@code i}; that of all pieces at the end. */
  int firstPiece(int i) {
    return firstPieces[i];
  }

  /** Returns the address of a piece. */
  long address(int piece) {
    return addresses[piece];
  }

  /** Returns the size of a piece. */
  long bytes(int piece) {
    return bytes[piece];
  }

  /** Returns where in its object a range begins; 0 in what is not a read of ranges. */
  long objectOffset(int piece) {
    return objectOffsets[piece];
  }
}
