package io.unifiedcache.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PrefixTreeTest {
  private final PrefixTree tree = new PrefixTree();

  private List<String> names() {
    return tree.groups().stream().map(ObjectGroup::name).toList();
  }

  @Test
  void groups_ofModelsWithManyPages_areTheModels() {
    for (int i = 0; i < 1_000; i++) {
      tree.add("uc2_tag_model-a_" + i + "_kv", 10);
      tree.add("uc2_tag_model-b_" + i + "_kv", 20);
    }

    assertThat(tree.groups())
        .containsExactly(
            new ObjectGroup("uc2_tag_model-b_*", 1_000, 20_000),
            new ObjectGroup("uc2_tag_model-a_*", 1_000, 10_000));
  }

  @Test
  void groups_ofHashesFirst_areOne() {
    for (int i = 0; i < 100; i++) {
      tree.add(i + "_model.bin", 1);
    }

    assertThat(names()).containsExactly("*");
  }

  @Test
  void groups_ofFewKeys_areTheKeys() {
    tree.add("a/b", 1);
    tree.add("a/", 2);
    tree.add("a/b/c", 3);

    assertThat(tree.groups())
        .containsExactly(
            new ObjectGroup("a/b/c", 1, 3),
            new ObjectGroup("a/", 1, 2),
            new ObjectGroup("a/b", 1, 1));
  }

  @Test
  void groups_ofAnyKeys_countEachObjectOnceAndAreFew() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    long bytes = 0;
    for (int i = 0; i < 50_000; i++) {
      StringBuilder key = new StringBuilder();
      int parts = 1 + random.nextInt(50);
      for (int part = 0; part < parts; part++) {
        key.append((char) ('a' + random.nextInt(3))).append('_');
      }
      int size = random.nextInt(100);
      bytes += size;
      tree.add(key.toString(), size);
    }

    List<ObjectGroup> groups = tree.groups();
    assertThat(groups.stream().mapToLong(ObjectGroup::objects).sum())
        .as("seed " + seed)
        .isEqualTo(50_000);
    assertThat(groups.stream().mapToLong(ObjectGroup::bytes).sum())
        .as("seed " + seed)
        .isEqualTo(bytes);
    assertThat(groups).as("seed " + seed).hasSizeLessThan(20_000);
  }
}
