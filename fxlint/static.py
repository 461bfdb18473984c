"""The static half, file by file: what each file's result is known of an earlier run is not worked out again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from fxlint.cache import Cache, digest_of
from fxlint.findings import Finding, Prediction
from fxlint.project.index import Project
from fxlint.project.reads import Reads
from fxlint.rules import RuleSet
from fxlint.tracing import Tracing

_KIND = "file"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What can be said without running anything: the prediction, and the findings in code around graphs."""

    prediction: Prediction
    around: tuple[Finding, ...] = ()


def outlook(
    project: Project,
    paths: Sequence[str],
    rules: RuleSet,
    search_path: Sequence[Path],
    jobs: int,
    tracing: Tracing,
    cache: Cache,
) -> Outlook:
    """The outlook for ``paths``, the linted files of the project, by the cache where that knows it."""
    given = digest_of(tracing)
    found = {path: cache.recall(_KIND, project.identity(path), given, Outlook) for path in paths}
    todo = [path for path, known in found.items() if known is None]
    if todo:
        from fxlint.project.through import through

        work = partial(_outlook, rules=rules, linted=frozenset(paths), tracing=tracing)
        for path, (made, reads) in zip(todo, through(work, todo, paths, search_path, jobs), strict=True):
            cache.keep(_KIND, project.identity(path), given, reads, made)
            found[path] = made
    return _joined([one for one in found.values() if one is not None])


def _outlook(
    project: Project, path: str, rules: RuleSet, linted: frozenset[str], tracing: Tracing
) -> tuple[Outlook, Reads]:
    from fxlint.predict import predict_file
    from fxlint.transforms import lint_file

    project.reads = Reads()
    made = Outlook(predict_file(project, path, rules, linted, tracing), lint_file(project, path, rules))
    return made, project.reads


def _joined(parts: Sequence[Outlook]) -> Outlook:
    from fxlint.predict import joined

    around = chain.from_iterable(part.around for part in parts)
    return Outlook(
        joined(part.prediction for part in parts),
        tuple(sorted(around, key=lambda finding: (finding.location, finding.code))),
    )
