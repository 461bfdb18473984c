"""Code around graphs: mistakes in what builds, changes, runs and matches torch.fx graphs. Static; no torch.

paths -> File (functions, names) -> Kinds (which expression is a Graph, a Node, ...) -> checks -> findings
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from fxlint.findings import Confirmation, Finding, Suggestion
from fxlint.project.index import Project
from fxlint.project.source import UnreadableSource
from fxlint.project.through import through
from fxlint.rules import RuleSet
from fxlint.transforms import graphs, modules, nodes, patterns, subclasses
from fxlint.transforms.code import File
from fxlint.transforms.infer import Classes, Kinds
from fxlint.transforms.view import Check, Event, View

CHECKS: Final[tuple[Check, ...]] = (
    *graphs.CHECKS,
    *nodes.CHECKS,
    *modules.CHECKS,
    *subclasses.CHECKS,
    *patterns.CHECKS,
)

_CONCERNED: Final = re.compile(r"\bfx\b|\bpattern_matcher\b|\bGraphModule\b")
"""What a file must hold to have anything to do with graphs."""

NOT_TRACED: Final = Confirmation("unconfirmed", "this is code around graphs, and nothing of it is run")


def lint_transforms(paths: Sequence[str], rules: RuleSet, search_path: Sequence[Path] = ()) -> tuple[Finding, ...]:
    """The findings in code around graphs, in order of place. What cannot be read has none; predict says why."""
    found = through(partial(lint_file, rules=rules), paths, paths, search_path)
    return tuple(sorted(chain.from_iterable(found), key=lambda finding: (finding.location, finding.code)))


def lint_file(project: Project, path: str, rules: RuleSet) -> tuple[Finding, ...]:
    """The findings in one file, in no particular order."""
    return tuple(_lint_file(path, project, rules))


def _lint_file(path: str, project: Project, rules: RuleSet) -> Iterator[Finding]:
    try:
        index = project.load(path)
        if not _CONCERNED.search(index.source.text):
            return
        file = File(index, project)
    except (UnreadableSource, RecursionError):
        return
    classes = Classes(project)
    kinds = Kinds(file, classes)
    found: dict[tuple[str, object], Finding] = {}
    for function in file.functions:
        view = View(function, kinds)
        for check in CHECKS:
            for event in check(view):
                finding = _finding(event, view, rules)
                found.setdefault((finding.code, finding.location), finding)
    yield from found.values()


def _finding(event: Event, view: View, rules: RuleSet) -> Finding:
    rule = rules.for_event(event.kind)
    help_ = (Suggestion("rewrite", event.help, event.edits),) if event.help else ()
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=rule.severity_of(event.kind),
        location=view.file.index.source.location(event.node),
        message=rule.message.format(text=event.text, origin=event.origin, callee=event.callee),
        event=event.kind,
        confirmation=NOT_TRACED,
        suggestions=help_,
    )
