package io.unifiedcache.cli.vectors;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.unifiedcache.api.PageKey;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** A JSON object of a row. A missing or unfit member is a {@link VectorException} that names it. */
final class Row {
  /** More than any row has of anything; memory is taken by these numbers. */
  private static final int MAX_NUMBER = 1 << 16;

  private final String where;
  private final JsonObject json;

  Row(String where, JsonObject json) {
    this.where = where;
    this.json = json;
  }

  /** Returns the file and line. */
  String where() {
    return where;
  }

  /** Tells whether there is such a member; it may be null. */
  boolean has(String member) {
    return json.has(member);
  }

  /** Returns a member that may be absent or null. */
  Optional<JsonElement> find(String member) {
    JsonElement element = json.get(member);
    return element == null || element.isJsonNull() ? Optional.empty() : Optional.of(element);
  }

  String text(String member) throws VectorException {
    return convert(member, required(member), JsonElement::getAsString);
  }

  Optional<String> findText(String member) throws VectorException {
    Optional<JsonElement> element = find(member);
    return element.isEmpty()
        ? Optional.empty()
        : Optional.of(convert(member, element.get(), JsonElement::getAsString));
  }

  /** Returns a number of pages, tokens, bytes and the like, up to {@link #MAX_NUMBER}. */
  int number(String member) throws VectorException {
    int number = convert(member, required(member), JsonElement::getAsInt);
    if (number < 0 || number > MAX_NUMBER) {
      throw new VectorException(
          "%s: member %s is %d, but must be 0 to %d".formatted(where, member, number, MAX_NUMBER));
    }
    return number;
  }

  /** Returns a number, or another one if the member is absent or null. */
  int number(String member, int absent) throws VectorException {
    return find(member).isPresent() ? number(member) : absent;
  }

  /** Returns whether a member is true; absent is false. */
  boolean flag(String member) throws VectorException {
    Optional<JsonElement> element = find(member);
    return element.isPresent() && convert(member, element.get(), JsonElement::getAsBoolean);
  }

  Row object(String member) throws VectorException {
    return new Row(
        where + " " + member, convert(member, required(member), JsonElement::getAsJsonObject));
  }

  List<Row> objects(String member) throws VectorException {
    List<Row> rows = new ArrayList<>();
    for (JsonElement element : array(member)) {
      rows.add(
          new Row(where + " " + member, convert(member, element, JsonElement::getAsJsonObject)));
    }
    return rows;
  }

  /** Returns the names of the members, in order. */
  List<String> members() {
    return List.copyOf(json.keySet());
  }

  List<String> texts(String member) throws VectorException {
    return list(member, JsonElement::getAsString);
  }

  List<Integer> numbers(String member) throws VectorException {
    return list(member, JsonElement::getAsInt);
  }

  List<Boolean> flags(String member) throws VectorException {
    return list(member, JsonElement::getAsBoolean);
  }

  List<PageKey> pages(String member) throws VectorException {
    return list(member, element -> new PageKey(element.getAsString()));
  }

  long[] tokens(String member) throws VectorException {
    return list(member, JsonElement::getAsLong).stream().mapToLong(Long::longValue).toArray();
  }

  Map<String, Integer> numbersByName(String member) throws VectorException {
    Row numbers = object(member);
    Map<String, Integer> map = new LinkedHashMap<>();
    for (String name : numbers.members()) {
      map.put(name, numbers.number(name));
    }
    return map;
  }

  /** Returns a list of lists of numbers. */
  List<List<Integer>> matrix(String member) throws VectorException {
    return list(member, Row::numbersOf);
  }

  /** Returns a list of lists of objects. */
  List<List<Row>> objectMatrix(String member) throws VectorException {
    return list(
        member,
        element -> {
          List<Row> rows = new ArrayList<>();
          for (JsonElement each : element.getAsJsonArray()) {
            rows.add(new Row(where + " " + member, each.getAsJsonObject()));
          }
          return rows;
        });
  }

  /** Returns a list of lists of lists of numbers. */
  List<List<List<Integer>>> cube(String member) throws VectorException {
    return list(
        member,
        element -> {
          List<List<Integer>> rows = new ArrayList<>();
          for (JsonElement each : element.getAsJsonArray()) {
            rows.add(numbersOf(each));
          }
          return rows;
        });
  }

  /** Returns the numbers of an element that is a number or a list of them. */
  static List<Integer> numbersOf(JsonElement element) {
    List<Integer> numbers = new ArrayList<>();
    if (element.isJsonArray()) {
      element.getAsJsonArray().forEach(each -> numbers.add(each.getAsInt()));
    } else {
      numbers.add(element.getAsInt());
    }
    return numbers;
  }

  JsonElement required(String member) throws VectorException {
    return find(member)
        .orElseThrow(() -> new VectorException(where + ": expected a member " + member));
  }

  private JsonArray array(String member) throws VectorException {
    return convert(member, required(member), JsonElement::getAsJsonArray);
  }

  private <T> List<T> list(String member, Function<JsonElement, T> each) throws VectorException {
    List<T> list = new ArrayList<>();
    for (JsonElement element : array(member)) {
      list.add(convert(member, element, each));
    }
    return list;
  }

  private <T> T convert(String member, JsonElement element, Function<JsonElement, T> as)
      throws VectorException {
    try {
      return as.apply(element);
    } catch (IllegalStateException | UnsupportedOperationException | IllegalArgumentException e) {
      String text = element.toString();
      throw new VectorException(
          "%s: member %s cannot be %s"
              .formatted(where, member, text.length() > 80 ? text.substring(0, 80) + "..." : text),
          e);
    }
  }
}
