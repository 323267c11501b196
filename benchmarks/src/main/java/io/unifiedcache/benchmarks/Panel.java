package io.unifiedcache.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/**
 * One plot of a picture in SVG, whose colours follow those of the reader's screen, light or dark.
 *
 * @param logarithmic whether equal factors of the horizontal axis are equally far apart
 * @param lines those further on are drawn above the others
 */
record Panel(String title, boolean logarithmic, List<Line> lines) {
  /** One value of a line. */
  record Point(double x, double y) {}

  /**
   * One line of a panel.
   *
   * @param style its class in the style sheet
   */
  record Line(String style, String name, List<Point> points) {}

  private static final int COLUMNS = 3;
  private static final int WIDTH = 320;
  private static final int HEIGHT = 270;

  // The place of the plot in a panel.
  private static final int LEFT = 52;
  private static final int TOP = 56;
  private static final int RIGHT = WIDTH - 14;
  private static final int BOTTOM = HEIGHT - 34;

  private static final String STYLE =
      """
      text{font:12px system-ui,sans-serif;fill:var(--ink)}
      .title{font-weight:600}
      .small{font-size:11px;fill:var(--soft)}
      .grid{stroke:var(--grid);fill:none}
      .line{fill:none;stroke-width:2;stroke-linejoin:round}
      .dot{stroke:var(--paper);stroke-width:1}
      .even{stroke:var(--soft);stroke-dasharray:2 4;stroke-width:1.5}
      .copies{stroke:var(--copies);stroke-dasharray:6 4}
      .lookup{stroke:var(--lookup)}
      .load{stroke:var(--load)}
      .kept{stroke:var(--copies);stroke-dasharray:6 4}
      .dot.copies,.dot.kept{fill:var(--copies)}
      .dot.lookup{fill:var(--lookup)}
      .dot.load{fill:var(--load)}
      svg{--paper:#fff;--ink:#1b1f24;--soft:#59636e;--grid:#e3e6ea;--lookup:#0a5fd0;\
      --load:#bc4c00;--copies:#1a7f4b}
      @media(prefers-color-scheme:dark){svg{--paper:#14181d;--ink:#e8ecf1;--soft:#9aa5b1;\
      --grid:#2b323a;--lookup:#6cb0ff;--load:#ff9a57;--copies:#5fd39a}}
      """;

  /** Returns a picture of panels in rows of three. */
  static String svg(String title, List<Panel> panels) {
    int rows = Math.ceilDiv(panels.size(), COLUMNS);
    StringBuilder svg = new StringBuilder();
    svg.append(
        text(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">%n",
            COLUMNS * WIDTH, rows * HEIGHT));
    svg.append("<title>").append(title).append("</title>\n");
    svg.append("<style>\n").append(STYLE).append("</style>\n");
    svg.append("<rect width=\"100%\" height=\"100%\" style=\"fill:var(--paper)\"/>\n");
    for (int i = 0; i < panels.size(); i++) {
      svg.append(text("<g transform=\"translate(%d %d)\">%n", i % COLUMNS * WIDTH, i / 3 * HEIGHT));
      panels.get(i).draw(svg);
      svg.append("</g>\n");
    }
    return svg.append("</svg>\n").toString();
  }

  private void draw(StringBuilder svg) {
    svg.append(text("<text class=\"title\" x=\"10\" y=\"20\">%s</text>%n", title));
    double most = lines.stream().flatMapToDouble(Panel::heights).max().orElseThrow();
    double step = step(most);
    double end = Math.ceil(most / step) * step;
    for (int i = 0; i * step <= end * (1 + 1e-9); i++) {
      double y = y(i * step, end);
      svg.append(text("<path class=\"grid\" d=\"M%d %.1fH%d\"/>%n", LEFT, y, RIGHT));
      svg.append(
          text(
              "<text class=\"small\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%s</text>%n",
              LEFT - 6, y + 4, number(i * step)));
    }
    for (Point point : lines.getFirst().points()) {
      svg.append(
          text(
              "<text class=\"small\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%s</text>%n",
              x(point.x()), BOTTOM + 18, number(point.x())));
    }
    lines.forEach(line -> draw(svg, line, end));
    drawNames(svg);
  }

  private void draw(StringBuilder svg, Line line, double end) {
    List<String> path = new ArrayList<>();
    for (Point point : line.points()) {
      path.add(text("%.1f %.1f", x(point.x()), y(point.y(), end)));
    }
    svg.append(text("<path class=\"line %s\" d=\"M%s\"/>%n", line.style(), String.join("L", path)));
    if (!line.style().equals("even")) {
      for (Point point : line.points()) {
        svg.append(
            text(
                "<circle class=\"dot %s\" r=\"3.5\" cx=\"%.1f\" cy=\"%.1f\"/>%n",
                line.style(), x(point.x()), y(point.y(), end)));
      }
    }
  }

  /** Names the lines above the plot, the uppermost first. */
  private void drawNames(StringBuilder svg) {
    double x = 10;
    for (Line line : lines.reversed()) {
      svg.append(text("<path class=\"line %s\" d=\"M%.1f 36h14\"/>%n", line.style(), x));
      svg.append(
          text("<text class=\"small\" x=\"%.1f\" y=\"40\">%s</text>%n", x + 18, line.name()));
      x += 29 + 5.7 * line.name().length();
    }
  }

  private static DoubleStream heights(Line line) {
    return line.points().stream().mapToDouble(Point::y);
  }

  private double x(double value) {
    List<Point> points = lines.getFirst().points();
    double from = points.getFirst().x();
    double to = points.getLast().x();
    double place =
        logarithmic ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
    return LEFT + 10 + place * (RIGHT - LEFT - 20);
  }

  private static double y(double value, double end) {
    return BOTTOM - value / end * (BOTTOM - TOP);
  }

  /** Returns 1, 2 or 5 times a power of ten, 3 to 6 of which reach {@code most}. */
  private static double step(double most) {
    double power = Math.pow(10, Math.floor(Math.log10(most / 5)));
    double digit = most / 5 / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  }

  private static String number(double value) {
    return value == Math.rint(value) ? text("%,.0f", value) : text("%.1f", value);
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
