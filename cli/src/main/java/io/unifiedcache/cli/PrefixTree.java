package io.unifiedcache.cli;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Counts objects by what their keys begin with, whatever the form of the keys is.
 *
 * <p>A key is cut behind characters that separate its parts. Where few different parts follow, as
 * models and ranks do, each has a group of its own; where many do, as hashes of pages, they are one
 * group together. So there are few groups of however many keys. Used by one thread.
 */
final class PrefixTree {
  private static final String SEPARATORS = "/_:.|";

  /** More different parts than this are one group. */
  private static final int MOST_BRANCHES = 8;

  private static final int MOST_NODES = 10_000;
  private static final int MOST_PARTS = 32;

  private static final class Node {
    final String prefix;
    long objects;
    long bytes;

    /** By the next part; null where too many different ones have followed. */
    @Nullable Map<String, Node> branches = new LinkedHashMap<>();

    Node(String prefix) {
      this.prefix = prefix;
    }
  }

  private final Node root = new Node("");
  private int nodes = 1;

  /** Counts an object. */
  void add(String key, long size) {
    Node node = root;
    int begin = 0;
    for (int part = 0; node != null; part++) {
      node.objects++;
      node.bytes += size;
      if (begin == key.length()) {
        return;
      }
      int end = endOfPart(key, begin);
      node = part < MOST_PARTS ? branch(node, key, begin, end) : null;
      begin = end;
    }
  }

  private static int endOfPart(String key, int begin) {
    int end = begin;
    while (end < key.length() && SEPARATORS.indexOf(key.charAt(end)) < 0) {
      end++;
    }
    return Math.min(key.length(), end + 1);
  }

  private @Nullable Node branch(Node node, String key, int begin, int end) {
    Map<String, Node> branches = node.branches;
    if (branches == null) {
      return null;
    }
    String part = key.substring(begin, end);
    Node branch = branches.get(part);
    if (branch == null && (branches.size() == MOST_BRANCHES || nodes == MOST_NODES)) {
      node.branches = null;
      nodes -= size(branches);
      return null;
    } else if (branch == null) {
      branch = new Node(key.substring(0, end));
      branches.put(part, branch);
      nodes++;
    }
    return branch;
  }

  private static int size(Map<String, Node> branches) {
    int size = branches.size();
    for (Node node : branches.values()) {
      size += node.branches == null ? 0 : size(node.branches);
    }
    return size;
  }

  /** Returns the groups, that with the most bytes first; {@code *} stands for what follows. */
  List<ObjectGroup> groups() {
    List<ObjectGroup> groups = new ArrayList<>();
    collect(root, groups);
    groups.sort(
        Comparator.comparingLong(ObjectGroup::bytes)
            .thenComparingLong(ObjectGroup::objects)
            .reversed()
            .thenComparing(ObjectGroup::name));
    return groups;
  }

  private static void collect(Node node, List<ObjectGroup> groups) {
    Map<String, Node> branches = node.branches;
    if (branches == null) {
      groups.add(new ObjectGroup(node.prefix + "*", node.objects, node.bytes));
      return;
    }
    long objects = node.objects;
    long bytes = node.bytes;
    for (Node branch : branches.values()) {
      objects -= branch.objects;
      bytes -= branch.bytes;
      collect(branch, groups);
    }
    if (objects > 0) {
      // The key itself, or one that has very many parts.
      groups.add(new ObjectGroup(node.prefix, objects, bytes));
    }
  }
}
