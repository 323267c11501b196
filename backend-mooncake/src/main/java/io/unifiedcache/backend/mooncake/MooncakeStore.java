package io.unifiedcache.backend.mooncake;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.Deadline;
import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.KeyPrefix;
import io.unifiedcache.api.Memory;
import io.unifiedcache.api.MemoryState;
import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.StoreFailure;
import io.unifiedcache.api.store.BatchResult;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.api.store.ClearResult;
import io.unifiedcache.api.store.GetOp;
import io.unifiedcache.api.store.ObjectStatus;
import io.unifiedcache.api.store.PutOp;
import io.unifiedcache.api.store.ReadOp;
import io.unifiedcache.api.store.ReadSession;
import io.unifiedcache.api.store.Registration;
import io.unifiedcache.api.store.StoreContext;
import io.unifiedcache.api.store.StoreHealth;
import io.unifiedcache.api.store.StoreLimits;
import io.unifiedcache.api.store.StoreStats;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ObjLongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A store in a Mooncake cluster. Thread-safe.
 *
 * <p>Beyond the contract of {@link CacheStore}:
 *
 * <ul>
 *   <li><b>Stored.</b> A put is OK only once the master says that the object is there. Mooncake
 *       itself answers 0 too where another writer is at it, or has died at it.
 *   <li><b>No room.</b> Mooncake evicts behind a put that finds no room: such a put is tried again
 *       for less than two seconds.
 *   <li><b>Leases.</b> Whatever was looked up, put or read stays for the time of a lease: it is not
 *       evicted, and can be removed only if leased objects may be.
 *   <li><b>Threads.</b> Mooncake is called by the store's own threads, since it may not return for
 *       a minute. One that is late is left to itself; its memory is in use until it returns.
 *   <li><b>Memory.</b> What Mooncake cannot take as it is, is copied through memory of the store.
 *   <li><b>Counters.</b> What is in the cluster, and what it evicts, is not known.
 * </ul>
 */
final class MooncakeStore implements CacheStore {
  private static final Logger LOG = LoggerFactory.getLogger(MooncakeStore.class);

  /** How long a close waits for calls in flight before it hurries them, and then once more. */
  private static final long CLOSING_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** How long a cluster may take to have memory, if that is waited for; as long as for SGLang. */
  private static final Duration LONGEST_START = Duration.ofMinutes(10);

  /** The most keys that are passed to Mooncake at once. */
  private static final int KEYS = 4096;

  /** Threads for what moves no bytes, so that it does not wait behind what does. */
  private static final int CONTROL_THREADS = 2;

  /** What the keys of probes begin with. */
  private static final String PROBED_KEY = "unified-cache-probe-";

  private final StoreParts parts;
  private final Master master;
  private final String description;
  private final StoreLimits limits;
  private final Set<Capability> capabilities;
  private final boolean devices;
  private final @Nullable OpenObjects openObjects;
  private final @Nullable IgnoredGroups ignoredGroups;
  private final CallThreads transfers;
  private final CallThreads control;

  /** Guards the counters and the closing. */
  private final ReentrantLock lock = new ReentrantLock();

  /** Signalled when the last call has left a closing store. */
  private final Condition left = lock.newCondition();

  private final AtomicInteger calls = new AtomicInteger();
  private volatile boolean closed;

  /** Closes Mooncake's client, once the store is closing. It has begun: it may not be able to. */
  private final Thread ending;

  private final CountDownLatch closing = new CountDownLatch(1);

  private long stored;
  private long found;
  private long absent;
  private long failed;
  private long removed;
  private long bytesStored;
  private long bytesRead;

  MooncakeStore(
      MooncakeClient client,
      String description,
      MooncakeSettings settings,
      Master master,
      CallThreads control,
      StoreContext context) {
    this(client, description, settings, master, control, context, new IgnoredGroups(LOG::warn));
  }

