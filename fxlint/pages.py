"""The pages of the rules: Markdown for the documentation, which a terminal shows as well, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from itertools import groupby
from types import MappingProxyType
from typing import Any, Final

from fxlint.rules import Example, Rule

FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "FX0": "Comments",
        "FX1": "What does not trace",
        "FX2": "What traces, and leaves a graph that is not the model",
        "FX3": "Code around graphs",
        "FX4": "Patterns",
    }
)
"""What the rules are about, by the beginning of their codes."""


def markdown(rule: Rule) -> str:
    """The page of one rule."""
    parts = [
        f"# {rule.name} ({rule.code})",
        f"{rule.summary}." + (f" Severity: {_level(rule)}." if rule.events else ""),
        *_names(rule),
        f"## Why\n\n{rule.why}",
        *([f"## What happens\n\n{rule.tracer}"] if rule.tracer else []),
        f"## What to do\n\n{rule.fix}",
        *(_example("Wrong", example) for example in rule.bad),
        *(_example("Right", example) for example in rule.good),
    ]
    return "\n\n".join(parts) + "\n"


def _level(rule: Rule) -> str:
    return rule.severity if rule.default else f"{rule.severity}, off by default"


def _names(rule: Rule) -> Iterator[str]:
    """What a rule of a project says of what it names."""
    for said, names in (
        ("Cannot be traced", rule.untraceable),
        ("Discouraged", rule.discouraged),
        ("Leaf modules", rule.leaf_modules),
        ("One node for each call", rule.autowrap_functions),
    ):
        if names:
            yield f"{said}: {', '.join(f'`{name}`' for name in names)}."


def _example(what: str, example: Example) -> str:
    files = "".join(f"\n`{name}`:\n\n```python\n{code}```\n" for name, code in example.files)
    return f"## {what}: {example.name.replace('_', ' ')}\n\n```python\n{example.code}```\n{files}".rstrip()


_HEAD: Final = ("| code | name | severity | what it finds |", "|---|---|---|---|")


def table(rules: Iterable[Rule]) -> str:
    """A Markdown table of rules."""
    rows = [f"| {rule.code} | {rule.name} | {rule.severity} | {rule.summary} |" for rule in rules]
    return "\n".join([*_HEAD, *rows]) + "\n"


def family(rule: Rule) -> str:
    return FAMILIES.get(rule.code[:3], "Rules of the project")


def files(rules: Iterable[Rule]) -> dict[str, str]:
    """The pages by the names of their files: ``index.md``, and one page for each rule, named after its code."""
    pages = {f"{rule.code}.md": markdown(rule) for rule in rules}
    return {"index.md": _index(rules), **pages}


def _index(rules: Iterable[Rule]) -> str:
    """A table for each family, with links to the pages; a project's own rules come last."""
    parts = ["# Rules"]
    for name, members in groupby(sorted(rules, key=lambda rule: rule.is_own), family):
        rows = [
            f"| [{rule.code}]({rule.code}.md) | {rule.name} | {_level(rule)} | {rule.summary} |" for rule in members
        ]
        parts.append("\n".join([f"## {name}\n", *_HEAD, *rows]))
    return "\n\n".join(parts) + "\n"


def listing(rules: Iterable[Rule]) -> str:
    """One line for each rule."""
    return "".join(f"{rule.code} {rule.name}{'' if rule.default else ' (off)'}: {rule.summary}\n" for rule in rules)


def as_json(rules: Iterable[Rule]) -> str:
    return json.dumps([_fields(rule) for rule in rules], indent=2, ensure_ascii=False) + "\n"


def _fields(rule: Rule) -> dict[str, Any]:
    names = ("code", "name", "severity", "default", "events", "summary", "why", "tracer", "fix")
    return {name: getattr(rule, name) for name in names}


def for_terminal(text: str, *, width: int, color: bool) -> str:
    """Markdown as a terminal shows it."""
    from rich.console import Console
    from rich.markdown import Markdown

    out = StringIO()
    console = Console(file=out, width=width, force_terminal=color, no_color=not color, highlight=False)
    console.print(Markdown(text))
    return out.getvalue()
