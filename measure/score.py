"""How often prediction from source agrees with the stock tracer, on real packages.

    python measure/score.py --site-packages DIR [torchvision kornia ...] [--misses 20]

``measure/truth`` holds what ``torch.fx.symbolic_trace`` did to each of thousands of module instances, with the
traceback; one row per instance, and the version of the package in each row. Needs the sources of those versions (``pip
install --no-deps``) and no torch. Prints one table with a column per package.

Rows whose failure has nothing to do with tracing are left out: a missing package, an abstract forward, an instance
with constructor arguments that were guessed badly, a verdict that depends on random numbers.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
TRUTH = Path(__file__).resolve().parent / "truth"
NOT_ABOUT_TRACING = frozenset({"ImportError", "ModuleNotFoundError", "TraceTimeout", "MemoryError"})
HEAD_LINES = 8  # of decorators above a def
Row = Mapping[str, Any]
Place = tuple[str, int]


def rows(name: str) -> list[Row]:
    """The instances to be judged; those that failed have at least one place in the package."""
    with gzip.open(TRUTH / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [row for row in map(json.loads, lines) if is_about_tracing(row) and (traces(row) or places(row))]


def traces(row: Row) -> bool:
    return bool(row["results"]["bare"]["verdict"] != "error")


def is_about_tracing(row: Row) -> bool:
    result = row["results"]["bare"]
    if row.get("suspect_instance") or len(result.get("outcomes", ())) > 1:
        return False
    abstract = result.get("type") == "NotImplementedError" and not result["message"].strip("'\" ")
    return traces(row) or not (result["type"] in NOT_ABOUT_TRACING or abstract)


def places(row: Row) -> list[Place]:
    """The lines of the traceback in the package, innermost last.

    A forward whose decorator hides its signature fails before a line of the package runs; its head stands for it then,
    as a negative line.
    """
    frames = row["results"]["bare"].get("frames", ())
    own = [(frame["file"], frame["line"]) for frame in frames if frame["file"].startswith(row["package"] + "/")]
    return own or ([(row["forward_file"], -row["forward_line"])] if row["forward_decorated"] else [])


def covers(found: Mapping[str, Any], place: Place) -> bool:
    path, line = place
    first: int = found["line"]
    last: int = found.get("end_line") or first
    return bool(found["path"] == path) and (first <= line <= last if line > 0 else -line <= first <= HEAD_LINES - line)


def folders(name: str, judged: Sequence[Row]) -> list[str]:
    """What to lint: the package, or where only a part of it was measured, the folders of that part.

    Of the package's own folder, which has all the others in it, the files.
    """
    package = judged[0]["package"]
    if name == package:
        return [package]
    files = {Path(file) for row in judged for file in (row["file"], *(file for file, _ in places(row)))}
    return sorted({str(file if file.parent == Path(package) else file.parent) for file in files})


def report_on(paths: Sequence[str], site_packages: Path) -> Any:
    command = [sys.executable, "-m", "fxlint", "--isolated", "--no-confirm", "--output-format", "json", *paths]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=site_packages, env=environment, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def misses(judged: Sequence[Row], report: Any) -> Iterator[Row]:
    for row in judged:
        if not traces(row) and not any(covers(finding, places(row)[-1]) for finding in findings_of(row, report)):
            yield row


def findings_of(row: Row, report: Any) -> list[Any]:
    name = f"{row['file']}::{row['class']}"
    return [found for found in report["findings"] if found["severity"] == "error" and name in found["modules"]]


def score(judged: Sequence[Row], report: Any) -> dict[str, str]:
    predicted = {(module["path"], module["class"]): module["predicted"] for module in report["modules"]}
    failing = [row for row in judged if not traces(row)]
    verdicts = {id(row): predicted.get((row["file"], row["class"]), {"verdict": "missing"}) for row in judged}
    hits = [[[covers(f, place) for f in findings_of(row, report)] for place in places(row)] for row in failing]
    innermost = [any(found[-1]) for found in hits]
    lines: dict[Place, bool] = collections.defaultdict(bool)
    for row, hit in zip(failing, innermost, strict=True):
        lines[places(row)[-1]] |= hit
    expected = [row for row in failing if verdicts[id(row)]["verdict"] == "fails"]
    exact = [row for row in expected if covers(verdicts[id(row)]["first"], places(row)[-1])]
    tracing = [row for row in judged if traces(row)]
    alarms = [row for row in tracing if verdicts[id(row)]["verdict"] == "fails"]
    decided = [row for row in judged if verdicts[id(row)]["verdict"] in {"fails", "traces"}]
    right = [row for row in decided if traces(row) == (verdicts[id(row)]["verdict"] == "traces")]
    classes = {(row["file"], row["class"]) for row in judged}
    return {
        "instances": str(len(judged)),
        "fail": str(len(failing)),
        "recall, any line": share(sum(any(map(any, found)) for found in hits), len(failing)),
        "recall, innermost line": share(sum(innermost), len(failing)),
        "recall, distinct lines": share(sum(lines.values()), len(lines)),
        "first exact": share(len(exact), len(expected)),
        "false alarms": share(len(alarms), len(tracing)),
        "decided": share(len(decided), len(judged)),
        "accuracy": share(len(right), len(decided)),
        "classes with an entry": share(len(classes & predicted.keys()), len(classes)),
    }


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = sorted(path.name.removesuffix(".jsonl.gz") for path in TRUTH.glob("*.jsonl.gz"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(known)}; default: all")
    parser.add_argument("--site-packages", type=Path, required=True, help="the folder that the packages are in")
    parser.add_argument("--misses", type=int, default=0, help="print this many failures that were not found")
    arguments = parser.parse_args()
    table: dict[str, dict[str, str]] = {}
    for name in arguments.names or known:
        judged = rows(name)
        report = report_on(folders(name, judged), arguments.site_packages)
        table[f"{name} {judged[0]['version']}"] = score(judged, report)
        for row, _ in zip(misses(judged, report), range(arguments.misses), strict=False):
            print(name, row["class"], *places(row)[-1], row["results"]["bare"]["message"][:80], row["made_by"])
    print("| |" + "|".join(table) + "|", "|---" * (len(table) + 1) + "|", sep="\n")
    for figure in next(iter(table.values())):
        print(f"| {figure} | " + " | ".join(column[figure] for column in table.values()) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
