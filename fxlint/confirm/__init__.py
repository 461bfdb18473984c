"""The proving half, parent side: traces what was predicted in the user's interpreter and says what came of it.

Needs the standard library only; torch is the worker's (``fxlint/tracer``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from fxlint.cache import Cache
from fxlint.declarations import is_expression
from fxlint.findings import (
    Confirmation,
    Confirmed,
    Location,
    ModuleReport,
    Predicted,
    Prediction,
    Problem,
    Root,
)
from fxlint.project.environment import environment_state
from fxlint.project.naming import module_name
from fxlint.project.source import text_of
from fxlint.report.summary import counted
from fxlint.rules import RuleSet
from fxlint.tracer.messages import Message
from fxlint.tracing import key_of_root

from .found import Found, Instance
from .instances import Survey, conditions_of, survey_batches, survey_questions
from .interpreter import NoInterpreterError, find_interpreter
from .kept import Answers
from .kinds import Kind, kind_of, kind_of_root
from .match import match, new_findings
from .places import is_about
from .pool import Pool
from .settings import ConfirmSettings
from .shown import Shown, nodes_of
from .traces import Met, Place, Reading, Trace
from .tries import checked
from .work import batches, declared, in_batches, linted_files, questions

__all__ = ["ConfirmSettings", "NoInterpreterError", "confirm", "find_instances", "find_interpreter", "show"]


def confirm(
    prediction: Prediction, rules: RuleSet, settings: ConfirmSettings, cache: Cache | None = None
) -> Prediction:
    """The prediction with verdicts, statuses and checks filled in, and with what the tracer met and nobody predicted.

    What keeps a file from being traced becomes one problem, and the reason in all that would have needed it. What the
    ``cache`` knows of a file, that file is not traced again for.
    """
    if not prediction.modules:
        return prediction
    collected = _Collected(prediction, settings)
    cache = cache or Cache(None)
    try:
        python = find_interpreter(settings.python, settings.roots)
        settings.log(f"tracing in {python}")
        environment = environment_state(settings.python, os.environ, settings.roots)
        answers = Answers(cache, linted_files(prediction, settings), environment)
        with closing(Pool(python, settings.jobs)) as pool:
            found = _surveyed(prediction, settings, pool, answers)
            asked = questions(prediction, settings, found)
            todo = answers.unanswered(asked, collected.take)
            settings.log(f"asking about {len(todo)} of {counted(len(asked), 'file')}")
            listening = answers.listening(todo, collected.take, lambda: pool.unguarded)
            pool.run(in_batches(todo, prediction, settings), listening)
            collected.note_unguarded(pool.unguarded or answers.unguarded)
    except NoInterpreterError as error:
        cache.is_partial = True
        return _not_run(prediction, str(error))
    traces = collected.traces()
    sources = _Sources()
    matched = match(prediction.findings, traces, sources.is_about)
    roots = {module.root.id: module.root for module in prediction.modules}
    added = new_findings(matched.unpredicted, matched.findings, traces, roots, rules, sources.kind_of)
    findings = tuple(checked(finding, traces) for finding in matched.findings)
    return Prediction(
        modules=tuple(replace(module, confirmed=traces[module.root.id].confirmed) for module in prediction.modules),
        findings=(*findings, *added),
        problems=(*prediction.problems, *collected.problems()),
    )


def _surveyed(prediction: Prediction, settings: ConfirmSettings, pool: Pool, answers: Answers) -> Found:
    conditions = conditions_of(prediction.findings)
    survey = Survey(prediction, conditions)
    todo = answers.unanswered(survey_questions(prediction, settings, conditions), survey.take)
    listening = answers.listening(todo, survey.take, lambda: pool.unguarded)
    pool.run(survey_batches(todo, prediction, settings), listening)
    return survey.found()


def show(root: Root, settings: ConfirmSettings) -> Shown:
    """The trace of one root in full."""
    prediction = Prediction((ModuleReport(root, Predicted("unknown")),))
    collected = _Collected(prediction, settings)
    messages: list[Message] = []

    def take(message: Message) -> None:
        if message["kind"] == "shown" and message.get("root") == root.id:
            messages.append(message)
        else:
            collected.take(message)

    try:
        python = find_interpreter(settings.python, settings.roots)
        with closing(Pool(python, 1)) as pool:
            work = batches(prediction, settings, _surveyed(prediction, settings, pool, Answers(Cache(None))))
            pool.run([{**batch, "task": "show"} for batch in work], take)
            collected.note_unguarded(pool.unguarded)
    except NoInterpreterError as error:
        return Shown(root, reason=str(error))
    reading = collected.reading(root)
    if not messages:
        return Shown(root, reason=reading.trace().confirmed.reason, problems=collected.problems())
    message = messages[0]
    return Shown(
        root,
        message["instance"],
        nodes_of(message["rows"], reading.place),
        message["graph"]["code"] if message["graph"] else "",
        None if message["error"] is None else reading.failure(message["error"]),
        no_shapes=message["no_shapes"],
        problems=collected.problems(),
    )


def find_instances(prediction: Prediction, settings: ConfirmSettings) -> Found:
    """The instances of every class, those that are declared too. Raises NoInterpreterError."""
    python = find_interpreter(settings.python, settings.roots)
    with closing(Pool(python, settings.jobs)) as pool:
        found = _surveyed(prediction, settings, pool, Answers(Cache(None)))
        unguarded = _told_of_guards(pool.unguarded)
    known = dict(found.instances)
    for root in (module.root for module in prediction.modules):
        said = declared(root, module_name(Path(root.path)), settings)
        if said:
            known[root.id] = tuple(Instance(text, "declared", "") for text in said)
    return Found(known, found.reasons, (*unguarded, *found.problems))


class _Collected:
    """The messages of all workers, by root."""

    def __init__(self, prediction: Prediction, settings: ConfirmSettings) -> None:
        self._linted = linted_files(prediction, settings)
        self._readings = {module.root.id: Reading(self._spell) for module in prediction.modules}
        self._roots: dict[str, list[str]] = {}
        for module in prediction.modules:
            self._roots.setdefault(module.root.path, []).append(module.root.id)
        self._problems: dict[str, Problem] = {}
        self._lost: dict[str, Problem] = {}
        self._refused: dict[Problem, None] = {}
        self._unguarded: list[Problem] = []
        self._known = {module.root.id: module.root for module in prediction.modules}
        self._settings = settings
        self._done: set[str] = set()

    def _spell(self, path: str) -> tuple[str, bool]:
        known = self._linted.get(path)
        return (_from_here(path), False) if known is None else (known, True)

    def take(self, message: Message) -> None:
        known = message.get("root") in self._readings if "root" in message else message.get("file") in self._roots
        if not known:
            return  # written into the worker's pipe by the code under lint
        if message["kind"] == "failed":
            self._failed(message)
        elif message["kind"] == "refused":
            self._refuse(message)
        elif message["kind"] == "tracer":
            self._refused[Problem(self._settings.config, f"tracer: {message['problem']}", stage="confirm")] = None
        elif "root" in message:
            self._readings[message["root"]].take(message)
            if message["kind"] == "ended":
                self._note_done([message["root"]])
                if message.get("cut"):
                    self._note_lost(self._known[message["root"]])

    def _failed(self, message: Message) -> None:
        """A file that could not be imported, or took its process down with it."""
        path, place = message["file"], message.get("place")
        self._note_done(self._roots[path])
        for root in self._roots[path]:
            self._readings[root].fail(message["reason"], place)
            if message.get("error") is not None:
                self._readings[root].take_import_error(message["error"], message["family"])
        line = None
        reason = message["reason"]
        if place is not None:
            spelled, _ = self._spell(place["file"])
            if spelled == path:
                line = place["line"]
            else:
                reason = f"{reason} ({spelled}:{place['line']})"
        self._problems[path] = Problem(path, f"not traced: {reason}", line, stage="confirm")

    def _note_lost(self, root: Root) -> None:
        """A module that took its process down, or used up its time, before there was a verdict on it."""
        confirmed = self._readings[root.id].trace().confirmed
        if confirmed.verdict == "not-run":
            told = f"{root.qualname} not traced: {confirmed.reason}"
            self._lost[root.id] = Problem(root.path, told, root.line, stage="confirm")

    def _note_done(self, roots: Sequence[str]) -> None:
        self._done.update(roots)
        self._settings.progress(len(self._done), len(self._readings))

    def _refuse(self, message: Message) -> None:
        """A declaration that cannot be used; where it is no expression at all, that is told without torch."""
        if not is_expression(message["text"]):
            return
        root, what, settings = self._known[message["root"]], message["what"], self._settings
        tables: dict[str, tuple[str, Mapping[str, object]]] = {
            "instance": ("instances", settings.instances),
            "inputs": ("inputs", settings.inputs),
            "concrete_args": ("concrete-args", settings.tracing.concrete_args),
        }
        table, values = tables[what]
        key = key_of_root(values, root, module_name(Path(root.path)), settings.roots)
        if key is None or message["text"] in (*root.instances, root.inputs):
            told = Problem(root.path, f"{what} of {root.qualname} not used: {message['reason']}", root.line, "confirm")
        else:
            told = Problem(settings.config, f"{table}: '{key}' not used: {message['reason']}", stage="confirm")
        self._refused[told] = None

    def reading(self, root: Root) -> Reading:
        return self._readings[root.id]

    def note_unguarded(self, guards: Sequence[str]) -> None:
        self._unguarded = _told_of_guards(guards)

    def traces(self) -> dict[str, Trace]:
        return {root: reading.trace() for root, reading in self._readings.items()}

    def problems(self) -> tuple[Problem, ...]:
        files, modules = ([problem for _, problem in sorted(known.items())] for known in (self._problems, self._lost))
        return (*self._unguarded, *files, *modules, *self._refused)


def _from_here(path: str) -> str:
    """A real path as it is spelled from the working directory, where it lies below it."""
    here = Path.cwd().resolve()
    return Path(path).relative_to(here).as_posix() if Path(path).is_relative_to(here) else path


def _told_of_guards(missing: Sequence[str]) -> list[Problem]:
    told = f"the code under lint ran without some guards, which this system does not have: {'; '.join(missing)}"
    return [Problem("", told, stage="confirm")] if missing else []


class _Sources:
    """The text of linted files, read once."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = text_of(path)
        return self._texts[path]

    def is_about(self, location: Location, place: Place) -> bool:
        return location.path == place.path and is_about(location, place, self.text(place.path))

    def kind_of(self, root: Root, met: Met) -> Kind | None:
        if met.place is None:
            return kind_of_root(met, root.path, root.line, self.text(root.path))
        return kind_of(met, met.place, self.text(met.place.path))


def _not_run(prediction: Prediction, reason: str) -> Prediction:
    return Prediction(
        modules=tuple(replace(module, confirmed=Confirmed("not-run", reason)) for module in prediction.modules),
        findings=tuple(
            replace(finding, confirmation=Confirmation("unconfirmed", reason)) for finding in prediction.findings
        ),
        problems=(*prediction.problems, Problem("", f"nothing was traced: {reason}", stage="confirm")),
    )
