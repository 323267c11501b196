package io.unifiedcache.cli;

import io.unifiedcache.cli.vectors.VectorException;
import io.unifiedcache.cli.vectors.VectorFile;
import io.unifiedcache.cli.vectors.VectorReport;
import io.unifiedcache.cli.vectors.Verdict;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Holds files of vectors, recorded from SGLang, against this build. */
@Command(
    name = "vectors",
    description = {
      "Holds vectors recorded from SGLang's own code against this build: page hashes, object keys,"
          + " restorable sets, and what the linker moves where.",
      "Exit status 1 if anything differs."
    },
    mixinStandardHelpOptions = true)
final class VectorsCommand implements Callable<Integer> {
  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Parameters(
      arity = "1..*",
      paramLabel = "FILE",
      description = "Files with one JSON object a line; the kind is seen from the rows.")
  private List<Path> files = new ArrayList<>();

  @Override
  public Integer call() throws VectorException {
    // Each of the many linkers would warn of SGLang's form of keys, which is what is checked here.
    System.setProperty("org.slf4j.simpleLogger.log.io.unifiedcache", "error");
    PrintWriter out = spec.commandLine().getOut();
    List<VectorReport> reports = new ArrayList<>();
    for (Path file : files) {
      VectorReport report = VectorFile.read(file).check();
      report.toLines().forEach(out::println);
      out.println();
      reports.add(report);
    }
    out.println(VectorReport.totals(reports));
    out.flush();
    boolean differs =
        reports.stream().anyMatch(report -> report.count(Verdict.Outcome.DIFFERING) > 0);
    return differs ? Main.WRONG : 0;
  }
}
