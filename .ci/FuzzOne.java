import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** Runs one fuzz test, as {@code Fuzz.java} has it done. */
final class FuzzOne {
  private FuzzOne() {}

  public static void main(String[] arguments) {
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create()
        .execute(
            LauncherDiscoveryRequestBuilder.request().selectors(selectClass(arguments[0])).build(),
            listener);
    TestExecutionSummary summary = listener.getSummary();
    summary.printFailuresTo(
        new PrintWriter(System.out, /* autoFlush= */ true, StandardCharsets.UTF_8));
    boolean ran = summary.getTestsSucceededCount() > 0;
    System.exit(ran && summary.getTotalFailureCount() == 0 ? 0 : 1);
  }
}
