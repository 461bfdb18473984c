"""How fast fxlint predicts, beside another linter over the same files in the same run. It prints and asserts nothing.

    python measure/benchmark.py FOLDER --torchfix PATH/TO/torchfix --ruff PATH/TO/ruff [--runs 3]

Both run as commands, by turns, each from process start to exit. CPU time is that of a command with its workers, memory
the peak of its largest process. The machine's speed drifts; the ratio of runs that follow each other drifts less.
But for the part on the cache, nothing is known of earlier runs.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import fxlint

LINES = 1000
PARTS = (8, 4, 2, 1)
FXLINT = (sys.executable, "-m", "fxlint", "--no-confirm", "--quiet", "--no-cache")
CACHED = FXLINT[:-1]


@dataclass(frozen=True)
class Run:
    """Seconds and megabytes of one command."""

    wall: float
    cpu: float
    memory: float


def timed(command: Sequence[str]) -> Run:
    """Run a command to its end; what it prints is dropped, its exit code does not matter."""
    quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=quiet)
    _, _, used = os.wait4(child, 0)
    return Run(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def median(runs: Sequence[Run]) -> Run:
    return Run(*(statistics.median(getattr(run, name) for run in runs) for name in ("wall", "cpu", "memory")))


def megabytes(files: Sequence[str]) -> float:
    return sum(Path(file).stat().st_size for file in files) / 1e6


def row(name: str, run: Run, rest: str = "") -> None:
    print(f"{name:<24} {run.wall:8.2f} s wall {run.cpu:8.2f} s CPU {run.memory:7.0f} MB {rest}", flush=True)


def throughput(files: Sequence[str], torchfix: str | None, runs: int) -> None:
    """Both commands over all files, by turns."""
    size = megabytes(files)
    print(f"{len(files)} files, {size:.1f} MB, {os.cpu_count()} cores, median of {runs}")
    ours: list[Run] = []
    theirs: list[Run] = []
    for _ in range(runs):
        ours.append(timed([*FXLINT, *files]))
        if torchfix is not None:
            theirs.append(timed([torchfix, *files]))
    row("fxlint", median(ours), f"{size / median(ours).wall:.2f} MB/s")
    if theirs:
        row("torchfix", median(theirs), f"{size / median(theirs).wall:.3f} MB/s")
        for name in ("wall", "cpu"):
            ratios = [getattr(b, name) / getattr(a, name) for a, b in zip(ours, theirs, strict=True)]
            print(f"ratio, {name}: {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


def one_file(files: Sequence[str], runs: int) -> None:
    """The model file whose length is nearest to a thousand lines, alone."""

    def distance(file: str) -> int:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
        return abs(text.count("\n") - LINES) if "def forward" in text else sys.maxsize

    file = min(files, key=distance)
    row(f"one file of {LINES} lines", median([timed([*FXLINT, file]) for _ in range(runs)]), Path(file).name)
    row("fxlint --version", median([timed([*FXLINT[:3], "--version"]) for _ in range(runs)]))


def cached(folder: Path, ruff: str | None, runs: int, *, confirm: bool) -> None:
    """Runs on a copy of the folder, of which everything is known, beside ruff and an import; then after edits."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(shutil.copytree(folder, Path(place, folder.name), ignore=shutil.ignore_patterns("__pycache__")))
        command = [*CACHED, f"--{'' if confirm else 'no-'}confirm", "--cache-dir", str(Path(place, "cache")), str(copy)]
        row("first run", timed(command))
        time.sleep(3)  # what has just been written is read again
        timed(command)
        others = {"import click": (sys.executable, "-c", "import click")}
        if ruff is not None:
            others["ruff check --no-cache"] = (ruff, "check", "--no-cache", str(copy))
        taken: dict[str, list[Run]] = {}
        for _ in range(runs):
            for name, other in {"nothing has changed": command, **others}.items():
                taken.setdefault(name, []).append(timed(other))
        for name, found in taken.items():
            row(name, median(found))
        warm = taken["nothing has changed"]
        for name in ("wall", "cpu"):
            more = [getattr(a, name) - getattr(b, name) for a, b in zip(warm, taken["import click"], strict=True)]
            print(f"beyond the import, {name}: {statistics.median(more):.2f} s ({min(more):.2f} to {max(more):.2f})")
            if ruff is not None:
                beside = zip(warm, taken["ruff check --no-cache"], strict=True)
                ratios = [getattr(a, name) / getattr(b, name) for a, b in beside]
                print(f"of ruff, {name}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        edited = []
        for file in sorted(copy.rglob("*.py"), key=lambda file: file.stat().st_size)[-runs:]:
            with file.open("a", encoding="utf-8") as stream:
                stream.write("# edited\n")
            edited.append(timed(command))
        row("one of the largest edited", median(edited))


def curve(files: Sequence[str]) -> None:
    """The cost of every eighth file, every fourth, every second, all."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        for part in PARTS:
            run = timed([*FXLINT, "--output-format", "json", "--output-file", str(report), *files[::part]])
            roots = len(json.loads(report.read_text(encoding="utf-8"))["modules"])
            row(f"1/{part} of the files", run, f"{roots} roots, {1000 * run.cpu / max(roots, 1):.1f} ms CPU per root")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a folder of Python files, such as that of an installed package")
    parser.add_argument("--torchfix", help="the command to compare with")
    parser.add_argument("--ruff", help="the command to compare with where everything is known")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=("throughput", "file", "cache", "curve"), help="one of the four parts")
    parser.add_argument("--confirm", action="store_true", help="trace too, in the part on the cache")
    given = parser.parse_args()
    compileall.compile_dir(Path(fxlint.__file__).parent, quiet=1)  # as an installation does
    files = sorted(str(path) for path in given.folder.rglob("*.py"))
    if given.only in (None, "throughput"):
        throughput(files, given.torchfix, given.runs)
    if given.only in (None, "file"):
        one_file(files, given.runs)
    if given.only in (None, "cache"):
        cached(given.folder, given.ruff, given.runs, confirm=given.confirm)
    if given.only in (None, "curve"):
        curve(files)


if __name__ == "__main__":
    main()
