package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class PythonTenantsTest extends Tenants {
  PythonTenantsTest() {
    super(Choice.PYTHON);
  }
}
