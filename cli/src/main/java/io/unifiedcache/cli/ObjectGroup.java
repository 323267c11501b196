package io.unifiedcache.cli;

/**
 * Objects that have something in common.
 *
 * @param name what it is
 * @param objects how many there are
 * @param bytes the sum of their sizes
 */
record ObjectGroup(String name, long objects, long bytes) {}
