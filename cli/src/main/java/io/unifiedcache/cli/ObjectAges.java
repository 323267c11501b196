package io.unifiedcache.cli;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Counts objects by how long ago they were stored. Used by one thread. */
final class ObjectAges {
  private static final List<Duration> BOUNDS =
      List.of(
          Duration.ofMinutes(1),
          Duration.ofHours(1),
          Duration.ofDays(1),
          Duration.ofDays(7),
          Duration.ofDays(30));

  private static final List<String> NAMES =
      List.of(
          "in the last minute",
          "in the last hour",
          "in the last day",
          "in the last 7 days",
          "in the last 30 days",
          "before",
          "unknown when");

  private final Instant now;
  private final long[] objects = new long[NAMES.size()];
  private final long[] bytes = new long[NAMES.size()];

  ObjectAges(Instant now) {
    this.now = now;
  }

  /** Counts an object; one from the future, as after a clock was set back, is as new as can be. */
  void add(Optional<Instant> stored, long size) {
    int group = stored.map(this::group).orElse(NAMES.size() - 1);
    objects[group]++;
    bytes[group] += size;
  }

  private int group(Instant stored) {
    Duration age = Duration.between(stored, now);
    int group = 0;
    while (group < BOUNDS.size() && age.compareTo(BOUNDS.get(group)) > 0) {
      group++;
    }
    return group;
  }

  /** Returns the groups that have objects, the newest first. */
  List<ObjectGroup> groups() {
    List<ObjectGroup> groups = new ArrayList<>();
    for (int i = 0; i < objects.length; i++) {
      if (objects[i] > 0) {
        groups.add(new ObjectGroup(NAMES.get(i), objects[i], bytes[i]));
      }
    }
    return groups;
  }
}
