@NullMarked
package io.unifiedcache.backend.mooncake;

import org.jspecify.annotations.NullMarked;
