"""The language server: what is predicted of the files that an editor has open, saved or not. It runs nobody's code."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

import fxlint
from fxlint import __version__
from fxlint.config import ConfigError
from fxlint.findings import Edit, Finding, Location, Problem, Severity, Suggestion
from fxlint.project.buffers import content, holding
from fxlint.project.source import UnreadableSource, decode
from fxlint.report.text import one_line
from fxlint.rules import Rule, load_rules
from fxlint.suppression import with_noqa

DEBOUNCE_SECONDS: Final = 0.3
"""How long nothing is typed before a file is linted."""

_SEVERITY: Final[dict[Severity, lsp.DiagnosticSeverity]] = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "info": lsp.DiagnosticSeverity.Information,
}
_UNUSED: Final = frozenset({"FX001"})
"""Rules about what could be taken away: editors show that faded."""
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_SUFFIX: Final = ".py"
_WATCHED: Final = ("**/*.py", "**/pyproject.toml", "**/fxlint.toml", "**/.gitignore")
_PULLS: Final = lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="fxlint")


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found in one version of a file, each finding with what the editor is told of it."""

    version: int | None
    findings: tuple[tuple[Finding, lsp.Diagnostic], ...] = ()
    problems: tuple[lsp.Diagnostic, ...] = ()

    @property
    def diagnostics(self) -> list[lsp.Diagnostic]:
        return [*(diagnostic for _, diagnostic in self.findings), *self.problems]

    def around(self, place: lsp.Range) -> Iterator[tuple[Finding, lsp.Diagnostic]]:
        """The findings that have something in common with a range."""
        for finding, diagnostic in self.findings:
            if _key(diagnostic.range.start) <= _key(place.end) and _key(place.start) <= _key(diagnostic.range.end):
                yield finding, diagnostic


class Server(LanguageServer):
    """Lints one file after the other, each as it is when its turn comes."""

    def __init__(self) -> None:
        super().__init__("fxlint", __version__)
        self._linted: dict[str, Linted] = {}
        self._edits: dict[str, int] = {}
        self._one_after_the_other = ThreadPoolExecutor(1)

    async def later(self, uri: str) -> None:
        """Lint a file once nothing has been typed for a moment."""
        edit = self._edits[uri] = self._edits.get(uri, 0) + 1
        await asyncio.sleep(DEBOUNCE_SECONDS)
        if self._edits.get(uri) == edit:
            await self.tell([uri])

    async def tell(self, uris: Iterable[str]) -> None:
        """Lint files and publish what is found, where the editor does not ask for it itself."""
        if self._asks():
            if self._can_be_told_to_ask():
                await self.workspace_diagnostic_refresh_async(None)
            return
        for uri in uris:
            linted = await self.linted(uri)
            told = lsp.PublishDiagnosticsParams(uri, linted.diagnostics, linted.version)
            self.text_document_publish_diagnostics(told)

    def close(self, uri: str) -> None:
        self._linted.pop(uri, None)
        self._edits.pop(uri, None)
        if not self._asks():
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    async def linted(self, uri: str) -> Linted:
        """What is found in a file as it is now."""
        path, version = to_fs_path(uri), self.workspace.get_text_document(uri).version
        if path is None or not path.endswith(_SUFFIX):
            return Linted(version)
        known = self._linted[uri] = await asyncio.get_running_loop().run_in_executor(
            self._one_after_the_other, self._lint, path, version, self.texts()
        )
        return known

    def last(self, uri: str) -> Linted:
        """What was found in the version that the editor shows; nothing where that is not linted yet."""
        known = self._linted.get(uri)
        shown = self.workspace.get_text_document(uri).version
        return known if known is not None and known.version == shown else Linted(shown)

    def open_files(self) -> list[str]:
        return list(self.workspace.text_documents)

    def texts(self) -> dict[str, bytes]:
        """The texts of the open files, by path."""
        documents = self.workspace.text_documents.items()
        return {path: one.source.encode() for uri, one in documents if (path := to_fs_path(uri)) is not None}

    def _lint(self, path: str, version: int | None, texts: dict[str, bytes]) -> Linted:
        try:
            report = fxlint.check(path, sources=texts, force_exclude=True)
        except ConfigError as error:
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, f"fxlint: {error}"))
            return Linted(version)
        with holding(texts):
            places = Places(self)
            findings = tuple((finding, self._diagnostic(finding, places)) for finding in report.findings)
            problems = tuple(_problem(one, places) for one in report.problems if one.path == path)
        return Linted(version, findings, problems)

    @staticmethod
    def _diagnostic(finding: Finding, places: Places) -> lsp.Diagnostic:
        steps = [lsp.DiagnosticRelatedInformation(places.of(one.location), one.text) for one in finding.provenance]
        return lsp.Diagnostic(
            places.of(finding.location).range,
            finding.message,
            _SEVERITY[finding.severity],
            code=finding.code,
            source="fxlint",
            tags=[lsp.DiagnosticTag.Unnecessary] if finding.code in _UNUSED else None,
            related_information=steps or None,
        )

    def _asks(self) -> bool:
        of_text = self.client_capabilities.text_document
        return of_text is not None and of_text.diagnostic is not None

    def _can_be_told_to_ask(self) -> bool:
        of_workspace = self.client_capabilities.workspace
        found = of_workspace.diagnostics if of_workspace is not None else None
        return found is not None and bool(found.refresh_support)


