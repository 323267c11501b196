package io.unifiedcache.cli;

import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.linker.CacheLinker;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.RankCollective;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.cli.replay.ModelPreset;
import io.unifiedcache.cli.replay.RankProcess;
import io.unifiedcache.cli.replay.RankProcessException;
import io.unifiedcache.cli.replay.RankProcesses;
import io.unifiedcache.cli.replay.Replay;
import io.unifiedcache.cli.replay.ReplayPlan;
import io.unifiedcache.cli.replay.ReplayReport;
import io.unifiedcache.cli.replay.ReplayShare;
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
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
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
      "Exit status 1 if a byte differs, or if a completion or a rank is lost."
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

  private static final String AS_RANK = "--as-rank";

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
      names = "--processes",
      paramLabel = "N",
      defaultValue = "1",
      description =
          "1, or as many as ranks: a process for each, which agree over sockets (default:"
              + " ${DEFAULT-VALUE}). Each has a store of its own, unless it is one that processes"
              + " share.")
  private int processes;

  /** This is one of these processes. */
  @Option(names = AS_RANK, hidden = true)
  private boolean asRank;

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
    if (page != null && processes > 1) {
      throw mistake(
          "--report shows what happened when, which only one process can tell: leave --processes"
              + " out");
    }
    Trace trace = trace();
    List<String> assignments =
        loadPath == null ? List.of() : List.of("linker.load-path=" + loadPath);
    StoreOptions.Opened opened = storeOptions.open(assignments);
    Replay replay = new Replay(trace, plan);
    if (asRank) {
      serveAsRank(replay, opened);
      return 0;
    }
    ReplayReport report;
    try (ProgressBar bar = ProgressBar.onTerminal(trace.size())) {
      report =
          processes == 1
              ? serveAlone(replay, opened, bar)
              : serveInProcesses(replay, opened, bar, plan.model());
    } catch (RankProcessException e) {
      return told(e);
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

  private ReplayReport serveAlone(Replay replay, StoreOptions.Opened opened, ProgressBar bar) {
    try (CacheStore store = opened.store()) {
      return replay.run(
          store, (view, pools, ranks) -> link(opened, view, pools, ranks), bar::served);
    }
  }

  /** Serves as one rank; other processes serve as the others. */
  private void serveAsRank(Replay replay, StoreOptions.Opened opened) throws IOException {
    try (CacheStore store = opened.store();
        RankProcess process = RankProcess.of(System.in, spec.commandLine().getOut())) {
      process.found(
          replay.runRank(
              process.rank(),
              process::meet,
              store,
              (view, pools, ranks) -> link(opened, view, pools, ranks),
              process::served));
    }
  }

  private ReplayReport serveInProcesses(
      Replay replay, StoreOptions.Opened opened, ProgressBar bar, ModelPreset preset)
      throws IOException, RankProcessException {
    // Opened here to find mistakes once, and what it promises; the ranks open their own.
    boolean shared;
    try (CacheStore store = opened.store()) {
      shared = store.capabilities().contains(Capability.SHARED);
    }
    if (preset.isRankReplicated() && !shared) {
      throw mistake(
          "--model %s needs one process or a store that processes share, which %s is not: one rank writes what all read"
              .formatted(preset, opened.backend()));
    }
    List<String> command = new ArrayList<>(javaCommand());
    command.addAll(spec.root().commandLine().getParseResult().originalArgs());
    command.add(AS_RANK);
    try (RankProcesses ranks = RankProcesses.start(command, processes)) {
      List<ReplayShare> shares = ranks.await(bar::served);
      PrintWriter err = spec.commandLine().getErr();
      ranks.warnings().forEach(err::println);
      err.flush();
      return replay.merge(shares);
    }
  }

  /** Returns the command that started this process, without its arguments. */
  private static List<String> javaCommand() {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:+UseParallelGC");
    String options = System.getenv().getOrDefault("UNIFIED_CACHE_JAVA_OPTS", "");
    Stream.of(options.split("\\s+")).filter(option -> !option.isEmpty()).forEach(command::add);
    addPath(command, "--module-path", "jdk.module.path");
    // What plug-ins may need of the JDK, as the script has it.
    command.add("--add-modules=ALL-DEFAULT");
    addPath(command, "--class-path", "java.class.path");
    Module module = Main.class.getModule();
    if (module.isNamed()) {
      command.add("--module");
      command.add(module.getName() + "/" + Main.class.getName());
    } else {
      command.add(Main.class.getName());
    }
    return command;
  }

  private static void addPath(List<String> command, String option, String property) {
    String path = System.getProperty(property, "");
    if (!path.isEmpty()) {
      command.add(option);
      command.add(path);
    }
  }

  private int told(RankProcessException e) {
    PrintWriter err = spec.commandLine().getErr();
    err.println(e.isExplained() ? e.getMessage() : spec.qualifiedName() + ": " + e.getMessage());
    return e.isExplained() ? e.status() : Main.WRONG;
  }

  private ReplayPlan plan() {
    try {
      if (pace != null && pace <= 0) {
        throw new IllegalArgumentException("--pace must be a number above 0, not " + pace);
      }
      if (processes != 1 && processes != ranks) {
        throw new IllegalArgumentException(
            "--processes must be 1 or the number of --ranks, which is %d, not %d"
                .formatted(ranks, processes));
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
