"""The pages of the rules: Markdown for the documentation, which a terminal shows as well, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

from fxlint.rules import Example, Rule


def markdown(rule: Rule) -> str:
    """The page of one rule."""
    level = rule.severity if rule.default else f"{rule.severity}, off by default"
    parts = [
        f"# {rule.name} ({rule.code})",
        f"{rule.summary}." + (f" Severity: {level}." if rule.events else ""),
        *_names(rule),
        f"## Why\n\n{rule.why}",
        *([f"## What happens\n\n{rule.tracer}"] if rule.tracer else []),
        f"## What to do\n\n{rule.fix}",
        *(_example("Wrong", example) for example in rule.bad),
        *(_example("Right", example) for example in rule.good),
    ]
    return "\n\n".join(parts) + "\n"


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


def table(rules: Iterable[Rule]) -> str:
    """A Markdown table of rules."""
    rows = [f"| {rule.code} | {rule.name} | {rule.severity} | {rule.summary} |" for rule in rules]
    return "\n".join(["| code | name | severity | what it finds |", "|---|---|---|---|", *rows]) + "\n"


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
