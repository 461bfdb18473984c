"""How far the proving half comes with a package as it is: no configuration, nothing declared.

    python measure/confirmed.py torchvision --python /path/to/python [--truth torchvision.jsonl.gz] [--why]

Lints an installed package of the given interpreter and prints a table. ``--truth`` has one row per module instance:
``file``, ``class`` and ``results.bare.verdict``, what the stock tracer did to it. ``--why`` adds the reasons of all
that is open, grouped. The throughput is compared with a plain loop: the same instances, built and given to
``symbolic_trace`` one after the other in one process.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
NOT_ABOUT_TRACING = frozenset({"ImportError", "ModuleNotFoundError", "TraceTimeout", "MemoryError"})
MAX_REASONS = 40
Key = tuple[str, str]

PLAIN_LOOP = """
import importlib, json, sys, time
package, told, out = sys.argv[1:]
sys.path.insert(0, ".")
instances = json.load(open(told))
started = time.perf_counter()
import torch, torch.fx
torch.set_num_threads(1)
modules = {}
for name, _ in instances:
    if name not in modules:
        modules[name] = importlib.import_module(name)
from fxlint.tracer.instances.building import evaluate, on_device, seeded
imported = time.perf_counter()
done = 0
for name, text in instances:
    for device in ("meta", "cpu"):
        try:
            with on_device(device), seeded():
                root = evaluate(text, modules[name])
            break
        except Exception:
            continue
    else:
        continue
    done += 1
    try:
        torch.fx.symbolic_trace(root)
    except Exception:
        pass
json.dump({"imports": imported - started, "loop": time.perf_counter() - imported, "modules": done}, open(out, "w"))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--why", action="store_true")
    parser.add_argument("--report", type=Path, help="keep the JSON report here")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = (arguments.report or Path(folder, "report.json")).absolute()
        here = _folder_of(arguments.package, arguments.python)
        started, used = time.perf_counter(), _processor_seconds()
        said = _lint(arguments.package, arguments.python, here, file)
        wall, used = time.perf_counter() - started, _processor_seconds() - used
        report = json.loads(file.read_text("utf-8"))
        plain = _plain_loop(report, arguments.package, arguments.python, here, Path(folder))
    rows = [*_classes(report), *_findings(report)]
    if arguments.truth is not None:
        rows.append(_agreement(report, arguments.truth))
    rows += _times(report, wall, used, said, plain)
    for name, value in rows:
        print(f"{name:58}  {value}")
    if arguments.why:
        print(*_reasons(report), sep="\n")
        if arguments.truth is not None:
            print(*(f"disagrees: {said}" for said in _disagreements(report, arguments.truth)), sep="\n")
    return 0


def _folder_of(package: str, python: str) -> Path:
    program = f"import importlib.util as u; print(u.find_spec({package!r}).submodule_search_locations[0])"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip()).parent