  MooncakeStore(
      MooncakeClient client,
      String description,
      MooncakeSettings settings,
      Master master,
      CallThreads control,
      StoreContext context,
      IgnoredGroups ignoredGroups) {
    Registrations registrations = new Registrations(client);
    this.master = master;
    this.description = description;
    this.control = control;
    limits = Limits.of(settings.lease());
    devices = settings.onlyRegistered();
    openObjects =
        client instanceof MooncakeClient.Scattering scattering
            ? new OpenObjects(scattering, settings.lease(), settings.stagingBytes())
            : null;
    this.ignoredGroups = client instanceof MooncakeClient.Scattering ? null : ignoredGroups;
    capabilities = capabilities(openObjects != null, devices);
    parts =
        new StoreParts(
            client,
            registrations,
            new Staging(registrations, settings.stagingBytes()),
            new Window(),
            new Quarantine(settings.quarantine(), control::later),
            new Removals(),
            settings.onlyRegistered());
    transfers = new CallThreads(settings.ioThreads(), context.threads());
    ending = context.threads().newThread(this::end);
    ending.start();
  }

  /** Opens a store. */
  static MooncakeStore open(MooncakeSettings settings, StoreContext context) {
    Master master =
        new Master(
            settings.setup().masterServerAddress(),
            settings.masterMetricsPort(),
            settings.setup().tenant());
    CallThreads control = new CallThreads(CONTROL_THREADS, context.threads());
    AtomicReference<@Nullable Object> answer = new AtomicReference<>();
    Call call =
        control.runUnlessInterrupted(
            running -> {
              try {
                MooncakeStore store = open(settings, master, control, context, running);
                if (!answer.compareAndSet(null, store)) {
                  store.beginToEnd();
                }
              } catch (CacheException e) {
                answer.compareAndSet(null, e);
              }
            });
    Throwable problem = call.problem();
    answer.compareAndSet(
        null,
        problem == null
            ? new CacheException(FailureCode.CANCELLED, "the opening was interrupted")
            : new CacheException(
                FailureCode.INTERNAL, "Mooncake's client cannot be opened: " + problem, problem));
    if (answer.get() instanceof MooncakeStore store) {
      return store;
    }
    control.shutdown();
    throw (CacheException) Objects.requireNonNull(answer.get());
  }

  private static MooncakeStore open(
      MooncakeSettings settings,
      Master master,
      CallThreads control,
      StoreContext context,
      Call running) {
    settings.requireTransport(RdmaDevices.ofThisMachine(), System.getenv());
    ClientLibrary library = ClientLibraries.load(settings);
    if (settings.checkServer()) {
      master.awaitMemory(running::isLate, LONGEST_START);
    }
    master.requireServing();
    Master.requireMetadata(settings.setup().metadataServer());
    String host = master.localHost(settings.setup().localHostname());
    ClientSetup setup = settings.setup().at(Master.withPort(host));
    AtExit.opening();
    MooncakeStore opened = null;
    try {
      MooncakeClient client = library.setUp(setup);
      try {
        opened =
            new MooncakeStore(client, library.description(), settings, master, control, context);
      } finally {
        if (opened == null) {
          client.close();
        }
      }
      LOG.info("{}: {} has joined {}", context.instance(), library.description(), master);
      return opened;
    } catch (ClientException e) {
      // Mooncake has one number for what passes and what does not. The text is the same each time.
      throw new CacheException(
          FailureCode.UNREACHABLE,
          ("%s cannot join the cluster of %s, though the master answers: %s. Tried as"
               + " local_hostname %s with protocol %s, device_name \"%s\", metadata_server %s,"
               + " global_segment_size %d. Most likely Mooncake was built without this protocol, a"
               + " device is of no use, or there is less memory than global_segment_size; or the"
               + " master is not ready, or of another version, which may pass. Mooncake's own lines"
               + " on standard error tell more")
              .formatted(
                  library.description(),
                  master,
                  e.getMessage(),
                  host,
                  setup.protocol(),
                  setup.deviceName(),
                  setup.metadataServer(),
                  setup.globalSegmentSize()),
          e);
    } finally {
      AtExit.opened(opened);
    }
  }

  private static Set<Capability> capabilities(boolean ranges, boolean devices) {
    Set<Capability> all = EnumSet.of(Capability.REMOVE, Capability.CLEAR, Capability.SHARED);
    if (ranges) {
      all.add(Capability.RANGED_READ);
    }
    if (devices) {
      all.add(Capability.DEVICE_MEMORY);
    }
    return Set.copyOf(all);
  }

  @Override
  public Set<Capability> capabilities() {
    return capabilities;
  }

  @Override
  public StoreLimits limits() {
    return limits;
  }

  @Override
  public BatchResult exists(List<ObjectKey> keys, Deadline by) {
    enter(keys.size());
    try {
      List<Entry> entries = entries(keys);
      BatchResult result = run(control, entries, by, this::exists);
      count(result, entries, /* moved= */ false, Counted.NOTHING);
      return result;
    } finally {
      exit();
    }
  }

