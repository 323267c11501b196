package io.unifiedcache.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The {@code unified-cache} command. */
@Command(name = "unified-cache", mixinStandardHelpOptions = true)
public final class Main {
  private Main() {}

  /**
   * Runs one command and ends the JVM with its exit status.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Main()).execute(args));
  }
}
