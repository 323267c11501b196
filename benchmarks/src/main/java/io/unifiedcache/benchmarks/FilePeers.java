package io.unifiedcache.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Stores of one library in a process of its own, which share the memory that they read and write.
 *
 * <p>The process is told line by line what to do, and answers each with one line. {@code names} is
 * answered by the names of its stores, with commas between them. {@code prepare FOLDER ROUND OBJECT
 * BATCH} names the bytes of a round and of an object, and the objects of a batch. {@code put N},
 * {@code get N}, {@code exists N} and {@code rest N} have the N-th store do a step of {@link
 * FileSide}, and are answered by the nanoseconds that its own calls took. {@code finish} ends what
 * {@code prepare} began.
 */
final class FilePeers implements AutoCloseable {
  private final PeerProcess process;
  private final List<FileSide> sides = new ArrayList<>();

  FilePeers(List<String> command) throws IOException {
    process = new PeerProcess(command);
    for (String name : process.ask("names").split(",", -1)) {
      sides.add(new Peer(name, sides.size()));
    }
  }

  /** Returns the stores of the process. */
  List<FileSide> sides() {
    return sides;
  }

  @Override
  public void close() throws IOException {
    process.close();
  }

  private final class Peer implements FileSide {
    private final String name;
    private final int number;

    Peer(String name, int number) {
      this.name = name;
      this.number = number;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public void prepare(Path folder, long objectBytes) {
      if (number == 0) {
        var unused =
            process.nanos(
                "prepare %s %d %d %d"
                    .formatted(folder, FileRounds.BYTES, objectBytes, FileRounds.BATCH));
      }
    }

    @Override
    public long put() {
      return process.nanos("put " + number);
    }

    @Override
    public long get() {
      return process.nanos("get " + number);
    }

    @Override
    public boolean knowsKeys() {
      return !name.equals("in place");
    }

    @Override
    public long exists() {
      return process.nanos("exists " + number);
    }

    @Override
    public void rest() {
      var unused = process.nanos("rest " + number);
    }

    @Override
    public void finish() {
      if (number == 0) {
        var unused = process.nanos("finish");
      }
    }
  }
}
