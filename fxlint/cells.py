"""Places in notebooks: what was found in the text of all code cells, told by cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from fxlint.findings import Confirmation, Confirmed, Edit, Finding, Location, ModuleReport, Prediction, Problem, Step
from fxlint.project.buffers import content
from fxlint.project.notebook import Notebook, is_notebook, read_notebook

_WHY: Final = "a notebook cannot be imported"
_NOT_RUN: Final = Confirmed("not-run", _WHY)
_UNCONFIRMED: Final = Confirmation("unconfirmed", _WHY)


class Cells:
    """Turns places in the text of notebooks into places in their cells; each notebook is read once."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._notebooks = {path: found for path in paths if is_notebook(path) and (found := _read(path)) is not None}

    def finding(self, finding: Finding) -> Finding:
        if not self._notebooks:
            return finding
        return replace(
            finding,
            location=self._location(finding.location),
            provenance=tuple(Step(self._location(step.location), step.text) for step in finding.provenance),
            suggestions=tuple(
                replace(one, edits=tuple(Edit(self._location(edit.location), edit.text) for edit in one.edits))
                for one in finding.suggestions
            ),
        )

    def module(self, module: ModuleReport) -> ModuleReport:
        if module.root.path not in self._notebooks:
            return module
        path, line = self._place(module.root.path, module.root.line)
        first = module.predicted.first
        return replace(
            module,
            root=replace(module.root, path=path, line=line),
            predicted=replace(module.predicted, first=None if first is None else self._location(first)),
        )

    def problem(self, problem: Problem) -> Problem:
        if problem.line is None or problem.path not in self._notebooks:
            return problem
        path, line = self._place(problem.path, problem.line)
        return replace(problem, path=path, line=line)

    def _place(self, path: str, line: int) -> tuple[str, int]:
        return self._notebooks[path].place(path, line)

    def _location(self, place: Location) -> Location:
        if place.path not in self._notebooks:
            return place
        path, line = self._place(place.path, place.line)
        return replace(place, path=path, line=line, end_line=place.end_line - place.line + line)


def _read(path: str) -> Notebook | None:
    try:
        return read_notebook(content(path))
    except (OSError, ValueError):  # predict says why
        return None


def confirmed_without_notebooks(prediction: Prediction, confirm: Callable[[Prediction], Prediction]) -> Prediction:
    """What ``confirm`` makes of the modules in files; those in notebooks, which cannot be imported, are not run."""
    apart = [module for module in prediction.modules if is_notebook(module.root.path)]
    if not apart:
        return confirm(prediction)
    names = {module.root.id for module in apart}
    only_there = [finding for finding in prediction.findings if set(finding.modules) <= names]
    elsewhere = [
        replace(finding, modules=tuple(name for name in finding.modules if name not in names))
        for finding in prediction.findings
        if not set(finding.modules) <= names
    ]
    others = tuple(module for module in prediction.modules if module.root.id not in names)
    result = confirm(replace(prediction, modules=others, findings=tuple(elsewhere)))
    modules = {(finding.code, finding.location): finding.modules for finding in prediction.findings}
    found = (
        replace(finding, modules=modules.get((finding.code, finding.location), finding.modules))
        for finding in result.findings
    )
    return replace(
        result,
        modules=(*result.modules, *(replace(module, confirmed=_NOT_RUN) for module in apart)),
        findings=(*found, *(replace(finding, confirmation=_UNCONFIRMED) for finding in only_there)),
    )
