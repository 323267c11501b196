@NullMarked
package io.unifiedcache.backend.file;

import org.jspecify.annotations.NullMarked;
