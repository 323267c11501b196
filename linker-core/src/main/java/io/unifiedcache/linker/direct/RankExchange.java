package io.unifiedcache.linker.direct;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.linker.RankLostException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Tells every rank what each of them has to say.
 *
 * <p>Ranks can but intersect bits. So each has a place of its own among them, in which it writes
 * what it says, and sets all bits of the places of the others: what is left is what each has
 * written. First they tell how long that is, and then what it is.
 */
final class RankExchange {
  /** The most bytes that a rank can say. */
  static final int MAX_BYTES = 1 << 16;

  /** The length and a digest, and then the complement of both. */
  private static final int HEAD_BYTES = 2 * (Integer.BYTES + Long.BYTES);

  private RankExchange() {}

  /**
   * Returns what each rank says, by rank.
   *
   * @param subject what it is about, equal on every rank
   * @throws RankLostException if a rank did not come by the deadline, or what came is not what
   *     ranks with different numbers have sent
   * @throws IllegalArgumentException if this rank says more than {@link #MAX_BYTES}
   */
  static List<byte[]> tellAll(RankCollective ranks, String subject, byte[] own, Deadline by)
      throws RankLostException {
    if (own.length > MAX_BYTES) {
      throw new IllegalArgumentException(
          "a rank tells the others at most %d bytes of itself, not %d"
              .formatted(MAX_BYTES, own.length));
    }
    List<ByteBuffer> heads = new ArrayList<>();
    int longest = 0;
    for (byte[] bytes : gather(ranks, subject + ", in short", head(own), HEAD_BYTES, by)) {
      ByteBuffer head = ByteBuffer.wrap(bytes);
      int length = head.getInt();
      if (!Arrays.equals(bytes, withComplement(length, head.getLong()))
          || length < 0
          || length > MAX_BYTES) {
        throw unclear(heads.size());
      }
      heads.add(head.rewind());
      longest = Math.max(longest, length);
    }
    List<byte[]> said = new ArrayList<>();
    for (byte[] padded : gather(ranks, subject, own, longest, by)) {
      ByteBuffer head = heads.get(said.size());
      byte[] bytes = Arrays.copyOf(padded, head.getInt());
      if (Agreement.digest(bytes) != head.getLong()) {
        throw unclear(said.size());
      }
      said.add(bytes);
    }
    return said;
  }

  private static byte[] head(byte[] own) {
    return withComplement(own.length, Agreement.digest(own));
  }

  private static byte[] withComplement(int length, long digest) {
    return ByteBuffer.allocate(HEAD_BYTES)
        .putInt(length)
        .putLong(digest)
        .putInt(~length)
        .putLong(~digest)
        .array();
  }

  /** Returns what stands in each rank's place of so many bytes. */
  private static List<byte[]> gather(
      RankCollective ranks, String subject, byte[] own, int bytes, Deadline by)
      throws RankLostException {
    int bits = bytes * Byte.SIZE;
    int place = Math.multiplyExact(ranks.rank(), bits);
    BitSet all = new BitSet();
    all.set(0, Math.multiplyExact(ranks.size(), bits));
    all.clear(place, place + bits);
    BitSet.valueOf(own).stream().forEach(bit -> all.set(place + bit));
    BitSet common = Agreement.askAll(ranks, subject, all, by);
    List<byte[]> places = new ArrayList<>();
    for (int rank = 0; rank < ranks.size(); rank++) {
      byte[] said = common.get(rank * bits, (rank + 1) * bits).toByteArray();
      places.add(Arrays.copyOf(said, bytes));
    }
    return places;
  }

  private static RankLostException unclear(int rank) {
    return new RankLostException(
        "what rank "
            + rank
            + " says of itself does not arrive whole: either two ranks have this number, or the"
            + " collective does not intersect what all of them send");
  }
}
