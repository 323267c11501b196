package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;
import org.junit.jupiter.api.Tag;

@Tag("stress")
class NativeDrillsSoakTest extends DrillsSoak {
  NativeDrillsSoakTest() {
    super(Choice.NATIVE);
  }
}
