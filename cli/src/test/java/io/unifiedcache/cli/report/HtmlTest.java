package io.unifiedcache.cli.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;

class HtmlTest {
  @Test
  void textsAndAttributes_areEscaped() {
    Html html = new Html().leaf("p", "<b> & \"c\"", "class", "\"><script>");

    assertThat(html.toString())
        .isEqualTo(
            """
            <!DOCTYPE html>
            <p class="&quot;&gt;&lt;script&gt;">&lt;b&gt; &amp; &quot;c&quot;</p>
            """);
  }

  @Test
  void verbatim_thatCouldEndItsElement_isRefused() {
    Html html = new Html().open("script");

    assertThatIllegalArgumentException().isThrownBy(() -> html.verbatim("</script>"));
  }

  @Test
  void page_withAnOpenElement_isRefused() {
    Html html = new Html().open("p");

    assertThatIllegalStateException().isThrownBy(html::toString).withMessageContaining("[p]");
  }
}
