package io.unifiedcache.cli;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.cli.replay.TraceException;
import io.unifiedcache.cli.vectors.VectorException;
import java.io.PrintWriter;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/**
 * The {@code unified-cache} command.
 *
 * <p>Exit status: 0; 1 when what was checked is wrong; 2 for a mistake in the use of the command or
 * in settings, told in one line; 3 if the command could not be started or a backend not be loaded,
 * told in one line, and for a defect, with its stack trace. {@code conform} has statuses of its
 * own, but 3 means the same.
 */
@Command(
    name = "unified-cache",
    description = "External KV-cache stores for LLM engines, from the command line.",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    footer =
        "In a clone of the project, 'unified-cache demo llama' shows a language model whose prompts"
            + " survive a restart.",
    subcommands = {
      BackendsCommand.class,
      VectorsCommand.class,
      ReplayCommand.class,
      ConformCommand.class,
      VerifyCommand.class,
      StatCommand.class
    })
public final class Main implements Runnable {
  /** What was checked is wrong. */
  static final int WRONG = 1;

  /** The command could not do its work. */
  static final int FAILED = 3;

  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  private Main() {}

  /**
   * Runs one command and ends the JVM with its exit status.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    CommandLine command = command();
    int status = execute(command, args);
    command.getOut().flush();
    command.getErr().flush();
    System.exit(status);
  }

  /** Runs one command and returns its exit status, whatever is thrown. */
  static int execute(CommandLine command, String... args) {
    try {
      return command.execute(args);
    } catch (RuntimeException | Error e) {
      // Such as a class that is missing: the status of the JVM itself would be 1, which is taken.
      return defect(command, e);
    }
  }

  /** Returns the command, ready to be executed. */
  static CommandLine command() {
    return new CommandLine(new Main())
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setParameterExceptionHandler(Main::mistake)
        .setExecutionExceptionHandler(Main::failure);
  }

  /** Without a command there is only help to give. */
  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing");
  }

  private static int mistake(ParameterException e, String[] args) {
    CommandLine command = e.getCommandLine();
    return mistake(
        command, e.getMessage() + " (see " + command.getCommandSpec().qualifiedName() + " --help)");
  }

  private static int failure(Exception e, CommandLine command, ParseResult parsed) {
    if (e instanceof CacheException
        || e instanceof TraceException
        || e instanceof VectorException) {
      return mistake(command, String.valueOf(e.getMessage()));
    }
    if (e instanceof NotLoadedException) {
      tell(command, String.valueOf(e.getMessage()));
      return FAILED;
    }
    return defect(command, e);
  }

  private static int defect(CommandLine command, Throwable e) {
    PrintWriter err = command.getErr();
    err.println(command.getCommandSpec().qualifiedName() + ": a defect, please report it:");
    e.printStackTrace(err);
    err.flush();
    return FAILED;
  }

  private static void tell(CommandLine command, String message) {
    String line = message.lines().map(String::strip).collect(Collectors.joining(" "));
    command.getErr().println(command.getCommandSpec().qualifiedName() + ": " + line);
  }

  private static int mistake(CommandLine command, String message) {
    tell(command, message);
    return command.getCommandSpec().exitCodeOnInvalidInput();
  }
}
