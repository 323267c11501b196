package io.unifiedcache.backend.file;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of the files of a store. */
final class FileNames {
  static final String TEMPORARY = ".tmp";

  private static final Pattern LOG = Pattern.compile("index-([0-9]{10,18})\\.log");
  private static final Pattern SEGMENT = Pattern.compile("segment-([0-9]{6,9})");

  private static final Pattern SET_ASIDE =
      Pattern.compile("damaged-(index-[0-9]{10,18}\\.log|segment-[0-9]{6,9})");

  private FileNames() {}

  /** Returns the name under which a log or a segment is kept that no store reads any more. */
  static String setAside(String name) {
    return "damaged-" + name;
  }

  /** Returns the name that a file had before it was set aside; the name itself if it was not. */
  static String beforeSetAside(String name) {
    Matcher matcher = SET_ASIDE.matcher(name);
    return matcher.matches() ? matcher.group(1) : name;
  }

  static String log(long number) {
    return String.format(Locale.ROOT, "index-%010d.log", number);
  }

  static String segment(int segment) {
    return String.format(Locale.ROOT, "segment-%06d", segment);
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

  /**
   * Returns the name of a log that a repair has read and replaced, which no repair reads again.
   *
   * @param name its name before, whether it was set aside or not
   */
  static String replaced(String name) {
    return setAside(beforeSetAside(name)) + ".replaced";
  }

  /** Returns whether a name is that of a log or a segment, set aside or not. */
  static boolean isOfStore(String name) {
    String before = beforeSetAside(name);
    return asLog(before) >= 0 || asSegment(before) >= 0;
  }

  /** Returns whether a directory with no more than this in it is an empty one, or a store begun. */
  static boolean isBegun(String name) {
    return name.startsWith(Superblock.NAME) && name.endsWith(TEMPORARY);
  }
}
