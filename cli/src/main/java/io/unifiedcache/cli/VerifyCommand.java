package io.unifiedcache.cli;

import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.store.StoreMaintenance;
import io.unifiedcache.api.store.Verification;
import io.unifiedcache.api.store.Verification.Finding;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Reads all objects of a store and tells which are not what was put. */
@Command(
    name = "verify",
    description = {
      "Reads every object of a store and holds it against its checksums. Others may have the store"
          + " open meanwhile, unless exclusively.",
      "Exit status 1 if anything was found, also if it was repaired."
    },
    mixinStandardHelpOptions = true)
final class VerifyCommand implements Callable<Integer> {
  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Mixin
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private StoreOptions store;

  @Option(
      names = "--repair",
      description =
          "Sets objects aside that are damaged, so that they are absent and can be stored anew, and"
              + " rebuilds an index that is damaged or lost from what it is an index of; for that"
              + " nobody else may have the store open.")
  private boolean repair;

  @Override
  public Integer call() {
    // What is dropped is told here, with its reason.
    System.setProperty("org.slf4j.simpleLogger.log.io.unifiedcache.backend", "error");
    PrintWriter out = spec.commandLine().getOut();
    StoreMaintenance maintenance = store.maintenance();
    Verification done = maintenance.verify(repair, finding -> tell(finding, out), Deadline.never());
    out.println(
        "verified  %s, %,d bytes"
            .formatted(PlainText.count(done.objects(), "object"), done.bytes()));
    if (done.unproven() > 0) {
      out.println(
          "unproven  %s without checksums, of which only the size is known"
              .formatted(PlainText.count(done.unproven(), "object")));
    }
    out.println("findings  %,d%s".formatted(done.findings(), hint(done)));
    out.flush();
    return done.findings() == 0 ? 0 : Main.WRONG;
  }

  private static void tell(Finding finding, PrintWriter out) {
    String about = finding.key().map(key -> PlainText.of(key.value())).orElse("the store");
    String remedy =
        switch (finding.remedy()) {
          case NONE -> "";
          case SET_ASIDE -> ", set aside";
          case DROPPED -> ", dropped";
          case MENDED -> ", mended";
        };
    out.println(
        "%s%s: %s: %s".formatted(finding.code(), remedy, about, PlainText.of(finding.message())));
    out.flush();
  }

  private String hint(Verification done) {
    return done.findings() == 0 || repair
        ? ""
        : "; --repair sets damaged objects aside and rebuilds a lost index";
  }
}
