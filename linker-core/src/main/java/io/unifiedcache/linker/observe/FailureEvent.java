package io.unifiedcache.linker.observe;

import io.unifiedcache.api.StoreFailure;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A failure of an object or of a whole request. */
@Name("io.unifiedcache.Failure")
@Label("Failure")
@Description("A failure of an object or of a whole request.")
@Category("unified-cache")
@StackTrace(false)
public final class FailureEvent extends Event {
  private static final EventType TYPE = EventType.getEventType(FailureEvent.class);

  /** The name of the linker. */
  @Label("Linker")
  public String linker = "";

  /** What failed: {@code lookup}, {@code load} or {@code offload}. */
  @Label("Operation")
  public String operation = "";

  /** The id of the request; empty for a lookup. */
  @Label("Request")
  public String request = "";

  /** The key of the object; empty if a whole request failed, or in a lookup. */
  @Label("Object")
  public String object = "";

  /** The kind of failure. */
  @Label("Reason")
  public String reason = "";

  /** The sentence that tells it. */
  @Label("Message")
  public String message = "";

  /** Creates an event that has not begun. */
  private FailureEvent() {}

  /** Records a failure, unless the event is switched off. */
  public static void record(
      String linker, String operation, String request, String object, StoreFailure cause) {
    if (!TYPE.isEnabled()) {
      return;
    }
    FailureEvent event = new FailureEvent();
    event.linker = linker;
    event.operation = operation;
    event.request = request;
    event.object = object;
    event.reason = cause.code().name();
    event.message = cause.message();
    event.commit();
  }
}
