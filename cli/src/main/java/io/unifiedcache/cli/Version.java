package io.unifiedcache.cli;

import java.io.IOException;
import java.io.InputStream;
import java.util.Optional;
import java.util.jar.Attributes;
import java.util.jar.Manifest;
import picocli.CommandLine.IVersionProvider;

/** Tells the version that the jar's manifest names. */
final class Version implements IVersionProvider {
  private static final String MANIFEST = "META-INF/MANIFEST.MF";

  @Override
  public String[] getVersion() throws IOException {
    return new String[] {"unified-cache " + version().orElse("(a build without a version)")};
  }

  private static Optional<String> version() throws IOException {
    Module module = Version.class.getModule();
    if (!module.isNamed()) {
      return Optional.ofNullable(Version.class.getPackage().getImplementationVersion());
    }
    try (InputStream in = module.getResourceAsStream(MANIFEST)) {
      return in == null
          ? Optional.empty()
          : Optional.ofNullable(
              new Manifest(in)
                  .getMainAttributes()
                  .getValue(Attributes.Name.IMPLEMENTATION_VERSION));
    }
  }
}
