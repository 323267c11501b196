package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.net.MalformedURLException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever is written as an address of a master or a metadata server, it is one or is not. */
class AddressFuzzTest {
  @MethodSource("addresses")
  @FuzzTest
  void address_anyText_isOneOrNot(byte[] bytes) throws MalformedURLException {
    String text = new String(bytes, StandardCharsets.UTF_8);
    boolean ofMaster = Master.isAddress(text);
    HostPort parsed = HostPort.parse(text.strip());
    if (parsed != null) {
      assertThat(ofMaster).isTrue();
      assertThat(HostPort.parse(parsed.toString())).isEqualTo(parsed);
      assertThat(Master.withPort(parsed.toString())).isEqualTo(parsed.toString());
    }
    if (MetadataServer.isAddress(text)) {
      String address = text.strip();
      assertThat(address.equals("P2PHANDSHAKE") || address.contains(":")).isTrue();
      if (address.startsWith("http")) {
        // What is asked of it can be asked, too.
        assertThat(MetadataServer.question(address).toURL().getHost()).isNotEmpty();
      }
    }
  }

  static List<byte[]> addresses() {
    return Stream.of(
            "",
            "P2PHANDSHAKE",
            "host_1:50051",
            " [::1]:50051 ",
            "[fe80::1%eth0]:1",
            "h:0",
            "h:99999",
            "etcd://a:1;b:2",
            "a:1,b:2",
            "http://h:8080/metadata",
            "https://h",
            "http://h/m?a=b",
            "http://h/m#fragment",
            "http://h:99999/metadata",
            "http://h:/x",
            "http://[::1]:8080/metadata",
            "http://under_score:8080/metadata",
            "redis://h:6379",
            "http://",
            "http://a b/",
            "http:///x",
            ";".repeat(1_000),
            "[" + ":".repeat(1_000) + "]:1")
        .map(text -> text.getBytes(StandardCharsets.UTF_8))
        .toList();
  }
}
