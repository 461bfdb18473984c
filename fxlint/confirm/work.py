"""What the workers are asked: batches of files with their roots and suggestions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fxlint.findings import Edit, Finding, Prediction, Root, Suggestion

from .kinds import read_source
from .names import ModuleName, module_name
from .settings import ConfirmSettings

FILES_PER_BATCH = 16
"""Files of one package share a process and its import of the package; in portions, so that workers share the files."""
ROOTS_PER_SUGGESTION = 3
"""A helper may break a hundred classes: a suggestion is tried on the first few."""

Batch = dict[str, Any]


def batches(prediction: Prediction, settings: ConfirmSettings) -> list[Batch]:
    """The work of confirming a prediction. The id of a file is its path, that of a root ``Root.id``."""
    roots: dict[str, list[Root]] = {}
    for module in prediction.modules:
        roots.setdefault(module.root.path, []).append(module.root)
    suggestions = _suggestions(prediction, settings)
    shared = {
        "interest": sorted(linted_files(prediction, settings)),
        "watch": _watch(prediction.findings),
        "seconds": settings.timeout,
        "memory": settings.memory,
    }
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in sorted(roots):
        name = module_name(Path(path))
        spec = _file(path, name, roots[path], suggestions, settings)
        groups.setdefault(_group(path, name), []).append(spec)
    return [
        {**shared, "files": files[start : start + FILES_PER_BATCH]}
        for files in groups.values()
        for start in range(0, len(files), FILES_PER_BATCH)
    ]


def linted_files(prediction: Prediction, settings: ConfirmSettings) -> dict[str, str]:
    """Real path -> path as the user spelled it, of every file whose lines count as linted."""
    places = (finding.location.path for finding in prediction.findings)
    paths = (*settings.files, *places, *(module.root.path for module in prediction.modules))
    return {str(Path(path).resolve()): path for path in paths}


def _group(path: str, name: ModuleName) -> tuple[str, str]:
    """Files that may share a process: those of one top-level package. A file beside the road gets its own."""
    return (name.folder, name.name.partition(".")[0]) if name.package else (name.folder, path)


def _file(
    path: str, name: ModuleName, roots: Sequence[Root], suggestions: Mapping[str, list[Any]], settings: ConfirmSettings
) -> dict[str, Any]:
    return {
        "id": path,
        "file": str(Path(path).absolute()),
        "module": name.name,
        "package": name.package,
        "sys_path": list(dict.fromkeys([name.folder, *(str(Path(root).absolute()) for root in settings.roots)])),
        "roots": [
            {
                "id": root.id,
                "kind": root.kind,
                "qualname": root.qualname,
                "instances": [*root.instances, *_configured(settings.instances, root, name, settings.roots, ())],
                "inputs": _configured(settings.inputs, root, name, settings.roots, None),
                "suggestions": suggestions.get(root.id, []),
            }
            for root in roots
        ],
    }


def _configured(values: Mapping[str, Any], root: Root, name: ModuleName, folders: Sequence[str], default: Any) -> Any:
    """The setting for a root, by ``package.module:Class`` or ``path.py::Class``."""
    dotted = f"{name.name}:{root.qualname}"
    if dotted in values:
        return values[dotted]
    here = Path(root.path).resolve()
    for key, value in values.items():
        path, separator, qualname = key.partition("::")
        places = [Path(folder, path).resolve() for folder in (*folders, ".")]
        if separator and qualname == root.qualname and here in places:
            return value
    return default


def _watch(findings: Iterable[Finding]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, dict[tuple[int, int], None]] = {}
    for finding in findings:
        path = str(Path(finding.location.path).resolve())
        found.setdefault(path, {})[(finding.location.line, finding.location.end_line)] = None
    return {path: list(spans) for path, spans in found.items()}


def suggestion_id(finding: int, suggestion: int) -> str:
    return f"{finding}.{suggestion}"


def _suggestions(prediction: Prediction, settings: ConfirmSettings) -> dict[str, list[dict[str, Any]]]:
    """Root id -> what to try on it."""
    declared = {module.root.id: bool(module.root.instances) for module in prediction.modules}
    wanted: dict[str, list[dict[str, Any]]] = {}
    for number, finding in enumerate(prediction.findings):
        known = [root for root in finding.modules if root in declared]
        chosen = sorted(known, key=lambda root: not declared[root])[:ROOTS_PER_SUGGESTION]
        for position, suggestion in enumerate(finding.suggestions):
            job = _job(suggestion)
            for root in chosen if job is not None else ():
                wanted.setdefault(root, []).append({"id": suggestion_id(number, position), **(job or {})})
    return wanted


def _job(suggestion: Suggestion) -> dict[str, Any] | None:
    if suggestion.kind == "concrete_args" and suggestion.concrete_args is not None:
        return {"kind": "concrete_args", "expr": suggestion.concrete_args}
    if suggestion.kind == "wrap" and suggestion.wrap is not None and suggestion.edits:
        file = str(Path(suggestion.edits[0].location.path).absolute())
        return {"kind": "wrap", "file": file, "name": suggestion.wrap}
    if suggestion.kind == "rewrite" and suggestion.edits:
        return {"kind": "rewrite", "files": _rewritten(suggestion.edits)}
    return None


def _rewritten(edits: Sequence[Edit]) -> dict[str, str]:
    """Path -> source with the edits applied."""
    ordered = sorted(edits, key=lambda edit: edit.location.path)
    return {
        str(Path(path).absolute()): apply(read_source(path), list(group))
        for path, group in itertools.groupby(ordered, key=lambda edit: edit.location.path)
    }


def apply(source: str, edits: Sequence[Edit]) -> str:
    """The source with edits applied, which must not overlap; those at one place in the order given."""
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))

    def offset(line: int, column: int) -> int:
        return min(starts[min(line - 1, len(starts) - 1)] + column - 1, len(source))

    spans = [
        (offset(at.line, at.column), offset(at.end_line, at.end_column), edit.text)
        for edit in edits
        for at in (edit.location,)
    ]
    pieces, position = [], 0
    for start, end, text in sorted(spans, key=lambda span: span[:2]):
        pieces += [source[position:start], text]
        position = max(position, end)
    return "".join([*pieces, source[position:]])
