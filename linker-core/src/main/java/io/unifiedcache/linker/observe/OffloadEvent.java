package io.unifiedcache.linker.observe;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** The offload of one request, from its start on an offload thread to its end. */
@Name("io.unifiedcache.Offload")
@Label("Offload")
@Description("The offload of one request, from its start on an offload thread to its end.")
@Category("unified-cache")
@StackTrace(false)
public final class OffloadEvent extends Event {
  private static final EventType TYPE = EventType.getEventType(OffloadEvent.class);

  /** The name of the linker. */
  @Label("Linker")
  public String linker = "";

  /** The id of the request. */
  @Label("Request")
  public String request = "";

  /** Whether no page failed. */
  @Label("Ok")
  public boolean ok;

  /** Objects that were put. */
  @Label("Stored Objects")
  public long stored;

  /** Bytes of these objects. */
  @Label("Stored Bytes")
  @DataAmount
  public long bytes;

  /** Objects that were there already. */
  @Label("Present Objects")
  public long present;

  /** Creates an event that has not begun. */
  private OffloadEvent() {}

  /** Begins an event, or returns null if it is switched off. */
  public static @Nullable OffloadEvent begin(String linker) {
    if (!TYPE.isEnabled()) {
      return null;
    }
    OffloadEvent event = new OffloadEvent();
    event.linker = linker;
    event.begin();
    return event;
  }
}
