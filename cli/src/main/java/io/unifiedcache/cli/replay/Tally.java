package io.unifiedcache.cli.replay;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.Optional;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/** What one rank has counted and timed. Times are in nanoseconds. Not thread-safe. */
final class Tally {
  final Histogram lookup = new Histogram(3);
  final Histogram firstLayer = new Histogram(3);
  final Histogram load = new Histogram(3);
  final Histogram offload = new Histogram(3);

  /** Pages of completed loads. */
  long hitPages;

  /** Bytes of completed loads. */
  long bytesLoaded;

  /** Load requests that failed. */
  long failedLoads;

  /** Offload requests of which at least one page was not stored. */
  long failedOffloads;

  /** Load and offload requests without a completion. */
  long lostCompletions;

  /** Pieces that did not hold what they must. */
  long mismatches;

  /** Time with a load under way. */
  long loadNanos;

  /** Time with an offload under way. */
  long offloadNanos;

  private Optional<String> lostRank = Optional.empty();
  private Optional<String> firstMismatch = Optional.empty();
  private Optional<String> firstFailure = Optional.empty();

  void mismatch(String where) {
    mismatches++;
    if (firstMismatch.isEmpty()) {
      firstMismatch = Optional.of(where);
    }
  }

  void failure(String what) {
    if (firstFailure.isEmpty()) {
      firstFailure = Optional.of(what);
    }
  }

  /** Notes that this rank agrees with the others no more. */
  void loseRank(String why) {
    lostRank = Optional.of(why);
  }

  Optional<String> lostRank() {
    return lostRank;
  }

  Optional<String> firstMismatch() {
    return firstMismatch;
  }

  Optional<String> firstFailure() {
    return firstFailure;
  }

  JsonObject toJson() {
    JsonObject json = new JsonObject();
    json.addProperty("lookup", encoded(lookup));
    json.addProperty("firstLayer", encoded(firstLayer));
    json.addProperty("load", encoded(load));
    json.addProperty("offload", encoded(offload));
    json.addProperty("hitPages", hitPages);
    json.addProperty("bytesLoaded", bytesLoaded);
    json.addProperty("failedLoads", failedLoads);
    json.addProperty("failedOffloads", failedOffloads);
    json.addProperty("lostCompletions", lostCompletions);
    json.addProperty("mismatches", mismatches);
    json.addProperty("loadNanos", loadNanos);
    json.addProperty("offloadNanos", offloadNanos);
    lostRank.ifPresent(why -> json.addProperty("lostRank", why));
    firstMismatch.ifPresent(where -> json.addProperty("firstMismatch", where));
    firstFailure.ifPresent(what -> json.addProperty("firstFailure", what));
    return json;
  }

  static Tally ofJson(JsonObject json) {
    Tally tally = new Tally();
    tally.lookup.add(decoded(json.get("lookup").getAsString()));
    tally.firstLayer.add(decoded(json.get("firstLayer").getAsString()));
    tally.load.add(decoded(json.get("load").getAsString()));
    tally.offload.add(decoded(json.get("offload").getAsString()));
    tally.hitPages = json.get("hitPages").getAsLong();
    tally.bytesLoaded = json.get("bytesLoaded").getAsLong();
    tally.failedLoads = json.get("failedLoads").getAsLong();
    tally.failedOffloads = json.get("failedOffloads").getAsLong();
    tally.lostCompletions = json.get("lostCompletions").getAsLong();
    tally.mismatches = json.get("mismatches").getAsLong();
    tally.loadNanos = json.get("loadNanos").getAsLong();
    tally.offloadNanos = json.get("offloadNanos").getAsLong();
    tally.lostRank = text(json, "lostRank");
    tally.firstMismatch = text(json, "firstMismatch");
    tally.firstFailure = text(json, "firstFailure");
    return tally;
  }

  private static Optional<String> text(JsonObject json, String member) {
    return Optional.ofNullable(json.get(member)).map(JsonElement::getAsString);
  }

  private static String encoded(Histogram histogram) {
    ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoCompressedByteBuffer(buffer);
    return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
  }

  private static Histogram decoded(String text) {
    ByteBuffer buffer = ByteBuffer.wrap(Base64.getDecoder().decode(text));
    try {
      return Histogram.decodeFromCompressedByteBuffer(
          buffer, /* minBarForHighestTrackableValue= */ 0);
    } catch (DataFormatException e) {
      throw new JsonParseException("no histogram: " + text, e);
    }
  }
}
