package io.unifiedcache.examples.llama;

import io.unifiedcache.api.CacheException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.Spec;

/**
 * The command of this example.
 *
 * <p>Exit status: 0; 1 when answers that must be equal are not; 2 for a mistake in the use of the
 * command or in settings, told in one line; 3 for a defect, with its stack trace.
 */
@Command(
    name = "llama-engine",
    description = "Answers prompts with Gemma 3, and keeps their pages in a store.",
    mixinStandardHelpOptions = true,
    subcommands = {AskCommand.class, DemoCommand.class, RatioCommand.class})
public final class Main implements Runnable {
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
    CommandLine command = new CommandLine(new Main()).setExecutionExceptionHandler(Main::failure);
    int status = command.execute(args);
    command.getOut().flush();
    command.getErr().flush();
    System.exit(status);
  }

  /** Without a command there is only help to give. */
  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing");
  }

  private static int failure(Exception e, CommandLine command, ParseResult parsed) {
    String name = command.getCommandSpec().qualifiedName();
    if (e instanceof CacheException || e instanceof IllegalArgumentException) {
      command.getErr().println(name + ": " + e.getMessage());
      return command.getCommandSpec().exitCodeOnInvalidInput();
    }
    command.getErr().println(name + ": a defect, please report it:");
    e.printStackTrace(command.getErr());
    return DEFECT;
  }
}
