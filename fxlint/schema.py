"""The JSON schema of the configuration, for editors: ``docs/fxlint.schema.json`` is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

from fxlint.config import CONSTANTS, MAX_JOBS, MAX_SECONDS, MODULE, NAME, OBJECT, Confidence, Config, FailOn, toml
from fxlint.findings import Severity
from fxlint.tracing import PRESETS

_TEXT: Final[Mapping[str, Any]] = {"type": "string", "minLength": 1}
_TEXTS: Final[Mapping[str, Any]] = {"type": "array", "items": _TEXT}
_FLAG: Final[Mapping[str, Any]] = {"type": "boolean"}
_VALUES: Final[Mapping[str, Any]] = {"type": "object", "additionalProperties": {"not": {"enum": [*CONSTANTS]}}}
_CLASS: Final[Mapping[str, Any]] = {"pattern": "[^:]:.*[^:]"}
"""``package.module:Class`` or ``path.py::Class``."""


def _names(pattern: str) -> Mapping[str, Any]:
    return {"type": "array", "items": {"type": "string", "pattern": f"^{pattern}$"}}


_KEYS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "exclude": ("What to leave out: patterns as in .gitignore; instead of the default list.", _TEXTS),
    "extend-exclude": ("What to leave out as well.", _TEXTS),
    "force-exclude": ("Leave it out even if it is named.", _FLAG),
    "respect-gitignore": ("Whether .gitignore files hold.", _FLAG),
    "select": ("The rules to report: codes, prefixes, names, or ALL.", _TEXTS),
    "extend-select": ("Rules to report as well.", _TEXTS),
    "ignore": ("Rules not to report.", _TEXTS),
    "per-file-ignores": (
        "Rules not to report in the files of a pattern.",
        {"type": "object", "additionalProperties": _TEXTS},
    ),
    "rules": ("Rules of the project's own: files, or folders of them.", _TEXTS),
    "ignore-noqa": ("Report what comments suppress, too.", _FLAG),
    "baseline": ("A file of findings to live with.", _TEXT),
    "min-severity": ("The least severity that is reported.", {"enum": list(get_args(Severity))}),
    "min-confidence": ("How sure what is reported must be.", {"enum": list(get_args(Confidence))}),
    "fixable": ("The rules whose suggestions --fix applies.", _TEXTS),
    "unfixable": ("The rules whose suggestions --fix leaves alone.", _TEXTS),
    "fail-on": ("The least severity that makes exit code 1.", {"enum": list(get_args(FailOn))}),
    "python": ("The interpreter that has the project's torch, to confirm in.", _TEXT),
    "timeout": ("Seconds for tracing one module.", {"type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS}),
    "jobs": ("How many processes to use.", {"type": "integer", "minimum": 1, "maximum": MAX_JOBS}),
    "confirm": ("Prove predictions by running the tracer.", _FLAG),
    "cache": ("Keep results for later runs.", _FLAG),
    "cache-dir": ("The folder to keep them in; by default `.fxlint_cache` beside this file.", _TEXT),
    "instances": (
        "How to build a class: an expression, or several.",
        {
            "type": "object",
            "propertyNames": _CLASS,
            "additionalProperties": {"anyOf": [_TEXT, {**_TEXTS, "minItems": 1}]},
        },
    ),
    "tracer": (
        "What the project tells its Tracer.",
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "leaf-modules": _names(NAME),
                "autowrap-functions": _names(NAME),
                "autowrap-modules": _names(MODULE),
                "param-shapes-constant": _FLAG,
                "class": {"type": "string", "pattern": f"^{OBJECT}$"},
                "presets": {"type": "array", "items": {"enum": sorted(PRESETS)}},
                "bind-defaults": _FLAG,
            },
        },
    ),
    "concrete-args": (
        "What a class is traced with: a table, or an expression for a dictionary.",
        {
            "type": "object",
            "propertyNames": _CLASS,
            "additionalProperties": {"anyOf": [_TEXT, _VALUES]},
        },
    ),
    "inputs": (
        "Example inputs of a class: an expression for a tuple.",
        {"type": "object", "propertyNames": _CLASS, "additionalProperties": _TEXT},
    ),
}


def reference() -> str:
    """A Markdown table of the keys, with their defaults."""
    defaults = {key: getattr(Config(Path()), key.replace("-", "_")) for key in _KEYS}
    rows = ["| key | value | default | what it says |", "|---|---|---|---|"]
    for key, (said, types) in _KEYS.items():
        rows.append(f"| `{key}` | {_form(types)} | {_default(defaults[key])} | {said} |")
    return "\n".join(rows) + "\n"


def _form(types: Mapping[str, Any]) -> str:
    """What a value looks like, in words."""
    if "enum" in types:
        return ", ".join(f"`{word}`" for word in types["enum"])
    if "anyOf" in types:
        return " or ".join(map(_form, types["anyOf"]))
    if types["type"] == "array":
        return f"list of {_form(types['items'])}"
    if "properties" in types:
        return "table with " + ", ".join(f"`{key}`" for key in types["properties"])
    if types["type"] == "object":
        inner = types.get("additionalProperties")
        return f"table of {_form(inner)}" if inner and "not" not in inner else "table"
    return _WORDS[types["type"]]


_WORDS: Final = {"string": "text", "boolean": "`true` or `false`", "number": "a number", "integer": "a whole number"}


def _default(value: object) -> str:
    """A default as TOML has it; nothing for what is not set and for what is empty."""
    return f"`{toml(value)}`" if value or value is False else ""


def schema() -> dict[str, Any]:
    """The schema of fxlint.toml, and of ``[tool.fxlint]`` in pyproject.toml."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "fxlint",
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {"description": said, **types} for key, (said, types) in _KEYS.items()},
    }
