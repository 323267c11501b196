package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class PythonLinkerDrillsTest extends LinkerDrills {
  PythonLinkerDrillsTest() {
    super(Choice.PYTHON);
  }
}
