"""The static half: predicts from source alone what symbolic tracing will do. It imports no torch and runs no user code.

paths -> project (read, index) -> roots -> trace each abstractly -> assemble findings and verdicts
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from fxlint.findings import Finding, Location, ModuleReport, Prediction, Problem
from fxlint.garbage import uncollected
from fxlint.predict import evaluate as _evaluate  # noqa: F401  - the parts of the interpreter refer to each other
from fxlint.predict.assemble import Assembly, merged
from fxlint.predict.facts import Facts
from fxlint.predict.machine import Machine
from fxlint.predict.roots import find_roots
from fxlint.predict.scopes import ModuleScope
from fxlint.predict.trace import FAULT, trace_root
from fxlint.processes import in_processes
from fxlint.project.index import Project
from fxlint.project.source import UnreadableSource, refused
from fxlint.rules import RuleSet
from fxlint.tracing import STOCK, Tracing

RECURSION_LIMIT: Final = 8_000
MAX_SOURCE: Final = 4_000_000
"""Characters of source whose syntax trees are kept at once; a tree takes some forty times the memory of its text."""
CHUNK: Final = 100_000
"""Bytes of source that go to one process before the next one gets some: files that import each other are neighbours."""


def predict(
    paths: Sequence[str],
    rules: RuleSet,
    search_path: Sequence[Path] = (),
    jobs: int = 1,
    tracing: Tracing = STOCK,
) -> Prediction:
    """Predict for every root in ``paths``; imports are followed into ``search_path`` too. Never raises for an input."""
    work = partial(_predict_share, paths=paths, rules=rules, search_path=search_path, tracing=tracing)
    return _joined(in_processes(work, _shares(paths, jobs)))


def _shares(paths: Sequence[str], jobs: int) -> list[list[str]]:
    """The files of each process: fixed beforehand, as what a process has learned from one file serves the next."""
    shares: list[list[str]] = [[]]
    number = size = 0
    for path in paths:
        if size >= CHUNK:
            number, size = (number + 1) % jobs, 0
            if number == len(shares):
                shares.append([])
        shares[number].append(path)
        size += _size(path)
    return shares


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - once per file, before anything is read
    except OSError:
        return 0


def _predict_share(
    share: Sequence[str], paths: Sequence[str], rules: RuleSet, search_path: Sequence[Path], tracing: Tracing
) -> Prediction:
    """The prediction for some of the files of a run."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    assembly = Assembly(rules, frozenset(paths))
    problems: list[Problem] = []
    project = Project(paths, search_path)
    own_rules = tuple(rule for rule in rules if rule.calls)
    vm = Machine(project, Facts(), tracing, own_rules)
    with uncollected():
        for path in share:
            problems.extend(_predict_file(vm, path, assembly))
            if project.size > MAX_SOURCE:
                project.forget()
                vm = Machine(project, Facts(), tracing, own_rules)
                gc.collect()  # scopes and functions refer to each other
    return Prediction(tuple(assembly.modules), tuple(assembly.findings()), tuple(problems))


def _predict_file(vm: Machine, path: str, assembly: Assembly) -> Iterator[Problem]:
    try:
        index = vm.project.load(path)
        wrong = refused(index.source)
        if wrong is not None:
            raise wrong
    except UnreadableSource as error:
        yield Problem(path, error.message, error.line)
        return
    scope = vm.scopes.get(index.name)
    if scope is None or scope.index is not index:
        scope = ModuleScope(index)
        vm.scopes.setdefault(index.name, scope)
    vm.reset()
    try:
        for root in find_roots(vm, scope):
            assembly.add(trace_root(vm, root), partial(trace_root, vm, root, usual=True))
    except Exception as error:  # one file's surprise costs no other file its result
        yield Problem(path, f"{FAULT}: {type(error).__name__}: {error}")


def _joined(parts: Sequence[Prediction]) -> Prediction:
    findings: dict[tuple[str, Location], Finding] = {}
    for part in parts:
        for finding in part.findings:
            place = (finding.code, finding.location)
            findings[place] = merged(findings[place], finding) if place in findings else finding
    modules: list[ModuleReport] = [module for part in parts for module in part.modules]
    modules.sort(key=lambda module: (module.root.path, module.root.line, module.root.qualname))
    ordered = sorted(findings.values(), key=lambda finding: (finding.location, finding.code))
    return Prediction(
        tuple(modules),
        tuple(replace(finding, modules=tuple(sorted(finding.modules))) for finding in ordered),
        tuple(problem for part in parts for problem in part.problems),
    )
