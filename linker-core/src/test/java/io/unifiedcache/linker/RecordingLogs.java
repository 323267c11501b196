package io.unifiedcache.linker;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.slf4j.ILoggerFactory;
import org.slf4j.IMarkerFactory;
import org.slf4j.Logger;
import org.slf4j.Marker;
import org.slf4j.event.Level;
import org.slf4j.helpers.AbstractLogger;
import org.slf4j.helpers.BasicMarkerFactory;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.helpers.NOPMDCAdapter;
import org.slf4j.spi.MDCAdapter;
import org.slf4j.spi.SLF4JServiceProvider;

/**
 * Gives what is logged at level {@code INFO} or above to the tests that ask for it, and to nobody
 * else. The system property {@code slf4j.provider} names it. Thread-safe.
 */
// SLF4J needs it in an exported package, and none but tests see it there.
@SuppressWarnings("exports")
public final class RecordingLogs implements SLF4JServiceProvider {
  private static final List<Recording> RECORDINGS = new CopyOnWriteArrayList<>();

  private final Map<String, Logger> loggers = new ConcurrentHashMap<>();
  private final IMarkerFactory markers = new BasicMarkerFactory();
  private final MDCAdapter context = new NOPMDCAdapter();

  /** Called by SLF4J. */
  public RecordingLogs() {}

  /** The messages from its begin until it is closed. */
  public static final class Recording implements AutoCloseable {
    private final List<String> messages = new CopyOnWriteArrayList<>();

    /** Begins. */
    public Recording() {
      RECORDINGS.add(this);
    }

    /** Returns the messages of one linker, which begin with its name. */
    public List<String> of(String instance) {
      String start = instance + ": ";
      return messages.stream()
          .filter(message -> message.startsWith(start))
          .map(message -> message.substring(start.length()))
          .toList();
    }

    @Override
    public void close() {
      RECORDINGS.remove(this);
    }
  }

  private static final class RecordingLogger extends AbstractLogger {
    private static final long serialVersionUID = 1;

    RecordingLogger(String name) {
      this.name = name;
    }

    @Override
    protected void handleNormalizedLoggingCall(
        Level level,
        @Nullable Marker marker,
        String pattern,
        Object @Nullable [] arguments,
        @Nullable Throwable throwable) {
      for (Recording recording : RECORDINGS) {
        recording.messages.add(MessageFormatter.basicArrayFormat(pattern, arguments));
      }
    }

    @Override
    protected @Nullable String getFullyQualifiedCallerName() {
      return null;
    }

    @Override
    public boolean isTraceEnabled() {
      return false;
    }

    @Override
    public boolean isTraceEnabled(Marker marker) {
      return false;
    }

    @Override
    public boolean isDebugEnabled() {
      return false;
    }

    @Override
    public boolean isDebugEnabled(Marker marker) {
      return false;
    }

    @Override
    public boolean isInfoEnabled() {
      return true;
    }

    @Override
    public boolean isInfoEnabled(Marker marker) {
      return true;
    }

    @Override
    public boolean isWarnEnabled() {
      return true;
    }

    @Override
    public boolean isWarnEnabled(Marker marker) {
      return true;
    }

    @Override
    public boolean isErrorEnabled() {
      return true;
    }

    @Override
    public boolean isErrorEnabled(Marker marker) {
      return true;
    }
  }

  @Override
  public void initialize() {}

  @Override
  public ILoggerFactory getLoggerFactory() {
    return name -> loggers.computeIfAbsent(name, RecordingLogger::new);
  }

  @Override
  public IMarkerFactory getMarkerFactory() {
    return markers;
  }

  @Override
  public MDCAdapter getMDCAdapter() {
    return context;
  }

  @Override
  public String getRequestedApiVersion() {
    return "2.0.99";
  }
}
