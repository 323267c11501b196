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

/** The load of a batch of requests, from its start on the load thread to its end. */
@Name("io.unifiedcache.LoadBatch")
@Label("Load Batch")
@Description("The load of a batch of requests, from its start on the load thread to its end.")
@Category("unified-cache")
@StackTrace(false)
public final class LoadBatchEvent extends Event {
  private static final EventType TYPE = EventType.getEventType(LoadBatchEvent.class);

  /** The name of the linker. */
  @Label("Linker")
  public String linker = "";

  /** Requests of the batch. */
  @Label("Requests")
  public int requests;

  /** Requests that failed on this rank. */
  @Label("Failed Requests")
  public int failedRequests;

  /** Objects of the requests that did not fail. */
  @Label("Objects")
  public long objects;

  /** Bytes of these objects. */
  @Label("Bytes")
  @DataAmount
  public long bytes;

  /** Creates an event that has not begun. */
  private LoadBatchEvent() {}

  /** Begins an event, or returns null if it is switched off. */
  public static @Nullable LoadBatchEvent begin(String linker) {
    if (!TYPE.isEnabled()) {
      return null;
    }
    LoadBatchEvent event = new LoadBatchEvent();
    event.linker = linker;
    event.begin();
    return event;
  }
}
