"""What workers have said in earlier runs: they are not asked again while nothing that it depends on has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from fxlint.cache import Cache
from fxlint.project.buffers import held
from fxlint.tracer.messages import Message

Take = Callable[[Message], None]

_LAST: Final = frozenset({"done", "failed"})
"""The kinds of the last message on a file."""
_FOR_THE_READER: Final = frozenset({"stage", "loads"})
"""Those that tell how the work goes, and nothing of its result."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a worker is asked about some files. ``asked`` is all that its answer is a function of, beside the files that
    it turns out to load.
    """

    kind: Literal["survey", "trace"]
    files: tuple[str, ...]
    asked: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The messages in answer to a question; which of the files that were loaded are linted, for lines in these are told
    of, and which are not; and the guards that the code was run without.
    """

    messages: tuple[Any, ...]
    linted: tuple[str, ...]
    others: tuple[str, ...]
    unguarded: tuple[str, ...]


class Answers:
    """Those of earlier runs, and those of this one, which are kept as they come in.

    ``linted`` are the real paths of the linted files, ``environment`` is what else all answers depend on. ``unguarded``
    are the guards that code ran without for the answers that were known.
    """

    def __init__(self, cache: Cache, linted: Iterable[str] = (), environment: object = None) -> None:
        self._cache = cache
        self._environment = environment
        self._linted = frozenset(linted)
        self.unguarded: tuple[str, ...] = ()

    def unanswered(self, questions: Iterable[Question], take: Take) -> list[Question]:
        """The questions that have to be asked. ``take`` gets the answers to the others."""
        return [question for question in questions if not self._is_answered(question, take)]

    def _is_answered(self, question: Question, take: Take) -> bool:
        if held():  # a file may be loaded under another name than it is held by
            return False
        known = self._cache.recall(question.kind, question.files, self._given(question), Answer)
        if known is None or not self._linted.issuperset(known.linted) or not self._linted.isdisjoint(known.others):
            return False
        for message in known.messages:
            take(message)
        self.unguarded = known.unguarded or self.unguarded
        return True

    def listening(self, questions: Iterable[Question], take: Take, unguarded: Callable[[], Collection[str]]) -> Take:
        """``take``, which also keeps the answers to these questions. An answer that a limit cut short is not kept: it
        may be otherwise another time.
        """
        by_file = {file: question for question in questions for file in question.files}
        heard: dict[str, list[Message]] = {question.files[0]: [] for question in by_file.values()}
        open_files = {question.files[0]: set(question.files) for question in by_file.values()}

        def taken(message: Message) -> None:
            take(message)
            question = by_file.get(message["file"])
            if question is None:
                return  # written into the worker's pipe by the code under lint
            first = question.files[0]
            heard[first].append(message)
            if message["kind"] in _LAST:
                open_files[first].discard(message["file"])
                if not open_files[first]:
                    self._keep(question, heard.pop(first), tuple(unguarded()))

        return taken

    def _keep(self, question: Question, messages: list[Message], unguarded: tuple[str, ...]) -> None:
        loads = [message for message in messages if message["kind"] == "loads"]
        if not loads or any(message.get("cut") for message in messages):
            self._cache.is_partial = True
            return
        loaded = dict.fromkeys(path for message in loads for path in message["files"])
        told = tuple(message for message in messages if message["kind"] not in _FOR_THE_READER)
        linted = tuple(path for path in loaded if path in self._linted)
        others = tuple(path for path in loaded if path not in self._linted)
        answer = Answer(told, linted, others, unguarded)
        self._cache.keep(question.kind, question.files, self._given(question), self._cache.seen(loaded), answer)

    def _given(self, question: Question) -> object:
        return self._environment, question.asked
