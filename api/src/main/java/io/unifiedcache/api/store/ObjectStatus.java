package io.unifiedcache.api.store;

/**
 * What became of one entry of a batch.
 *
 * <table>
 * <caption>Which status an operation may answer</caption>
 * <tr><th>operation</th><th>statuses</th></tr>
 * <tr><td>exists</td><td>OK, ABSENT, FAILED</td></tr>
 * <tr><td>put</td><td>OK, PRESENT, FAILED</td></tr>
 * <tr><td>get, open, read</td><td>OK, ABSENT, FAILED</td></tr>
 * <tr><td>remove</td><td>OK, ABSENT, FAILED</td></tr>
 * </table>
 */
public enum ObjectStatus {
  /** Done: the object is there, was stored, was read whole, or was removed. */
  OK,
  /** There is no such object; nothing was written to a target (rule {@code store.absent}). */
  ABSENT,
  /** The object was there already and kept its bytes (rule {@code store.first-wins}). */
  PRESENT,
  /** Not done; the entry has a failure (rule {@code store.failed-is-not-ok}). */
  FAILED
}
