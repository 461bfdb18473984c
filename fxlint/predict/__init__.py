"""The static half: predicts from source alone what symbolic tracing will do. It imports no torch and runs no user code.

paths -> project (read, index) -> roots -> trace each abstractly -> assemble findings and verdicts
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fxlint.findings import Finding, Location, ModuleReport, Prediction, Problem
from fxlint.predict import evaluate as _evaluate  # noqa: F401  - the parts of the interpreter refer to each other
from fxlint.predict.assemble import Assembly, merged
from fxlint.predict.facts import Facts
from fxlint.predict.machine import Machine
from fxlint.predict.roots import find_roots
from fxlint.predict.scopes import ModuleScope
from fxlint.predict.trace import FAULT, trace_root
from fxlint.project.index import Project
from fxlint.project.source import UnreadableSource, refused
from fxlint.project.through import through
from fxlint.rules import RuleSet
from fxlint.tracing import STOCK, Tracing


def predict(
    paths: Sequence[str],
    rules: RuleSet,
    search_path: Sequence[Path] = (),
    jobs: int = 1,
    tracing: Tracing = STOCK,
) -> Prediction:
    """Predict for every root in ``paths``; imports are followed into ``search_path`` too. Never raises for an input."""
    work = partial(predict_file, rules=rules, linted=frozenset(paths), tracing=tracing)
    return joined(through(work, paths, paths, search_path, jobs))


def predict_file(
    project: Project, path: str, rules: RuleSet, linted: frozenset[str], tracing: Tracing = STOCK
) -> Prediction:
    """The prediction for the roots in one file; findings may stand in any file that is ``linted``."""
    assembly = Assembly(rules, linted)
    vm = Machine(project, Facts(), tracing, tuple(rule for rule in rules if rule.calls), linted)
    problems = tuple(_predict_file(vm, path, assembly))
    return Prediction(tuple(assembly.modules), tuple(assembly.findings()), problems)


def _predict_file(vm: Machine, path: str, assembly: Assembly) -> Iterator[Problem]:
    try:
        index = vm.project.load(path)
        wrong = refused(index.source)
        if wrong is not None:
            raise wrong
    except UnreadableSource as error:
        yield Problem(path, error.message, error.line)
        return
    scope = vm.scopes[index.name] = ModuleScope(index)
    try:
        for root in find_roots(vm, scope):
            assembly.add(trace_root(vm, root), partial(trace_root, vm, root, usual=True))
    except Exception as error:  # one file's surprise costs no other file its result
        yield Problem(path, f"{FAULT}: {type(error).__name__}: {error}")


def joined(parts: Iterable[Prediction]) -> Prediction:
    """One prediction, sorted, for files that come in a fixed order."""
    parts = tuple(parts)
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
