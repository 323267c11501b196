package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class NativeLinkerDrillsTest extends LinkerDrills {
  NativeLinkerDrillsTest() {
    super(Choice.NATIVE);
  }
}
