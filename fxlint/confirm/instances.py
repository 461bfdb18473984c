"""Finds instances before anything is traced: asks the workers for a survey, and gives every root its share."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fxlint.findings import Finding, Prediction, Problem, Root
from fxlint.project.naming import module_name
from fxlint.tracer.messages import INHERITED

from .found import Found, Instance
from .kept import Question
from .settings import ConfirmSettings
from .work import Batch, declared, group_of, linted_files, specification, texts

MAX_INSTANCES = 3
"""Configurations of one class that are traced."""
MAX_SOURCES = 3000
MAX_SOURCE_BYTES = 400_000
BASE_SECONDS = 20.0
SECONDS_PER_CLASS = 0.3
_EXAMPLES = (".py", ".md", ".rst", ".txt")
_IGNORED = frozenset(("node_modules", "site-packages", "__pycache__", "build", "dist", "venv"))
_BESIDE = frozenset(("test", "tests", "testing", "example", "examples", "doc", "docs", "scripts", "benchmarks", "demo"))

Key = tuple[str, str]


def survey_questions(
    prediction: Prediction, settings: ConfirmSettings, conditions: Mapping[str, list[str]]
) -> list[Question]:
    """What the workers are asked to find: the classes that nobody has declared an instance of.

    ``conditions`` are those of ``conditions_of``, by root id.
    """
    roots: dict[str, list[Root]] = {}
    for module in prediction.modules:
        if module.root.kind == "class" and not declared(module.root, module_name(Path(module.root.path)), settings):
            roots.setdefault(module.root.path, []).append(module.root)
    groups: dict[tuple[str, str], list[str]] = {}
    for path in sorted(roots):
        groups.setdefault(group_of(path, module_name(Path(path))), []).append(path)
    found = []
    for paths in groups.values():
        wanted = [
            {
                "file": str(Path(path).resolve()),
                "qualname": root.qualname,
                "conditions": conditions.get(root.id, []),
            }
            for path in paths
            for root in roots[path]
        ]
        sources = sorted(_sources(module_name(Path(paths[0])).folder, paths))
        for part in _parts(paths, roots, settings.jobs):
            files = [specification(path, module_name(Path(path)), settings) for path in part]
            budget = BASE_SECONDS + SECONDS_PER_CLASS * sum(len(roots[path]) for path in part)
            asked = {
                "task": "survey",
                "files": files,
                "wanted": wanted,
                "sources": sources,
                "seconds": settings.timeout,
                "memory": settings.memory,
                "budget": budget,
            }
            found.append(Question("survey", tuple(part), asked))
    return found


def survey_batches(asked: Iterable[Question], prediction: Prediction, settings: ConfirmSettings) -> list[Batch]:
    """One batch for each of the questions."""
    shared = {"interest": sorted(linted_files(prediction, settings)), "texts": texts(prediction, settings)}
    return [{**question.asked, **shared} for question in asked]


def conditions_of(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """Root id -> the conditions on the configuration of the instance that its findings depend on."""
    found: dict[str, dict[str, None]] = {}
    for finding in findings:
        for condition in finding.depends_on:
            read = _of_the_instance(condition)
            for root in finding.modules if read is not None else ():
                found.setdefault(root, {})[str(read)] = None
    return {root: list(conditions) for root, conditions in found.items()}


def _of_the_instance(condition: str) -> str | None:
    """A condition that reads nothing but attributes of ``self``, without the ``not`` around it; None for any other."""
    try:
        tree = ast.parse(condition, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    while isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        tree = tree.operand
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    calls = any(isinstance(node, ast.Call) for node in ast.walk(tree))
    return ast.unparse(tree) if names == {"self"} and not calls else None


def _parts(paths: Sequence[str], roots: Mapping[str, Sequence[Root]], jobs: int) -> list[list[str]]:
    """The files of a package in one part per worker: neighbours together, and about as many classes in each."""
    total = sum(len(roots[path]) for path in paths)
    parts: list[list[str]] = [[]]
    count = 0
    for path in paths:
        if count * jobs >= total * len(parts) and len(parts) < jobs:
            parts.append([])
        parts[-1].append(path)
        count += len(roots[path])
    return parts


def _sources(folder: str, paths: Sequence[str]) -> Iterator[str]:
    """Texts that may show how the classes of a package are made: the package's other files, and beside it its tests,
    examples and documentation. Installed packages have none beside them but strangers.
    """
    name = module_name(Path(paths[0]))
    own = Path(folder, name.name.partition(".")[0]) if name.package else None
    known = {str(Path(path).resolve()) for path in paths}
    count = 0
    for top in [*([own] if own is not None and own.is_dir() else []), *_beside(Path(folder))]:
        for file in _walk(top):
            path = str(file.resolve())
            if path not in known and count < MAX_SOURCES:
                count += 1
                yield path


def _beside(folder: Path) -> list[Path]:
    """The files and the folders of tests, examples and documentation next to a package."""
    if folder.name in ("site-packages", "dist-packages"):
        return []
    tops = [folder, folder.parent] if folder.name in ("src", "lib") else [folder]
    entries = [entry for top in tops for entry in _entries(top)]
    return [entry for entry in entries if entry.is_file() or entry.name.lower() in _BESIDE]


def _walk(top: Path) -> Iterator[Path]:
    if top.is_file():
        if top.suffix in _EXAMPLES and top.stat().st_size <= MAX_SOURCE_BYTES:
            yield top
        return
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _IGNORED and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(_EXAMPLES):
                yield Path(folder, name)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


class Survey:
    """Collects what the workers find."""

    def __init__(self, prediction: Prediction, conditions: Mapping[str, list[str]]) -> None:
        self._conditions = conditions
        self._roots = {
            (str(Path(module.root.path).resolve()), module.root.qualname): module.root.id
            for module in prediction.modules
        }
        self._found: dict[str, dict[tuple[bool | None, ...], Instance]] = {}
        self._reasons: dict[str, str] = {}
        self._problems: dict[str, Problem] = {}
        self._files = {module.root.path for module in prediction.modules}

    def take(self, message: Mapping[str, Any]) -> None:
        """Take a message of a worker; what the code under lint wrote into its pipe is passed over."""
        if message["kind"] == "unimported":
            if message["file"] in self._files:
                self._problems[message["file"]] = Problem(message["file"], message["reason"], stage="confirm")
            return
        key = message.get("class")
        root = self._roots.get(tuple(key)) if isinstance(key, list) else None
        if root is None:
            return
        if message["kind"] == "none":
            if message["reason"] is not None:
                self._reasons[root] = message["reason"]
            return
        answers = tuple(message["answers"])
        instance = Instance(
            message["text"], message["how"], message["device"], message["rank"], message["seconds"], answers
        )
        known = self._found.setdefault(root, {})
        if answers not in known or (instance.rank, instance.seconds) < (known[answers].rank, known[answers].seconds):
            known[answers] = instance

    def found(self) -> Found:
        """The instances of every root; those made up or of a subclass only where there is no better one."""
        chosen = {}
        for root, by_answers in self._found.items():
            ranked = sorted(by_answers.values(), key=lambda one: (one.rank, one.seconds, one.text))
            own = [one for one in ranked if one.rank < INHERITED] or ranked[:1]
            chosen[root] = tuple(_in_both_modes(own, self._conditions.get(root, [])))[:MAX_INSTANCES]
        reasons = {root: why for root, why in self._reasons.items() if root not in chosen}
        return Found(chosen, reasons, tuple(self._problems.values()))


def _in_both_modes(instances: Sequence[Instance], conditions: Sequence[str]) -> list[Instance]:
    """The instances, and the first one in evaluation mode where a finding depends on the mode."""
    if "self.training" not in conditions:
        return list(instances)
    first = instances[0]
    return [first, replace(first, text=f"{first.text}.eval()"), *instances[1:]]
