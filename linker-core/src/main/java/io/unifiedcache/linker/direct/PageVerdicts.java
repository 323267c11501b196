package io.unifiedcache.linker.direct;

import java.util.BitSet;

/**
 * What ranks tell each other of the pages of a transfer: three bits a page.
 *
 * @param good the pages that were moved
 * @param unsuspected the pages of which no object is under suspicion because of this transfer
 * @param sound the pages of which no object was proven bad
 */
record PageVerdicts(BitSet good, BitSet unsuspected, BitSet sound) {
  private static final int BITS = 3;

  /** Writes the verdicts on so many pages, as those of the pages from {@code firstPage} on. */
  void write(int pages, BitSet bits, int firstPage) {
    for (int page = 0, bit = BITS * firstPage; page < pages; page++, bit += BITS) {
      bits.set(bit, good.get(page));
      bits.set(bit + 1, unsuspected.get(page));
      bits.set(bit + 2, sound.get(page));
    }
  }

  /** Reads what was written. */
  static PageVerdicts read(int pages, BitSet bits, int firstPage) {
    PageVerdicts verdicts = new PageVerdicts(new BitSet(), new BitSet(), new BitSet());
    for (int page = 0, bit = BITS * firstPage; page < pages; page++, bit += BITS) {
      verdicts.good.set(page, bits.get(bit));
      verdicts.unsuspected.set(page, bits.get(bit + 1));
      verdicts.sound.set(page, bits.get(bit + 2));
    }
    return verdicts;
  }
}
