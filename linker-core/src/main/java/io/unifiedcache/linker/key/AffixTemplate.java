package io.unifiedcache.linker.key;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;

/**
 * A template that puts the page, as it is, between two fixed texts.
 *
 * @param before what precedes the page
 * @param after what follows it
 */
record AffixTemplate(String before, String after) implements KeyTemplate {
  @Override
  public ObjectKey key(PageKey page) {
    return new ObjectKey(before + page.value() + after);
  }
}
