package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RdmaDevicesTest {
  private static final Map<String, String> NOTHING_SET = Map.of();

  @TempDir Path directory = Path.of("set by JUnit");

  @Test
  void in_directoriesThatAreNotThere_areNone() {
    RdmaDevices none = RdmaDevices.in(directory.resolve("names"), directory.resolve("files"));
    assertThat(none).isEqualTo(new RdmaDevices(List.of(), false));
    assertThat(none.problem("", NOTHING_SET)).contains("no RDMA device", "set protocol=tcp");
  }

  @Test
  void in_namesWithoutFiles_cannotBeOpened() throws Exception {
    Path names = Files.createDirectory(directory.resolve("names"));
    Files.createDirectory(names.resolve("mlx5_1"));
    Files.createDirectory(names.resolve("mlx5_0"));
    Path files = Files.createDirectory(directory.resolve("files"));
    Files.createFile(files.resolve("rdma_cm"));
    RdmaDevices devices = RdmaDevices.in(names, files);
    assertThat(devices.names()).containsExactly("mlx5_0", "mlx5_1");
    assertThat(devices.problem("", NOTHING_SET)).contains("cannot open an RDMA device");
    Files.createFile(files.resolve("uverbs0"));
    assertThat(RdmaDevices.in(names, files).problem("", NOTHING_SET)).isNull();
  }

  @Test
  void problem_deviceThatIsNotThere_isNamedWithThoseThatAre() {
    RdmaDevices devices = new RdmaDevices(List.of("mlx5_0", "mlx5_1"), true);
    assertThat(devices.problem("mlx5_1, mlx5_0", NOTHING_SET)).isNull();
    assertThat(devices.problem("mlx5_1,mlx5_7", NOTHING_SET))
        .contains("no RDMA device mlx5_7 (device_name), only mlx5_0, mlx5_1");
  }

  @Test
  void problem_tcpIsForced_isNamed() {
    RdmaDevices devices = new RdmaDevices(List.of("mlx5_0"), true);
    assertThat(devices.problem("", Map.of("MC_FORCE_TCP", "1"))).contains("MC_FORCE_TCP");
  }

  @Test
  void requireTransport_rdmaWithoutADevice_isRefusedBeforeAnythingIsLoaded() {
    RdmaDevices none = new RdmaDevices(List.of(), false);
    MooncakeSettings rdma = ScriptedStore.settings(Map.of("protocol", "RDMA"), Map.of());
    assertThatThrownBy(() -> rdma.requireTransport(none, NOTHING_SET))
        .isInstanceOfSatisfying(
            CacheException.class, e -> assertThat(e.code()).isEqualTo(FailureCode.REFUSED))
        .hasMessageContaining("protocol=rdma cannot be had");
    ScriptedStore.settings(Map.of("protocol", "tcp"), Map.of()).requireTransport(none, NOTHING_SET);
    rdma.requireTransport(new RdmaDevices(List.of("mlx5_0"), true), NOTHING_SET);
  }
}
