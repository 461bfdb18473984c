"""What a person reads: each finding with its code frame, why, where the value came from, the proof and the way out."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fxlint.findings import Confirmation, Edit, Finding, Location, ModuleReport, Report, Severity, Step, Suggestion
from fxlint.report import Options
from fxlint.report.text import check, failure, one_line, printable

_COLORS: dict[Severity, str] = {"error": "bold red", "warning": "bold yellow", "info": "bold blue"}
_LABEL = 9
_MAX_FRAME = 4
_MAX_MODULES = 3
_MAX_TRACED = 2


def render(report: Report, options: Options) -> str:
    """Findings in order; then modules that fail though no finding says why; with ``show_graph`` every module.

    Paragraphs are wrapped to ``options.width`` cells, lines of code are not. The why of a rule stands at its first
    finding. A finding that the tracer refuted is kept to its first and its last word.
    """
    page = _Page(options)
    explained: set[str] = set()
    for finding in report.findings:
        page.finding(finding, with_why=finding.code not in explained)
        explained.add(finding.code)
    found = {module for finding in report.findings for module in finding.modules}
    for module in report.modules:
        unexplained = module.confirmed.verdict == "fails" and module.root.id not in found
        if options.show_graph or unexplained:
            page.module(module)
    return page.text()


class _Page:
    """The page being written."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._out = io.StringIO()
        self._console = Console(
            file=self._out,
            force_terminal=options.color,
            force_jupyter=False,
            color_system="standard" if options.color else None,
            no_color=not options.color,
            width=options.width,
            legacy_windows=False,
        )

    def text(self) -> str:
        return self._out.getvalue()

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
        if finding.certainty == "conditional":
            configuration = ", ".join(f"`{one_line(text)}`" for text in finding.depends_on)
            self._paragraph("if", f"depends on {configuration or 'the configuration'}")
        self._paragraph("tracer", _status(finding.confirmation))
        for suggestion in _worth_showing(finding):
            self._suggestion(suggestion)
        self._line()

    def module(self, module: ModuleReport) -> None:
        """The verdict on one module and its graph."""
        root, confirmed = module.root, module.confirmed
        place, name = (f"{printable(root.path)}:{root.line}: ", "bold"), (printable(root.qualname), "bold cyan")
        if confirmed.verdict == "not-run":
            reason = f": {one_line(confirmed.reason)}" if confirmed.reason else ""
            self._line(Text.assemble(place, name, f" not traced{reason}; predicted: {module.predicted.verdict}"))
        else:
            made = f" with {one_line(confirmed.instance)}" if confirmed.instance else ""
            said = f": {failure(confirmed.error)}" if confirmed.error else ""
            self._line(Text.assemble(place, name, f" {confirmed.verdict}{made}{said}"))
        if confirmed.graph:
            self._graph(confirmed.graph.text, indent=4)
        self._line()

    def _header(self, finding: Finding) -> None:
        place = finding.location
        where = (f"{printable(place.path)}:{place.line}:{place.column}: ", "bold")
        severity = (f"{finding.severity} {finding.code}", _COLORS[finding.severity])
        self._line(Text.assemble(where, severity, f" {one_line(finding.message)}"))

    def _frame(self, place: Location) -> Iterator[Text]:
        """The lines of the span under carets, after one line of context; nothing where the file is gone."""
        last = min(place.end_line, place.line + _MAX_FRAME - 1)
        for number in range(max(1, place.line - 1), last + 1):
            source = self._options.sources.line(place.path, number)
            if source is None or (number < place.line and not source.strip()):
                continue
            yield Text.assemble((f"{number:>7} | ", "cyan"), _shown(source))
            if number >= place.line:
                indent = len(source) - len(source.lstrip())
                start = place.column - 1 if number == place.line else indent
                stop = place.end_column - 1 if number == place.end_line else len(source.rstrip())
                before, under = cell_len(_shown(source[:start])), cell_len(_shown(source[start:stop]))
                yield Text.assemble((f"{'':>7} | ", "cyan"), " " * before, ("^" * max(under, 1), "bold red"))
        if last < place.end_line:
            yield Text(f"{'':>7} | ...", "cyan")

    def _suggestion(self, suggestion: Suggestion) -> None:
        partly = suggestion.checked is not None and suggestion.checked.verdict == "fails"
        self._paragraph("partly" if partly else "help", one_line(suggestion.text))
        for edit in suggestion.edits:
            self._edit(edit)
        if suggestion.checked is None or suggestion.is_advice:
            return
        self._paragraph("", check(suggestion.checked))
        if self._options.show_graph and suggestion.checked.graph:
            self._graph(suggestion.checked.graph.text, indent=_LABEL + 2)

    def _graph(self, text: str, indent: int) -> None:
        for row in printable(text).strip("\n").split("\n"):
            self._line(Text(f"{'':{indent}}{row}", "dim"))

    def _edit(self, edit: Edit) -> None:
        place = edit.location
        inserts = (place.line, place.column) == (place.end_line, place.end_column)
        action = "insert" if inserts else "write" if edit.text else "delete"
        where, rows = f"{printable(place.path)}:{place.line}: {action}", printable(edit.text).strip("\n").split("\n")
        if len(rows) == 1:
            self._paragraph("", f"{where} `{rows[0].strip()}`" if rows[0] else where)
            return
        self._paragraph("", where)
        for row in rows:
            self._line(Text(f"{'':{_LABEL + 6}}{row}".rstrip()))

    def _paragraph(self, label: str, text: str) -> None:
        room = max(self._options.width - _LABEL - 2, 20)
        for number, row in enumerate(textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)):
            first = f"{label}:" if label and number == 0 else ""
            self._line(Text.assemble("  ", (f"{first:<{_LABEL}}", "bold"), row))

    def _line(self, text: Text | None = None) -> None:
        self._console.print(text or Text(), soft_wrap=True, highlight=False)


