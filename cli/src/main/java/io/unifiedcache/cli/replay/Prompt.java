package io.unifiedcache.cli.replay;

import io.unifiedcache.api.PageKey;
import java.util.List;

/**
 * A request of a trace, ready to be served.
 *
 * @param number its number within the replay, counted from 0
 * @param pages the keys of its full pages
 * @param usable the most of them that a load may bring
 */
record Prompt(int number, List<PageKey> pages, int usable) {
  Prompt {
    pages = List.copyOf(pages);
  }
}
