"""How often each rule fires in an installed package, and samples of what it says to judge by reading.

    python measure/catalogue.py torchvision --python /path/to/python [--rules FX2,FX3] [--confirm] [--sample 20]

Prints for each rule the number of findings and of module classes that have one, and the share of all classes. A rule
about code around graphs has no classes. ``--confirm`` traces, and adds what the tracer says: the share of classes is
then of those whose finding is not refuted. ``--report`` keeps the JSON report, or reads it where it exists.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
STATUSES = ("confirmed", "refuted", "unreached", "unconfirmed")
LINES_AROUND = 2
Finding = Mapping[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", help="a name such as kornia, or a part of one such as torch/fx")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rules", default="FX2,FX3,FX4", help="codes or prefixes, with commas")
    parser.add_argument("--confirm", action="store_true")
    parser.add_argument("--sample", type=int, default=0, help="so many findings of each rule, with their lines")
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = (arguments.report or Path(folder, "report.json")).absolute()
        if not file.exists():
            _lint(arguments.package, arguments.python, arguments.rules, file, arguments.confirm)
        report = json.loads(file.read_text(encoding="utf-8"))
    classes = len(report["modules"])
    print(f"{arguments.package}: {classes} classes with a forward")
    by_rule: dict[str, list[Finding]] = collections.defaultdict(list)
    for finding in report["findings"]:
        by_rule[finding["code"]].append(finding)
    for code, findings in sorted(by_rule.items()):
        print(_row(code, findings, classes, arguments.confirm))
    for code, findings in sorted(by_rule.items()) if arguments.sample else ():
        standing = [one for one in findings if one["confirmation"]["status"] != "refuted"]
        for finding in random.Random(code).sample(standing, min(arguments.sample, len(standing))):
            print("\n".join(_shown(finding)))
    return 0


def _lint(package: str, python: str, rules: str, file: Path, confirm: bool) -> None:
    name, _, rest = package.partition("/")
    found = subprocess.run(
        [python, "-c", f"import importlib.util as u; print(u.find_spec({name!r}).submodule_search_locations[0])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    place = Path(found.stdout.strip(), rest)
    settings = ["--isolated", "--exit-zero", "--quiet", "--select", rules]
    mode = ["--python", python] if confirm else ["--no-confirm"]
    command = [sys.executable, "-m", "fxlint", "check", *settings, *mode, "--output-format", "json"]
    subprocess.run([*command, "--output-file", str(file), str(place)], cwd=REPOSITORY, check=False)


def _row(code: str, findings: Sequence[Finding], classes: int, confirm: bool) -> str:
    standing = [one for one in findings if one["confirmation"]["status"] != "refuted"]
    hit = {module for finding in standing for module in finding["modules"]}
    row = f"{code} {findings[0]['rule']:<32} {len(findings):5} findings {len(hit):5} classes"
    row += f" {100 * len(hit) / max(classes, 1):5.1f} %"
    if confirm:
        counted = collections.Counter(finding["confirmation"]["status"] for finding in findings)
        row += "  " + ", ".join(f"{counted[status]} {status}" for status in STATUSES if counted[status])
    return row


def _shown(finding: Finding) -> Iterator[str]:
    said = finding["confirmation"]
    yield f"\n{finding['path']}:{finding['line']}:{finding['column']} {finding['code']} {finding['message']}"
    yield f"  {len(finding['modules'])} classes, {finding['certainty']}, {said['status']}: {said['reason']}"
    lines = Path(finding["path"]).read_text(encoding="utf-8", errors="replace").splitlines()
    first = max(finding["line"] - 1 - LINES_AROUND, 0)
    for number, line in enumerate(lines[first : finding["end_line"] + LINES_AROUND], first + 1):
        yield f"  {number:5}{'>' if finding['line'] <= number <= finding['end_line'] else ' '} {line}"


if __name__ == "__main__":
    sys.exit(main())
