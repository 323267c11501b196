package io.unifiedcache.backend.mooncake;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A Mooncake cluster on the loopback interface, as a JUnit extension of a static field: a master,
 * and a process that owns the memory. Both listen on free ports, are waited for, and are ended by
 * their process ids; the ends of their logs are shown when a test fails.
 */
final class MooncakeCluster
    implements ExecutionCondition,
        BeforeAllCallback,
        AfterAllCallback,
        AfterEachCallback,
        AutoCloseable {
  private static final long START_SECONDS = 60;
  private static final int LOG_LINES_SHOWN = 40;
  private static final String SSD = "ssd";

  private final Map<String, String> masterFlags = new TreeMap<>();
  private long segmentBytes = 512L << 20;
  private long leaseMillis;
  private @Nullable String tenants;
  private boolean ssd;

  private @Nullable Path folder;
  private int rpcPort;
  private int httpPort;
  private int ownerPort;
  private @Nullable Process master;
  private @Nullable Process owner;
  private int starts;

  /** Returns a cluster that is yet to be started, whose leases last for some milliseconds. */
  static MooncakeCluster withLeases(long millis) {
    MooncakeCluster cluster = new MooncakeCluster();
    cluster.leaseMillis = millis;
    return cluster.flag("default_kv_lease_ttl", Long.toString(millis));
  }

  /** Sets a flag of the master. */
  MooncakeCluster flag(String name, String value) {
    masterFlags.put(name, value);
    return this;
  }

  /** Has the master keep tenants apart, and lets each of these store so many bytes. */
  MooncakeCluster tenants(long quotaBytes, String... names) {
    StringBuilder yaml = new StringBuilder("version: 1\ntenants:\n");
    for (String name : names) {
      yaml.append("  - name: ")
          .append(name)
          .append("\n    quota: ")
          .append(quotaBytes)
          .append("B\n");
    }
    tenants = yaml.toString();
    return flag("enable_multi_tenants", "true");
  }

  /** Has objects moved to an SSD, one file for each. */
  MooncakeCluster withSsd() {
    ssd = true;
    return flag("enable_offload", "true");
  }

  /** Returns how many objects are on the SSD whose keys have a part. */
  long onSsd(String part) {
    return files(folder().resolve(SSD), part);
  }

  /** Returns how many files under a directory have a part in their names. */
  static long files(Path directory, String part) {
    try (Stream<Path> files = Files.walk(directory)) {
      return files
          .filter(Files::isRegularFile)
          .filter(file -> String.valueOf(file.getFileName()).contains(part))
          .count();
    } catch (IOException | UncheckedIOException e) {
      // Files come and go.
      return 0;
    }
  }

  /** Sets how much memory the cluster has. */
  MooncakeCluster segment(long bytes) {
    segmentBytes = bytes;
    return this;
  }

  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    return Installation.condition();
  }

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    Installation.require();
    start();
  }

  @Override
  public void afterEach(ExtensionContext context) {
    context
        .getExecutionException()
        .ifPresent(
            e -> e.addSuppressed(new AssertionError("the cluster's logs end with\n" + logs())));
  }

  @Override
  public void afterAll(ExtensionContext context) {
    close();
  }

  /** Starts everything. */
  void start() throws IOException {
    startMasterAlone();
    startOwner();
  }

  /** Starts a cluster that has no memory yet. */
  void startMasterAlone() throws IOException {
    folder = Files.createTempDirectory("mooncake-cluster");
    rpcPort = freePort();
    httpPort = freePort();
    ownerPort = freePort();
    if (tenants != null) {
      Path file = Files.writeString(folder.resolve("tenants.yaml"), tenants);
      masterFlags.put("tenant_quota_connector_uri", file.toString());
    }
    startMaster();
  }

  /** Returns the port of the master's HTTP interface. */
  int httpPort() {
    return httpPort;
  }

  /** Returns the port where the process that owns the memory takes calls. */
  int ownerPort() {
    return ownerPort;
  }

  /** Starts the master, on the same ports as before, and waits until it serves. */
  void startMaster() throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Installation.program("mooncake_master").toString());
    command.add("--rpc_address=127.0.0.1");
    command.add("--rpc_port=" + rpcPort);
    command.add("--metrics_host=127.0.0.1");
    command.add("--metrics_port=" + httpPort);
    masterFlags.forEach((name, value) -> command.add("--" + name + "=" + value));
    master = launch("master", command);
    await("the master serves", () -> http("/health").contains("\"service_ready\":true"));
  }

  /** Starts the process that owns the memory, and waits until the master knows it. */
  void startOwner() throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Installation.program("mooncake_client").toString());
    command.add("--host=127.0.0.1");
    command.add("--port=" + ownerPort);
    command.add("--metadata_server=P2PHANDSHAKE");
    command.add("--master_server_address=" + address());
    command.add("--protocol=tcp");
    command.add("--global_segment_size=" + segmentBytes + " B");
    if (ssd) {
      Files.createDirectories(folder().resolve(SSD));
      command.add("--enable_offload=true");
    }
    long before = mounts();
    owner = launch("owner", command);
    await("the memory is mounted", () -> mounts() > before);
  }

  /** Starts what is not running. */
  void heal() throws IOException {
    if (master == null) {
      startMaster();
      if (owner != null) {
        await("the owner has mounted its memory again", this::hasSegment);
      }
    }
    if (owner == null) {
      startOwner();
    }
  }

  /** Tells whether the master knows of any memory. */
  boolean hasSegment() {
    return !http("/get_all_segments").isBlank();
  }

  /** Returns how often memory was mounted, by what the masters have logged. */
  private long mounts() {
    try (Stream<Path> files = Files.list(folder())) {
      long count = 0;
      for (Path log :
          files.filter(file -> file.getFileName().toString().startsWith("master")).toList()) {
        count +=
            linesOf(log).stream().filter(line -> line.contains("action=mount_segment")).count();
      }
      return count;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> linesOf(Path log) throws IOException {
    return new String(Files.readAllBytes(log), StandardCharsets.UTF_8).lines().toList();
  }

  private Process launch(String name, List<String> command) throws IOException {
    Path log = folder().resolve(name + "-" + ++starts + ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .directory(folder().toFile());
    // Its logs are read, whatever the tests' own are reduced to.
    builder.environment().remove("GLOG_minloglevel");
    builder
        .environment()
        .putAll(
            Map.of(
                "MOONCAKE_OFFLOAD_FILE_STORAGE_PATH",
                folder().resolve(SSD).toString(),
                "MOONCAKE_OFFLOAD_STORAGE_BACKEND_DESCRIPTOR",
                "file_per_key_storage_backend",
                "MOONCAKE_OFFLOAD_HEARTBEAT_INTERVAL_SECONDS",
                "1"));
    return builder.start();
  }

  /** Kills the master and waits for its end. */
  void killMaster() {
    kill(master);
    master = null;
  }

  /** Has the master hang: its ports take connections, and nothing answers. */
  void stopMaster() {
    signal(master, "STOP");
  }

  /** Has a master that hangs go on. */
  void continueMaster() {
    signal(master, "CONT");
  }

  /** Kills the process that owns the memory and waits for its end. */
  void killOwner() {
    kill(owner);
    owner = null;
  }

  /** Has the process that owns the memory hang. */
  void stopOwner() {
    signal(owner, "STOP");
  }

  /** Has the process that owns the memory, and hangs, go on. */
  void continueOwner() {
    signal(owner, "CONT");
  }

  private static void signal(@Nullable Process process, String signal) {
    if (process == null) {
      throw new IllegalStateException("the process does not run");
    }
    try {
      Process kill = new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start();
      if (kill.waitFor() != 0) {
        throw new AssertionError("process " + process.pid() + " cannot be sent " + signal);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void kill(@Nullable Process process) {
    if (process != null) {
      process.destroyForcibly();
      try {
        if (!process.waitFor(START_SECONDS, TimeUnit.SECONDS)) {
          throw new AssertionError("process " + process.pid() + " does not end");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public void close() {
    kill(owner);
    kill(master);
    owner = null;
    master = null;
    Path made = folder;
    folder = null;
    if (made != null) {
      delete(made);
    }
  }

  private static void delete(Path folder) {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(each);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the master's host and port. */
  String address() {
    return "127.0.0.1:" + rpcPort;
  }

  /** Returns the settings that any store of this cluster needs. */
  Map<String, String> settings() {
    return Map.of(
        "master_server_address",
        address(),
        "local_hostname",
        "127.0.0.1",
        "master_metrics_port",
        Integer.toString(httpPort),
        "default_kv_lease_ttl",
        leaseMillis + "ms");
  }

  /** Returns the settings of a store of this cluster with a client. */
  Map<String, String> settings(MooncakeSettings.Choice client) {
    Map<String, String> settings = new TreeMap<>(settings());
    settings.put("client", client.name().toLowerCase(Locale.ROOT));
    settings.put("library", Installation.library().toString());
    settings.put("python", Installation.python().toString());
    return settings;
  }

  /** Asks the master's HTTP interface; empty if it does not answer. */
  String http(String path) {
    try {
      URLConnection connection =
          URI.create("http://127.0.0.1:" + httpPort + path).toURL().openConnection();
      connection.setConnectTimeout(2_000);
      connection.setReadTimeout(10_000);
      try (InputStream answer = connection.getInputStream()) {
        return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
      }
    } catch (IOException e) {
      return "";
    }
  }

  /** Returns the keys that the master lists. */
  List<String> keys() {
    return http("/get_all_keys").lines().filter(line -> !line.isEmpty()).sorted().toList();
  }

  /** Waits until something is so. */
  void await(String what, BooleanSupplier isSo) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (!isSo.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError(
            "after %d s it is not so that %s; the logs end with%n%s"
                .formatted(START_SECONDS, what, logs()));
      }
      LockSupport.parkNanos(Duration.ofMillis(20).toNanos());
    }
  }

  private Path folder() {
    Path made = folder;
    if (made == null) {
      throw new IllegalStateException("the cluster has not been started");
    }
    return made;
  }

  private String logs() {
    StringBuilder text = new StringBuilder();
    try (Stream<Path> files = Files.list(folder())) {
      for (Path file : files.sorted().toList()) {
        if (Files.isRegularFile(file)) {
          List<String> lines = linesOf(file);
          text.append("== ").append(file.getFileName()).append('\n');
          lines.stream()
              .skip(Math.max(0, lines.size() - LOG_LINES_SHOWN))
              .forEach(line -> text.append(line).append('\n'));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  /** Returns a port that was free a moment ago. */
  static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
