package io.unifiedcache.backend.mooncake;

import io.unifiedcache.backend.mooncake.MooncakeSettings.Choice;

class NativeJoiningTest extends Joining {
  NativeJoiningTest() {
    super(Choice.NATIVE);
  }
}
