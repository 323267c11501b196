package io.unifiedcache.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A plot in SVG that stretches with the page, and labels beside it that keep their size.
 *
 * <p>The classes of the shapes choose their colours, in the style sheet.
 */
final class Chart {
  /** The sides of the plot in its own units. */
  private static final int SIDE = 1000;

  private final Axis x;
  private final Axis y;
  private final List<Shape> shapes = new ArrayList<>();
  private final List<Mark> marks = new ArrayList<>();

  /** A value that holds from one place to another. */
  record Step(double from, double to, double value) {}

  /** A path, and what it tells on being pointed at, or nothing. */
  private record Shape(String style, String path, String hint) {}

  /** A named value of the horizontal axis. */
  private record Mark(String style, double value, String label) {}

  Chart(Axis x, Axis y) {
    this.x = x;
    this.y = y;
    StringBuilder grid = new StringBuilder();
    y.ticks().forEach(tick -> grid.append("M0 ").append(y(tick.value())).append('H').append(SIDE));
    shapes.add(new Shape("grid", grid.toString(), ""));
  }

  /** Draws steps that follow each other as a line. */
  Chart line(String style, List<Step> steps) {
    shapes.add(new Shape("line " + style, outline(steps).replaceFirst("V", "M0 "), ""));
    return this;
  }

  /** Fills what is below steps that follow each other. */
  Chart area(String style, List<Step> steps) {
    String floor = y(y.from());
    String start = x(steps.getFirst().from());
    shapes.add(
        new Shape(
            "area " + style, "M%s %s%sV%sZ".formatted(start, floor, outline(steps), floor), ""));
    return this;
  }

  private String outline(List<Step> steps) {
    StringBuilder path = new StringBuilder();
    for (Step step : steps) {
      path.append('V').append(y(step.value())).append('H').append(x(step.to()));
    }
    return path.toString();
  }

  /** Draws one bar. */
  Chart bar(String style, Step step, double bottom, String hint) {
    shapes.add(new Shape("area " + style, box(step, bottom), hint));
    return this;
  }

  /** Tells something when a place between two values is pointed at. */
  Chart hint(double from, double to, String hint) {
    shapes.add(new Shape("hint", box(new Step(from, to, y.to()), y.from()), hint));
    return this;
  }

  private String box(Step step, double bottom) {
    return "M%s %sV%sH%sV%sZ"
        .formatted(x(step.from()), y(bottom), y(step.value()), x(step.to()), y(bottom));
  }

  /** Draws and names a line across the plot. */
  Chart mark(String style, double value, String label) {
    shapes.add(new Shape("mark " + style, "M%s 0V%d".formatted(x(value), SIDE), label));
    marks.add(new Mark(style, value, label));
    return this;
  }

  /**
   * Writes the chart.
   *
   * @param style classes of the whole
   * @param label says what there is to see
   */
  void write(Html html, String style, String label) {
    html.open("div", "class", "plot " + style);
    html.open("div", "class", "y");
    for (Axis.Tick tick : y.ticks()) {
      html.leaf("span", tick.label(), "style", "bottom:" + percent(y.place(tick.value())));
    }
    html.close();
    html.open("div", "class", "canvas");
    String viewBox = "0 0 %d %d".formatted(SIDE, SIDE);
    html.open(
        "svg",
        "viewBox",
        viewBox,
        "preserveAspectRatio",
        "none",
        "role",
        "img",
        "aria-label",
        label);
    for (Shape shape : shapes) {
      html.open("path", "class", shape.style(), "d", shape.path());
      if (!shape.hint().isEmpty()) {
        html.leaf("title", shape.hint());
      }
      html.close();
    }
    html.close();
    for (Mark mark : marks) {
      double place = x.place(mark.value());
      html.leaf(
          "span",
          mark.label(),
          "class",
          "label " + mark.style() + (place > 0.5 ? " before" : ""),
          "style",
          "left:" + percent(place));
    }
    html.close();
    html.open("div", "class", "x");
    for (Axis.Tick tick : x.ticks()) {
      html.leaf("span", tick.label(), "style", "left:" + percent(x.place(tick.value())));
    }
    html.close();
    html.close();
  }

  private String x(double value) {
    return number(SIDE * x.place(value));
  }

  private String y(double value) {
    return number(SIDE * (1 - y.place(value)));
  }

  private static String percent(double share) {
    return number(100 * share) + "%";
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }
}
