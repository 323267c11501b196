package io.unifiedcache.cli;

import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.cli.replay.ModelPreset;
import io.unifiedcache.cli.replay.Replay;
import io.unifiedcache.cli.replay.ReplayPlan;
import io.unifiedcache.cli.replay.ReplayReport;
import io.unifiedcache.cli.replay.SidePages;
import io.unifiedcache.cli.replay.Trace;
import io.unifiedcache.cli.replay.TraceException;
import io.unifiedcache.cli.report.ReportPage;
import io.unifiedcache.linker.UnifiedCache;
import io.unifiedcache.linker.key.CacheIdentity;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** Serves recorded traffic from a store, and checks every byte. */
@Command(
    name = "replay",
    description = {
      "Serves recorded traffic through the linker from a store: each prompt is looked up, what can"
          + " be restored is loaded and checked byte for byte, and the rest is computed by a"
          + " formula and offloaded.",
      "Exit status 1 if a byte differs or a completion is lost."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
final class ReplayCommand implements Callable<Integer> {
  /** The paths of loads that the linker can be told to take. */
  enum LoadPath {
    LAYERS,
    PAGES;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Spec
  @SuppressWarnings("NullAway.Init") // Set by picocli.
  private CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "TRACE",
      description =
          "A trace in Mooncake's published format, plain or gzipped (default: a sample that comes"
              + " with the tool, the first 1,000 requests of Mooncake's conversation trace).")
  private @Nullable Path file;

  @Mixin private StoreOptions storeOptions = new StoreOptions();

  @Option(
      names = "--model",
      paramLabel = "PRESET",
      defaultValue = "mha",
      description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
  private ModelPreset model = ModelPreset.MHA;

  @Option(
      names = "--page-bytes",
      paramLabel = "SIZE",
      defaultValue = "32KiB",
      converter = Size.class,
      description =
          "Bytes of a page's keys and values on one rank (default: ${DEFAULT-VALUE}); side pools"
              + " take a quarter.")
  private ByteSize pageBytes = new ByteSize(0);

  @Option(
      names = "--layers",
      paramLabel = "N",
      defaultValue = "8",
      description = "Layers of the model (default: ${DEFAULT-VALUE}).")
  private int layers;

  @Option(
      names = "--ranks",
      paramLabel = "N",
      defaultValue = "1",
      description = "Ranks of the model (default: ${DEFAULT-VALUE}).")
  private int ranks;

  @Option(
      names = "--requests",
      paramLabel = "N",
      description = "Requests to serve, at most (default: all).")
  private @Nullable Integer requests;

  @Option(
      names = "--skip",
      paramLabel = "N",
      defaultValue = "0",
      description = "Requests to leave out at the start (default: ${DEFAULT-VALUE}).")
  private int skip;

  @Option(
      names = "--in-flight",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "Requests whose offload may be unfinished (default: ${DEFAULT-VALUE}, which means that it"
              + " is done before the next lookup).")
  private int inFlight;

  @Option(
      names = "--side-pages",
      paramLabel = "WHICH",
      defaultValue = "all",
      description =
          "Pages of windows and states to offload: ${COMPLETION-CANDIDATES} (default:"
              + " ${DEFAULT-VALUE}); tail is the window at the prompt's end, as engines do.")
  private SidePages sidePages = SidePages.ALL;

  @Option(
      names = "--load-path",
      paramLabel = "PATH",
      description = "${COMPLETION-CANDIDATES} (default: layers where the store can read ranges).")
  private @Nullable LoadPath loadPath;

  @Option(
      names = "--pace",
      paramLabel = "FACTOR",
      description =
          "Keep the trace's own times, this many times faster (default: as fast as possible).")
  private @Nullable Double pace;

  @Option(
      names = "--fail",
      paramLabel = "RATE",
      defaultValue = "0",
      description = "The share of load requests to fail (default: ${DEFAULT-VALUE}).")
  private double fail;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "Chooses which of them fail (default: ${DEFAULT-VALUE}).")
  private long seed;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description = "Also write the report here, as one JSON object.")
  private @Nullable Path json;

  @Option(
      names = "--report",
      paramLabel = "FILE",
      description = "Also write the report here, as one HTML page with charts.")
  private @Nullable Path page;

  @Override
  public Integer call() throws TraceException, IOException {
    ReplayPlan plan = plan();
    requireFolder("--json", json);
    requireFolder("--report", page);
    Trace trace = trace();
    List<String> assignments =
        loadPath == null ? List.of() : List.of("linker.load-path=" + loadPath);
    StoreOptions.Opened opened = storeOptions.open(assignments);
    ReplayReport report;
    try (CacheStore store = opened.store();
        ProgressBar bar = ProgressBar.onTerminal(trace.size())) {
      Replay replay = new Replay(trace, plan);
      report =
          replay.run(store, (view, pools, ranks) -> link(opened, view, pools, ranks), bar::served);
    }
    if (json != null) {
      write("--json", json, report.toJsonLines(opened.backend()));
    }
    if (page != null) {
      write("--report", page, ReportPage.of(report, opened.backend(), opened.shown()));
    }
    PrintWriter out = spec.commandLine().getOut();
    report.toLines(opened.backend()).forEach(out::println);
    out.flush();
    return report.ok() ? 0 : Main.WRONG;
  }

  private ReplayPlan plan() {
    try {
      if (pace != null && pace <= 0) {
        throw new IllegalArgumentException("--pace must be a number above 0, not " + pace);
      }
      return new ReplayPlan(
          model,
          pageBytes.bytes(),
          layers,
          ranks,
          inFlight,
          sidePages,
          pace == null ? 0 : pace,
          fail,
          seed);
    } catch (IllegalArgumentException e) {
      throw mistake(String.valueOf(e.getMessage()));
    }
  }

  private Trace trace() throws TraceException {
    if (skip < 0 || (requests != null && requests < 1)) {
      throw mistake(
          skip < 0
              ? "--skip must not be negative, not " + skip
              : "--requests must be at least 1, not " + requests);
    }
    Trace whole = file == null ? Trace.sample() : Trace.of(file);
    Trace part = whole.part(skip, requests == null ? Integer.MAX_VALUE : requests);
    if (part.size() == 0) {
      throw mistake(
          "--skip %d leaves none of the %d requests of the trace".formatted(skip, whole.size()));
    }
    return part;
  }

  /** Refuses a report that could not be written before all the work, not after it. */
  private void requireFolder(String option, @Nullable Path report) {
    if (report == null) {
      return;
    }
    Path folder = report.toAbsolutePath().getParent();
    if (Files.isDirectory(report) || folder == null || !Files.isDirectory(folder)) {
      throw mistake(option + " " + report + " is not a file in a folder that exists");
    }
  }

  /** Opens the linker of a rank. Page size and layers are part of what its bytes depend on. */
  private CacheLinker link(
      StoreOptions.Opened opened, CacheStore view, DevicePools pools, RankCollective collective) {
    return UnifiedCache.builder()
        .store(view)
        .settings(opened.linkerSettings())
        .identity(
            CacheIdentity.builder()
                .model("replay/" + model)
                .revision(layers + "-layers-" + pageBytes.bytes() + "-bytes")
                .elementType("byte")
                .pageTokens(Trace.BLOCK_TOKENS)
                .tensor(collective.rank(), collective.size())
                .build())
        .pools(pools)
        .ranks(collective)
        .instance("replay-" + collective.rank())
        .open();
  }

  private void write(String option, Path to, String text) {
    try {
      Files.writeString(to, text);
    } catch (IOException e) {
      throw mistake("cannot write " + option + " " + to + ": " + e);
    }
  }

  private ParameterException mistake(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  /** Reads sizes in the grammar of all settings. */
  static final class Size implements ITypeConverter<ByteSize> {
    @Override
    public ByteSize convert(String text) {
      try {
        return ByteSize.parse(text);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }
}