  private void exists(Call call, List<Entry> entries) {
    forKeys(
        call,
        entries,
        "exists",
        parts.client()::exists,
        (entry, answer) -> entry.settle(answer > 0 ? ObjectStatus.OK : ObjectStatus.ABSENT));
  }

  @Override
  public BatchResult put(List<PutOp> ops, Deadline by) {
    enter(ops.size());
    try {
      List<Entry> entries = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        entries.add(Entry.of(i, ops.get(i), devices));
      }
      if (ignoredGroups != null) {
        ignoredGroups.see(entries);
      }
      BatchResult result =
          run(transfers, entries, by, (call, legal) -> new TransferCall(parts, call).put(legal));
      count(result, entries, /* moved= */ true, Counted.STORED);
      return result;
    } finally {
      exit();
    }
  }

  @Override
  public BatchResult get(List<GetOp> ops, Deadline by) {
    enter(ops.size());
    try {
      List<Entry> entries = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        entries.add(Entry.of(i, ops.get(i), devices));
      }
      BatchResult result =
          run(transfers, entries, by, (call, legal) -> new TransferCall(parts, call).get(legal));
      count(result, entries, /* moved= */ true, Counted.READ);
      return result;
    } finally {
      exit();
    }
  }

  @Override
  public ReadSession openSession(List<ObjectKey> keys, Deadline by) {
    OpenObjects objects = openObjects;
    if (objects == null) {
      return CacheStore.super.openSession(keys, by);
    }
    enter(keys.size());
    try {
      OpenObjects.Opening opening = objects.new Opening(parts.removals().beginReading());
      List<Entry> entries = entries(keys);
      BitSet asked = open(entries);
      opening.retain();
      Call call =
          start(
              control,
              entries,
              by,
              (running, legal) ->
                  forKeys(
                      running,
                      legal,
                      "open",
                      opening::open,
                      (entry, answer) -> entry.settle(ObjectStatus.OK)));
      BatchResult result = result(entries, asked, call, call == null || call.isDone());
      releaseAfter(call, opening);
      count(result, entries, /* moved= */ false, Counted.NOTHING);
      return new MooncakeSession(this, List.copyOf(keys), result, opening);
    } finally {
      exit();
    }
  }

  @Override
  public BatchResult remove(List<ObjectKey> keys, boolean evenIfLeased, Deadline by) {
    enter(keys.size());
    try {
      List<Entry> entries = entries(keys);
      BatchResult result =
          run(
              control,
              entries,
              by,
              (call, legal) ->
                  askAbout(
                      call,
                      legal,
                      "remove",
                      some -> evenIfLeased ? removeByForce(some) : remove(some),
                      MooncakeStore::settleRemoval));
      count(result, entries, /* moved= */ false, Counted.REMOVED);
      return result;
    } finally {
      exit();
    }
  }

  /** Says what became of a removal: an object that is not complete yet is not absent. */
  private static void settleRemoval(Entry entry, long answer) {
    if (answer >= 0) {
      entry.settle(ObjectStatus.OK);
    } else if (answer == Answers.OBJECT_NOT_FOUND) {
      entry.settle(ObjectStatus.ABSENT);
    } else {
      entry.failAnswered("remove", answer, MemoryState.UNTOUCHED);
    }
  }

  private long[] remove(List<String> keys) throws ClientException {
    return parts.client().remove(keys, /* force= */ false);
  }

  private long[] removeByForce(List<String> keys) throws ClientException {
    parts.removals().begin(keys);
    try {
      return parts.client().remove(keys, /* force= */ true);
    } finally {
      if (openObjects != null) {
        openObjects.forget(keys);
      }
      parts.removals().end(keys);
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Leased objects stay, and are counted by the master's HTTP interface, since Mooncake's client
   * says nothing of them.
   *
   * @throws CacheException also if that does not answer, though nothing else has gone wrong
   */
  @Override
  public ClearResult clear(KeyPrefix prefix, Deadline by) {
    enter(0);
    try {
      String refusal = Limits.refusal(prefix);
      if (refusal != null) {
        throw new CacheException(FailureCode.REFUSED, refusal);
      }
      AtomicReference<@Nullable ClearResult> cleared = new AtomicReference<>();
      Call call = control.run(by, running -> cleared.set(clear(prefix)));
      if (!call.isDone()) {
        throw new CacheException(
            FailureCode.TIMEOUT, "the deadline passed before all under " + prefix + " was cleared");
      }
      Throwable problem = call.problem();
      if (problem instanceof CacheException e) {
        throw new CacheException(e.code(), String.valueOf(e.getMessage()), e);
      } else if (problem != null) {
        throw new CacheException(
            FailureCode.INTERNAL, "clear of " + prefix + " failed: " + problem, problem);
      }
      return Objects.requireNonNull(cleared.get());
    } finally {
      exit();
    }
  }

  private ClearResult clear(KeyPrefix prefix) {
    long answer;
    try {
      answer = parts.client().removeByRegex(pattern(prefix.value()), /* force= */ false);
    } catch (ClientException e) {
      throw new CacheException(
          FailureCode.INTERNAL, "clear of " + prefix + " failed: " + e.getMessage(), e);
    }
    if (answer < 0) {
      throw new CacheException(
          Answers.code(answer),
          "clear of %s: remove_by_regex answered %d: %s"
              .formatted(prefix, answer, Answers.meaning(answer)));
    }
    countRemoved(answer);
    try {
      return new ClearResult(answer, master.countKeys(prefix.value()));
    } catch (IOException e) {
      throw new CacheException(
          FailureCode.UNREACHABLE,
          "%d objects under %s were removed; whether leased ones are left is not known, since the"
                  .formatted(answer, prefix)
              + " master's HTTP interface (master_metrics_port) does not tell: "
              + e,
          e);
    }
  }

  /** Returns the ECMAScript pattern of a text at the begin of a key. */
  static String pattern(String prefix) {
    StringBuilder pattern = new StringBuilder("^");
    for (int i = 0; i < prefix.length(); i++) {
      char c = prefix.charAt(i);
      if ("^$\\.*+?()[]{}|".indexOf(c) >= 0) {
        pattern.append('\\');
      }
      pattern.append(c);
    }
    return pattern.toString();
  }

  @Override
  public Registration register(Memory memory) {
    enter(0);
    try {
      return parts.registrations().register(memory);
    } finally {
      exit();
    }
  }

  @Override
  public StoreStats stats() {
    lock.lock();
    try {
      return new StoreStats(
          StoreStats.UNKNOWN,
          StoreStats.UNKNOWN,
          StoreStats.UNKNOWN,
          stored,
          /* present= */ 0,
          found,
          absent,
          failed,
          removed,
          /* evicted= */ StoreStats.UNKNOWN,
          bytesStored,
          bytesRead);
    } finally {
      lock.unlock();
    }
  }

  /**
   * {@inheritDoc}
   *
   * <p>Puts a small object, reads it and removes it: Mooncake's own check of a client that owns no
   * memory says that all is well, whatever has become of the master, and a master of another
   * version answers some calls and not others.
   */
  @Override
  public StoreHealth probe(Deadline by) {
    enter(0);
    try {
      ObjectKey key = new ObjectKey(PROBED_KEY + UUID.randomUUID());
      byte[] bytes = key.value().getBytes(StandardCharsets.UTF_8);
      HostMemory target = memory(new byte[bytes.length]);
      Entry put = Entry.of(0, new PutOp(key, List.of(memory(bytes))), devices);
      Entry get = Entry.of(1, new GetOp(key, List.of(target)), devices);
      Entry removal = Entry.of(2, key);
      BatchResult result =
          run(
              control,
              List.of(put, get, removal),
              by,
              (call, all) -> probe(call, put, get, removal));
      StoreFailure refused = problem(result, put);
      if (refused != null) {
        return refused.code() == FailureCode.NO_SPACE ? full(refused, by) : down(refused, by);
      }
      StoreFailure unread = problem(result, get);
      if (unread != null) {
        return down(unread, by);
      } else if (target.segment().mismatch(MemorySegment.ofArray(bytes)) >= 0) {
        return new StoreHealth(
            StoreHealth.State.DOWN, "other bytes were read than were put: " + description);
      }
      StoreFailure kept = problem(result, removal);
      return kept == null
          ? new StoreHealth(
              StoreHealth.State.UP,
              "an object was put, read and removed in the cluster of "
                  + master
                  + "; "
                  + description)
          : new StoreHealth(StoreHealth.State.DEGRADED, kept.message());
    } finally {
      exit();
    }
  }

  /** Does the steps of a probe; what has been put is removed even if nobody waits any more. */
  private void probe(Call call, Entry put, Entry get, Entry removal) {
    new TransferCall(parts, call).put(List.of(put));
    if (put.status() != ObjectStatus.OK) {
      get.fail(put.failure());
      if (!call.isLate()) {
        removal.fail(put.failure());
        return;
      }
    } else {
      new TransferCall(parts, call).get(List.of(get));
    }
    try {
      settleRemoval(removal, removeByForce(List.of(removal.key.value()))[0]);
    } catch (ClientException e) {
      removal.fail(FailureCode.INTERNAL, "remove failed: " + e.getMessage());
    }
  }

  /** Returns why a step of a probe failed, or null if it did not. */
  private static @Nullable StoreFailure problem(BatchResult result, Entry entry) {
    return switch (result.status(entry.index)) {
      case FAILED -> result.failure(entry.index);
      case ABSENT -> StoreFailure.of(FailureCode.ABSENT, "what was just put is not there");
      case OK, PRESENT -> null;
    };
  }

  private static HostMemory memory(byte[] bytes) {
    MemorySegment segment = Arena.ofAuto().allocate(bytes.length);
    MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, bytes.length);
    return HostMemory.of(segment);
  }

  private StoreHealth down(StoreFailure failure, Deadline by) {
    String more = failure.code() == FailureCode.UNREACHABLE ? askMaster(by, master::described) : "";
    return new StoreHealth(StoreHealth.State.DOWN, failure.message() + more);
  }

  private StoreHealth full(StoreFailure failure, Deadline by) {
    String noMemory =
        askMaster(
            by,
            () ->
                master.isWithoutMemory()
                    ? "the cluster has no memory: start mooncake_client with a global_segment_size,"
                        + " or set global_segment_size here"
                    : "");
    return new StoreHealth(
        noMemory.isEmpty() ? StoreHealth.State.DEGRADED : StoreHealth.State.DOWN,
        "nothing can be put: " + failure.message() + noMemory);
  }

  /** Returns what there is to add to a message; nothing if that is not known in time. */
  private String askMaster(Deadline by, Supplier<String> question) {
    AtomicReference<@Nullable String> answer = new AtomicReference<>();
    Call call = control.run(by, running -> answer.set(question.get()));
    String more = call.isDone() ? answer.get() : null;
    return more == null || more.isEmpty() ? "" : "; " + more;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Mooncake's client is closed when no call is in it any more: if one does not return in time,
   * that is left to the thread that is in it. All who close the store wait alike.
   */
  @Override
  public void close() {
    lock.lock();
    try {
      closed = true;
      awaitCalls(CLOSING_NANOS);
      if (calls.get() > 0) {
        // Something below stalls: let the callers go.
        transfers.hurry();
        control.hurry();
        awaitCalls(CLOSING_NANOS);
      }
    } finally {
      lock.unlock();
    }
    letEnd();
    awaitEnd(System.nanoTime() + 2 * CLOSING_NANOS);
  }

  /** Begins to close the store without waiting for its callers, which are let go. */
  void beginToEnd() {
    closed = true;
    transfers.hurry();
    control.hurry();
    letEnd();
  }

  private void letEnd() {
    transfers.shutdown();
    control.shutdown();
    closing.countDown();
  }

  /** Waits until Mooncake's client is closed, or a moment has come. */
  void awaitEnd(long end) {
    boolean interrupted = false;
    long left;
    while (ending.isAlive() && (left = end - System.nanoTime()) > 0) {
      try {
        ending.join(Duration.ofNanos(left));
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Leaves the cluster, once the store is closing and no call is at work. */
  private void end() {
    boolean told = false;
    while (!told) {
      try {
        closing.await();
        told = true;
      } catch (InterruptedException e) {
        LOG.debug("nothing but a close ends the store", e);
      }
    }
    while (!transfers.awaitEnd(CLOSING_NANOS) || !control.awaitEnd(CLOSING_NANOS)) {
      LOG.warn("Mooncake's client is not closed yet, since a call to it does not end");
    }
    parts.registrations().end();
    try {
      parts.client().close();
    } catch (RuntimeException | Error e) {
      LOG.error("Mooncake's client cannot be closed; memory that it may be at stays in use", e);
      return;
    }
    parts.quarantine().end();
    parts.staging().end();
    AtExit.closed(this);
  }

  private void awaitCalls(long nanos) {
    boolean interrupted = false;
    while (calls.get() > 0 && nanos > 0) {
      try {
        nanos = left.awaitNanos(nanos);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  // Sessions.

  /** Reads ranges of the objects that a session has opened. */
  BatchResult read(
      List<ReadOp> ops,
      List<ObjectKey> keys,
      BatchResult opened,
      OpenObjects.Opening opening,
      Deadline by) {
    enter(ops.size());
    try {
      List<Entry> entries = new ArrayList<>(ops.size());
      for (int i = 0; i < ops.size(); i++) {
        entries.add(entryOf(i, ops.get(i), keys, opened));
      }
      BitSet asked = open(entries);
      // The session may be closed before a read that is late has ended.
      opening.retain();
      Call call =
          start(
              transfers,
              entries,
              by,
              (running, legal) -> new TransferCall(parts, running).read(opening, legal));
      BatchResult result = result(entries, asked, call, call == null || call.isDone());
      releaseAfter(call, opening);
      count(result, entries, /* moved= */ true, Counted.READ);
      return result;
    } finally {
      exit();
    }
  }

  private Entry entryOf(int i, ReadOp op, List<ObjectKey> keys, BatchResult opened) {
    if (op.entry() >= keys.size()) {
      Entry none = Entry.of(i, new ObjectKey("entry " + op.entry()));
      none.fail(
          StoreFailure.of(
              FailureCode.REFUSED,
              "entry %d of a session with %d keys".formatted(op.entry(), keys.size())));
      return none;
    }
    Entry entry = Entry.of(i, keys.get(op.entry()), op, devices);
    switch (opened.status(op.entry())) {
      case OK, PRESENT -> {}
      case ABSENT -> entry.settle(ObjectStatus.ABSENT);
      case FAILED -> entry.fail(opened.failure(op.entry()));
    }
    return entry;
  }

  /** Ends a session that has opened objects. */
  void end(OpenObjects.Opening opening) {
    parts.removals().endReading();
    release(opening);
  }

  /** Has a call let go of what a session has opened, once it is over. */
  private void releaseAfter(@Nullable Call call, OpenObjects.Opening opening) {
    if (call == null || call.isDone() || call.giveUp()) {
      release(opening);
    } else {
      call.released().thenRun(() -> release(opening));
    }
  }

  private void release(OpenObjects.Opening opening) {
    if (opening.release() && !control.later(opening::end)) {
      // The client is closed, and has let go of all.
      opening.freeCopies();
    }
  }

  // Calls.

  /** What a thread of the store does with the entries of a call that ask for what can be. */
  private interface Work {
    void run(Call call, List<Entry> entries);
  }

  /** A call to Mooncake that is about keys alone. */
  private interface KeyCall {
    long[] call(List<String> keys) throws ClientException;
  }

  private static List<Entry> entries(List<ObjectKey> keys) {
    List<Entry> entries = new ArrayList<>(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      entries.add(Entry.of(i, keys.get(i)));
    }
    return entries;
  }

  /**
   * Looks for objects; those that are not there, or not complete, are absent.
   *
   * @param there takes the answers that are not negative
   */
  private static void forKeys(
      Call call, List<Entry> entries, String what, KeyCall keyCall, ObjLongConsumer<Entry> there) {
    askAbout(
        call,
        entries,
        what,
        keyCall,
        (entry, answer) -> {
          if (answer >= 0) {
            there.accept(entry, answer);
          } else if (Answers.isAbsent(answer)) {
            entry.settle(ObjectStatus.ABSENT);
          } else {
            entry.failAnswered(what, answer, MemoryState.UNTOUCHED);
          }
        });
  }

  /** Asks Mooncake about objects, and passes its answers on. */
  private static void askAbout(
      Call call,
      List<Entry> entries,
      String what,
      KeyCall keyCall,
      ObjLongConsumer<Entry> answered) {
    TransferCall.inRounds(
        entries,
        round -> {
          for (int from = 0; from < round.size(); from += KEYS) {
            List<Entry> some = round.subList(from, Math.min(round.size(), from + KEYS));
            if (call.isLate()) {
              some.forEach(entry -> entry.fail(entry.late()));
              continue;
            }
            try {
              long[] answers = keyCall.call(some.stream().map(e -> e.key.value()).toList());
              if (answers.length != some.size()) {
                throw new ClientException(
                    "%d answers for %d keys".formatted(answers.length, some.size()));
              }
              for (int i = 0; i < answers.length; i++) {
                answered.accept(some.get(i), answers[i]);
              }
            } catch (ClientException e) {
              some.forEach(
                  entry -> entry.fail(FailureCode.INTERNAL, what + " failed: " + e.getMessage()));
            }
          }
        });
  }

  /** Has the work done for the entries that have not failed yet. */
  private BatchResult run(CallThreads threads, List<Entry> entries, Deadline by, Work work) {
    BitSet asked = open(entries);
    Call call = start(threads, entries, by, work);
    return result(entries, asked, call, call == null || call.isDone());
  }

  private static BitSet open(List<Entry> entries) {
    BitSet open = new BitSet(entries.size());
    for (Entry entry : entries) {
      open.set(entry.index, entry.isOpen());
    }
    return open;
  }

  /** Has the work done, and waits for it; returns null if no entry asks for what can be. */
  private static @Nullable Call start(
      CallThreads threads, List<Entry> entries, Deadline by, Work work) {
    List<Entry> legal = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      if (entry.isOpen()) {
        legal.add(entry);
      }
    }
    return legal.isEmpty() ? null : threads.run(by, running -> work.run(running, legal));
  }

  /**
   * Returns what became of entries.
   *
   * @param asked those that the call was for
   * @param done whether the call was over when its caller stopped waiting
   */
  private static BatchResult result(
      List<Entry> entries, BitSet asked, @Nullable Call call, boolean done) {
    BatchResult.Builder result = BatchResult.builder(entries.size());
    Throwable problem = call == null || !done ? null : call.problem();
    for (Entry entry : entries) {
      if (call != null && !done && asked.get(entry.index)) {
        result.failed(
            entry.index,
            call.giveUp()
                ? entry.late()
                : entry.late().withMemory(new MemoryState.InUse(call.released())));
        continue;
      }
      if (problem != null) {
        entry.fail(failure(entry, problem));
      }
      ObjectStatus status = entry.status();
      if (status != null) {
        result.set(entry.index, status);
      } else {
        result.failed(entry.index, Objects.requireNonNull(entry.failure()));
      }
    }
    return result.build();
  }

  private static StoreFailure failure(Entry entry, Throwable problem) {
    StoreFailure failure =
        problem instanceof CacheException e
            ? StoreFailure.of(e.code(), Limits.about(entry.key, String.valueOf(e.getMessage())))
            : StoreFailure.of(FailureCode.INTERNAL, Limits.about(entry.key, problem.toString()));
    return failure.withMemory(MemoryState.DIRTY);
  }

  /** What entries that are OK count as. */
  private enum Counted {
    NOTHING,
    STORED,
    READ,
    REMOVED
  }

  private void count(BatchResult result, List<Entry> entries, boolean moved, Counted counted) {
    int oks = result.count(ObjectStatus.OK);
    long bytes = 0;
    for (Entry entry : entries) {
      if (moved && result.isOk(entry.index)) {
        bytes += entry.size();
      }
    }
    lock.lock();
    try {
      failed += result.count(ObjectStatus.FAILED);
      switch (counted) {
        case NOTHING -> {}
        case STORED -> {
          stored += oks;
          bytesStored += bytes;
        }
        case READ -> {
          found += oks;
          bytesRead += bytes;
          absent += result.count(ObjectStatus.ABSENT);
        }
        case REMOVED -> removed += oks;
      }
    } finally {
      lock.unlock();
    }
  }

  private void countRemoved(long count) {
    lock.lock();
    try {
      removed += count;
    } finally {
      lock.unlock();
    }
  }

  /** Returns the exception that says that this store is closed. */
  static CacheException closedStore() {
    return new CacheException(FailureCode.CLOSED, "the Mooncake store is closed");
  }

  private void enter(int entries) {
    calls.incrementAndGet();
    if (closed) {
      exit();
      throw closedStore();
    }
    if (entries > limits.batch()) {
      exit();
      throw new CacheException(
          FailureCode.REFUSED,
          "%d entries are more than the %d that one call may have"
              .formatted(entries, limits.batch()));
    }
  }

  private void exit() {
    if (calls.decrementAndGet() == 0 && closed) {
      lock.lock();
      try {
        left.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
