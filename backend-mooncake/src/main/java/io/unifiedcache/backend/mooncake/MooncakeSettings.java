package io.unifiedcache.backend.mooncake;

import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.backend.mooncake.ConfigFile.FormException;
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
 * <p>A value is what was set; else what the JSON file of Mooncake or SGLang says under the same
 * name, or without such a file what one of their variables says; else the default. An empty
 * variable says nothing. Some values come from variables beside a file, too, as with SGLang: the
 * name of this host even before the file, which the processes of several hosts share.
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
 * @param checkServer whether to wait until the cluster has memory before it is joined
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
    Duration quarantine,
    boolean checkServer) {
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
  private static final long MAX_RANKS = 1 << 16;

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
          "Mooncake's JSON file, for what is not set here, in place of most variables;"
              + " SGLANG_HICACHE_MOONCAKE_CONFIG_PATH and MOONCAKE_CONFIG_PATH name it, too.");

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
      Option.text(
              "device_name",
              "The transport's devices, or a map such as {\"0\": \"mlx5_0\"} of those of each rank;"
                  + " or MOONCAKE_DEVICE.")
          .withDefault("");

  static final Option<Long> RANK =
      Option.number(
          "rank",
          "The tensor-parallel rank of this process, which a device_name by rank needs.",
          0,
          MAX_RANKS - 1);

  static final Option<Long> RANKS =
      Option.number(
              "ranks",
              "The processes among which global_segment_size is divided: as many as there are"
                  + " tensor-parallel ranks in all pipeline stages.",
              1,
              MAX_RANKS)
          .withDefault(1L);

  static final Option<ByteSize> GLOBAL_SEGMENT_SIZE =
      Option.bytes(
              "global_segment_size",
              "The memory that this process, and the other ranks with it, give to the cluster, 0"
                  + " for none; or MOONCAKE_GLOBAL_SEGMENT_SIZE.")
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

  static final Option<Boolean> CHECK_SERVER =
      Option.bool(
              "check_server",
              "Whether to wait, for ten minutes at most, until the cluster has memory; or"
                  + " MOONCAKE_CHECK_SERVER.")
          .withDefault(false);

  static final Option<Boolean> ENABLE_SSD_OFFLOAD =
      Option.bool(
              "enable_ssd_offload",
              "Whether objects in the memory of this process are moved to an SSD when it is full;"
                  + " or MOONCAKE_ENABLE_SSD_OFFLOAD.")
          .withDefault(false);

  static final Option<String> SSD_OFFLOAD_PATH =
      Option.text(
          "ssd_offload_path",
          "The directory on the SSD, in which each process takes one of its own; or"
              + " MOONCAKE_OFFLOAD_FILE_STORAGE_PATH.");

  /** What SGLang calls a client in another process. */
  private static final Option<Boolean> STANDALONE_STORAGE =
      Option.bool("standalone_storage", "Whether a client in another process is used.");

  private static final Option<String> CLIENT_SERVER_ADDRESS =
      Option.text("client_server_address", "Where a client in another process listens.");

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
          RANK,
          GLOBAL_SEGMENT_SIZE,
          RANKS,
          LOCAL_BUFFER_SIZE,
          TENANT_ID,
          CHECK_SERVER,
          ENABLE_SSD_OFFLOAD,
          SSD_OFFLOAD_PATH,
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

  /**
   * Finds every value.
   *
   * @throws CacheException with code {@code REFUSED} that names all that is wrong, and where
   */
  static MooncakeSettings of(Settings settings, Map<String, String> environment) {
    List<String> problems = new ArrayList<>();
    var sources = new MooncakeSources(settings, CONFIG, environment, problems);
    if (!settings.isSet(MASTER_SERVER_ADDRESS)) {
      refuseStandalone(sources, problems);
    }
    Optional<String> master = sources.find(MASTER_SERVER_ADDRESS, "MOONCAKE_MASTER");
    if (problems.isEmpty() && master.isEmpty()) {
      problems.add(withoutMaster(sources));
    }
    String metadataServer = sources.get(METADATA_SERVER, "MOONCAKE_TE_META_DATA_SERVER");
    String localHostname =
        sources
            .findBeforeFile(LOCAL_HOSTNAME, "MOONCAKE_LOCAL_HOSTNAME", "LOCAL_HOSTNAME")
            .orElse("");
    String protocol =
        sources
            .findAlsoBesideFile(PROTOCOL, "MOONCAKE_PROTOCOL")
            .or(PROTOCOL::defaultValue)
            .orElseThrow();
    String deviceName =
        devices(sources.get(DEVICE_NAME, "MOONCAKE_DEVICE").strip(), settings.find(RANK), problems);
    long segment =
        segment(
            sources.get(GLOBAL_SEGMENT_SIZE, "MOONCAKE_GLOBAL_SEGMENT_SIZE"),
            settings.get(RANKS),
            problems);
    ByteSize buffer = sources.get(LOCAL_BUFFER_SIZE, "MOONCAKE_LOCAL_BUFFER_SIZE");
    String tenant = sources.get(TENANT_ID, "MOONCAKE_TENANT_ID");
    long metricsPort = sources.get(MASTER_METRICS_PORT, "MOONCAKE_MASTER_METRICS_PORT");
    boolean checkServer = sources.get(CHECK_SERVER, "MOONCAKE_CHECK_SERVER");
    String ssd = ssdPath(sources, problems);
    if (checkServer && master.isPresent() && HostPort.parse(master.get().strip()) == null) {
      problems.add(
          "check_server asks the master's HTTP interface, whose host is not known of"
              + " master_server_address "
              + master.get()
              + ": set it to host:port, or check_server to false");
    }
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
            segment,
            buffer.bytes(),
            // Mooncake compares it letter by letter.
            protocol.strip().toLowerCase(Locale.ROOT),
            deviceName,
            master.orElseThrow().strip(),
            tenant.strip(),
            Math.toIntExact(replicas),
            softPin,
            hardPin,
            Stream.of(preferred.split(",", -1))
                .map(String::strip)
                .filter(name -> !name.isEmpty())
                .toList(),
            ssd),
        Math.toIntExact(settings.get(IO_THREADS)),
        settings.get(STAGING).bytes(),
        Math.toIntExact(metricsPort),
        settings.get(LEASE),
        settings.get(QUARANTINE),
        checkServer);
  }

  private static String withoutMaster(MooncakeSources sources) {
    String what =
        "master_server_address has no value: set it to the master's host:port, or have it";
    return sources.hasFile()
        ? what
            + " in the file %s; beside a file the variable MOONCAKE_MASTER is not read, as by SGLang"
                .formatted(sources.fileName())
        : what + " in the JSON file or in the variable MOONCAKE_MASTER";
  }

  /** Refuses what SGLang calls standalone: a client in another process. */
  private static void refuseStandalone(MooncakeSources sources, List<String> problems) {
    boolean standalone =
        sources.findShared(STANDALONE_STORAGE, "MOONCAKE_STANDALONE_STORAGE").orElse(false);
    String client = sources.findShared(CLIENT_SERVER_ADDRESS, "MOONCAKE_CLIENT").orElse("");
    String where =
        sources.hasFile()
            ? "in the file " + sources.fileName()
            : "in the variable MOONCAKE_STANDALONE_STORAGE";
    if (standalone) {
      problems.add(
          "standalone_storage %s: a client in another process%s is not supported; set it to false,"
                  .formatted(where, client.isBlank() ? "" : " (" + client + ")")
              + " and master_server_address to the master's host:port, so that this process joins"
              + " the cluster itself");
    }
  }

  /**
   * Returns the devices of this process.
   *
   * @param text them, or a JSON map of those of each rank
   */
  private static String devices(String text, Optional<Long> rank, List<String> problems) {
    if (!text.startsWith("{")) {
      return text;
    }
    try {
      JsonElement named = ConfigFile.object(text).get(rank.map(String::valueOf).orElse(""));
      if (rank.isEmpty()) {
        problems.add(
            "device_name names devices by rank: set rank to the tensor-parallel rank of this"
                + " process, or device_name to its devices");
      } else if (named instanceof JsonPrimitive primitive && primitive.isString()) {
        return primitive.getAsString().strip();
      } else if (named != null) {
        problems.add("device_name names for rank %d no text, but %s".formatted(rank.get(), named));
      }
    } catch (FormException e) {
      problems.add("device_name begins as a map of ranks, and " + e.getMessage());
    }
    // As with SGLang, a rank that is not in the map uses what Mooncake finds.
    return "";
  }

  /** Returns the part of one of several processes in the memory that all give. */
  private static long segment(ByteSize all, long ranks, List<String> problems) {
    long part = all.bytes() / ranks;
    if (all.bytes() > 0 && part < SMALLEST_SEGMENT) {
      problems.add(
          "global_segment_size %s is %d bytes for each of %d ranks, and Mooncake takes no less than"
                  .formatted(all, part, ranks)
              + " 16MiB each: set it to 0 for none, or to at least "
              + new ByteSize(SMALLEST_SEGMENT * ranks));
    }
    return part;
  }

  /** Returns the directory to move objects to; null for none. */
  private static @Nullable String ssdPath(MooncakeSources sources, List<String> problems) {
    boolean enabled = sources.get(ENABLE_SSD_OFFLOAD, "MOONCAKE_ENABLE_SSD_OFFLOAD");
    String path =
        sources
            .findAlsoBesideFile(SSD_OFFLOAD_PATH, "MOONCAKE_OFFLOAD_FILE_STORAGE_PATH")
            .orElse("");
    if (!enabled) {
      return null;
    } else if (path.isBlank() || path.indexOf('\0') >= 0) {
      problems.add(
          "enable_ssd_offload needs ssd_offload_path, a directory on the SSD: without one all"
              + " clients of this machine would overwrite each other's files");
    }
    return path;
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
}
