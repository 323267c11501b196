package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class NativeDrillsTest extends Drills {
  NativeDrillsTest() {
    super(Choice.NATIVE);
  }
}
