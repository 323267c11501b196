package io.unifiedcache.cli.vectors;

import com.google.gson.JsonElement;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;

/** A file of vectors: one JSON object a line, of the formats that {@link #check} recognises. */
public final class VectorFile {
  private static final int MAX_BYTES = 256 << 20;

  private static final String RECORDED_CALLS = "recorded calls";

  private final Path path;
  private final List<Row> rows;

  private VectorFile(Path path, List<Row> rows) {
    this.path = path;
    this.rows = rows;
  }

  /**
   * Reads a file.
   *
   * @throws VectorException if it cannot be read, or a line is not a JSON object
   */
  public static VectorFile read(Path path) throws VectorException {
    try (InputStream in = Files.newInputStream(path)) {
      return read(path, in);
    } catch (NoSuchFileException e) {
      throw new VectorException("there is no vector file " + path, e);
    } catch (CharacterCodingException e) {
      throw new VectorException("the vector file " + path + " is not in UTF-8", e);
    } catch (IOException e) {
      throw new VectorException("cannot read the vectors " + path + ": " + e.getMessage(), e);
    }
  }

  /** Returns what a stream has, which is bounded: it may be a device that never ends. */
  static VectorFile read(Path path, InputStream in) throws IOException, VectorException {
    byte[] bytes = in.readNBytes(MAX_BYTES + 1);
    if (bytes.length > MAX_BYTES) {
      throw new IOException("it has more than " + MAX_BYTES + " bytes");
    }
    List<String> lines =
        StandardCharsets.UTF_8
            .newDecoder()
            .decode(ByteBuffer.wrap(bytes))
            .toString()
            .lines()
            .toList();
    List<Row> rows = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      if (!lines.get(i).isBlank()) {
        rows.add(parse(path + ":" + (i + 1), lines.get(i)));
      }
    }
    if (rows.isEmpty()) {
      throw new VectorException("the vector file " + path + " has no rows");
    }
    return new VectorFile(path, rows);
  }

  private static Row parse(String where, String line) throws VectorException {
    JsonElement element;
    try {
      element = JsonParser.parseString(line);
    } catch (JsonParseException e) {
      throw new VectorException(where + ": expected a JSON object", e);
    }
    if (!element.isJsonObject()) {
      throw new VectorException(where + ": expected a JSON object");
    }
    return new Row(where, element.getAsJsonObject());
  }

  /** Returns the path. */
  public Path path() {
    return path;
  }

  /**
   * Holds every row against this build.
   *
   * @throws VectorException if a row has none of the known formats
   */
  public VectorReport check() throws VectorException {
    VectorReport report = new VectorReport(path.toString());
    LinkerVectors linker = LinkerVectors.of(rows);
    for (Row row : rows) {
      check(row, linker, report);
    }
    return report;
  }

  private static void check(Row row, LinkerVectors linker, VectorReport report)
      throws VectorException {
    if (row.has("scenario")) {
      report.add("linker traces", row.where(), Verdict.notCovered("linker traces"));
    } else if (row.has("kvExists")) {
      report.add("restorable sets", row.where(), guarded(row, () -> RestorableVectors.check(row)));
      report.add(RECORDED_CALLS, row.where(), Verdict.notCovered(RECORDED_CALLS));
    } else if (row.has("kind")) {
      checkKind(row, report);
    } else if (row.has("op")) {
      checkOp(row, linker, report);
    } else {
      throw unknown(row);
    }
  }

  private static void checkKind(Row row, VectorReport report) throws VectorException {
    String kind = row.text("kind");
    if (kind.equals("plan")) {
      report.add("unified scheme", row.where(), Verdict.notCovered("unified scheme"));
    } else if (PageHashVectors.knows(kind)) {
      report.add(kind, row.where(), guarded(row, () -> PageHashVectors.check(kind, row)));
      for (String part : PageHashVectors.notCompared(kind)) {
        report.add(part, row.where(), Verdict.notCovered(part));
      }
    } else {
      throw unknown(row);
    }
  }

  private static void checkOp(Row row, LinkerVectors linker, VectorReport report)
      throws VectorException {
    String op = row.text("op");
    if (row.has("linker")) {
      if (!row.text("linker").equals("mooncake")) {
        report.add("linker " + row.text("linker"), row.where(), Verdict.notCovered("its linker"));
      } else if (op.equals("suffixAndKeys")) {
        report.add(op, row.where(), guarded(row, () -> KeyVectors.checkLinker(row)));
      } else if (LinkerVectors.knows(op)) {
        report.add(op, row.where(), guarded(row, () -> linker.check(op, row)));
        report.add(RECORDED_CALLS, row.where(), Verdict.notCovered(RECORDED_CALLS));
      } else {
        throw unknown(row);
      }
    } else if (isOfFileStore(row) && KeyVectors.knowsFile(op)) {
      report.add(op, row.where(), guarded(row, () -> KeyVectors.checkFile(op, row)));
    } else if (KeyVectors.knowsStore(op)) {
      report.add(op, row.where(), guarded(row, () -> KeyVectors.checkStore(op, row)));
    } else {
      throw unknown(row);
    }
  }

  private static boolean isOfFileStore(Row row) {
    return row.has("configSuffix") || row.has("fileNames");
  }

  private interface Check {
    Verdict verdict() throws VectorException;
  }

  /** An answer that this build refuses to give, unlike SGLang, is a difference. */
  private static Verdict guarded(Row row, Check check) throws VectorException {
    try {
      return check.verdict();
    } catch (IllegalArgumentException e) {
      return Verdict.differing("expected an answer, found a refusal: " + e.getMessage());
    } catch (IndexOutOfBoundsException | NoSuchElementException | ArithmeticException e) {
      throw new VectorException(
          row.where() + ": the sizes of its members do not fit each other: " + e.getMessage(), e);
    }
  }

  private static VectorException unknown(Row row) {
    return new VectorException(
        row.where()
            + ": expected a row of page hashes, keys, restorable sets or linker calls, but it has"
            + " the members "
            + row.members());
  }
}