class Places:
    """Turns places into those of the protocol: lines from 0, and columns in the units that the editor has agreed to."""

    def __init__(self, server: LanguageServer) -> None:
        self._codec = server.workspace.position_codec
        self._rows: dict[str, list[str]] = {}

    def of(self, place: Location) -> lsp.Location:
        path = str(Path(place.path).absolute())
        start = self._position(path, place.line, place.column)
        end = self._position(path, place.end_line, place.end_column)
        return lsp.Location(from_fs_path(path) or "", lsp.Range(start, end))

    def line(self, path: str, line: int) -> lsp.Range:
        row = self._row(path, line)
        return lsp.Range(lsp.Position(line - 1, 0), self._position(path, line, len(row.rstrip("\r\n")) + 1))

    def _position(self, path: str, line: int, column: int) -> lsp.Position:
        return lsp.Position(line - 1, self._codec.client_num_units(self._row(path, line)[: column - 1]))

    def _row(self, path: str, line: int) -> str:
        if path not in self._rows:
            try:
                self._rows[path] = _LINE.findall(decode(content(path)))
            except (OSError, ValueError, UnreadableSource):
                self._rows[path] = []
        rows = self._rows[path]
        return rows[line - 1] if line <= len(rows) else ""


def server() -> Server:
    """A server that answers an editor."""
    made = Server()

    @made.feature(lsp.INITIALIZED)
    async def watch_files(ls: Server, _: lsp.InitializedParams) -> None:
        of_workspace = ls.client_capabilities.workspace
        watching = of_workspace.did_change_watched_files if of_workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            patterns = [lsp.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = lsp.DidChangeWatchedFilesRegistrationOptions(patterns)
            wanted = lsp.Registration("fxlint", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await ls.client_register_capability_async(lsp.RegistrationParams([wanted]))

    @made.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
        await ls.tell([params.text_document.uri])

    @made.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
        await ls.later(params.text_document.uri)

    @made.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: Server, _: lsp.DidSaveTextDocumentParams) -> None:
        await ls.tell(ls.open_files())  # others may import it

    @made.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.close(params.text_document.uri)

    @made.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def changed_on_disk(ls: Server, _: lsp.DidChangeWatchedFilesParams) -> None:
        await ls.tell(ls.open_files())

    @made.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(ls: Server, _: lsp.DidChangeConfigurationParams) -> None:
        await ls.tell(ls.open_files())

    @made.feature(lsp.TEXT_DOCUMENT_DIAGNOSTIC, _PULLS)
    async def asked(ls: Server, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
        linted = await ls.linted(params.text_document.uri)
        return lsp.RelatedFullDocumentDiagnosticReport(linted.diagnostics)

    @made.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]))
    def actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        with holding(ls.texts()):
            around = ls.last(params.text_document.uri).around(params.range)
            return [one for finding, told in around for one in _actions(finding, told, Places(ls))]

    @made.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
        place = lsp.Range(params.position, params.position)
        found = list(ls.last(params.text_document.uri).around(place))
        if not found:
            return None
        rules = {rule.code: rule for rule in load_rules()}
        parts = [_explained(finding, rules.get(finding.code)) for finding, _ in found]
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), found[0][1].range)

    return made


def _actions(finding: Finding, told: lsp.Diagnostic, places: Places) -> Iterator[lsp.CodeAction]:
    """Each suggestion that is an edit and was not seen to spoil the module, and a comment that silences the finding."""
    tried = [one for one in finding.suggestions if one.checked is None or one.checked.equal_outputs is not False]
    edits = [one for one in tried if one.edits]
    silence = Suggestion("rewrite", f"silence {finding.code} on this line", with_noqa([finding]))
    for suggestion in (*edits, silence):
        yield lsp.CodeAction(
            one_line(suggestion.text),
            lsp.CodeActionKind.QuickFix,
            diagnostics=[told],
            is_preferred=suggestion.safe or None,
            edit=lsp.WorkspaceEdit(_changes(suggestion.edits, places)),
        )


def _changes(edits: Sequence[Edit], places: Places) -> dict[str, list[lsp.TextEdit]]:
    found: dict[str, list[lsp.TextEdit]] = {}
    for edit in edits:
        place = places.of(edit.location)
        found.setdefault(place.uri, []).append(lsp.TextEdit(place.range, edit.text))
    return found


def _explained(finding: Finding, rule: Rule | None) -> str:
    rows = [f"**{finding.code} {finding.rule}**: {finding.message}"]
    rows += [] if rule is None else [rule.why, rule.fix]
    if finding.depends_on:
        rows.append(f"It depends on {', '.join(f'`{one}`' for one in finding.depends_on)}.")
    rows += [f"- {one_line(suggestion.text)}" for suggestion in finding.suggestions]
    return "\n\n".join(rows)


def _problem(problem: Problem, places: Places) -> lsp.Diagnostic:
    severity = lsp.DiagnosticSeverity.Error if problem.stage == "input" else lsp.DiagnosticSeverity.Warning
    return lsp.Diagnostic(places.line(problem.path, problem.line or 1), problem.message, severity, source="fxlint")


def _key(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character
