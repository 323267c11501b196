package io.unifiedcache.api.store;

/**
 * Counters of a store since it was opened, as one consistent snapshot (rule {@code store.stats}).
 *
 * <p>Each entry of each batch counts once. {@code exists}, {@code list} and opening a session count
 * nothing but failures.
 *
 * @param objects live objects now, those included that were removed and are still being read, or
 *     {@link #UNKNOWN}
 * @param liveBytes the sum of their sizes, or {@link #UNKNOWN}
 * @param capacityBytes the budget, or {@link #UNKNOWN} if there is none
 * @param stored put entries that were OK
 * @param present put entries that were PRESENT
 * @param found get and read entries that were OK
 * @param absent get and read entries that were ABSENT
 * @param failed entries of any operation that were FAILED
 * @param removed objects removed by remove and clear
 * @param evicted objects evicted to make room, or {@link #UNKNOWN}
 * @param bytesStored bytes of the entries counted in {@code stored}
 * @param bytesRead bytes of the entries counted in {@code found}
 */
public record StoreStats(
    long objects,
    long liveBytes,
    long capacityBytes,
    long stored,
    long present,
    long found,
    long absent,
    long failed,
    long removed,
    long evicted,
    long bytesStored,
    long bytesRead) {
  /** A number that the store cannot tell. */
  public static final long UNKNOWN = -1;
}
