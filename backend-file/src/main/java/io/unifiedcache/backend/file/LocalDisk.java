package io.unifiedcache.backend.file;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The files of the operating system. */
final class LocalDisk implements Disk {
  /**
   * File systems that tell the size of an open file from memory, whatever becomes of their devices.
   * Others may ask a server for it, or a program.
   */
  private static final Set<String> QUICK =
      Set.of("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "ramfs", "overlay");

  @Override
  public DiskFile open(Path path, Access access) throws IOException {
    Set<OpenOption> options = new HashSet<>();
    options.add(StandardOpenOption.READ);
    options.add(LinkOption.NOFOLLOW_LINKS);
    if (access != Access.READ) {
      options.add(StandardOpenOption.WRITE);
    }
    switch (access) {
      case READ, WRITE -> {
        // It is there.
      }
      case CREATE -> options.add(StandardOpenOption.CREATE);
      case NEW -> options.add(StandardOpenOption.CREATE_NEW);
    }
    FileAttribute<?>[] attributes =
        access == Access.NEW ? new FileAttribute<?>[0] : ownerOnly(path, "rw-------");
    FileChannel channel = FileChannel.open(path, options, attributes);
    try {
      BasicFileAttributes opened = attributes(path);
      if (!opened.isRegularFile()) {
        throw new FileSystemException(path.toString(), null, "is not a regular file");
      }
      return new LocalFile(channel, identity(path, opened));
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw e;
    }
  }

  @Override
  public Watch watch(Path path) throws IOException {
    if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
      throw new NoSuchFileException(path.toString());
    }
    boolean quick = isQuick(path);
    // Unlike a channel, it is not closed when a thread that asks it is interrupted.
    RandomAccessFile file = new RandomAccessFile(path.toFile(), "r");
    return new Watch() {
      @Override
      public boolean isQuick() {
        return quick;
      }

      @Override
      public long length() throws IOException {
        return file.length();
      }

      @Override
      public void close() throws IOException {
        file.close();
      }
    };
  }

  private static boolean isQuick(Path path) {
    try {
      return QUICK.contains(Files.getFileStore(path).type());
    } catch (IOException e) {
      // As where the list of mounted file systems cannot be read.
      return false;
    }
  }

  /** Returns permissions for the owner alone, where the file system knows such. */
  static FileAttribute<?>[] ownerOnly(Path path, String permissions) {
    return path.getFileSystem().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
        }
        : new FileAttribute<?>[0];
  }

  /** Makes a folder for its owner alone, if it is not there. */
  static void makeFolder(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      Path parent = folder.toAbsolutePath().getParent();
      if (parent != null) {
        Files.createDirectories(parent);
      }
      try {
        Files.createDirectory(folder, ownerOnly(folder, "rwx------"));
      } catch (FileAlreadyExistsException e) {
        // Another process was first.
      }
    }
  }

  @Override
  public List<String> names(Path folder) throws IOException {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
      for (Path entry : entries) {
        names.add(String.valueOf(entry.getFileName()));
      }
    }
    return names;
  }

  @Override
  public long size(Path path) throws IOException {
    try {
      BasicFileAttributes attributes = attributes(path);
      return attributes.isRegularFile() ? attributes.size() : -1;
    } catch (NoSuchFileException e) {
      return -1;
    }
  }

  @Override
  public @Nullable Object identity(Path path) throws IOException {
    try {
      BasicFileAttributes attributes = attributes(path);
      return attributes.isRegularFile() ? identity(path, attributes) : null;
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  private static BasicFileAttributes attributes(Path path) throws IOException {
    return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
  }

  /** Where files have no numbers, a file is known by its name. */
  private static Object identity(Path path, BasicFileAttributes attributes) {
    Object key = attributes.fileKey();
    return key == null ? path.toString() : key;
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
  }

  @Override
  public boolean link(Path from, Path to) throws IOException {
    try {
      Files.createLink(to, from);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    } catch (UnsupportedOperationException e) {
      throw new IOException("the file system has no hard links", e);
    }
  }

  @Override
  public boolean delete(Path path) throws IOException {
    return Files.deleteIfExists(path);
  }

  @Override
  public void forceNames(Path folder) throws IOException {
    try (FileChannel channel = FileChannel.open(folder, EnumSet.of(StandardOpenOption.READ))) {
      channel.force(true);
    }
  }

  @Override
  public long usableBytes(Path folder) {
    return folder.toFile().getUsableSpace();
  }

  private static final class LocalFile implements DiskFile {
    private final FileChannel channel;

    private final Object identity;
    private final Map<Long, FileLock> locks = new HashMap<>();

    LocalFile(FileChannel channel, Object identity) {
      this.channel = channel;
      this.identity = identity;
    }

    @Override
    public Object identity() {
      return identity;
    }

    @Override
    public long length() throws IOException {
      return channel.size();
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      return channel.read(target, position);
    }

    @Override
    public int write(ByteBuffer source, long position) throws IOException {
      return channel.write(source, position);
    }

    @Override
    public void force() throws IOException {
      channel.force(/* metaData= */ false);
    }

    @Override
    public void truncate(long bytes) throws IOException {
      channel.truncate(bytes);
    }

    @Override
    public synchronized boolean tryLock(long position, boolean shared) throws IOException {
      try {
        FileLock lock = channel.tryLock(position, 1, shared);
        if (lock != null) {
          locks.put(position, lock);
        }
        return lock != null;
      } catch (OverlappingFileLockException e) {
        throw new IOException("somebody else in this JVM has locked the file", e);
      }
    }

    @Override
    public synchronized void unlock(long position) throws IOException {
      FileLock held = locks.remove(position);
      if (held != null) {
        held.release();
      }
    }

    @Override
    public void close() throws IOException {
      channel.close();
    }
  }
}
