package io.unifiedcache.linker.golden;

import static io.unifiedcache.linker.golden.GoldenRows.flag;
import static io.unifiedcache.linker.golden.GoldenRows.number;
import static io.unifiedcache.linker.golden.GoldenRows.optional;
import static io.unifiedcache.linker.golden.GoldenRows.text;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.unifiedcache.api.HostMemory;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.linker.key.CacheIdentity;
import io.unifiedcache.linker.key.EmptySegments;
import io.unifiedcache.linker.key.KeyForm;
import io.unifiedcache.linker.key.KeyLayout;
import io.unifiedcache.linker.key.KeyTemplate;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What the {@code config} and the pools of a row of keys mean: identity, layout and components. */
public final class GoldenKeys {
  private static final HostMemory BYTE = HostMemory.of(Arena.global().allocate(1));

  private GoldenKeys() {}

  /** Returns the layout of a row's {@code config}. */
  public static KeyLayout layout(KeyForm form, JsonObject config) {
    boolean rankReplicated =
        flag(config, form == KeyForm.SGLANG_LINKER ? "rankReplicated" : "isMla");
    return KeyLayout.of(form, identity(config), rankReplicated, EmptySegments.KEEP);
  }

  /** Returns the identity of a row's {@code config}. */
  public static CacheIdentity identity(JsonObject config) {
    CacheIdentity.Builder builder =
        CacheIdentity.builder()
            .tensor(number(config, "tpRank"), number(config, "tpSize"))
            .pipeline(number(config, "ppRank"), number(config, "ppSize"))
            .context(number(config, "attnCpRank"), number(config, "attnCpSize"));
    tag(config.get("extraBackendTag")).ifPresent(builder::tag);
    optional(config, "modelName").or(() -> optional(config, "modelPath")).ifPresent(builder::model);
    if (config.has("dcpSize")) {
      builder.decodeContext(
          number(config, "dcpRank"), number(config, "dcpSize"), number(config, "logicalPageSize"));
    }
    if (flag(config, "shouldSplitHeads")) {
      builder.splitHeads(number(config, "tpLcmSize"));
    }
    return builder.build();
  }

  /** Returns the components of the store's pool {@code kv}. */
  public static List<String> storeKv(JsonObject config) {
    if (flag(config, "isMla")) {
      return List.of("k");
    }
    if (!flag(config, "shouldSplitHeads")) {
      return List.of("k", "v");
    }
    List<String> components = new ArrayList<>();
    for (int i = 0; i < number(config, "tpLcmSize") / number(config, "tpSize"); i++) {
      components.add("k." + i);
      components.add("v." + i);
    }
    return components;
  }

  /**
   * Returns the components of a hybrid pool of the store, as its host pool looks; none where there
   * is no host pool.
   */
  public static List<String> storeHybrid(JsonObject row) {
    String variant = text(row, "hostVariant");
    boolean mla = flag(row.getAsJsonObject("config"), "isMla");
    return switch (text(row, "pool") + ":" + variant) {
      case "kv:plain", "draft:mlaHost" -> List.of("k");
      case "draft:mhaHost", "draft_swa:mhaHost" -> List.of("k", "v");
      case "swa:hasVBuffer" -> mla ? List.of(Component.PACKED) : List.of("k", "v");
      case "swa:noVBuffer" -> mla ? List.of(Component.PACKED) : List.of("k");
      case "mamba:temporal+2conv" -> List.of("temporal", "conv_0", "conv_1");
      case "mamba:temporal+1conv" -> List.of("temporal", "conv_0");
      case "mamba:2conv" -> List.of("conv_0", "conv_1");
      case "mamba:temporalOnly" -> List.of("temporal");
      case "mamba:none", "swa:unregistered" -> List.of();
      case "draft_swa:other" -> List.of("other");
      case "draft_swa:mlaHost", "draft_swa:dsv4PagedHost" -> List.of(Component.PACKED);
      default -> {
        if (!variant.equals("plain")) {
          throw new IllegalArgumentException("a host pool that is not known here: " + row);
        }
        yield List.of(Component.PACKED);
      }
    };
  }

  /** Returns the components of a pool of the store's second interface. */
  public static List<String> storeV2(JsonObject config, String pool) {
    return switch (pool) {
      case "draft" -> List.of("k", "v");
      case "mamba" -> List.of("temporal", "conv_0", "conv_1");
      case "swa" -> flag(config, "isMla") ? List.of(Component.PACKED) : List.of("k", "v");
      default -> List.of(Component.PACKED);
    };
  }

  /** Returns a pool of one layer, of a byte in each component. */
  public static DevicePool pool(String name, List<String> components) {
    return new DevicePool(
        new PoolName(name),
        components.stream()
            .map(each -> new Component(each, List.of(new LayerBuffer(0, BYTE, 1))))
            .toList());
  }

  /** Returns the keys of the objects of the pages, page after page. */
  public static List<String> keys(
      KeyLayout layout, String pool, List<String> components, List<PageKey> pages) {
    List<KeyTemplate> templates = layout.templates(pool(pool, components));
    List<String> keys = new ArrayList<>();
    for (PageKey page : pages) {
      for (KeyTemplate template : templates) {
        keys.add(template.key(page).value());
      }
    }
    return keys;
  }

  /** Returns a tag as SGLang prints it; there is none where the option is absent or null. */
  private static Optional<String> tag(JsonElement value) {
    if (value == null || value.isJsonNull()) {
      return Optional.empty();
    }
    JsonPrimitive tag = value.getAsJsonPrimitive();
    return Optional.of(
        tag.isBoolean() ? (tag.getAsBoolean() ? "True" : "False") : tag.getAsString());
  }
}
