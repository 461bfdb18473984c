"""The static half: predicts from source alone what symbolic tracing will do. It imports no torch and runs no user code.

paths -> project (read, index) -> roots -> trace each abstractly -> assemble findings and verdicts
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fxlint.findings import Prediction, Problem
from fxlint.predict import evaluate as _evaluate  # noqa: F401  - the parts of the interpreter refer to each other
from fxlint.predict.assemble import assemble
from fxlint.predict.facts import Facts
from fxlint.predict.machine import Machine
from fxlint.predict.roots import find_roots
from fxlint.predict.scopes import ModuleScope
from fxlint.predict.trace import Run, trace_root
from fxlint.project.index import ModuleIndex, Project
from fxlint.project.source import UnreadableSource
from fxlint.rules import RuleSet

RECURSION_LIMIT = 20_000


def predict(paths: Sequence[str], rules: RuleSet, search_path: Sequence[Path] = ()) -> Prediction:
    """Predict for every root in ``paths``; imports are followed into ``search_path`` too. Never raises for an input."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION_LIMIT))
    project = Project(search_path)
    problems: list[Problem] = []
    indexes: list[ModuleIndex] = []
    for path in paths:
        try:
            indexes.append(project.add(path))
        except UnreadableSource as error:
            problems.append(Problem(path, error.message, error.line))
    vm = Machine(project, Facts())
    runs = [run for index in indexes for run in _runs(vm, index)]
    modules, findings = assemble(runs, rules, frozenset(index.source.path for index in indexes))
    return Prediction(modules, findings, tuple(problems))


def _runs(vm: Machine, index: ModuleIndex) -> list[Run]:
    scope = vm.scopes.get(index.name)
    if scope is None or scope.index is not index:
        scope = ModuleScope(index)
        vm.scopes.setdefault(index.name, scope)
    vm.reset()
    return [trace_root(vm, root) for root in find_roots(vm, scope)]
