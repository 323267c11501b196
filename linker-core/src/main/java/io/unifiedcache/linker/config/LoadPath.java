package io.unifiedcache.linker.config;

/** How bytes come from a store into an engine's slots. */
public enum LoadPath {
  /** {@link #LAYERS} where the store has {@code RANGED_READ}, otherwise {@link #PAGES}. */
  AUTO,
  /** Layer after layer through a read session; refused for a store without {@code RANGED_READ}. */
  LAYERS,
  /** Whole objects; all layers are announced together after the last page. */
  PAGES
}
