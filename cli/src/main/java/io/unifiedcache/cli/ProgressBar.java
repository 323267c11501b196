package io.unifiedcache.cli;

import java.io.Console;
import java.io.PrintWriter;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A line on the terminal that shows how many requests were served; nothing if there is none. */
final class ProgressBar implements AutoCloseable {
  private static final int WIDTH = 40;
  private static final long REDRAW_NANOS = 100_000_000;

  private final @Nullable PrintWriter terminal;
  private final int total;
  private long drawnAt = System.nanoTime();
  private boolean drawn;

  private ProgressBar(@Nullable PrintWriter terminal, int total) {
    this.terminal = terminal;
    this.total = total;
  }

  static ProgressBar onTerminal(int total) {
    // Without a terminal there may be no console, or one that is none.
    return new ProgressBar(
        Optional.ofNullable(System.console())
            .filter(Console::isTerminal)
            .map(Console::writer)
            .orElse(null),
        total);
  }

  void served(int requests) {
    if (terminal == null || System.nanoTime() - drawnAt < REDRAW_NANOS) {
      return;
    }
    drawnAt = System.nanoTime();
    drawn = true;
    int filled = (int) ((long) WIDTH * requests / total);
    terminal.printf(
        "\r[%s%s] %,d of %,d requests",
        "#".repeat(filled), " ".repeat(WIDTH - filled), requests, total);
    terminal.flush();
  }

  /** Takes the line away. */
  @Override
  public void close() {
    if (terminal != null && drawn) {
      terminal.print("\r" + " ".repeat(WIDTH + 40) + "\r");
      terminal.flush();
    }
  }
}
