package io.unifiedcache.cli.replay;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.unifiedcache.api.store.StoreStats;
import java.util.ArrayList;
import java.util.List;

/**
 * What the ranks of one process have found in a replay, to be merged with what others have.
 *
 * <p>Immutable, but for its tallies, which nobody changes any more.
 */
public final class ReplayShare {
  private final ReplayReport.Served served;
  private final List<Tally> ranks;
  private final long bytesOffloaded;
  private final long evictions;
  private final List<Window> windows;

  ReplayShare(
      ReplayReport.Served served,
      List<Tally> ranks,
      long bytesOffloaded,
      long evictions,
      List<Window> windows) {
    this.served = served;
    this.ranks = List.copyOf(ranks);
    this.bytesOffloaded = bytesOffloaded;
    this.evictions = evictions;
    this.windows = List.copyOf(windows);
  }

  /**
   * Returns the share of all ranks together.
   *
   * @param shares at least one, in the order of ranks; the first says what is counted once. What
   *     happened when is told only of a share that is alone
   */
  static ReplayShare merged(List<ReplayShare> shares) {
    if (shares.size() == 1) {
      return shares.getFirst();
    }
    ReplayReport.Served first = shares.getFirst().served;
    long nanos = shares.stream().mapToLong(share -> share.served.nanos()).max().orElse(0);
    return new ReplayShare(
        new ReplayReport.Served(
            first.requests(),
            first.pages(),
            first.distinctPages(),
            nanos,
            shares.stream().mapToLong(share -> share.served.capacityBytes()).sum()),
        shares.stream().flatMap(share -> share.ranks.stream()).toList(),
        shares.stream().mapToLong(share -> share.bytesOffloaded).sum(),
        shares.stream().anyMatch(share -> share.evictions < 0)
            ? StoreStats.UNKNOWN
            : shares.stream().mapToLong(share -> share.evictions).sum(),
        List.of());
  }

  ReplayReport.Served served() {
    return served;
  }

  List<Tally> ranks() {
    return ranks;
  }

  Counts total() {
    return Counts.of(ranks, bytesOffloaded, evictions);
  }

  List<Window> windows() {
    return windows;
  }

  /** Returns the share, without its windows, in one line that {@link #ofJson} reads. */
  String toJson() {
    JsonObject json = new JsonObject();
    json.addProperty("requests", served.requests());
    json.addProperty("pages", served.pages());
    json.addProperty("distinctPages", served.distinctPages());
    json.addProperty("nanos", served.nanos());
    json.addProperty("capacityBytes", served.capacityBytes());
    json.addProperty("bytesOffloaded", bytesOffloaded);
    json.addProperty("evictions", evictions);
    JsonArray tallies = new JsonArray();
    ranks.forEach(tally -> tallies.add(tally.toJson()));
    json.add("ranks", tallies);
    return json.toString();
  }

  /** Reads what {@link #toJson} wrote. */
  static ReplayShare ofJson(String text) {
    JsonObject json = JsonParser.parseString(text).getAsJsonObject();
    List<Tally> tallies = new ArrayList<>();
    for (JsonElement tally : json.getAsJsonArray("ranks")) {
      tallies.add(Tally.ofJson(tally.getAsJsonObject()));
    }
    return new ReplayShare(
        new ReplayReport.Served(
            json.get("requests").getAsInt(),
            json.get("pages").getAsLong(),
            json.get("distinctPages").getAsLong(),
            json.get("nanos").getAsLong(),
            json.get("capacityBytes").getAsLong()),
        tallies,
        json.get("bytesOffloaded").getAsLong(),
        json.get("evictions").getAsLong(),
        List.of());
  }
}
