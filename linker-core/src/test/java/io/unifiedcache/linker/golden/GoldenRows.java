package io.unifiedcache.linker.golden;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.unifiedcache.api.PageKey;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** Reads the recorded vectors. */
public final class GoldenRows {
  private GoldenRows() {}

  /** Returns the rows of a file, in order. */
  public static List<JsonObject> of(String file) {
    InputStream stream =
        Objects.requireNonNull(GoldenRows.class.getResourceAsStream("/golden/" + file), file);
    try (BufferedReader lines =
        new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
      return lines.lines().map(line -> JsonParser.parseString(line).getAsJsonObject()).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the rows of a file whose {@code field} has the value. */
  public static List<JsonObject> of(String file, String field, String value) {
    return of(file).stream().filter(row -> text(row, field).equals(value)).toList();
  }

  public static String text(JsonObject row, String field) {
    return row.get(field).getAsString();
  }

  public static int number(JsonObject row, String field) {
    return row.get(field).getAsInt();
  }

  public static boolean flag(JsonObject row, String field) {
    return row.has(field) && row.get(field).getAsBoolean();
  }

  /** Returns a text that may be null or absent. */
  public static Optional<String> optional(JsonObject row, String field) {
    JsonElement value = row.get(field);
    return value == null || value.isJsonNull()
        ? Optional.empty()
        : Optional.of(value.getAsString());
  }

  public static List<String> texts(JsonObject row, String field) {
    return texts(row.getAsJsonArray(field));
  }

  public static List<String> texts(JsonArray values) {
    List<String> texts = new ArrayList<>();
    for (JsonElement value : values) {
      texts.add(value.getAsString());
    }
    return texts;
  }

  public static List<Integer> numbers(JsonObject row, String field) {
    List<Integer> numbers = new ArrayList<>();
    for (JsonElement value : row.getAsJsonArray(field)) {
      numbers.add(value.getAsInt());
    }
    return numbers;
  }

  public static long[] longs(JsonArray values) {
    long[] longs = new long[values.size()];
    for (int i = 0; i < longs.length; i++) {
      longs[i] = values.get(i).getAsLong();
    }
    return longs;
  }

  public static List<PageKey> pages(JsonObject row, String field) {
    return texts(row, field).stream().map(PageKey::new).toList();
  }

  public static List<JsonObject> objects(JsonObject row, String field) {
    List<JsonObject> objects = new ArrayList<>();
    for (JsonElement value : row.getAsJsonArray(field)) {
      objects.add(value.getAsJsonObject());
    }
    return objects;
  }
}
