package io.unifiedcache.cli;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/**
 * A Chromium without a window that shows one page, told what to do in the DevTools protocol over
 * its standard streams.
 *
 * <p>Used by one thread.
 */
final class Browser implements AutoCloseable {
  private static final List<String> FLAGS =
      List.of(
          "--headless",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-quic",
          "--disable-dev-shm-usage",
          "--no-first-run",
          "--disable-background-networking",
          "--disable-component-update",
          "--disable-sync",
          "--remote-debugging-pipe");

  private static final long LIMIT_SECONDS = 60;

  private final Process process;
  private final OutputStream commands;
  private final InputStream answers;
  private final ExecutorService reader = Executors.newVirtualThreadPerTaskExecutor();
  private final List<JsonObject> events = new ArrayList<>();
  private String session = "";
  private int lastId;

  private Browser(Process process) {
    this.process = process;
    this.commands = process.getOutputStream();
    this.answers = new BufferedInputStream(process.getInputStream());
  }

  /** Returns Debian's Chromium, if it is on the path. */
  static Optional<Path> installed() {
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(":", -1))
        .map(folder -> Path.of(folder, "chromium"))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /**
   * Starts a browser.
   *
   * @param scratch a folder for its files
   */
  static Browser start(Path program, Path scratch) throws IOException {
    List<String> command = new ArrayList<>();
    // The browser reads commands from file descriptor 3, and answers on 4.
    command.addAll(List.of("/bin/sh", "-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2", "sh"));
    command.add(program.toString());
    command.addAll(FLAGS);
    command.add("--user-data-dir=" + scratch.resolve("profile"));
    command.add("about:blank");
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("HOME", scratch.toString());
    Browser browser =
        new Browser(builder.redirectError(scratch.resolve("browser.log").toFile()).start());
    browser.attach();
    return browser;
  }

  private void attach() throws IOException {
    String target = "";
    for (JsonElement info : call("Target.getTargets").getAsJsonArray("targetInfos")) {
      if (text(info, "type").equals("page")) {
        target = text(info, "targetId");
      }
    }
    JsonObject attached = call("Target.attachToTarget", "targetId", target, "flatten", true);
    session = text(attached, "sessionId");
    for (String domain : List.of("Page", "Network", "Runtime", "Log")) {
      call(domain + ".enable");
    }
  }

  private static String text(JsonElement object, String member) {
    return object.getAsJsonObject().get(member).getAsString();
  }

  /** Makes the screen that wide and light or dark. */
  void screen(int width, int height, boolean dark) throws IOException {
    call(
        "Emulation.setDeviceMetricsOverride",
        "width",
        width,
        "height",
        height,
        "deviceScaleFactor",
        1,
        "mobile",
        width < 600);
    JsonObject feature = new JsonObject();
    feature.addProperty("name", "prefers-color-scheme");
    feature.addProperty("value", dark ? "dark" : "light");
    JsonArray features = new JsonArray();
    features.add(feature);
    call("Emulation.setEmulatedMedia", "features", features);
  }

  /** Shows a file, and forgets what was asked and logged before. */
  void show(Path page) throws IOException {
    events.clear();
    call("Page.navigate", "url", page.toUri().toString());
    while (!happened("Page.loadEventFired")) {
      events.add(receive());
    }
  }

  private boolean happened(String method) {
    return events.stream().anyMatch(event -> text(event, "method").equals(method));
  }

  /** Returns what a JavaScript expression gives. */
  JsonElement evaluate(String expression) throws IOException {
    JsonObject answer = call("Runtime.evaluate", "expression", expression, "returnByValue", true);
    if (answer.has("exceptionDetails")) {
      throw new IOException(expression + ": " + answer.get("exceptionDetails"));
    }
    return answer.getAsJsonObject("result").get("value");
  }

  /** Returns the addresses that were asked for since the page was shown. */
  List<String> requested() {
    return events.stream()
        .filter(event -> text(event, "method").equals("Network.requestWillBeSent"))
        .map(event -> text(event.getAsJsonObject("params").get("request"), "url"))
        .toList();
  }

  /** Returns what was logged since the page was shown. */
  List<String> logged() {
    List<String> kinds =
        List.of("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown");
    return events.stream()
        .filter(event -> kinds.contains(text(event, "method")))
        .map(JsonObject::toString)
        .toList();
  }

  /** Ends the browser, so that nothing writes to its folder any more. */
  @Override
  public void close() throws IOException {
    try {
      session = "";
      call("Browser.close");
      if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
        throw new IOException("the browser does not end");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      process.destroyForcibly();
      reader.shutdownNow();
    }
  }

  /**
   * Sends a command and waits for its answer; the events before it are kept.
   *
   * @param parameters names and values in turns
   */
  private JsonObject call(String method, Object... parameters) throws IOException {
    JsonObject command = new JsonObject();
    command.addProperty("id", ++lastId);
    command.addProperty("method", method);
    if (!session.isEmpty()) {
      command.addProperty("sessionId", session);
    }
    JsonObject named = new JsonObject();
    for (int i = 0; i < parameters.length; i += 2) {
      named.add((String) parameters[i], value(parameters[i + 1]));
    }
    command.add("params", named);
    commands.write((command + "\0").getBytes(StandardCharsets.UTF_8));
    commands.flush();
    while (true) {
      JsonObject message = receive();
      if (message.has("method")) {
        events.add(message);
      } else if (message.get("id").getAsInt() == lastId) {
        if (message.has("error")) {
          throw new IOException(method + ": " + message.get("error"));
        }
        return message.getAsJsonObject("result");
      }
    }
  }

  private static JsonElement value(Object value) {
    return switch (value) {
      case JsonElement json -> json;
      case String text -> new JsonPrimitive(text);
      case Integer number -> new JsonPrimitive(number);
      case Boolean truth -> new JsonPrimitive(truth);
      default -> throw new IllegalArgumentException("a parameter " + value);
    };
  }

  private JsonObject receive() throws IOException {
    try {
      String message = reader.submit(this::read).get(LIMIT_SECONDS, TimeUnit.SECONDS);
      return JsonParser.parseString(message).getAsJsonObject();
    } catch (TimeoutException | ExecutionException e) {
      process.destroyForcibly();
      throw new IOException("the browser does not answer, see its log", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
  }

  private String read() throws IOException {
    ByteArrayOutputStream message = new ByteArrayOutputStream();
    for (int b = answers.read(); b != 0; b = answers.read()) {
      if (b < 0) {
        throw new IOException("the browser has ended");
      }
      message.write(b);
    }
    return message.toString(StandardCharsets.UTF_8);
  }
}