def _worth_showing(finding: Finding) -> list[Suggestion]:
    """What was seen to trace, where anything was; else what was not tried, and what got past the place and then failed.

    A suggestion that fails where it should help is no help.
    """
    traced = [one for one in finding.suggestions if one.checked is not None and one.checked.verdict == "traces"]
    if traced:
        return traced[:_MAX_TRACED]
    return [one for one in finding.suggestions if not _fails_here(one, finding.location)]


def _fails_here(suggestion: Suggestion, place: Location) -> bool:
    if suggestion.checked is None or suggestion.checked.verdict != "fails":
        return False
    error = suggestion.checked.error
    if error is None or error.path is None or error.line is None:
        return True
    return error.path == place.path and place.line <= error.line <= place.end_line


def _shown(source: str) -> str:
    return printable(source.replace("\t", "    "))


def _chain(finding: Finding) -> str:
    """``x`` (line 10) -> ``x.shape[0]`` (line 12), with the file where it is another one."""

    def step(link: Step) -> str:
        place = link.location
        same = place.path == finding.location.path
        return f"`{one_line(link.text)}` ({'line ' if same else printable(place.path) + ':'}{place.line})"

    return " -> ".join(step(link) for link in finding.provenance)


def _modules(modules: tuple[str, ...]) -> str:
    names = ", ".join(printable(module.rpartition("::")[2]) for module in modules[:_MAX_MODULES])
    more = len(modules) - _MAX_MODULES
    return f"{names} and {more} more" if more > 0 else names


def _status(confirmation: Confirmation) -> str:
    reason = f": {one_line(confirmation.reason)}" if confirmation.reason else ""
    said = "confirmed, the tracer met it here" if confirmation.status == "confirmed" else confirmation.status
    error = f"; {failure(confirmation.error)}" if confirmation.error else ""
    return f"{said}{reason}{error}"
