package io.unifiedcache.backend.mooncake;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a store: which client to load, and how it joins its cluster.
 *
 * <p>A value is what was set; else what Mooncake's JSON file says under the same name; else what
 * the environment says in one of Mooncake's or SGLang's variables; else the default. An empty
 * variable says nothing. Of the name of this host the environment says more than the file, which
 * the processes of several hosts share.
 *
 * @param choice which client to load
 * @param python the interpreter whose Mooncake to use, or null for the usual one
 * @param library the file of Mooncake's C library, or null for the usual one
 * @param setup how a client joins the cluster; the host name may lack a port
 * @param ioThreads how many calls to the client run at once
 * @param stagingBytes the bytes of memory to copy through
 * @param masterMetricsPort the port of the master's HTTP interface
 * @param lease how long the master leases an object that is looked up or read
 * @param quarantine how long memory is left alone after a transfer has failed
 */
record MooncakeSettings(
    Choice choice,
    @Nullable String python,
    @Nullable String library,
    ClientSetup setup,
    int ioThreads,
    long stagingBytes,
    int masterMetricsPort,
    Duration lease,
    Duration quarantine) {
  /** Which client code to load. */
  enum Choice {
    /** The first that can be loaded. */
    AUTO,
    /** Mooncake's Python package, in a Python of this process. */
    PYTHON,
    /** Mooncake's C library. */
    NATIVE
  }

  private static final long SMALLEST_SEGMENT = 16 << 20;

  static final Option<Choice> CLIENT =
      Option.choice(
              "client",
              "Mooncake's client code: its Python package, its C library, or the first of these"
                  + " that can be loaded.",
              Choice.class)
          .withDefault(Choice.AUTO);

  static final Option<String> PYTHON =
      Option.text(
          "python",
          "The Python interpreter that has Mooncake's package; python3 on the PATH if not set.");

  static final Option<String> LIBRARY =
      Option.text(
          "library", "The file libmooncake_store.so; where the system's linker looks if not set.");

  static final Option<String> CONFIG =
      Option.text(
          "config",
          "Mooncake's JSON file, for what is not set here; MOONCAKE_CONFIG_PATH and"
              + " SGLANG_HICACHE_MOONCAKE_CONFIG_PATH name it, too.");

  static final Option<String> MASTER_SERVER_ADDRESS =
      Option.text(
              "master_server_address",
              "The master's host:port; or the variable MOONCAKE_MASTER. One of them is needed.")
          .where(
              "host:port, or an address of another kind such as etcd://host:port;host:port",
              Master::isAddress);

  static final Option<String> METADATA_SERVER =
      Option.text(
              "metadata_server", "Where clients find each other; or MOONCAKE_TE_META_DATA_SERVER.")
          .where(
              "P2PHANDSHAKE for none, http://host:port/path, or etcd://host:port;host:port (of all"
                  + " else Mooncake's packages end the process)",
              MetadataServer::isAddress)
          .withDefault("P2PHANDSHAKE");

  static final Option<String> LOCAL_HOSTNAME =
      Option.text(
          "local_hostname",
          "The host, or host:port, by which others reach this process; or"
              + " MOONCAKE_LOCAL_HOSTNAME or LOCAL_HOSTNAME; the address that faces the master if"
              + " not set.");

  static final Option<String> PROTOCOL =
      Option.text("protocol", "The transport, such as tcp or rdma; or MOONCAKE_PROTOCOL.")
          .withDefault("tcp");

  static final Option<String> DEVICE_NAME =
      Option.text("device_name", "The transport's devices; or MOONCAKE_DEVICE.").withDefault("");

  static final Option<ByteSize> GLOBAL_SEGMENT_SIZE =
      Option.bytes(
              "global_segment_size",
              "The memory that this process gives to the cluster, 0 for none; or"
                  + " MOONCAKE_GLOBAL_SEGMENT_SIZE.")
          .where(
              "0 for none, or at least 16MiB, which is the smallest that Mooncake takes",
              size -> size.bytes() == 0 || size.bytes() >= SMALLEST_SEGMENT)
          .withDefault(new ByteSize(0));

  static final Option<ByteSize> LOCAL_BUFFER_SIZE =
      Option.bytes(
              "local_buffer_size",
              "The memory of the client itself; or MOONCAKE_LOCAL_BUFFER_SIZE.")
          .withDefault(ByteSize.parse("16MiB"));

  static final Option<String> TENANT_ID =
      Option.text("tenant_id", "The tenant whose objects these are; or MOONCAKE_TENANT_ID.")
          .withDefault("default");

  static final Option<Long> REPLICA_NUM =
      Option.number("replica_num", "Copies of each object.", 1, 64).withDefault(1L);

  static final Option<Boolean> SOFT_PIN =
      Option.bool("with_soft_pin", "Whether objects are evicted only after those without it.")
          .withDefault(false);

  static final Option<Boolean> HARD_PIN =
      Option.bool("with_hard_pin", "Whether objects are never evicted.").withDefault(false);

  static final Option<String> PREFERRED_SEGMENTS =
      Option.text(
              "preferred_segments",
              "The segments to put objects into where they have room, separated by commas.")
          .withDefault("");

  static final Option<Long> IO_THREADS =
      Option.number("io-threads", "Calls to Mooncake's client that run at once.", 1, 64)
          .withDefault(4L);

  static final Option<ByteSize> STAGING =
      Option.bytes(
              "staging",
              "The memory through which objects are copied whose own memory Mooncake cannot take.")
          .where("at least 1MiB", size -> size.bytes() >= 1 << 20)
          .withDefault(ByteSize.parse("64MiB"));

  static final Option<Long> MASTER_METRICS_PORT =
      Option.number(
              "master_metrics_port",
              "The port of the master's HTTP interface, which tells what a clear has left; or"
                  + " MOONCAKE_MASTER_METRICS_PORT.",
              1,
              65535)
          .withDefault(9003L);

  static final Option<Duration> LEASE =
      Option.duration(
              "default_kv_lease_ttl",
              "What the master was started with: how long an object that was looked up or read is"
                  + " not removed.")
          .withDefault(Duration.ofSeconds(10));

  static final Option<Duration> QUARANTINE =
      Option.duration(
              "quarantine",
              "How long memory is taken for in use after Mooncake has failed to move its bytes.")
          .withDefault(Duration.ofMinutes(1));

  /** The transports that copy any memory of the host, registered or not, and no other. */
  private static final Set<String> HOST_TRANSPORTS = Set.of("tcp", "rpc_only", "cxl");

  static final List<Option<?>> OPTIONS =
      List.of(
          MASTER_SERVER_ADDRESS,
          METADATA_SERVER,
          LOCAL_HOSTNAME,
          PROTOCOL,
          DEVICE_NAME,
          GLOBAL_SEGMENT_SIZE,
          LOCAL_BUFFER_SIZE,
          TENANT_ID,
          REPLICA_NUM,
          SOFT_PIN,
          HARD_PIN,
          PREFERRED_SEGMENTS,
          CONFIG,
          CLIENT,
          PYTHON,
          LIBRARY,
          IO_THREADS,
          STAGING,
          MASTER_METRICS_PORT,
          LEASE,
          QUARANTINE);

  /** What SGLang takes for true. */
  private static final Set<String> STANDALONE = Set.of("true", "1", "yes", "on");

  private static final List<String> CONFIG_VARIABLES =
      List.of("MOONCAKE_CONFIG_PATH", "SGLANG_HICACHE_MOONCAKE_CONFIG_PATH");

  /**
   * Finds every value.
   *
   * @throws CacheException with code {@code REFUSED} that names all that is wrong, and where
   */
  static MooncakeSettings of(Settings settings, Map<String, String> environment) {
    List<String> problems = new ArrayList<>();
    Sources sources = new Sources(settings, environment, problems);
    Optional<String> master = sources.find(MASTER_SERVER_ADDRESS, "MOONCAKE_MASTER");
    if (problems.isEmpty() && master.isEmpty()) {
      problems.add(
          "master_server_address has no value: set it to the master's host:port, or have it in the"
              + " JSON file or in the variable MOONCAKE_MASTER");
    }
    String metadataServer = sources.get(METADATA_SERVER, "MOONCAKE_TE_META_DATA_SERVER");
    String localHostname =
        sources
            .findBeforeFile(LOCAL_HOSTNAME, "MOONCAKE_LOCAL_HOSTNAME", "LOCAL_HOSTNAME")
            .orElse("");
    sources.refuseStandalone();
    String protocol = sources.get(PROTOCOL, "MOONCAKE_PROTOCOL");
    String deviceName = sources.get(DEVICE_NAME, "MOONCAKE_DEVICE");
    ByteSize segment = sources.get(GLOBAL_SEGMENT_SIZE, "MOONCAKE_GLOBAL_SEGMENT_SIZE");
    ByteSize buffer = sources.get(LOCAL_BUFFER_SIZE, "MOONCAKE_LOCAL_BUFFER_SIZE");
    String tenant = sources.get(TENANT_ID, "MOONCAKE_TENANT_ID");
    long metricsPort = sources.get(MASTER_METRICS_PORT, "MOONCAKE_MASTER_METRICS_PORT");
    long replicas = sources.get(REPLICA_NUM);
    boolean softPin = sources.get(SOFT_PIN);
    boolean hardPin = sources.get(HARD_PIN);
    String preferred = sources.get(PREFERRED_SEGMENTS);
    if (!problems.isEmpty()) {
      throw new CacheException(FailureCode.REFUSED, String.join("; ", problems));
    }
    return new MooncakeSettings(
        settings.get(CLIENT),
        settings.find(PYTHON).orElse(null),
        settings.find(LIBRARY).orElse(null),
        new ClientSetup(
            localHostname.strip(),
            metadataServer.strip(),
            segment.bytes(),
            buffer.bytes(),
            // Mooncake compares it letter by letter.
            protocol.strip().toLowerCase(Locale.ROOT),
            deviceName.strip(),
            master.orElseThrow().strip(),
            tenant.strip(),
            Math.toIntExact(replicas),
            softPin,
            hardPin,
            Stream.of(preferred.split(",", -1))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList()),
        Math.toIntExact(settings.get(IO_THREADS)),
        settings.get(STAGING).bytes(),
        Math.toIntExact(metricsPort),
        settings.get(LEASE),
        settings.get(QUARANTINE));
  }

  /**
   * Requires that the transport is what it is called.
   *
   * @throws CacheException with code {@code REFUSED} if Mooncake would use another in its place
   */
  void requireTransport(RdmaDevices devices, Map<String, String> environment) {
    if (setup.protocol().equals("rdma")) {
      String problem = devices.problem(setup.deviceName(), environment);
      if (problem != null) {
        throw new CacheException(FailureCode.REFUSED, "protocol=rdma cannot be had: " + problem);
      }
    }
  }

  /**
   * Tells whether the transport moves registered memory only, which may be that of a device. Any
   * other moves all memory of the host, and none of a device.
   */
  boolean onlyRegistered() {
    return !HOST_TRANSPORTS.contains(setup.protocol());
  }

  /** Where values come from, and what is wrong with them. */
  private static final class Sources {
    private final Settings settings;
    private final Map<String, String> environment;
    private final List<String> problems;
    private final String file;
    private final JsonObject json;

    Sources(Settings settings, Map<String, String> environment, List<String> problems) {
      this.settings = settings;
      this.environment = environment;
      this.problems = problems;
      String named = settings.find(CONFIG).orElse(null);
      for (String variable : CONFIG_VARIABLES) {
        if (named == null && !environment.getOrDefault(variable, "").isBlank()) {
          named = environment.get(variable);
        }
      }
      file = named == null ? "" : named;
      json = named == null ? new JsonObject() : read(file);
    }

    private JsonObject read(String name) {
      try {
        if (JsonParser.parseString(Files.readString(Path.of(name))) instanceof JsonObject object) {
          return object;
        }
        problems.add("the file " + name + " of config holds no JSON object");
      } catch (IOException | InvalidPathException e) {
        problems.add("the file " + name + " of config cannot be read: " + e);
      } catch (JsonParseException e) {
        problems.add("the file " + name + " of config is no JSON: " + e.getMessage());
      }
      return new JsonObject();
    }

    <T> T get(Option<T> option, String... variables) {
      return find(option, variables).or(option::defaultValue).orElseThrow();
    }

    <T> Optional<T> find(Option<T> option, String... variables) {
      if (settings.isSet(option)) {
        return settings.find(option);
      }
      JsonElement element = json.get(option.name());
      if (element != null && !element.isJsonNull()) {
        String where = "in the file " + file;
        if (element.isJsonPrimitive()) {
          return parse(option, element.getAsString(), where);
        }
        // A map of devices by rank is passed on as it is.
        return parse(option, element.toString(), where);
      }
      return inVariables(option, variables).or(option::defaultValue);
    }

    /** Finds a value of which the environment says more than the file that processes share. */
    <T> Optional<T> findBeforeFile(Option<T> option, String... variables) {
      return settings.isSet(option)
          ? settings.find(option)
          : inVariables(option, variables).or(() -> find(option));
    }

    private <T> Optional<T> inVariables(Option<T> option, String... variables) {
      for (String variable : variables) {
        String value = environment.get(variable);
        if (value != null && !value.isBlank()) {
          return parse(option, value, "in the variable " + variable);
        }
      }
      return Optional.empty();
    }

    /** Refuses a file of SGLang's that asks for a client in another process. */
    void refuseStandalone() {
      JsonElement standalone = json.get("standalone_storage");
      if (standalone != null
          && standalone.isJsonPrimitive()
          && STANDALONE.contains(standalone.getAsString().toLowerCase(Locale.ROOT))) {
        problems.add(
            "standalone_storage in the file %s: a client in another process is not supported;"
                    .formatted(file)
                + " set it to false, so that this process joins the cluster itself");
      }
    }

    private <T> Optional<T> parse(Option<T> option, String text, String where) {
      try {
        return Optional.of(option.parse(text));
      } catch (IllegalArgumentException e) {
        problems.add(option.name() + " " + where + ": " + e.getMessage());
        return option.defaultValue();
      }
    }
  }
}
