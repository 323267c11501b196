/** The store in a Mooncake cluster, through Mooncake's own client. */
@NullMarked
package io.unifiedcache.backend.mooncake;

import org.jspecify.annotations.NullMarked;
