package io.unifiedcache.backend.mooncake;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A JSON file of Mooncake's or SGLang's, whose values are read as SGLang reads them. */
final class ConfigFile {
  /** More than any such file has. */
  static final int MAX_BYTES = 1 << 20;

  /** More than any value in such a file has. */
  static final int MAX_VALUE_CHARS = 1 << 13;

  private static final String EXPECTED =
      "; what is expected is one JSON object, as SGLang reads it";

  /** What says true in SGLang's variables, in any case. */
  private static final Set<String> TRUE = Set.of("true", "1", "yes", "y");

  private static final Set<String> FALSE = Set.of("false", "0", "no", "n");

  private final JsonObject values;

  private ConfigFile(JsonObject values) {
    this.values = values;
  }

  /** A file, or a value in it, cannot be read; the message says why and what is expected. */
  static final class FormException extends Exception {
    private static final long serialVersionUID = 1;

    FormException(String message) {
      super(message);
    }

    FormException(String message, Throwable cause) {
      super(message, cause);
    }
  }

  /** Reads a file. */
  static ConfigFile read(String name) throws FormException {
    try (InputStream input = Files.newInputStream(Path.of(name))) {
      byte[] bytes = input.readNBytes(MAX_BYTES + 1);
      if (bytes.length > MAX_BYTES) {
        throw new FormException("is no JSON file of settings: it has more than 1 MiB");
      }
      return of(bytes);
    } catch (IOException | InvalidPathException e) {
      throw new FormException("cannot be read: " + e, e);
    }
  }

  /** Reads the content of a file. */
  static ConfigFile of(byte[] bytes) throws FormException {
    String text;
    try {
      text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new FormException("is not in UTF-8" + EXPECTED, e);
    }
    return new ConfigFile(object(text));
  }

  /**
   * Reads a text that is to be a JSON object.
   *
   * @throws FormException if it is none
   */
  static JsonObject object(String text) throws FormException {
    try (JsonReader reader = new JsonReader(new StringReader(text))) {
      reader.setStrictness(Strictness.STRICT);
      JsonElement element = JsonParser.parseReader(reader);
      if (reader.peek() != JsonToken.END_DOCUMENT || !element.isJsonObject()) {
        throw new FormException("holds no JSON object, or more than one" + EXPECTED);
      }
      return element.getAsJsonObject();
    } catch (IOException | JsonParseException e) {
      throw new FormException("is no JSON (" + reason(e) + ")" + EXPECTED, e);
    }
  }

  /** Returns where it is wrong, without the advice to programmers and the link that Gson adds. */
  private static String reason(Exception problem) {
    Throwable cause = problem.getCause() == null ? problem : problem.getCause();
    return String.valueOf(cause.getMessage())
        .replaceFirst("Use JsonReader\\S+ to accept malformed JSON", "it is malformed")
        .lines()
        .findFirst()
        .orElse("it is empty");
  }

  /** Returns whether the file says anything of a name. */
  boolean has(String name) {
    return value(name) != null;
  }

  private @Nullable JsonElement value(String name) {
    JsonElement element = values.get(name);
    return element == null || element.isJsonNull() ? null : element;
  }

  /** Returns a value as text, a number or a truth value as it is written; null if there is none. */
  @Nullable String text(String name) throws FormException {
    JsonElement element = value(name);
    if (element == null) {
      return null;
    }
    String text = element.isJsonPrimitive() ? element.getAsString() : element.toString();
    if (text.length() > MAX_VALUE_CHARS) {
      throw new FormException("it has more than " + MAX_VALUE_CHARS + " characters");
    }
    return text;
  }

  /** Returns whether a value is an object or a list. */
  boolean isCompound(String name) {
    JsonElement element = value(name);
    return element != null && !element.isJsonPrimitive();
  }

  /**
   * Returns whether a value says true; null if there is none.
   *
   * @throws FormException also if it is text that says false, which SGLang takes for true
   */
  @Nullable Boolean truth(String name) throws FormException {
    if (!(value(name) instanceof JsonPrimitive primitive)) {
      if (has(name)) {
        throw new FormException("it is neither true nor false");
      }
      return null;
    }
    if (primitive.isBoolean()) {
      return primitive.getAsBoolean();
    }
    String text = String.valueOf(text(name));
    if (primitive.isNumber()) {
      return !isZero(text);
    } else if (text.isEmpty()) {
      return false;
    } else if (TRUE.contains(text.toLowerCase(Locale.ROOT))) {
      return true;
    }
    throw new FormException(
        "\"%s\" is text, which SGLang takes for true whatever it says; write true or false without"
                .formatted(text)
            + " quotation marks");
  }

  /** Returns whether a JSON number has no digit but zeros before its exponent. */
  private static boolean isZero(String number) {
    for (int i = 0; i < number.length() && Character.toLowerCase(number.charAt(i)) != 'e'; i++) {
      if (number.charAt(i) >= '1' && number.charAt(i) <= '9') {
        return false;
      }
    }
    return true;
  }

  /** Returns whether the value of one of SGLang's variables says true; null if it is no such. */
  static @Nullable Boolean truthOfVariable(String text) {
    String word = text.toLowerCase(Locale.ROOT);
    if (TRUE.contains(word)) {
      return true;
    }
    return FALSE.contains(word) ? false : null;
  }
}
