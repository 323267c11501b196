package io.unifiedcache.cli.replay;

import java.io.Serial;
import java.util.List;

/** The process of a rank ended before the replay did. */
public final class RankProcessException extends Exception {
  @Serial private static final long serialVersionUID = 1;

  private final int status;
  private final boolean explained;

  private RankProcessException(String message, int status, boolean explained) {
    super(message);
    this.status = status;
    this.explained = explained;
  }

  /**
   * Creates an exception.
   *
   * @param said what the process wrote to standard error
   */
  static RankProcessException of(int rank, int ranks, int status, List<String> said) {
    boolean explained = status > 1 && status <= 3 && !said.isEmpty();
    if (explained) {
      return new RankProcessException(String.join("\n", said), status, true);
    }
    String last = said.isEmpty() ? "" : "; it last said: " + said.getLast();
    return new RankProcessException(
        "rank %d of %d ended with status %d before the replay did%s"
            .formatted(rank, ranks, status, last),
        status,
        false);
  }

  /** Returns the exit status of the process. */
  public int status() {
    return status;
  }

  /** Tells whether the message is what the process itself, as a command, said of a mistake. */
  public boolean isExplained() {
    return explained;
  }
}
