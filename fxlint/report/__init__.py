"""One file per output format, each a pure function of the same Report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from fxlint.config import Format
from fxlint.findings import Report
from fxlint.report.sources import Sources
from fxlint.rules import RuleSet


@dataclass(frozen=True, slots=True)
class Options:
    """What a format may need beside the report.

    ``width`` is in terminal cells. ``show_graph`` and ``color`` matter to ``full`` only. ``base`` is the folder that
    relative paths start from; formats that want relative URIs make absolute paths below it relative.
    """

    rules: RuleSet
    sources: Sources
    base: Path
    color: bool = False
    width: int = 100
    show_graph: bool = False


def renderer(output_format: Format | Literal["statistics"]) -> Callable[[Report, Options], str]:
    """The function of a format, in the module of its name; what it needs is imported here and not before."""
    module = import_module(f"fxlint.report.{output_format.replace('-', '_')}")
    render: Callable[[Report, Options], str] = module.render
    return render
