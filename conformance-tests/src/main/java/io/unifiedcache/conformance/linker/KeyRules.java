package io.unifiedcache.conformance.linker;

import io.unifiedcache.api.ObjectKey;
import io.unifiedcache.api.PageKey;
import io.unifiedcache.api.PoolName;
import io.unifiedcache.api.linker.Component;
import io.unifiedcache.api.linker.DevicePool;
import io.unifiedcache.api.linker.DevicePools;
import io.unifiedcache.api.linker.LayerBuffer;
import io.unifiedcache.api.store.Capability;
import io.unifiedcache.conformance.linker.FaultInjectingStore.Call;
import io.unifiedcache.conformance.run.Rule;
import io.unifiedcache.conformance.run.Scope;
import io.unifiedcache.conformance.run.Trial;
import io.unifiedcache.conformance.run.Violation;
import io.unifiedcache.linker.SettingsException;
import io.unifiedcache.linker.key.CacheIdentity;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.function.UnaryOperator;

/** The rules of keys, as a store sees them. */
public final class KeyRules {
  private static final String KEYS = "keys";
  private static final String EMPTY_SEGMENTS = "sglang.empty-segments";

  private KeyRules() {}

  @Rule(
      id = "key.single-tag",
      scope = Scope.LINKER,
      text =
          "Through every entry point (lookup, load, offload, exists, remove, ranged) the tag"
              + " appears once in each object key, and all entry points meet the same objects.",
      hint = "Make object keys in one place, and tag no key that is one already.")
  static void singleTag(Trial trial) {
    for (String form : List.of("strict", "sglang-store")) {
      LinkerRig.attempt(
          trial,
          rig -> {
            UnaryOperator<Engine.Plan> plan = each -> each.layers(1).set(KEYS, form);
            try {
              expectSingleTag(trial, rig, plan);
            } catch (SettingsException e) {
              trial.note("not tried with " + KEYS + " = " + form + ": " + e.getMessage());
            }
          });
    }
  }

  private static void expectSingleTag(Trial trial, LinkerRig rig, UnaryOperator<Engine.Plan> plan) {
    Engine engine = plan.apply(rig.engine()).open();
    List<PageKey> pages = LinkerRig.pages("p", 2);
    engine.store(pages);
    Prompt.expectPut(engine, pages);
    Set<ObjectKey> objects = new LinkedHashSet<>();
    pages.forEach(page -> objects.addAll(engine.objects(page)));
    expectTagged(rig, "an offload", engine, objects);
    int found = engine.restorable(pages);
    expectTagged(rig, "a lookup", engine, objects);
    trial.expectEqual("the pages that a lookup finds of those that were offloaded", 2, found);
    expectLoaded("a load", rig, engine, pages, objects);
    expectLoaded(
        "a load of whole pages",
        rig,
        plan.apply(rig.engine()).set("linker.load-path", "pages").open(),
        pages,
        objects);
    if (trial.has(Capability.REMOVE)) {
      ObjectKey bad = objects.iterator().next();
      engine.store().follow(new LoadRules.Damaged(bad, /* canBeRemoved= */ true));
      var unused = engine.load("bad", pages, 8);
      // Seen corrupt, it is to be removed and stored anew: how that ends is another rule's
      // business.
      engine.fill(pages.getFirst(), 0);
      engine.linker().offload(engine.request("anew", pages.subList(0, 1), 0));
      var ended = engine.pollOffload();
      expectTagged(rig, "an offload of " + ended.id(), engine, objects);
    }
  }

  private static void expectLoaded(
      String what, LinkerRig rig, Engine engine, List<PageKey> pages, Set<ObjectKey> objects) {
    var loaded = engine.load("back", pages, 4);
    expectTagged(rig, what, engine, objects);
    engine.expectOk("back", loaded);
    engine.expectHeld(what, pages, 4);
  }

  /** Fails the rule unless every key that was used so far is tagged and is one of the objects. */
  private static void expectTagged(
      LinkerRig rig, String what, Engine engine, Set<ObjectKey> objects) {
    for (Call call : engine.store().calls()) {
      for (ObjectKey key : call.keys()) {
        int first = key.value().indexOf(rig.tag());
        if (first < 0 || key.value().indexOf(rig.tag(), first + 1) >= 0) {
          throw new Violation(
              "the tag \"%s\" to appear once in every key that %s uses".formatted(rig.tag(), what),
              call.step() + " of " + Trial.name(key));
        }
        if (!objects.contains(key)) {
          throw new Violation(
              what + " to use the objects that were offloaded, " + objects,
              call.step() + " of " + Trial.name(key));
        }
      }
    }
  }

