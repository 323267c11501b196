package io.unifiedcache.backend.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A machine with one directory of a file system in memory, which processes share and which can lose
 * its power: it knows what was forced to the disk, and what may be left of the rest.
 *
 * <p>Thread-safe. What a loss of power leaves is drawn from a generator, so that a seed repeats it.
 */
final class Machine {
  /** A write tears at multiples of this. */
  private static final int PAGE_BYTES = 4096;

  /** How a file system keeps names that were not forced. */
  enum Names {
    /** In the order in which they were changed, and with each force of any file, as ext4 does. */
    ORDERED,
    /** In no order: each change is there or not, as POSIX has it. */
    ANY
  }

  /** Which call of the system a step is. */
  enum Call {
    OPEN,
    LENGTH,
    READ,
    WRITE,
    FORCE,
    TRUNCATE,
    LOCK,
    UNLOCK,
    NAMES,
    SIZE,
    MOVE,
    LINK,
    DELETE,
    FORCE_NAMES
  }

  /** What a test makes of the calls of a process. */
  interface Hook {
    /** Called before each call; what it throws is thrown by the call, which does nothing then. */
    void before(Call call, String file) throws IOException;

    /** Returns how many bytes of a read or a write are done. */
    default int partOf(Call call, String file, int bytes) throws IOException {
      return bytes;
    }

    /** Called behind a part of a read or a write, or another call that was done. */
    default void after(Call call, String file) throws IOException {}
  }

  private static final Hook NOTHING = (call, file) -> {};

  /** A change of a file: a write, or a cut where there are no bytes. */
  private static final class Change {
    final long position;
    final byte @Nullable [] bytes;

    Change(long position, byte @Nullable [] bytes) {
      this.position = position;
      this.bytes = bytes;
    }

    long lengthAfter(long before) {
      return bytes == null ? position : Math.max(before, position + bytes.length);
    }
  }

  /** A change of the names: one is taken from a file, or given to one, or both. */
  private record Naming(@Nullable String from, @Nullable String to, @Nullable Inode file) {
    String directory() {
      String name = to == null ? String.valueOf(from) : to;
      return directoryOf(name);
    }

    void applyTo(Map<String, Inode> names) {
      if (from != null && (file == null || names.get(from) == file)) {
        names.remove(from);
      }
      if (to != null && file != null) {
        names.put(to, file);
      }
    }
  }

  private record Lock(Program process, boolean shared) {}

  /** A file, whatever its names. */
  private static final class Inode {
    byte[] bytes = new byte[0];
    long length;

    byte[] forced = new byte[0];
    long forcedLength;

    /** What was changed since all was forced. */
    final List<Change> changes = new ArrayList<>();

    final Map<Long, List<Lock>> locks = new HashMap<>();

    Inode copy() {
      Inode copy = new Inode();
      copy.bytes = bytes.clone();
      copy.length = length;
      copy.forced = forced.clone();
      copy.forcedLength = forcedLength;
      copy.changes.addAll(changes);
      return copy;
    }

    void write(long position, byte[] some) {
      bytes = grown(bytes, position + some.length);
      System.arraycopy(some, 0, bytes, (int) position, some.length);
      length = Math.max(length, position + some.length);
      changes.add(new Change(position, some));
    }

    void truncate(long to) {
      if (to < length) {
        Arrays.fill(bytes, (int) to, (int) length, (byte) 0);
        length = to;
        changes.add(new Change(to, null));
      }
    }

    void force() {
      for (Change change : changes) {
        forced = apply(change, forced, forcedLength);
        forcedLength = change.lengthAfter(forcedLength);
      }
      changes.clear();
    }

    private static byte[] apply(Change change, byte[] to, long length) {
      byte[] some = change.bytes;
      if (some == null) {
        if (change.position < length) {
          Arrays.fill(to, (int) change.position, (int) Math.min(length, to.length), (byte) 0);
        }
        return to;
      }
      byte[] all = grown(to, change.position + some.length);
      System.arraycopy(some, 0, all, (int) change.position, some.length);
      return all;
    }

    private static byte[] grown(byte[] bytes, long length) {
      return length <= bytes.length
          ? bytes
          : Arrays.copyOf(bytes, Math.toIntExact(Math.max(length, 3L * bytes.length / 2)));
    }

