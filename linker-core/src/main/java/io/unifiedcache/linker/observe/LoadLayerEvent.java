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

/** The load of one layer of a batch, for all requests still in it. */
@Name("io.unifiedcache.LoadLayer")
@Label("Load Layer")
@Description("The load of one layer of a batch, for all requests still in it.")
@Category("unified-cache")
@StackTrace(false)
public final class LoadLayerEvent extends Event {
  private static final EventType TYPE = EventType.getEventType(LoadLayerEvent.class);

  /** The name of the linker. */
  @Label("Linker")
  public String linker = "";

  /** The layer, counted from 0; -1 where whole objects are loaded for all layers at once. */
  @Label("Layer")
  public int layer;

  /** Objects of which something was read. */
  @Label("Objects")
  public long objects;

  /** Bytes that were asked for. */
  @Label("Bytes")
  @DataAmount
  public long bytes;

  /** Creates an event that has not begun. */
  private LoadLayerEvent() {}

  /** Begins an event, or returns null if it is switched off. */
  public static @Nullable LoadLayerEvent begin(String linker) {
    if (!TYPE.isEnabled()) {
      return null;
    }
    LoadLayerEvent event = new LoadLayerEvent();
    event.linker = linker;
    event.begin();
    return event;
  }
}
