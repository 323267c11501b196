package io.unifiedcache.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import picocli.CommandLine;

/**
 * What a command answered.
 *
 * @param status the exit status
 * @param out what it printed
 * @param err what it said of mistakes
 */
record CommandRun(int status, String out, String err) {
  static CommandRun of(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine command = Main.command().setOut(new PrintWriter(out)).setErr(new PrintWriter(err));
    int status = Main.execute(command, arguments);
    command.getOut().flush();
    command.getErr().flush();
    return new CommandRun(status, out.toString(), err.toString());
  }

  static CommandRun of(List<String> arguments) {
    return of(arguments.toArray(String[]::new));
  }
}