    /** Returns what may be left of it: of each page what it was after some of the changes. */
    Inode remains(Random random) {
      int kept = random.nextInt(4);
      int changed = changes.size();
      long leftLength = forcedLength;
      int lengthVersion = version(kept, random);
      for (Change change : changes.subList(0, lengthVersion)) {
        leftLength = change.lengthAfter(leftLength);
      }
      Set<Long> pages = new LinkedHashSet<>();
      long before = forcedLength;
      for (Change change : changes) {
        byte[] some = change.bytes;
        long end = some == null ? Math.max(before, change.position) : change.position + some.length;
        for (long page = change.position / PAGE_BYTES; page * PAGE_BYTES < end; page++) {
          pages.add(page);
        }
        before = change.lengthAfter(before);
      }
      Inode left = new Inode();
      left.bytes = grown(forced.clone(), Math.max(leftLength, before));
      for (long page : pages) {
        byte[] content = new byte[PAGE_BYTES];
        copyPage(forced, content, page);
        long length = forcedLength;
        for (Change change : changes.subList(0, Math.min(changed, version(kept, random)))) {
          applyToPage(change, content, page);
          length = change.lengthAfter(length);
        }
        long begin = page * PAGE_BYTES;
        int inside = Math.clamp(left.bytes.length - begin, 0, PAGE_BYTES);
        System.arraycopy(content, 0, left.bytes, (int) Math.min(begin, left.bytes.length), inside);
      }
      if (leftLength < left.bytes.length) {
        Arrays.fill(left.bytes, (int) leftLength, left.bytes.length, (byte) 0);
      }
      left.length = leftLength;
      left.forced = left.bytes.clone();
      left.forcedLength = leftLength;
      return left;
    }

    private int version(int kept, Random random) {
      return switch (kept) {
        case 0 -> 0;
        case 1 -> changes.size();
        default -> random.nextInt(changes.size() + 1);
      };
    }

    private static void copyPage(byte[] from, byte[] to, long page) {
      long begin = page * PAGE_BYTES;
      if (begin < from.length) {
        System.arraycopy(from, (int) begin, to, 0, (int) Math.min(PAGE_BYTES, from.length - begin));
      }
    }

    private static void applyToPage(Change change, byte[] content, long page) {
      long begin = page * PAGE_BYTES;
      byte[] some = change.bytes;
      if (some == null) {
        int from = Math.clamp(change.position - begin, 0, PAGE_BYTES);
        Arrays.fill(content, from, PAGE_BYTES, (byte) 0);
        return;
      }
      long from = Math.max(begin, change.position);
      long to = Math.min(begin + PAGE_BYTES, change.position + some.length);
      if (from < to) {
        System.arraycopy(
            some, (int) (from - change.position), content, (int) (from - begin), (int) (to - from));
      }
    }
  }

  private final Map<String, Inode> names = new TreeMap<>();
  private final Map<String, Inode> forcedNames = new TreeMap<>();
  private final List<Naming> namings = new ArrayList<>();

  /** How many of the changes of names a journal has written. */
  private int journaled;

  /** How many bytes may still be written beyond the ends of files. */
  private long room = 1L << 40;

  /** Returns a machine that is as this one, without its processes. */
  synchronized Machine copy() {
    Machine copy = new Machine();
    IdentityHashMap<Inode, Inode> copies = new IdentityHashMap<>();
    names.forEach((name, file) -> copy.names.put(name, copyOf(file, copies)));
    forcedNames.forEach((name, file) -> copy.forcedNames.put(name, copyOf(file, copies)));
    for (Naming naming : namings) {
      Inode file = naming.file;
      copy.namings.add(
          new Naming(naming.from, naming.to, file == null ? null : copyOf(file, copies)));
    }
    copy.journaled = journaled;
    copy.room = room;
    return copy;
  }

  private static Inode copyOf(Inode file, IdentityHashMap<Inode, Inode> copies) {
    return copies.computeIfAbsent(file, Inode::copy);
  }

  /** Returns a machine with what may be left on the disk when this one loses its power now. */
  synchronized Machine remains(Names kept, Random random) {
    Map<String, Inode> left = new TreeMap<>(forcedNames);
    if (kept == Names.ORDERED) {
      int count = journaled + random.nextInt(namings.size() - journaled + 1);
      namings.subList(0, count).forEach(naming -> naming.applyTo(left));
    } else {
      int mostly = random.nextInt(4);
      for (Naming naming : namings) {
        boolean isKept =
            switch (mostly) {
              case 0 -> false;
              case 1 -> true;
              case 2 -> random.nextInt(4) > 0;
              default -> random.nextBoolean();
            };
        if (isKept) {
          naming.applyTo(left);
        }
      }
    }
    Machine machine = new Machine();
    IdentityHashMap<Inode, Inode> files = new IdentityHashMap<>();
    left.forEach(
        (name, file) -> {
          Inode remains = files.computeIfAbsent(file, each -> each.remains(random));
          machine.names.put(name, remains);
          machine.forcedNames.put(name, remains);
        });
    machine.room = room;
    return machine;
  }

