package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class PythonDrillsTest extends Drills {
  PythonDrillsTest() {
    super(Choice.PYTHON);
  }
}
