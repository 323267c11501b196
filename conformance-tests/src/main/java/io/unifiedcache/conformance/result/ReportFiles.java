package io.unifiedcache.conformance.result;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The files of a report. */
public final class ReportFiles {
  private ReportFiles() {}

  /**
   * Writes a report into a folder, which is made if it is not there: {@code
   * conformance-report.json}, {@code conformance-report.html} and {@code TEST-conformance.xml}.
   *
   * @throws IOException if a file cannot be written; the others may be there by then
   */
  public static void write(ConformanceReport report, Path folder) throws IOException {
    Files.createDirectories(folder);
    write(folder, "conformance-report.json", JsonReport.of(report));
    write(folder, "conformance-report.html", HtmlReport.of(report));
    write(folder, "TEST-conformance.xml", JUnitXml.of(report));
  }

  /** A reader sees the old file or the new one. */
  private static void write(Path folder, String name, String text) throws IOException {
    Path temporary = folder.resolve(name + ".tmp");
    try {
      Files.writeString(temporary, text);
      Files.move(temporary, folder.resolve(name), StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }
}
