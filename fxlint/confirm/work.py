"""What the workers are asked: batches of files with their roots and suggestions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fxlint.findings import Finding, Prediction, Root
from fxlint.project.buffers import is_held
from fxlint.project.naming import ModuleName, module_name
from fxlint.project.notebook import is_notebook
from fxlint.project.source import text_of
from fxlint.tracing import STOCK, Tracing, of_root

from .found import NOTHING, Found
from .kept import Question
from .match import HEAD_FAMILIES, MET_BY_RUNNING, SILENT, family_of
from .settings import ConfirmSettings
from .tries import tries

BATCHES_PER_JOB = 3
FEWEST_FILES = 8
"""Files of one package share a process and its import of the package; in portions, so that workers share the files."""

Batch = dict[str, Any]


def batches(prediction: Prediction, settings: ConfirmSettings, found: Found = NOTHING) -> list[Batch]:
    """The work of confirming a prediction. The id of a file is its path, that of a root ``Root.id``.

    ``found`` are the instances of the survey.
    """
    return in_batches(questions(prediction, settings, found), prediction, settings)


def questions(prediction: Prediction, settings: ConfirmSettings, found: Found) -> list[Question]:
    """What is asked about each file, in the order of their paths."""
    roots: dict[str, list[Root]] = {}
    for module in prediction.modules:
        roots.setdefault(module.root.path, []).append(module.root)
    suggestions = tries(prediction)
    predicted = _by_root(prediction.findings)
    asked = []
    for path in sorted(roots):
        name = module_name(Path(path))
        specs = [
            {
                **_root(root, name, suggestions.get(root.id, []), settings, found),
                "watch": _watch(predicted.get(root.id, ())),
                "goals": _goals(predicted.get(root.id, ())),
                "silent": _silent(predicted.get(root.id, ())),
            }
            for root in roots[path]
        ]
        spec = {**specification(path, name, settings), "roots": specs}
        asked.append(Question("trace", (path,), {**_limits(settings), "file": spec}))
    return asked


def in_batches(asked: Sequence[Question], prediction: Prediction, settings: ConfirmSettings) -> list[Batch]:
    """The batches for some of the questions."""
    shared = {
        **_limits(settings),
        "interest": sorted(linted_files(prediction, settings)),
        "texts": texts(prediction, settings),
    }
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for question in asked:
        (path,) = question.files
        groups.setdefault(group_of(path, module_name(Path(path))), []).append(question.asked["file"])
    return [{**shared, "files": part} for files in groups.values() for part in _portions(files, settings.jobs)]


def _limits(settings: ConfirmSettings) -> dict[str, Any]:
    return {"seconds": settings.timeout, "memory": settings.memory, "tracing": _tracing(settings.tracing)}


def _portions(files: Sequence[dict[str, Any]], jobs: int) -> Iterator[list[dict[str, Any]]]:
    """Neighbours with about as many roots in each portion."""
    enough = sum(len(file["roots"]) for file in files) / (BATCHES_PER_JOB * max(jobs, 1))
    portion: list[dict[str, Any]] = []
    for file in files:
        portion.append(file)
        if len(portion) >= FEWEST_FILES and sum(len(file["roots"]) for file in portion) >= enough:
            yield portion
            portion = []
    if portion:
        yield portion


def linted_files(prediction: Prediction, settings: ConfirmSettings) -> dict[str, str]:
    """Real path -> path as the user spelled it, of every file whose lines count as linted."""
    places = (finding.location.path for finding in prediction.findings)
    paths = (*settings.files, *places, *(module.root.path for module in prediction.modules))
    return {str(Path(path).resolve()): path for path in paths}


def texts(prediction: Prediction, settings: ConfirmSettings) -> dict[str, str]:
    """Real path -> text of the linted files that the worker cannot read: notebooks, and what is held in memory."""
    linted = linted_files(prediction, settings).items()
    return {real: text_of(path) for real, path in linted if is_notebook(path) or is_held(path)}


def group_of(path: str, name: ModuleName) -> tuple[str, str]:
    """Files that may share a process: those of one top-level package. A file beside the road gets its own."""
    return (name.folder, name.name.partition(".")[0]) if name.package else (name.folder, path)


def specification(path: str, name: ModuleName, settings: ConfirmSettings) -> dict[str, Any]:
    """A file as the worker imports it."""
    return {
        "id": path,
        "file": str(Path(path).absolute()),
        "module": name.name,
        "package": name.package,
        "sys_path": list(dict.fromkeys([name.folder, *(str(Path(root).absolute()) for root in settings.roots)])),
    }


def _root(
    root: Root, name: ModuleName, suggestions: list[Any], settings: ConfirmSettings, found: Found
) -> dict[str, Any]:
    return {
        "id": root.id,
        "kind": root.kind,
        "qualname": root.qualname,
        "instances": declared(root, name, settings),
        "found": [{"text": one.text, "device": one.device} for one in found.instances.get(root.id, ())],
        "why_none": found.reasons.get(root.id),
        "inputs": root.inputs or of_root(settings.inputs, root, name, settings.roots, None),
        "concrete_args": settings.tracing.concrete_args_of(root),
        "suggestions": suggestions,
    }


def _tracing(tracing: Tracing) -> dict[str, Any] | None:
    if tracing.tracer == STOCK.tracer and not tracing.bind_defaults:
        return None
    tracer = {**asdict(tracing.tracer), "optional": sorted(tracing.tracer.optional)}
    return {"settings": tracer, "bind_defaults": tracing.bind_defaults}


def declared(root: Root, name: ModuleName, settings: ConfirmSettings) -> list[str]:
    """The user's expressions for instances of a root, in its source and in the configuration."""
    return [*root.instances, *of_root(settings.instances, root, name, settings.roots, ())]


def _silent(findings: Iterable[Finding]) -> list[tuple[str, str, int, int]]:
    silent = [one for one in findings if family_of(one) == SILENT]
    return sorted({(one.event, one.location.path, one.location.line, one.location.column) for one in silent})


def _by_root(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        for root in finding.modules:
            found.setdefault(root, []).append(finding)
    return found


def _watch(findings: Iterable[Finding]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, dict[tuple[int, int], None]] = {}
    for finding in findings:
        path = str(Path(finding.location.path).resolve())
        found.setdefault(path, {})[(finding.location.line, finding.location.end_line)] = None
    return {path: list(spans) for path, spans in found.items()}


def _goals(findings: Iterable[Finding]) -> list[tuple[str, int, int]]:
    """What a recording looks for: all but what is told at the head of a root, where nothing is met."""
    placed = [finding for finding in findings if family_of(finding) not in (*HEAD_FAMILIES, *MET_BY_RUNNING)]
    return [(path, first, last) for path, spans in _watch(placed).items() for first, last in spans]
