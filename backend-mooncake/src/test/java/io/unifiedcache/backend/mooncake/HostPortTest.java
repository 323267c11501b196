package io.unifiedcache.backend.mooncake;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostPortTest {
  @Test
  void parse_namesAndAddresses() {
    assertThat(HostPort.parse("mooncake_master:50051"))
        .isEqualTo(new HostPort("mooncake_master", 50051));
    assertThat(HostPort.parse("node-1.rack.example:1"))
        .isEqualTo(new HostPort("node-1.rack.example", 1));
    assertThat(HostPort.parse("10.0.0.1:65535")).isEqualTo(new HostPort("10.0.0.1", 65535));
    assertThat(HostPort.parse("[fe80::1%eth0]:2")).isEqualTo(new HostPort("fe80::1%eth0", 2));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "host",
        "host:",
        ":1",
        "host:0",
        "host:65536",
        "host:1 ",
        "host:1a",
        "::1:2",
        "fe80:0:0:1",
        "[host]:1",
        "a b:1",
        "etcd://host:1",
        "a:1,b:2",
        "a:1;b:2",
        "http://a:1/",
        "a:1/b",
        "a@b:1"
      })
  void parse_anythingElse_isNone(String text) {
    assertThat(HostPort.parse(text)).isNull();
  }

  @Test
  void toString_ipv6_hasBrackets() {
    assertThat(new HostPort("::1", 7)).hasToString("[::1]:7");
    assertThat(new HostPort("a_b", 7)).hasToString("a_b:7");
    assertThat(HostPort.written("[::1]")).isEqualTo("[::1]");
  }
}