  /** Sets how many bytes may still be written beyond the ends of files. */
  synchronized void setRoom(long bytes) {
    room = bytes;
  }

  /** Returns the names and sizes of its files, to be told in a message. */
  synchronized String describe() {
    StringBuilder text = new StringBuilder();
    names.forEach((name, file) -> text.append(name).append(' ').append(file.length).append("; "));
    return text.toString();
  }

  /**
   * Starts a process.
   *
   * @param root where its directory is; there is nothing in it but directories
   */
  Program start(Path root) {
    return new Program(root);
  }

  private static String directoryOf(String name) {
    return name.substring(0, name.lastIndexOf('/') + 1);
  }

  /** A process of the machine, which sees the files as a disk. */
  final class Program implements Disk {
    private final Path root;
    private volatile Hook hook = NOTHING;

    private Program(Path root) {
      this.root = root;
    }

    /** Sets what is made of its calls from now on. */
    void set(@Nullable Hook next) {
      hook = next == null ? NOTHING : next;
    }

    private String name(Path path) {
      Path real = path.isAbsolute() ? path : path.toAbsolutePath();
      return root.relativize(real).toString();
    }

    private String before(Call call, Path path) throws IOException {
      String name = name(path);
      hook.before(call, name);
      return name;
    }

    @Override
    public DiskFile open(Path path, Access access) throws IOException {
      String name = before(Call.OPEN, path);
      synchronized (Machine.this) {
        Inode file = names.get(name);
        if (file != null && access == Access.NEW) {
          throw new FileAlreadyExistsException(path.toString());
        } else if (file == null && (access == Access.READ || access == Access.WRITE)) {
          throw new NoSuchFileException(path.toString());
        } else if (file == null) {
          file = new Inode();
          change(new Naming(null, name, file));
        }
        return new OpenFile(name, file);
      }
    }

    private void change(Naming naming) {
      naming.applyTo(names);
      namings.add(naming);
    }

    @Override
    public Watch watch(Path path) throws IOException {
      String name = before(Call.OPEN, path);
      synchronized (Machine.this) {
        Inode file = names.get(name);
        if (file == null) {
          throw new NoSuchFileException(path.toString());
        }
        return new Watch() {
          @Override
          public long length() {
            synchronized (Machine.this) {
              return file.length;
            }
          }

          @Override
          public boolean isQuick() {
            return true;
          }

          @Override
          public void close() {}
        };
      }
    }

    @Override
    public List<String> names(Path folder) throws IOException {
      String directory = before(Call.NAMES, folder);
      String prefix = directory.isEmpty() ? "" : directory + "/";
      synchronized (Machine.this) {
        return names.keySet().stream()
            .filter(name -> directoryOf(name).equals(prefix))
            .map(name -> name.substring(prefix.length()))
            .toList();
      }
    }

    @Override
    public long size(Path path) throws IOException {
      String name = before(Call.SIZE, path);
      synchronized (Machine.this) {
        Inode file = names.get(name);
        return file == null ? -1 : file.length;
      }
    }

    @Override
    public @Nullable Object identity(Path path) throws IOException {
      String name = before(Call.SIZE, path);
      synchronized (Machine.this) {
        Inode file = names.get(name);
        return file == null ? null : new Identity(this, file);
      }
    }

    @Override
    public void move(Path from, Path to) throws IOException {
      String name = before(Call.MOVE, from);
      synchronized (Machine.this) {
        Inode file = names.get(name);
        if (file == null) {
          throw new NoSuchFileException(from.toString());
        }
        change(new Naming(name, name(to), file));
      }
      hook.after(Call.MOVE, name);
    }

    @Override
    public boolean link(Path from, Path to) throws IOException {
      String name = before(Call.LINK, to);
      synchronized (Machine.this) {
        Inode file = names.get(name(from));
        if (file == null) {
          throw new NoSuchFileException(from.toString());
        } else if (names.containsKey(name)) {
          return false;
        }
        change(new Naming(null, name, file));
      }
      hook.after(Call.LINK, name);
      return true;
    }

    @Override
    public boolean delete(Path path) throws IOException {
      String name = before(Call.DELETE, path);
      synchronized (Machine.this) {
        if (!names.containsKey(name)) {
          return false;
        }
        change(new Naming(name, null, null));
      }
      hook.after(Call.DELETE, name);
      return true;
    }

