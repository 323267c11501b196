package io.unifiedcache.linker.observe;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A search for the prefix lengths of a prompt that can be restored. */
@Name("io.unifiedcache.Lookup")
@Label("Lookup")
@Description("A search for the prefix lengths of a prompt that can be restored.")
@Category("unified-cache")
@StackTrace(false)
public final class LookupEvent extends Event {
  private static final EventType TYPE = EventType.getEventType(LookupEvent.class);

  /** The name of the linker. */
  @Label("Linker")
  public String linker = "";

  /** Pages that were asked for. */
  @Label("Pages")
  public int pages;

  /** The longest length that all ranks can restore, in pages. */
  @Label("Restorable Pages")
  public int restorable;

  /** Objects that the store could not tell of. */
  @Label("Failures")
  public long failures;

  /** Creates an event that has not begun. */
  private LookupEvent() {}

  /** Begins an event, or returns null if it is switched off. */
  public static @Nullable LookupEvent begin(String linker) {
    if (!TYPE.isEnabled()) {
      return null;
    }
    LookupEvent event = new LookupEvent();
    event.linker = linker;
    event.begin();
    return event;
  }
}
