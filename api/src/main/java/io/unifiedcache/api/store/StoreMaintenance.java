package io.unifiedcache.api.store;

import io.unifiedcache.api.Deadline;
import java.util.function.Consumer;

/**
 * What an operator asks of a store: what is in it, and whether it is still what was put.
 *
 * <p>For stores whose objects outlive their process. Not a store that is open, but a way to it:
 * each call opens what it needs and leaves nothing open, so there is nothing to close. Thread-safe,
 * and safe while stores use the same objects, in this process or others; where that cannot be, the
 * call is refused and says who is in the way. What changes meanwhile may be seen as it was before,
 * as it is afterwards, or not at all, and is no finding.
 *
 * <p>Objects are passed on one by one, by the calling thread, so that there may be any number; none
 * of the results is a list of them. Code that is called so may call anything, and what it throws
 * ends the call and reaches the caller.
 *
 * <p>Calls throw {@link io.unifiedcache.api.CacheException}, and only that, if the store as a whole
 * cannot be looked at: with {@code BUSY} if somebody has it exclusively, {@code TIMEOUT} if the
 * deadline passes, {@code CANCELLED} if the thread is interrupted, else as {@link
 * CacheStoreProvider#open} does. What was passed on before holds.
 */
public interface StoreMaintenance {
  /**
   * Tells what is in the store, without reading the bytes of objects. Changes nothing.
   *
   * @param each is told of every live object, once, in no order; a store that cannot list them
   *     tells of none and says so by {@link StoreInventory#listed}
   */
  StoreInventory stat(Consumer<StoreInventory.Item> each, Deadline by);

  /**
   * Reads every live object and holds it against what the store knows of it: size, header,
   * checksums, as far as there are such.
   *
   * <p>Without {@code repair} nothing changes, not even what a store repairs when it is opened.
   * With it, whatever reading would say {@code CORRUPT} or ABSENT of is set aside or dropped, so
   * that its key is absent and can be stored anew; what cannot be read for another reason, such as
   * permissions, is left, since it may be good. Where the store no longer knows what is in its
   * files, it learns it from them, as far as they prove it. No process may have the store open
   * then, and an object that had been removed may be there again if no file says any more that it
   * was. For eviction, objects are not used by this.
   *
   * @param each is told of whatever is not as it should be
   */
  Verification verify(boolean repair, Consumer<Verification.Finding> each, Deadline by);
}