  @Rule(
      id = "key.isolation",
      scope = Scope.LINKER,
      text =
          "In the strict form, identities that differ in any part (tag, model, revision, element"
              + " type, page tokens, parallel sizes and ranks, salt) share no object.",
      hint = "Write every part of the identity into the key, escaped, with a mark for absent ones.")
  static void isolation(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          Map<ObjectKey, CacheIdentity> owners = new LinkedHashMap<>();
          List<PageKey> pages = LinkerRig.pages("p", 1);
          for (CacheIdentity identity : identities(rig.tag())) {
            Engine engine = packed(rig.engine()).identity(old -> identity.toBuilder()).open();
            int found = engine.restorable(pages);
            for (ObjectKey key : keys(engine)) {
              CacheIdentity other = owners.putIfAbsent(key, identity);
              trial.expect(
                  other == null,
                  "identities that differ to share no object",
                  () -> "%s and %s both have %s".formatted(other, identity, Trial.name(key)));
            }
            trial.expectEqual("the pages that a lookup finds for new " + identity, 0, found);
            if (!trial.effort().quick()
                && keys(engine).stream().allMatch(key -> fits(trial, key))) {
              engine.store(pages);
            }
            engine.close();
          }
        });
  }

  /** Returns identities that are easily taken for one another, all of which have the tag. */
  private static List<CacheIdentity> identities(String tag) {
    CacheIdentity plain = CacheIdentity.builder().tag(tag).build();
    return List.of(
        plain,
        plain.toBuilder().tag(tag + "a").build(),
        plain.toBuilder().tag(tag + "A").build(),
        plain.toBuilder().tag(tag + "_a").build(),
        plain.toBuilder().model("").build(),
        plain.toBuilder().model("~").build(),
        plain.toBuilder().model("a").build(),
        plain.toBuilder().model("A").build(),
        plain.toBuilder().model("a/b").build(),
        plain.toBuilder().model("a-b").build(),
        plain.toBuilder().model("a_b").build(),
        plain.toBuilder().model("a%2Fb").build(),
        plain.toBuilder().model("\u00e9").build(),
        plain.toBuilder().model("e\u0301").build(),
        plain.toBuilder().tag(tag + "_a").model("b").build(),
        plain.toBuilder().revision("a").build(),
        plain.toBuilder().revision("b").build(),
        plain.toBuilder().elementType("a").build(),
        plain.toBuilder().elementType("b").build(),
        plain.toBuilder().salt("a").build(),
        plain.toBuilder().salt("b").build(),
        plain.toBuilder().salt("").build(),
        plain.toBuilder().revision("a").elementType("b").build(),
        plain.toBuilder().revision("a_b").build(),
        plain.toBuilder().pageTokens(1).build(),
        plain.toBuilder().pageTokens(16).build(),
        plain.toBuilder().tensor(0, 2).build(),
        plain.toBuilder().tensor(1, 2).build(),
        plain.toBuilder().tensor(0, 4).build(),
        plain.toBuilder().pipeline(0, 2).build(),
        plain.toBuilder().pipeline(1, 2).build(),
        plain.toBuilder().pipeline(0, 4).build(),
        plain.toBuilder().context(0, 2).build(),
        plain.toBuilder().context(1, 2).build(),
        plain.toBuilder().context(0, 4).build(),
        plain.toBuilder().decodeContext(0, 2, 4).build(),
        plain.toBuilder().decodeContext(1, 2, 4).build(),
        plain.toBuilder().decodeContext(0, 4, 4).build(),
        plain.toBuilder().decodeContext(0, 2, 8).build(),
        plain.toBuilder().splitHeads(2).build(),
        plain.toBuilder().splitHeads(4).build());
  }

  @Rule(
      id = "key.layout",
      scope = Scope.LINKER,
      text =
          "In the strict form, pools whose objects have other bytes (components, layers, sizes of"
              + " pieces, their order) share no object; where the slots are in memory, and how many"
              + " there are, changes no key.",
      hint =
          "Write a digest of the names of the components, of the layer and the size of each of"
              + " their pieces, and of their order into the key, and nothing of strides and slots.")
  static void layout(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          DevicePools plain = rig.engine().layers(2).withPacked().open().pools();
          Map<ObjectKey, String> owners = new LinkedHashMap<>();
          for (Layout each : LAYOUTS) {
            if (each.edit().apply(plain).equals(plain) && !owners.isEmpty()) {
              // The store takes one piece an object, so that there is no other order.
              continue;
            }
            for (ObjectKey key : keysOf(rig, each)) {
              String other = owners.putIfAbsent(key, each.what());
              trial.expect(
                  other == null,
                  "pools whose objects have other bytes to share no object",
                  () -> "%s and %s both have %s".formatted(other, each.what(), Trial.name(key)));
            }
          }
          Set<ObjectKey> usual = keysOf(rig, LAYOUTS.getFirst());
          for (Layout each : OTHER_MEMORY) {
            trial.expectEqual(each.what() + " to change no key", usual, keysOf(rig, each));
          }
        });
  }

  /** Pools that differ from the usual ones, of two layers and one object a page, in one thing. */
  private record Layout(String what, UnaryOperator<DevicePools> edit) {}

  private static final List<Layout> LAYOUTS =
      List.of(
          new Layout("the usual pool", UnaryOperator.identity()),
          new Layout(
              "one whose pieces are the other way round", edited(KeyRules::named, List::reversed)),
          new Layout(
              "one whose pieces belong to other layers",
              edited(
                  KeyRules::named,
                  buffers ->
                      buffers.stream()
                          .map(old -> buffer(old, 1 + old.layer(), old.pieceBytes()))
                          .toList())),
          new Layout(
              "one with a piece of another size",
              edited(
                  KeyRules::named,
                  buffers ->
                      buffers.stream()
                          .map(old -> buffer(old, old.layer(), old.pieceBytes() + 1))
                          .toList())),
          new Layout(
              "one whose objects have other names",
              edited(name -> "other" + name, buffers -> buffers)));

  private static final List<Layout> OTHER_MEMORY =
      List.of(
          new Layout("a stride that is twice as long", strided(2, 0)),
          new Layout("fewer slots", strided(1, 3)));

  private static String named(String name) {
    return name;
  }

  private static UnaryOperator<DevicePools> strided(int times, int fewer) {
    return edited(
        KeyRules::named,
        buffers ->
            buffers.stream()
                .map(
                    old ->
                        new LayerBuffer(
                            old.layer(),
                            old.memory()
                                .slice(0, old.memory().byteSize() - fewer * old.slotStride()),
                            times * old.slotStride(),
                            old.pieceBytes()))
                .toList());
  }

  private static LayerBuffer buffer(LayerBuffer old, int layer, long pieceBytes) {
    // The last slot has no room for a longer piece, which is not used here.
    return new LayerBuffer(layer, old.memory(), old.slotStride(), pieceBytes);
  }

  private static UnaryOperator<DevicePools> edited(
      UnaryOperator<String> names, UnaryOperator<List<LayerBuffer>> buffers) {
    return pools ->
        new DevicePools(
            pools.pools().stream()
                .map(
                    pool ->
                        new DevicePool(
                            pool.name(),
                            pool.components().stream()
                                .map(
                                    each ->
                                        new Component(
                                            names.apply(each.name()),
                                            buffers.apply(each.buffers())))
                                .toList()))
                .toList(),
            pools.rankReplicated());
  }

  private static Set<ObjectKey> keysOf(LinkerRig rig, Layout layout) {
    Engine engine = rig.engine().layers(2).withPacked().pools(layout.edit()).open();
    var unused = engine.restorable(LinkerRig.pages("p", 1));
    engine.close();
    return keys(engine);
  }

  private static boolean fits(Trial trial, ObjectKey key) {
    return key.value().getBytes(StandardCharsets.UTF_8).length <= trial.limits().keyBytes();
  }

  @Rule(
      id = "key.deterministic",
      scope = Scope.LINKER,
      text = "Equal input gives equal keys in any JVM, locale, time zone and default charset.",
      hint =
          "Look for case changes and formats without a locale, for default charsets, hash codes of"
              + " objects and the order of hash sets where keys are made.",
      alone = true)
  static void deterministic(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          // Opens the store, whose own business the locale is not. Another JVM or another default
          // charset cannot be had here: a factory of linkers is an object of this JVM.
          Set<ObjectKey> usual = keysOfLinker(rig);
          Locale locale = Locale.getDefault();
          TimeZone zone = TimeZone.getDefault();
          try {
            expectSameKeys(trial, rig, usual, "a second linker");
            Locale.setDefault(Locale.forLanguageTag("tr-TR"));
            expectSameKeys(trial, rig, usual, "a linker in locale tr-TR");
            Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
            expectSameKeys(trial, rig, usual, "a linker in locale ar-EG, with its digits");
            Locale.setDefault(locale);
            String other = zone.getRawOffset() == 0 ? "Asia/Kolkata" : "UTC";
            TimeZone.setDefault(TimeZone.getTimeZone(other));
            expectSameKeys(trial, rig, usual, "a linker in time zone " + other);
          } finally {
            Locale.setDefault(locale);
            TimeZone.setDefault(zone);
          }
        });
  }

  private static void expectSameKeys(
      Trial trial, LinkerRig rig, Set<ObjectKey> usual, String what) {
    trial.expectEqual("the keys of " + what + " with equal input", usual, keysOfLinker(rig));
  }

  /** Returns the keys that a new linker uses, with a new identity and new names of pages. */
  private static Set<ObjectKey> keysOfLinker(LinkerRig rig) {
    Engine engine =
        packed(rig.engine())
            .identity(
                identity ->
                    identity
                        .model("Ii")
                        .revision("Ii")
                        .elementType("I8i")
                        .pageTokens(16)
                        .tensor(1, 2))
            .open();
    List<PageKey> pages = LinkerRig.pages("pI", 2);
    var unused = engine.linker().lookup(pages, engine.queries());
    engine.fill(pages.getFirst(), 0);
    engine.linker().offload(engine.request("o", pages.subList(0, 1), 0));
    // How it ends does not matter: a key that the store does not take was seen, too.
    var unusedCompletion = engine.pollOffload();
    engine.close();
    return keys(engine);
  }

  @Rule(
      id = "key.empty-segment",
      scope = Scope.LINKER,
      text =
          "In SGLang's forms of keys, with sglang.empty-segments = filter, empty parts of a model"
              + " name leave no doubled, leading or trailing separator; with keep, keys equal"
              + " SGLang's.",
      hint =
          "With keep, write / as - and nothing else; with filter, join the parts that are not"
              + " empty, and leave out a tag or model of which nothing is left.")
  static void emptySegment(Trial trial) {
    LinkerRig.attempt(
        trial,
        rig -> {
          try {
            for (Named each : NAMES) {
              expectNamed(trial, rig, each, "keep", each.keep());
              expectNamed(trial, rig, each, "filter", each.filter());
            }
          } catch (SettingsException e) {
            throw trial.notApplicable(
                "the linker does not write keys in SGLang's forms: " + e.getMessage());
          }
        });
  }

  /**
   * A name, and the key of the first object of page {@code p}. In all of it, T stands for a text
   * that was never used before.
   */
  private record Named(String form, String tag, String model, String keep, String filter) {}

  private static final List<Named> NAMES =
      List.of(
          linkerKey("T", "org/m", "T_org-m_", "T_org-m_"),
          linkerKey("T", "/models/x", "T_-models-x_", "T_models-x_"),
          linkerKey("T", "org//m", "T_org--m_", "T_org-m_"),
          linkerKey("T", "org/m/", "T_org-m-_", "T_org-m_"),
          linkerKey("T", "//", "T_--_", "T_"),
          linkerKey("T", "", "T_", "T_"),
          linkerKey("", "/T", "_-T_", "T_"),
          new Named("sglang-store", "T", "/m//x/", "T_-m--x-_p_0_k", "T_m-x_p_0_k"),
          new Named("sglang-store", "", "T", "_T_p_0_k", "T_p_0_k"),
          new Named("sglang-file", "", "/T//m/", "p_-T--m-_0_1.bin", "p_T-m_0_1.bin"));

  private static Named linkerKey(String tag, String model, String keep, String filter) {
    String rest = "p_tp0_cp0_pp0_k";
    return new Named("sglang-linker", tag, model, keep + rest, filter + rest);
  }

  private static void expectNamed(
      Trial trial, LinkerRig rig, Named named, String segments, String key) {
    Engine.Plan plan = rig.engine().layers(1);
    if (named.form().equals("sglang-store")) {
      plan.pool(PoolName.KV, PoolName.KV, "k", "v");
    } else {
      packed(plan);
    }
    String tag = named.tag().replace("T", rig.tag());
    String model = named.model().replace("T", rig.tag());
    Engine engine =
        plan.identity(identity -> identity.tag(tag).model(model))
            .set(KEYS, named.form())
            .set(EMPTY_SEGMENTS, segments)
            .open();
    var unused = engine.linker().lookup(List.of(new PageKey("p")), engine.queries());
    List<ObjectKey> asked =
        engine.store().calls().stream().flatMap(call -> call.keys().stream()).toList();
    engine.close();
    String expected = key.replace("T", rig.tag());
    trial.expect(
        !asked.isEmpty() && asked.getFirst().value().equals(expected),
        "the first object of page p, with %s = %s, %s = %s, tag \"%s\" and model \"%s\", to be \"%s\""
            .formatted(KEYS, named.form(), EMPTY_SEGMENTS, segments, tag, model, expected),
        () -> asked.isEmpty() ? "no object is asked for" : Trial.name(asked.getFirst()));
  }

  // Engines and what they ask for.

  /** Makes the pool kv, of one object a page, with one layer. */
  private static Engine.Plan packed(Engine.Plan plan) {
    return plan.layers(1).withPacked();
  }

  private static Set<ObjectKey> keys(Engine engine) {
    Set<ObjectKey> keys = new HashSet<>();
    engine.store().calls().forEach(call -> keys.addAll(call.keys()));
    return keys;
  }
}
