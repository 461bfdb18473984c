"""What a person reads: each finding with its code frame, why, where the value came from, the proof and the way out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

import click

from fxlint.findings import CALLED_AT, Confirmation, Finding, Location, ModuleReport, Report, Severity, Step, Suggestion
from fxlint.project.notebook import of_cell
from fxlint.report import Options
from fxlint.report.edits import changes
from fxlint.report.summary import standing, verdict
from fxlint.report.text import check, failure, one_line, printable
from fxlint.rewrite import fix_of

_COLORS: Final[dict[Severity, str]] = {"error": "red", "warning": "yellow", "info": "blue"}
_LABEL = 9
_CODE = _LABEL + 6
"""The column at which the code of an edit starts."""
_MARGIN = f"{'':>7} | "
"""What stands before a row of a code frame that is no line of the file."""
_MAX_FRAME = 4
_MAX_MODULES = 3
_MAX_CONDITIONS = 3
_FIRST_STEPS, _LAST_STEPS = 3, 5
"""The steps of a long chain that are told: where the value comes from, and how it gets to the construct."""
_MAX_TRACED = 2


def render(report: Report, options: Options) -> str:
    """Findings in order; then modules that fail though no error says why; with ``show_graph`` every module;
    then what those depend on that trace in some configurations only.

    Paragraphs are wrapped to ``options.width`` cells, lines of code are not. The why of a rule stands at its first
    finding. A finding that the tracer refuted is kept to its first and its last word.
    """
    page = _Page(options)
    explained: set[str] = set()
    for finding in report.findings:
        page.finding(finding, with_why=finding.code not in explained)
        explained.add(finding.code)
    failures = (finding for finding in standing(report) if finding.severity == "error")
    explained_modules = {module for finding in failures for module in finding.modules}
    for module in report.modules:
        name = f"{of_cell(module.root.path)[0]}::{module.root.qualname}"
        unexplained = module.confirmed.verdict == "fails" and name not in explained_modules
        if options.show_graph or unexplained:
            page.module(module)
    for module in report.modules:
        if verdict(module) == "depends" and module.predicted.depends_on:
            page.depends(module)
    return page.text()


class _Page:
    """The page being written."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._rows: list[str] = []

    def text(self) -> str:
        return "".join(f"{row}\n" for row in self._rows)

    def finding(self, finding: Finding, *, with_why: bool) -> None:
        self._header(finding)
        if finding.confirmation.status == "refuted":
            self._paragraph("tracer", _status(finding.confirmation))
            self._line()
            return
        for row in self._frame(finding.location):
            self._line(row)
        if with_why:
            why = self._options.rules.by_code(finding.code).why
            self._paragraph("why", one_line(why.partition("\n\n")[0]))
        if finding.provenance:
            self._paragraph("from", _chain(finding))
        if finding.modules:
            self._paragraph("tracing", _modules(finding.modules))
        if finding.depends_on:
            self._paragraph("only if", _conditions(finding))
        self._paragraph("tracer", _status(finding.confirmation))
        fix = fix_of(finding, unsafe=True)
        for suggestion in _worth_showing(finding):
            self._suggestion(suggestion, is_fix=suggestion is fix)
        self._line()

    def module(self, module: ModuleReport) -> None:
        """The verdict on one module and its graph."""
        root, confirmed = module.root, module.confirmed
        place = self._bold(f"{printable(root.path)}:{root.line}: ")
        name = self._style(printable(root.qualname), fg="cyan", bold=True)
        if confirmed.verdict == "not-run":
            reason = f": {one_line(confirmed.reason)}" if confirmed.reason else ""
            self._line(f"{place}{name} not traced{reason}; predicted: {module.predicted.verdict}")
        else:
            made = f" with {one_line(confirmed.instance)}" if confirmed.instance else ""
            said = f": {failure(confirmed.error)}" if confirmed.error else ""
            self._line(f"{place}{name} {confirmed.verdict}{made}{said}")
        if confirmed.graph:
            self._graph(confirmed.graph.text, indent=4)
        self._line()

    def depends(self, module: ModuleReport) -> None:
        """A line on the conditions under which a module fails."""
        root, conditions = module.root, module.predicted.depends_on
        shown = ", ".join(f"`{one_line(text)}`" for text in conditions[:_MAX_CONDITIONS])
        more = len(conditions) - _MAX_CONDITIONS
        place = self._bold(f"{printable(root.path)}:{root.line}: ")
        name = self._style(printable(root.qualname), fg="cyan", bold=True)
        self._line(f"{place}{name} depends on {shown}{f' and {more} more' if more > 0 else ''}")

    def _header(self, finding: Finding) -> None:
        place = finding.location
        where = self._bold(f"{printable(place.path)}:{place.line}:{place.column}: ")
        severity = self._style(f"{finding.severity} {finding.code}", fg=_COLORS[finding.severity], bold=True)
        self._line(f"{where}{severity} {one_line(finding.message)}")

    def _frame(self, place: Location) -> Iterator[str]:
        """The lines of the span under carets, after one line of context; nothing where the file is gone."""
        last = min(place.end_line, place.line + _MAX_FRAME - 1)
        for number in range(max(1, place.line - 1), last + 1):
            source = self._options.sources.line(place.path, number)
            if source is None or (number < place.line and not source.strip()):
                continue
            yield self._cyan(f"{number:>7} | ") + _shown(source)
            if number >= place.line:
                indent = len(source) - len(source.lstrip())
                start = place.column - 1 if number == place.line else indent
                stop = place.end_column - 1 if number == place.end_line else len(source.rstrip())
                before, under = _cells(_shown(source[:start])), _cells(_shown(source[start:stop]))
                carets = self._style("^" * max(under, 1), fg="red", bold=True)
                yield f"{self._cyan(_MARGIN)}{' ' * before}{carets}"
        if last < place.end_line:
            yield self._cyan(f"{_MARGIN}...")

    def _suggestion(self, suggestion: Suggestion, *, is_fix: bool) -> None:
        checked = suggestion.checked
        partly = checked is not None and (checked.verdict == "fails" or checked.equal_outputs is False)
        self._paragraph("partly" if partly else "help", one_line(suggestion.text))
        for path, action, rows in changes(suggestion.edits, self._options.sources):
            self._paragraph("", f"{printable(path)}: {action}")
            for row in rows:
                self._line(f"{'':{_CODE}}{_shown(row)}".rstrip())
        tried = "" if suggestion.checked is None or suggestion.is_advice else check(suggestion.checked)
        option = f"--fix {'' if suggestion.safe else '--unsafe-fixes '}applies it" if is_fix else ""
        self._paragraph("", "; ".join(filter(None, [tried, option])))
        if self._options.show_graph and suggestion.checked and suggestion.checked.graph:
            self._graph(suggestion.checked.graph.text, indent=_LABEL + 2)

    def _graph(self, text: str, indent: int) -> None:
        for row in text.strip("\n").split("\n"):
            self._line(self._style(f"{'':{indent}}{_shown(row)}", dim=True))

    def _paragraph(self, label: str, text: str) -> None:
        room = max(self._options.width - _LABEL - 2, 20)
        for number, row in enumerate(_wrapped(text, room)):
            first = f"{label}:" if label and number == 0 else ""
            self._line(f"  {self._bold(f'{first:<{_LABEL}}')}{row}")

    def _line(self, text: str = "") -> None:
        self._rows.append(text)

    def _bold(self, text: str) -> str:
        return self._style(text, bold=True)

    def _cyan(self, text: str) -> str:
        return self._style(text, fg="cyan")

    def _style(self, text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
        return click.style(text, fg=fg, bold=bold, dim=dim) if self._options.color else text


@lru_cache(maxsize=1024)
def _wrapped(text: str, width: int) -> list[str]:
    """Many findings say why in the same words."""
    if 0 < len(text) <= width and text == " ".join(text.split()):
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _worth_showing(finding: Finding) -> list[Suggestion]:
    """What was seen to trace, where any of it helps; else also what was not tried, and what got past the place and then
    failed.

    A suggestion that fails where it should help is no help.
    """
    traced = [one for one in finding.suggestions if one.checked is not None and one.checked.verdict == "traces"]
    if any(one.checked is not None and one.checked.helps for one in traced):
        return traced[:_MAX_TRACED]
    return [one for one in finding.suggestions if not _fails_here(one, finding.location)]


def _fails_here(suggestion: Suggestion, place: Location) -> bool:
    if suggestion.checked is None or suggestion.checked.verdict != "fails":
        return False
    error = suggestion.checked.error
    if error is None or error.path is None or error.line is None:
        return True
    return error.path == place.path and place.line <= error.line <= place.end_line


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _shown(source: str) -> str:
    return printable(source.replace("\t", "    "))


def _chain(finding: Finding) -> str:
    """``x`` (line 10) -> ``x.shape[0]`` (line 12), with the file where it is another one."""

    def step(link: Step) -> str:
        """The source as code, and the words around it as words."""
        place, text = link.location, one_line(link.text)
        line = f"line {place.line}" if place.path == finding.location.path else f"{printable(place.path)}:{place.line}"
        if text.startswith(CALLED_AT):
            return f"{CALLED_AT}`{text.removeprefix(CALLED_AT)}` ({line})"
        found = re.fullmatch(r"(.*) \((input|parameter)\)", text)
        return f"`{found[1]}` ({found[2]}, {line})" if found else f"`{text}` ({line})"

    steps = [step(link) for link in _told(finding.provenance)]
    left_out = len(steps) - _FIRST_STEPS - _LAST_STEPS
    if left_out > 1:
        steps[_FIRST_STEPS:-_LAST_STEPS] = [f"{left_out} more"]
    return " -> ".join(steps)


def _told(steps: tuple[Step, ...]) -> list[Step]:
    """The steps without those that only look up what the next one calls: ``x.sum`` before ``x.sum()``."""
    looked_up = {one for one, two in pairwise(steps) if two.text.startswith(f"{one.text}(")}
    return [step for step in steps if step not in looked_up]


def _conditions(finding: Finding) -> str:
    """The nearest conditions: a long chain of branches would tell all those before it at each one."""
    texts = finding.depends_on[-_MAX_CONDITIONS:]
    shown = ", ".join(f"`{one_line(text)}`" for text in texts)
    more = len(finding.depends_on) - len(texts) + finding.more_conditions
    return f"{shown} and {more} more" if more > 0 else shown


def _modules(modules: tuple[str, ...]) -> str:
    names = ", ".join(printable(module.rpartition("::")[2]) for module in modules[:_MAX_MODULES])
    more = len(modules) - _MAX_MODULES
    return f"{names} and {more} more" if more > 0 else names


def _status(confirmation: Confirmation) -> str:
    met = confirmation.status == "confirmed" and confirmation.proof is None
    said: str = "confirmed, the tracer met it here" if met else confirmation.status
    if confirmation.reason:
        said += f"{', ' if met else ': '}{one_line(confirmation.reason)}"
    return f"{said}; {failure(confirmation.error)}" if confirmation.error else said
