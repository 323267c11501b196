"""Checks by name which tests a run of Maven has skipped.

    skipped.py without|with LIST DIRECTORY

LIST names classes of tests, each on a line after the optional part that it needs. After a run without
the parts each of them has skipped tests, and after a run with them none has. What other classes skip,
such as what root alone can do, is told. A rule of the conformance suite that does not apply to a store,
whatever the machine has, counts as no test.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml

NOT_APPLICABLE = "TestAbortedException: not-applicable: "


def read_list(path):
    classes = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line and not line.startswith("#"):
            part, name = line.split()
            classes[name] = part
    return classes


def read_reports(directory):
    """Returns the numbers of tests and of skipped ones, by class.

    The report of a class that is skipped as a whole has no test.
    """
    run = {}
    for kind in ("surefire", "failsafe"):
        for report in pathlib.Path(directory).glob(f"**/target/{kind}-reports/TEST-*.xml"):
            suite = xml.parse(report).getroot()
            if suite.find("testcase") is None:
                run[suite.get("name").split(".")[-1]] = (1, 1)
            for test in suite.iter("testcase"):
                # A class within a class has its outer one's name first.
                name = test.get("classname").split(".")[-1].split("$")[0]
                skip = test.find("skipped")
                if skip is not None and NOT_APPLICABLE in (skip.text or ""):
                    continue
                tests, skipped = run.get(name, (0, 0))
                run[name] = (tests + 1, skipped + (skip is not None))
    return run


def main(mode, list_path, directory):
    optional, run = read_list(list_path), read_reports(directory)
    wrong = []
    for name, part in sorted(optional.items()):
        tests, skipped = run.get(name, (0, 0))
        print(f"ci: {name} ({part}): {skipped} of {tests} tests skipped")
        if tests == 0:
            wrong.append(f"{name} was not run at all")
        elif mode == "without" and skipped == 0:
            wrong.append(f"{name} skipped nothing without {part}: it was in sight, or is not needed")
        elif mode == "with" and skipped > 0:
            wrong.append(f"{name} skipped {skipped} of {tests} tests although {part} is demanded")
    for name, (tests, skipped) in sorted(run.items()):
        if skipped > 0 and name not in optional:
            print(f"ci: {name} (not in {list_path}): {skipped} of {tests} tests skipped")
    for sentence in wrong:
        print("ci: " + sentence, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
