package io.unifiedcache.backend.file;

import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * The backend {@code file}: objects in a folder, which survive crashes and which several processes
 * may share.
 *
 * <p>Thread-safe and without state; stores of one folder share what is in it.
 */
public final class FileStoreProvider implements CacheStoreProvider {
  /** Who may use a folder. */
  enum Mode {
    /** Any number of processes that say so too. */
    SHARED,
    /** One store alone. */
    EXCLUSIVE
  }

  /** What an object survives once its put has been answered. */
  enum Durability {
    /** The death of the process. */
    NONE,
    /** A loss of power, too. */
    FLUSH
  }

  static final Option<String> ROOT =
      Option.text("root", "The folder of the store; made if it is not there, for its owner alone.")
          .asRequired();

  static final Option<ByteSize> CAPACITY =
      Option.bytes("capacity", "The most bytes that objects take, those of all processes together.")
          .where(
              "from 4KiB to 64TiB",
              size -> size.bytes() >= 4 << 10 && size.bytes() <= Limits.MOST_CAPACITY)
          .withDefault(ByteSize.parse("16GiB"));

  static final Option<ByteSize> MIN_FREE =
      Option.bytes("min-free", "The bytes that the file system is left at least.")
          .withDefault(ByteSize.parse("256MiB"));

  static final Option<ByteSize> SEGMENT =
      Option.bytes(
              "segment",
              "The size of a segment file; more where the capacity would need more than 64 of"
                  + " them.")
          .where("up to 1TiB", size -> size.bytes() <= 1L << 40)
          .withDefault(ByteSize.parse("256MiB"));

  static final Option<Mode> MODE =
      Option.choice("mode", "Who may use the folder.", Mode.class).withDefault(Mode.SHARED);

  static final Option<Durability> DURABILITY =
      Option.choice(
              "durability",
              "Whether a stored object survives the death of the process alone, or a loss of power"
                  + " too.",
              Durability.class)
          .withDefault(Durability.NONE);

  static final Option<Boolean> CHECKSUM =
      Option.bool("checksum", "Whether objects are held against checksums whenever they are read.")
          .withDefault(true);

  static final Option<Long> IO_THREADS =
      Option.number("io-threads", "Threads that read and write files.", 1, 64).withDefault(2L);

  /** Creates the provider, for {@link java.util.ServiceLoader}. */
  public FileStoreProvider() {}

  @Override
  public String name() {
    return "file";
  }

  @Override
  public List<Option<?>> options() {
    return List.of(ROOT, CAPACITY, MIN_FREE, SEGMENT, MODE, DURABILITY, CHECKSUM, IO_THREADS);
  }

  @Override
  public Set<Capability> capabilities() {
    return FileStore.capabilities(Mode.SHARED);
  }

  @Override
  public CacheStore open(Settings settings, StoreContext context) {
    return open(new LocalDisk(), settings, context);
  }

  static FileStore open(Disk disk, Settings settings, StoreContext context) {
    Tuning tuning =
        new Tuning(
            settings.get(CAPACITY).bytes(),
            settings.get(MIN_FREE).bytes(),
            settings.get(SEGMENT).bytes(),
            settings.get(CHECKSUM),
            settings.get(DURABILITY) == Durability.FLUSH,
            Math.toIntExact(settings.get(IO_THREADS)));
    return FileStore.open(
        disk,
        Path.of(settings.get(ROOT)),
        settings.get(MODE),
        tuning,
        Math.toIntExact(settings.get(IO_THREADS)),
        context);
  }
}
