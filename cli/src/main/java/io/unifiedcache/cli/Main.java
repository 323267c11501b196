package io.unifiedcache.cli;

import java.lang.module.ModuleDescriptor;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** The {@code unified-cache} command. */
@Command(
    name = "unified-cache",
    description = "Looks at and exercises external stores for the KV caches of LLM engines.",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
public final class Main {
  private Main() {}

  /**
   * Runs one command and ends the JVM with its exit status.
   *
   * @param args the command line
   */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Main()).execute(args));
  }

  /** The version of this module or, on the class path, of its jar. */
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String version =
          Optional.ofNullable(Main.class.getModule().getDescriptor())
              .flatMap(ModuleDescriptor::rawVersion)
              .or(() -> Optional.ofNullable(Main.class.getPackage().getImplementationVersion()))
              .orElse("(not packaged)");
      return new String[] {"unified-cache " + version};
    }
  }
}
