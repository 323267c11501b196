package io.unifiedcache.backend.mooncake;

import com.google.gson.JsonParser;
import io.unifiedcache.api.HostMemory;
import java.io.File;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.slf4j.LoggerFactory;

/** A JVM beside this one, with what the backend needs on its class path. */
final class JavaProcess {
  private JavaProcess() {}

  /**
   * Returns how to start it.
   *
   * @param options options of the JVM
   * @param main a class of the tests
   */
  static ProcessBuilder of(List<String> options, Class<?> main, List<String> arguments)
      throws URISyntaxException {
    Set<String> places = new LinkedHashSet<>();
    for (Class<?> each :
        List.of(
            main, MooncakeStore.class, HostMemory.class, LoggerFactory.class, JsonParser.class)) {
      places.add(placeOf(each));
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(List.of("-cp", String.join(File.pathSeparator, places)));
    command.add(main.getName());
    command.addAll(arguments);
    return new ProcessBuilder(command);
  }

  /** Returns the jar or folder that a class is in. */
  private static String placeOf(Class<?> loaded) throws URISyntaxException {
    String name = "/" + loaded.getName().replace('.', '/') + ".class";
    String url = Objects.requireNonNull(loaded.getResource(name), name).toString();
    String place = url.substring(0, url.length() - name.length());
    return Path.of(
            new URI(
                place.startsWith("jar:")
                    ? place.substring("jar:".length(), place.length() - "!".length())
                    : place))
        .toString();
  }
}
