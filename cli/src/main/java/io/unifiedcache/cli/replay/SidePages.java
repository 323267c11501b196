package io.unifiedcache.cli.replay;

import java.util.Locale;

/** Which pages of a prompt are offloaded from pools of which a prefix needs only its last pages. */
public enum SidePages {
  /** Every page. */
  ALL,
  /** The window at the prompt's end, which is all that an engine still holds. */
  TAIL;

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