def _processor_seconds() -> float:
    """Of all processes that have ended below this one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}


def _lint(package: str, python: str, here: Path, report: Path) -> str:
    command = [sys.executable, "-m", "fxlint", "--no-cache", "--verbose", "--fail-on", "never", "--python", python,
               "--output-format", "json", "--output-file", str(report), package]  # fmt: skip
    done = subprocess.run(command, cwd=here, env=_environment(), capture_output=True, text=True, check=False)
    if not report.is_file():
        raise SystemExit(done.stderr)
    return done.stderr


def _plain_loop(report: Any, package: str, python: str, here: Path, folder: Path) -> dict[str, float]:
    told, out = folder / "instances.json", folder / "plain.json"
    told.write_text(json.dumps([(_module_of(m["path"]), m["confirmed"]["instance"]) for m in _traced(report)]))
    command = [python, "-c", PLAIN_LOOP, package, str(told), str(out)]
    subprocess.run(command, cwd=here, env=_environment(), capture_output=True, check=True)
    found: dict[str, float] = json.loads(out.read_text())
    return found


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _of_kind(report: Any) -> list[Any]:
    return [module for module in report["modules"] if module["kind"] == "class"]


def _traced(report: Any) -> list[Any]:
    return [module for module in _of_kind(report) if module["confirmed"]["verdict"] != "not-run"]


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} = {100 * part / whole:.1f} %" if whole else "none"


def _classes(report: Any) -> Iterator[tuple[str, str]]:
    yield "classes with a forward that were traced", share(len(_traced(report)), len(_of_kind(report)))


def _certain(report: Any) -> list[Any]:
    """The error-level, certain findings of classes that have an instance."""
    traced = {f"{module['path']}::{module['class']}" for module in _traced(report)}
    return [
        finding
        for finding in report["findings"]
        if finding["severity"] == "error" and finding["certainty"] == "always" and traced & set(finding["modules"])
    ]


def _findings(report: Any) -> Iterator[tuple[str, str]]:
    certain = _certain(report)
    confirmed = sum(finding["confirmation"]["status"] == "confirmed" for finding in certain)
    yield "certain errors of traced classes that are confirmed", share(confirmed, len(certain))
    statuses = collections.Counter(finding["confirmation"]["status"] for finding in certain)
    yield "  by status", ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    new = sum("not predicted" in (finding["confirmation"]["reason"] or "") for finding in report["findings"])
    yield "met by the tracer and not predicted", str(new)


def truth_of(file: Path) -> dict[Key, set[str]]:
    """Class -> the verdicts of its instances that say something about tracing."""
    found: dict[Key, set[str]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            result = row["results"]["bare"]
            if row.get("suspect_instance") or len(result.get("outcomes", {})) > 1:
                continue
            if result["verdict"] == "error" and result["type"] in NOT_ABOUT_TRACING:
                continue
            verdict = "fails" if result["verdict"] == "error" else "traces"
            found.setdefault((row["file"], row["class"]), set()).add(verdict)
    return found


def _compared(report: Any, truth: Path) -> Iterator[tuple[Any, set[str]]]:
    known = truth_of(truth)
    for module in _traced(report):
        verdicts = known.get((module["path"], module["class"]))
        if verdicts:
            yield module, verdicts


def _agreement(report: Any, truth: Path) -> tuple[str, str]:
    compared = list(_compared(report, truth))
    agree = sum(module["confirmed"]["verdict"] in verdicts for module, verdicts in compared)
    return "verdicts that agree with the truth", share(agree, len(compared))


def _disagreements(report: Any, truth: Path) -> Iterator[str]:
    for module, verdicts in _compared(report, truth):
        confirmed = module["confirmed"]
        if confirmed["verdict"] not in verdicts:
            error = confirmed["error"] or {}
            told = f"{error.get('type')}: {error.get('message', '')[:120]}" if error else ""
            said = f"{confirmed['verdict']} instead of {verdicts}"
            yield f"{module['path']}::{module['class']} {said} {confirmed['instance'][:120]} {told}"


def _times(report: Any, wall: float, used: float, said: str, plain: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    found = re.search(r"traced \d+ of \d+ modules \(([\d.]+) s\)", said)
    confirm = float(found[1]) if found else wall
    modules = len(_traced(report))
    yield "wall, predict and confirm, imports included", f"{wall:.1f} s"
    yield "  processor time", f"{used:.1f} s"
    yield "  of which confirm", f"{confirm:.1f} s"
    yield "imports of torch and the package, once", f"{plain['imports']:.1f} s"
    after = max(confirm - plain["imports"], 0.1)
    yield "confirm after imports", f"{modules / after:.1f} modules/s"
    loop = plain["modules"] / max(plain["loop"], 0.001)
    yield "plain loop of symbolic_trace after imports, one core", f"{loop:.1f} modules/s ({plain['loop']:.1f} s)"


def _reasons(report: Any) -> Iterator[str]:
    """Why classes have no instance, and why certain errors are not confirmed: the kinds, most frequent first."""
    none = [module for module in _of_kind(report) if module["confirmed"]["verdict"] == "not-run"]
    yield from _grouped("no instance", [((m["confirmed"]["reason"] or ""), f"{m['path']}::{m['class']}") for m in none])
    opened = [finding for finding in _certain(report) if finding["confirmation"]["status"] != "confirmed"]
    told = [
        (f"{f['confirmation']['status']}: {f['confirmation']['reason']}", f"{f['path']}:{f['line']} {f['event']}")
        for f in opened
    ]
    yield from _grouped("not confirmed", told)


def _grouped(title: str, told: Sequence[tuple[str, str]]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for reason, where in told:
        kind = re.sub(r"\b(in )?\w+( and \d+ more)? of \d+ modules: |'[^']*'|\d+", "…", reason)
        groups.setdefault(kind[:160], []).append(f"{where}  {reason[:260]}")
    yield f"-- {title}: {len(told)}"
    for kind, places in sorted(groups.items(), key=lambda item: -len(item[1]))[:MAX_REASONS]:
        yield f"{len(places):4} {kind}"
        yield from (f"       {place}" for place in places[:6])


if __name__ == "__main__":
    sys.exit(main())
