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
 * in settings, told in one line; 3 for a defect, with its stack trace. {@code conform} has statuses
 * of its own.
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

  private static final int DEFECT = 3;

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
    int status = command.execute(args);
    command.getOut().flush();
    command.getErr().flush();
    System.exit(status);
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
    PrintWriter err = command.getErr();
    err.println(command.getCommandSpec().qualifiedName() + ": a defect, please report it:");
    e.printStackTrace(err);
    return DEFECT;
  }

  private static int mistake(CommandLine command, String message) {
    String line = message.lines().map(String::strip).collect(Collectors.joining(" "));
    command.getErr().println(command.getCommandSpec().qualifiedName() + ": " + line);
    return command.getCommandSpec().exitCodeOnInvalidInput();
  }
}
