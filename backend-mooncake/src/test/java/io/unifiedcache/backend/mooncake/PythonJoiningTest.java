package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class PythonJoiningTest extends Joining {
  PythonJoiningTest() {
    super(Choice.PYTHON);
  }
}
