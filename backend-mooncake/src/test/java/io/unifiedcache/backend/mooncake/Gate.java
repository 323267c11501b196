package io.unifiedcache.backend.mooncake;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A proxy of a port: it drops all connections until it is opened, and then passes them on. */
final class Gate implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(Gate.class);

  private final HostPort target;
  private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());

  // Guarded by this.
  private final List<Socket> sockets = new ArrayList<>();
  private boolean open;

  /**
   * Creates one that is shut.
   *
   * @param target where connections go once it is open, as host:port
   */
  Gate(String target) throws IOException {
    this.target = Objects.requireNonNull(HostPort.parse(target));
    Thread.ofPlatform().daemon().name("gate").start(this::run);
  }

  /** Returns its host and port. */
  String address() {
    return "127.0.0.1:" + server.getLocalPort();
  }

  /** Passes connections on from now. */
  synchronized void open() {
    open = true;
  }

  private void run() {
    while (!server.isClosed()) {
      try {
        connect(server.accept());
      } catch (IOException e) {
        LOG.debug("a connection has failed", e);
      }
    }
  }

  private synchronized void connect(Socket socket) throws IOException {
    sockets.add(socket);
    if (!open) {
      socket.close();
      return;
    }
    Socket other = new Socket(target.host(), target.port());
    sockets.add(other);
    Thread.ofPlatform().daemon().name("gate-in").start(() -> pass(socket, other));
    Thread.ofPlatform().daemon().name("gate-out").start(() -> pass(other, socket));
  }

  /** Passes bytes on until one side ends. */
  private static void pass(Socket from, Socket to) {
    try (from;
        to;
        InputStream input = from.getInputStream();
        OutputStream output = to.getOutputStream()) {
      long unused = input.transferTo(output);
    } catch (IOException e) {
      LOG.debug("a connection has ended", e);
    }
  }

  @Override
  public synchronized void close() throws IOException {
    server.close();
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
