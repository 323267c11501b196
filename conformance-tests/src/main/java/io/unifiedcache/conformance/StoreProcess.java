package io.unifiedcache.conformance;

import io.unifiedcache.api.CacheException;
import io.unifiedcache.api.store.CacheStore;
import io.unifiedcache.conformance.store.StoreServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * The main class of another process that opens the store under test.
 *
 * <p>The suite starts it by itself for a backend that it opens by name. For a store that is opened
 * by code, write a main method that opens the store and calls {@link #serve}, and tell how to start
 * it: {@link StoreUnderTest#withProcess}.
 *
 * {@snippet :
 * public final class MyStoreProcess {
 *   public static void main(String[] args) {
 *     StoreProcess.serve(MyStore.open(Path.of(args[0])));
 *   }
 * }
 * }
 *
 * <p>Requests come through the standard input and answers go to the standard output, in lines whose
 * form is private to one version of the suite. What else is printed is shown where a rule fails.
 */
public final class StoreProcess {
  private StoreProcess() {}

  /**
   * Opens the backend that the arguments name, {@code --backend NAME}, with the settings that are
   * the first line of the standard input, and serves it.
   */
  public static void main(String[] arguments) {
    if (arguments.length != 2 || !arguments[0].equals("--backend")) {
      throw new IllegalArgumentException("--backend NAME is asked for");
    }
    PrintStream out = takeOut();
    StoreServer.say(out, StoreServer.STARTED);
    BufferedReader in = in();
    CacheStore store;
    try {
      StoreUnderTest subject =
          StoreUnderTest.named(arguments[1], StoreServer.settings(in.readLine()));
      store = subject.open(StoreServer.instance(arguments[1]));
    } catch (CacheException e) {
      StoreServer.say(out, StoreServer.NOT_OPENED + " " + e.getMessage());
      return;
    } catch (IOException e) {
      throw new IllegalStateException("the settings cannot be read", e);
    }
    StoreServer.serve(store, in, out);
  }

  /**
   * Serves an open store until the process that started this one has done with it, and closes it.
   *
   * <p>Uses the standard input and output.
   */
  public static void serve(CacheStore store) {
    StoreServer.serve(store, in(), takeOut());
  }

  private static BufferedReader in() {
    return new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
  }

  /** Returns the standard output; whatever others print goes where errors go. */
  private static PrintStream takeOut() {
    PrintStream out = System.out;
    System.setOut(System.err);
    return out;
  }
}
