package io.unifiedcache.conformance.linker;

import static io.unifiedcache.conformance.linker.Edits.linker;
import static io.unifiedcache.conformance.linker.Edits.mutant;
import static io.unifiedcache.conformance.linker.Edits.spec;

import io.unifiedcache.api.FailureCode;
import io.unifiedcache.api.linker.Completion;
import io.unifiedcache.api.linker.TransferRequest;
import io.unifiedcache.conformance.Mutant;
import io.unifiedcache.conformance.subject.LinkerFactory;
import io.unifiedcache.conformance.subject.LinkerSpec;
import io.unifiedcache.linker.key.CacheIdentity;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.UnaryOperator;

/** Small edits of a linker, each of which takes what does not fit together. */
public final class RankMutants {
  private RankMutants() {}

  /** Returns all of them. */
  public static List<Mutant> all() {
    return List.of(
        mutant(
            "linker.slots",
            "a load is taken whose slot another load has",
            "a load of slot 5, which another load has, to throw",
            forgiving("is still written by", /* loads= */ true)),
        mutant(
            "linker.slots",
            "a load is taken whose slot an offload reads",
            "a load into slot 4, which an offload reads, to throw",
            forgiving("is still read by", /* loads= */ true)),
        mutant(
            "linker.slots",
            "an offload is taken from a slot that a load writes",
            "an offload from slot 4, which a load writes, to throw",
            forgiving("is still written by", /* loads= */ false)),
        mutant(
            "linker.slots",
            "a load that became ready too early is told as loaded",
            "request late to complete as failed",
            linker(
                linker ->
                    new EditedLinker(linker) {
                      @Override
                      public List<Completion> pollLoads(Duration atMost) {
                        return super.pollLoads(atMost).stream()
                            .map(RankMutants::withoutRefusals)
                            .toList();
                      }
                    })),
        mutant(
            "linker.sources",
            "a source that has no pools is no business of one rank of several",
            "a load of a source that has no pools to throw",
            spec ->
                spec.ranks().size() > 1
                    ? forgiving("no pool takes", /* loads= */ true).open(spec)
                    : LinkerFactory.unifiedCache().open(spec)),
        mutant(
            "linker.ranks",
            "the size of a page is not compared",
            "ranks that differ in the sizes of their pages to be refused",
            ofRanks(
                spec -> {
                  CacheIdentity old = spec.identity();
                  return identified(
                      spec,
                      new CacheIdentity(
                          old.tag(),
                          old.model(),
                          old.revision(),
                          old.elementType(),
                          OptionalInt.empty(),
                          old.salt(),
                          old.tensor(),
                          old.pipeline(),
                          old.context(),
                          old.decodeContext(),
                          old.splitHeads()));
                })),
        mutant(
            "linker.ranks",
            "settings are not compared",
            "ranks that differ in a setting to be refused",
            ofRanks(
                spec -> {
                  Map<String, String> settings = new LinkedHashMap<>(spec.settings());
                  settings.remove("linker.load-timeout", "29s");
                  return Edits.withSettings(spec, settings);
                })),
        mutant(
            "linker.ranks",
            "ranks of one identity are told apart by their numbers",
            "ranks that differ in nothing, their rank included, to be refused",
            ofRanks(
                spec ->
                    spec.identity().pipeline().size() > 1
                        ? spec
                        : identified(
                            spec,
                            spec.identity().toBuilder()
                                .tensor(spec.ranks().rank(), spec.ranks().size())
                                .build()))),
        mutant(
            "linker.ranks",
            "a rank closes and tells nobody",
            "to end when another rank closes",
            spec(
                spec ->
                    Edits.withRanks(
                        spec,
                        new EditedRanks(spec.ranks()) {
                          @Override
                          public void leave(String why) {}
                        }))));
  }

  /** Returns linkers that take requests which they should refuse, and do nothing for them. */
  private static LinkerFactory forgiving(String refusal, boolean loads) {
    return linker(
        linker ->
            new EditedLinker(linker) {
              @Override
              public void load(TransferRequest request) {
                forgive(loads, () -> super.load(request));
              }

              @Override
              public void offload(TransferRequest request) {
                forgive(!loads, () -> super.offload(request));
              }

              private void forgive(boolean forgiving, Runnable call) {
                try {
                  call.run();
                } catch (IllegalArgumentException e) {
                  if (!forgiving || !String.valueOf(e.getMessage()).contains(refusal)) {
                    throw e;
                  }
                }
              }
            });
  }

  private static Completion withoutRefusals(Completion completion) {
    boolean refused =
        completion.failures().stream()
            .anyMatch(
                each ->
                    each.cause().code() == FailureCode.REFUSED
                        && each.cause().message().contains("is still written by"));
    return refused ? new Completion(completion.id(), List.of()) : completion;
  }

  /** Returns linkers that are opened with something else if there are several ranks. */
  private static LinkerFactory ofRanks(UnaryOperator<LinkerSpec> edit) {
    return spec(spec -> spec.ranks().size() > 1 ? edit.apply(spec) : spec);
  }

  private static LinkerSpec identified(LinkerSpec spec, CacheIdentity identity) {
    return new LinkerSpec(
        spec.backend(), identity, spec.pools(), spec.ranks(), spec.settings(), spec.instance());
  }
}