    @Override
    public void forceNames(Path folder) throws IOException {
      String directory = before(Call.FORCE_NAMES, folder);
      String prefix = directory.isEmpty() ? "" : directory + "/";
      synchronized (Machine.this) {
        List<Naming> others = new ArrayList<>();
        int journaledOthers = 0;
        for (int i = 0; i < namings.size(); i++) {
          Naming naming = namings.get(i);
          if (naming.directory().equals(prefix)) {
            naming.applyTo(forcedNames);
          } else {
            others.add(naming);
            journaledOthers += i < journaled ? 1 : 0;
          }
        }
        namings.clear();
        namings.addAll(others);
        journaled = journaledOthers;
      }
    }

    @Override
    public long usableBytes(Path folder) {
      synchronized (Machine.this) {
        return room;
      }
    }

    private final class OpenFile implements DiskFile {
      private final String name;
      private final Inode file;
      private boolean closed;

      OpenFile(String name, Inode file) {
        this.name = name;
        this.file = file;
      }

      private void requireOpen() throws IOException {
        if (closed) {
          throw new ClosedChannelException();
        }
      }

      @Override
      public Object identity() {
        return new Identity(Program.this, file);
      }

      @Override
      public long length() throws IOException {
        hook.before(Call.LENGTH, name);
        synchronized (Machine.this) {
          requireOpen();
          return file.length;
        }
      }

      @Override
      public int read(ByteBuffer target, long position) throws IOException {
        hook.before(Call.READ, name);
        int part = hook.partOf(Call.READ, name, target.remaining());
        int count;
        synchronized (Machine.this) {
          requireOpen();
          if (position >= file.length) {
            return target.hasRemaining() ? -1 : 0;
          }
          count = (int) Math.min(part, file.length - position);
          target.put(file.bytes, (int) position, count);
        }
        hook.after(Call.READ, name);
        return count;
      }

      @Override
      public int write(ByteBuffer source, long position) throws IOException {
        hook.before(Call.WRITE, name);
        byte[] bytes = new byte[hook.partOf(Call.WRITE, name, source.remaining())];
        synchronized (Machine.this) {
          requireOpen();
          long added = Math.max(0, position + bytes.length - file.length);
          if (added > room) {
            throw new IOException("No space left on device");
          }
          room -= added;
          source.get(bytes);
          file.write(position, bytes);
        }
        hook.after(Call.WRITE, name);
        return bytes.length;
      }

      @Override
      public void force() throws IOException {
        try {
          hook.before(Call.FORCE, name);
        } catch (IOException e) {
          synchronized (Machine.this) {
            // The pages that could not be written are taken for written from now on.
            file.changes.clear();
          }
          throw e;
        }
        synchronized (Machine.this) {
          requireOpen();
          file.force();
          journaled = namings.size();
        }
      }

      @Override
      public void truncate(long bytes) throws IOException {
        hook.before(Call.TRUNCATE, name);
        synchronized (Machine.this) {
          requireOpen();
          file.truncate(bytes);
        }
        hook.after(Call.TRUNCATE, name);
      }

      @Override
      public boolean tryLock(long position, boolean shared) throws IOException {
        hook.before(Call.LOCK, name);
        synchronized (Machine.this) {
          requireOpen();
          List<Lock> held = file.locks.computeIfAbsent(position, at -> new ArrayList<>());
          for (Lock lock : held) {
            if (lock.process == Program.this) {
              throw new IOException("somebody else in this JVM has locked the file");
            } else if (!shared || !lock.shared) {
              return false;
            }
          }
          held.add(new Lock(Program.this, shared));
          return true;
        }
      }

      @Override
      public void unlock(long position) throws IOException {
        hook.before(Call.UNLOCK, name);
        synchronized (Machine.this) {
          List<Lock> held = file.locks.get(position);
          if (held != null) {
            held.removeIf(lock -> lock.process == Program.this);
          }
        }
      }

      @Override
      public void close() {
        synchronized (Machine.this) {
          closed = true;
          // As with locks of records: those of the process go with any of its descriptors.
          file.locks.values().forEach(held -> held.removeIf(lock -> lock.process == Program.this));
        }
      }
    }
  }

  /** A file, as one process knows it: in a test, processes are to know nothing of each other. */
  private record Identity(Program process, Inode file) {
    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Identity that && process == that.process && file == that.file;
    }

    @Override
    public int hashCode() {
      return 31 * System.identityHashCode(process) + System.identityHashCode(file);
    }

    @Override
    public String toString() {
      return System.identityHashCode(process) + ":" + System.identityHashCode(file);
    }
  }

  /** Returns the names of all files, for a message. */
  synchronized Set<String> fileNames() {
    return new HashSet<>(names.keySet());
  }
}
