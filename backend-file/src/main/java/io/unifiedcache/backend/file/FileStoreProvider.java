package io.unifiedcache.backend.file;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.config.ByteSize;
import io.unifiedcache.api.config.Option;
import io.unifiedcache.api.config.Settings;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.CacheStoreProvider;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreMaintenance;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
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

  /** How objects are laid out in the folder. */
  enum Format {
    /** In extents of large files, with an index. */
    SEGMENTS,
    /** As SGLang's own file store does, to share a folder with it. */
    SGLANG
  }

  static final Option<String> ROOT =
      Option.text(
              "root", "The directory of the store; made if it is not there, for its owner alone.")
          .where("not empty, without NUL", path -> !path.isBlank() && path.indexOf(0) < 0)
          .asRequired();

  static final Option<Format> FORMAT =
      Option.choice(
              "format",
              "How objects are laid out: segments, or sglang, a folder shared with SGLang's file"
                  + " store (use keys=sglang-file).",
              Format.class)
          .withDefault(Format.SEGMENTS);

  static final Option<ByteSize> CAPACITY =
      Option.bytes(
              "capacity",
              "The most bytes that objects take, those of all processes together. The room of what"
                  + " is evicted goes to the process that had stored it: one that comes late has"
                  + " only segments of its own, until the other closes or ends.")
          .where(
              "from 4KiB to 64TiB",
              size -> size.bytes() >= 4 << 10 && size.bytes() <= Limits.MOST_CAPACITY)
          .withDefault(ByteSize.parse("16GiB"));

  static final Option<ByteSize> LOW_WATERMARK =
      Option.bytes(
              "low-watermark",
              "When less of the capacity than this is free, objects are evicted in the background,"
                  + " so that puts need not; 0B leaves it to the puts that need the room.")
          .withDefault(ByteSize.parse("0B"));

  static final Option<ByteSize> MIN_FREE =
      Option.bytes("min-free", "The bytes that the file system is left at least.")
          .withDefault(ByteSize.parse("256MiB"));

  static final Option<ByteSize> SEGMENT =
      Option.bytes(
              "segment",
              "The size of a segment file; more where the capacity would need more than 64 of"
                  + " them.")
          .where(
              "from 4MiB to 1TiB",
              size -> size.bytes() >= Tuning.LEAST_SEGMENT && size.bytes() <= 1L << 40)
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
      Option.bool(
              "checksum",
              "Whether objects are compared with checksums whenever they are read. Without them,"
                  + " and without durability=flush, a loss of power can leave wrong bytes that are"
                  + " taken for right: clear the store after one.")
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
    return List.of(
        ROOT,
        FORMAT,
        CAPACITY,
        LOW_WATERMARK,
        MIN_FREE,
        SEGMENT,
        MODE,
        DURABILITY,
        CHECKSUM,
        IO_THREADS);
  }

  @Override
  public Set<Capability> capabilities() {
    return FileStore.capabilities(Mode.SHARED);
  }

  @Override
  public CacheStore open(Settings settings, StoreContext context) {
    return open(new LocalDisk(), settings, context);
  }

  @Override
  public Optional<StoreMaintenance> maintenance(Settings settings, StoreContext context) {
    return Optional.of(maintenance(new LocalDisk(), settings, context));
  }

  static CacheStore open(Disk disk, Settings settings, StoreContext context) {
    if (settings.get(FORMAT) == Format.SGLANG) {
      requireFitsSglang(settings);
      return SglangStore.open(
          disk,
          root(settings),
          settings.get(MIN_FREE).bytes(),
          settings.get(DURABILITY) == Durability.FLUSH,
          Math.toIntExact(settings.get(IO_THREADS)),
          context);
    }
    return openSegments(disk, settings, context);
  }

  /** Refuses what SGLang's files cannot do, in place of not doing it. */
  private static void requireFitsSglang(Settings settings) {
    String wrong = null;
    if (settings.isSet(CAPACITY)) {
      wrong = "capacity, which SGLang's own settings bound";
    } else if (settings.isSet(LOW_WATERMARK)) {
      wrong = "low-watermark, since nothing is evicted";
    } else if (settings.isSet(SEGMENT)) {
      wrong = "segment, since every object is a file";
    } else if (settings.isSet(CHECKSUM) && settings.get(CHECKSUM)) {
      wrong = "checksum, for which its files have no room";
    } else if (settings.get(MODE) == Mode.EXCLUSIVE) {
      wrong = "mode=exclusive, which SGLang would not notice";
    }
    if (wrong != null) {
      throw new CacheException(FailureCode.REFUSED, "format=sglang does not go with " + wrong);
    }
  }

  static FileStore openSegments(Disk disk, Settings settings, StoreContext context) {
    return FileStore.open(
        disk,
        root(settings),
        settings.get(MODE),
        tuning(settings),
        Math.toIntExact(settings.get(IO_THREADS)),
        context);
  }

  static StoreMaintenance maintenance(Disk disk, Settings settings, StoreContext context) {
    if (settings.get(FORMAT) == Format.SGLANG) {
      requireFitsSglang(settings);
      return new SglangMaintenance(
          disk, root(settings), Math.toIntExact(settings.get(IO_THREADS)), context);
    }
    return new SegmentMaintenance(
        disk,
        root(settings),
        settings.get(MODE) == Mode.EXCLUSIVE,
        tuning(settings),
        settings.isSet(CAPACITY) ? Optional.of(settings.get(CAPACITY).bytes()) : Optional.empty(),
        Math.toIntExact(settings.get(IO_THREADS)),
        context);
  }

  /** Returns the directory, or refuses what no directory can be. */
  private static Path root(Settings settings) {
    try {
      return Path.of(settings.get(ROOT));
    } catch (InvalidPathException e) {
      throw new CacheException(
          FailureCode.REFUSED,
          "root=%s is no path: %s%s"
              .formatted(settings.get(ROOT), e.getReason(), SglangNames.hintOnEncoding()),
          e);
    }
  }

  private static Tuning tuning(Settings settings) {
    ByteSize capacity = settings.get(CAPACITY);
    ByteSize lowWatermark = settings.get(LOW_WATERMARK);
    if (lowWatermark.bytes() >= capacity.bytes()) {
      throw new CacheException(
          FailureCode.REFUSED,
          "low-watermark=%s has to be less than capacity=%s".formatted(lowWatermark, capacity));
    }
    return new Tuning(
        capacity.bytes(),
        lowWatermark.bytes(),
        settings.get(MIN_FREE).bytes(),
        settings.get(SEGMENT).bytes(),
        settings.get(CHECKSUM),
        settings.get(DURABILITY) == Durability.FLUSH,
        Math.toIntExact(settings.get(IO_THREADS)));
  }
}
