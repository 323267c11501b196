package io.unifiedcache.conformance.store;

import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.store.FolderStore.Defect;
import io.unifiedcache.conformance.store.FolderStoreProvider.Mode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Stores in folders that go wrong when they are opened again, or by several. */
public final class ProcessMutants {
  private ProcessMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        mutant(
            "store.durable",
            "an object is visible before it is whole",
            "kill -9",
            Mode.EXCLUSIVE,
            Defect.WRITES_IN_PLACE),
        mutant(
            "store.durable",
            "the last put before close is forgotten",
            "after reopening",
            Mode.EXCLUSIVE,
            Defect.FORGETS_LAST),
        mutant(
            "store.durable",
            "leftovers of a kill become objects",
            "kill -9",
            Mode.EXCLUSIVE,
            Defect.LISTS_LEFTOVERS),
        mutant(
            "store.durable",
            "counts begin at zero when reopened",
            "objects to have become more",
            Mode.EXCLUSIVE,
            Defect.COUNTS_FROM_ZERO),
        mutant(
            "store.shared",
            "what was absent once stays so",
            "after a put in another process",
            Mode.SHARED,
            Defect.CACHES_ABSENCE),
        mutant(
            "store.shared",
            "a folder that exists already is an error",
            "FAILED with IO",
            Mode.SHARED,
            Defect.FOLDER_MUST_BE_NEW),
        mutant(
            "store.shared",
            "processes write to one temporary file",
            "several",
            Mode.SHARED,
            Defect.ONE_TEMPORARY_PER_KEY),
        mutant(
            "store.exclusive",
            "two may open it",
            "it was opened",
            Mode.EXCLUSIVE,
            Defect.ANY_HOLDER),
        mutant(
            "store.exclusive",
            "the refusal names nobody",
            "the folder is in use",
            Mode.EXCLUSIVE,
            Defect.NAMELESS_HOLDER));
  }

  private static Mutant mutant(String rule, String what, String says, Mode mode, Defect defect) {
    return Mutant.ofStore(
        Set.of(rule), what, says, () -> FolderStoreProvider.subject(newFolder(), mode, defect));
  }

  /** Returns a folder that is gone when the tests are over. */
  private static Path newFolder() {
    try {
      Path folder = Files.createTempDirectory("conformance");
      Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(folder)));
      return folder;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void delete(Path folder) {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(each);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
