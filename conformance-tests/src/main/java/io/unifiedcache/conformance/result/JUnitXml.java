package io.unifiedcache.conformance.result;

import java.io.StringWriter;
import java.time.Duration;
import java.util.Locale;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/** A report for the test views of build servers: a test suite with a test case for each rule. */
final class JUnitXml {
  private JUnitXml() {}

  static String of(ConformanceReport report) {
    StringWriter text = new StringWriter();
    try {
      XMLStreamWriter xml = XMLOutputFactory.newInstance().createXMLStreamWriter(text);
      write(report, xml);
      xml.close();
    } catch (XMLStreamException e) {
      throw new IllegalStateException("writing to memory failed", e);
    }
    return text.append('\n').toString();
  }

  private static void write(ConformanceReport report, XMLStreamWriter xml)
      throws XMLStreamException {
    Duration total = Duration.ZERO;
    for (RuleResult rule : report.rules()) {
      total = total.plus(rule.time());
    }
    long errors = report.count(Outcome.HARNESS_ERROR);
    long failures = report.count(Outcome.FAILED);
    long passed = report.count(Outcome.PASSED);
    xml.writeStartDocument("UTF-8", "1.0");
    xml.writeCharacters("\n");
    xml.writeStartElement("testsuite");
    xml.writeAttribute("name", "conformance." + report.subject());
    xml.writeAttribute("tests", Integer.toString(report.rules().size()));
    xml.writeAttribute("failures", Long.toString(failures));
    xml.writeAttribute("errors", Long.toString(errors));
    xml.writeAttribute(
        "skipped", Long.toString(report.rules().size() - errors - failures - passed));
    xml.writeAttribute("time", seconds(total));
    for (RuleResult rule : report.rules()) {
      xml.writeCharacters("\n  ");
      write(report, rule, xml);
    }
    xml.writeCharacters("\n");
    xml.writeEndElement();
    xml.writeEndDocument();
  }

  private static void write(ConformanceReport report, RuleResult rule, XMLStreamWriter xml)
      throws XMLStreamException {
    xml.writeStartElement("testcase");
    xml.writeAttribute("classname", "conformance." + report.subject());
    xml.writeAttribute("name", rule.rule());
    xml.writeAttribute("time", seconds(rule.time()));
    switch (rule.outcome()) {
      case PASSED -> {}
      case FAILED -> detail(xml, "failure", rule);
      case HARNESS_ERROR -> detail(xml, "error", rule);
      case NOT_APPLICABLE, NO_HOOK, SET_ASIDE -> detail(xml, "skipped", rule);
    }
    xml.writeEndElement();
  }

  private static void detail(XMLStreamWriter xml, String element, RuleResult rule)
      throws XMLStreamException {
    xml.writeStartElement(element);
    xml.writeAttribute(
        "message", Text.printable(rule.outcome() + ": " + Text.firstLine(rule.reason())));
    xml.writeCharacters(Text.printable(rule.reason()));
    xml.writeEndElement();
  }

  private static String seconds(Duration time) {
    return String.format(Locale.ROOT, "%.3f", time.toNanos() / 1e9);
  }
}
