package io.unifiedcache.backend.mooncake;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The RDMA devices of this machine. Where there is none, Mooncake serves {@code protocol=rdma} by
 * TCP without a word, and ends the process when it is given memory of a device.
 *
 * @param names their names, such as {@code mlx5_0}
 * @param usable whether this process may open any
 */
record RdmaDevices(List<String> names, boolean usable) {
  private static final Path NAMES = Path.of("/sys/class/infiniband");
  private static final Path FILES = Path.of("/dev/infiniband");

  /** A variable that has Mooncake use TCP in place of RDMA. */
  private static final String FORCE_TCP = "MC_FORCE_TCP";

  RdmaDevices {
    names = List.copyOf(names);
  }

  /** Returns those of this machine. */
  static RdmaDevices ofThisMachine() {
    return in(NAMES, FILES);
  }

  /** Returns those that directories list: their names, and the files by which they are opened. */
  static RdmaDevices in(Path names, Path files) {
    return new RdmaDevices(
        list(names), list(files).stream().anyMatch(name -> name.startsWith("uverbs")));
  }

  private static List<String> list(Path directory) {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory)) {
      for (Path entry : entries) {
        names.add(String.valueOf(entry.getFileName()));
      }
    } catch (IOException e) {
      // There is no such directory where there is no driver.
      return List.of();
    }
    Collections.sort(names);
    return names;
  }

  /**
   * Returns why Mooncake would not move bytes by RDMA; null if it may.
   *
   * @param wanted the devices to use, separated by commas; empty for all
   */
  @Nullable String problem(String wanted, Map<String, String> environment) {
    if (environment.containsKey(FORCE_TCP)) {
      return "the variable %s has Mooncake use TCP; unset it, or set protocol=tcp"
          .formatted(FORCE_TCP);
    } else if (names.isEmpty()) {
      return "this machine has no RDMA device (%s lists none); set protocol=tcp, or install one"
          .formatted(NAMES);
    } else if (!usable) {
      return "this process cannot open an RDMA device (%s has no file uverbs...); give the container"
              .formatted(FILES)
          + " its devices, or set protocol=tcp";
    }
    for (String name : wanted.split(",", -1)) {
      if (!name.isBlank() && !names.contains(name.strip())) {
        return "this machine has no RDMA device %s (device_name), only %s"
            .formatted(name.strip(), String.join(", ", names));
      }
    }
    return null;
  }
}
