package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class NativeTenantsTest extends Tenants {
  NativeTenantsTest() {
    super(Choice.NATIVE);
  }
}
