package io.unifiedcache.cli.report;

import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleFunction;

/**
 * Where values lie along one side of a chart, and which of them are named.
 *
 * @param from the value at the start; above 0 on a logarithmic axis
 * @param to the value at the end, above {@code from}
 */
record Axis(double from, double to, boolean logarithmic, List<Tick> ticks) {
  /**
   * A value that is named.
   *
   * @param label one line, or several separated by line feeds
   */
  record Tick(double value, String label) {}

  /** Returns an axis from 0 to a round number that is at least {@code most}. */
  static Axis linear(double most, double unit, DoubleFunction<String> label) {
    double step = step(most / unit) * unit;
    double end = Math.ceil(most / step - 1e-9) * step;
    List<Tick> ticks = new ArrayList<>();
    for (int i = 0; i * step <= end * (1 + 1e-9); i++) {
      ticks.add(new Tick(i * step, label.apply(i * step)));
    }
    return new Axis(0, end, /* logarithmic= */ false, ticks);
  }

  /** Returns an axis of counts from 0. */
  static Axis counts(double most) {
    return linear(Math.max(most, 5), 1, value -> Numbers.count(Math.round(value)));
  }

  /** Returns an axis of bytes from 0. */
  static Axis bytes(double most) {
    double atLeast = Math.max(most, 5);
    return linear(atLeast, Numbers.unit(atLeast), Numbers::size);
  }

  /** Returns an axis of shares from 0. */
  static Axis shares(double most) {
    return linear(Math.max(most, 0.01), 0.01, value -> Numbers.text("%.0f %%", 100 * value));
  }

  /** Returns a logarithmic axis that names powers of a number. */
  static Axis powers(double from, double to, double base, DoubleFunction<String> label) {
    List<Tick> ticks = new ArrayList<>();
    for (double power = Math.ceil(log(base, from) - 1e-9); power <= log(base, to) + 1e-9; power++) {
      ticks.add(new Tick(Math.pow(base, power), label.apply(Math.pow(base, power))));
    }
    return new Axis(from, to, /* logarithmic= */ true, ticks);
  }

  private static double log(double base, double value) {
    return Math.log(value) / Math.log(base);
  }

  /** Returns 1, 2 or 5 times a power of ten, 3 to 6 of which reach {@code most}. */
  static double step(double most) {
    double rough = most / 5;
    double power = Math.pow(10, Math.floor(Math.log10(rough)));
    double digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  }

  /** Returns where a value lies, from 0 to 1. */
  double place(double value) {
    double place =
        logarithmic ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
    return Math.clamp(place, 0, 1);
  }
}
