package io.unifiedcache.backend.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The files of the operating system, with what a test makes of them: full, failing, stalling, or
 * cut off by the end of the process in the middle of a step.
 */
class TestDisk implements Disk {
  private final Disk local = new LocalDisk();

  /** Counts the steps that change something. */
  final AtomicInteger steps = new AtomicInteger();

  private final ThreadLocal<Integer> current = ThreadLocal.withInitial(() -> 0);

  private static final long UNBOUNDED = Long.MAX_VALUE;

  /** How many bytes may still be written beyond the ends of files; unbounded until it is set. */
  volatile long room = UNBOUNDED;

  /** Whether it takes no time to ask for the length of an open file. */
  volatile boolean isQuick = true;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition released = lock.newCondition();
  private boolean stalled;

  /** Called before each step that changes something; for a write it may write a part of it. */
  void before(String step) throws IOException {
    current.set(steps.incrementAndGet());
  }

  /** Returns which step of all the calling thread is at, counted from 1. */
  int step() {
    return current.get();
  }

  /** Called before each read. */
  void beforeRead(String file) throws IOException {}

  /** Returns how many bytes of a write are done before {@link #cut} is called; all by default. */
  int partOf(int bytes) {
    return bytes;
  }

  /** Called when a part of a write is done. */
  void cut() {}

  void stall() {
    lock.lock();
    try {
      stalled = true;
    } finally {
      lock.unlock();
    }
  }

  void goOn() {
    lock.lock();
    try {
      stalled = false;
      released.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void pass() {
    lock.lock();
    try {
      while (stalled) {
        released.awaitUninterruptibly();
      }
    } finally {
      lock.unlock();
    }
  }

  private void step(String what) throws IOException {
    pass();
    before(what);
  }

  private synchronized void giveBack(long bytes) {
    if (room != UNBOUNDED) {
      room += bytes;
    }
  }

  private synchronized void take(long bytes) throws IOException {
    if (room == UNBOUNDED) {
      return;
    }
    if (bytes > room) {
      throw new IOException("No space left on device");
    }
    room -= bytes;
  }

  @Override
  public DiskFile open(Path path, Access access) throws IOException {
    if (access == Access.CREATE || access == Access.NEW) {
      step("create " + path.getFileName());
    } else {
      pass();
    }
    return new TestFile(path, local.open(path, access));
  }

  @Override
  public Watch watch(Path path) throws IOException {
    Watch watch = local.watch(path);
    return new Watch() {
      @Override
      public long length() throws IOException {
        if (!isQuick()) {
          pass();
        }
        return watch.length();
      }

      @Override
      public boolean isQuick() {
        return isQuick && watch.isQuick();
      }

      @Override
      public void close() throws IOException {
        watch.close();
      }
    };
  }

  @Override
  public @Nullable Object identity(Path path) throws IOException {
    pass();
    return local.identity(path);
  }

  @Override
  public List<String> names(Path folder) throws IOException {
    pass();
    return local.names(folder);
  }

  @Override
  public long size(Path path) throws IOException {
    pass();
    return local.size(path);
  }

  @Override
  public void move(Path from, Path to) throws IOException {
    step("move " + from.getFileName());
    local.move(from, to);
  }

  @Override
  public boolean link(Path from, Path to) throws IOException {
    step("link " + to.getFileName());
    return local.link(from, to);
  }

  @Override
  public boolean delete(Path path) throws IOException {
    step("delete " + path.getFileName());
    long bytes = local.size(path);
    boolean deleted = local.delete(path);
    if (deleted) {
      giveBack(bytes);
    }
    return deleted;
  }

  @Override
  public void forceNames(Path folder) throws IOException {
    step("force names");
    local.forceNames(folder);
  }

  @Override
  public long usableBytes(Path folder) {
    return room == UNBOUNDED ? local.usableBytes(folder) : room;
  }

  private final class TestFile implements DiskFile {
    private final String name;
    private final DiskFile file;

    TestFile(Path path, DiskFile file) {
      this.name = String.valueOf(path.getFileName());
      this.file = file;
    }

    @Override
    public long length() throws IOException {
      pass();
      return file.length();
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      pass();
      beforeRead(name);
      return file.read(target, position);
    }

    @Override
    public int write(ByteBuffer source, long position) throws IOException {
      step("write " + name);
      take(Math.max(0, position + source.remaining() - file.length()));
      int part = partOf(source.remaining());
      if (part < source.remaining()) {
        file.writeFully(source.slice(source.position(), part), position);
        cut();
      }
      return file.write(source, position);
    }

    @Override
    public void force() throws IOException {
      step("force " + name);
      file.force();
    }

    @Override
    public void truncate(long bytes) throws IOException {
      step("truncate " + name);
      file.truncate(bytes);
    }

    @Override
    public Object identity() {
      return file.identity();
    }

    @Override
    public boolean tryLock(long position, boolean shared) throws IOException {
      step("lock " + name);
      return file.tryLock(position, shared);
    }

    @Override
    public void unlock(long position) throws IOException {
      step("unlock " + name);
      file.unlock(position);
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
