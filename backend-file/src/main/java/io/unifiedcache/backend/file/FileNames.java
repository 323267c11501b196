package io.unifiedcache.backend.file;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of the files of a store. */
final class FileNames {
  static final String OWNER_LOCK = "owner.lock";
  static final String PUBLISH_LOCK = "publish.lock";
  static final String TEMPORARY = ".tmp";

  private static final Pattern LOG = Pattern.compile("index-([0-9]{10,18})\\.log");
  private static final Pattern SEGMENT = Pattern.compile("segment-([0-9]{6,9})");
  private static final Pattern WRITER = Pattern.compile("writer-([0-9a-f]{16})\\.lock");

  private FileNames() {}

  static String log(long number) {
    return String.format(Locale.ROOT, "index-%010d.log", number);
  }

  static String segment(int segment) {
    return String.format(Locale.ROOT, "segment-%06d", segment);
  }

  static String writer(long writer) {
    return String.format(Locale.ROOT, "writer-%016x.lock", writer);
  }

  /** Returns the number of the log of this name, or -1. */
  static long asLog(String name) {
    Matcher matcher = LOG.matcher(name);
    return matcher.matches() ? Long.parseLong(matcher.group(1)) : -1;
  }

  /** Returns the number of the segment of this name, or -1. */
  static int asSegment(String name) {
    Matcher matcher = SEGMENT.matcher(name);
    return matcher.matches() ? Integer.parseInt(matcher.group(1)) : -1;
  }

  /** Tells whether the lock of a writer has this name. */
  static boolean isWriter(String name) {
    return WRITER.matcher(name).matches();
  }

  /** Returns the writer whose lock has this name. */
  static long asWriter(String name) {
    Matcher matcher = WRITER.matcher(name);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(name);
    }
    return Long.parseUnsignedLong(matcher.group(1), 16);
  }

  /** Tells whether a folder with no more than this in it is an empty one, or a store begun. */
  static boolean isBegun(String name) {
    return name.equals(OWNER_LOCK)
        || name.equals(PUBLISH_LOCK)
        || name.equals(Superblock.NAME + TEMPORARY);
  }
}
