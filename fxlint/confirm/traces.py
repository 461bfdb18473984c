"""What the worker reported, in the vocabulary of findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fxlint.findings import Check, Comparison, Confirmed, Difference, Failure, Graph

Spell = Callable[[str], "tuple[str, bool]"]
"""Real path of a file -> (its path as the user spelled it, whether it is linted)."""


@dataclass(frozen=True, slots=True)
class Place:
    """An instruction of the user's code; columns are None where the interpreter does not know them (before 3.11)."""

    path: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None

    @property
    def last_line(self) -> int:
        return self.line if self.end_line is None else self.end_line


@dataclass(frozen=True, slots=True)
class Met:
    """Something the tracer met: ``place`` is the innermost linted one, None where no linted line was running.

    ``family`` is None for a failure of the stock tracer of which only the exception is known. ``decisions`` is the
    number of conditions that were answered before, ``answers`` that of all stand-ins. ``collateral`` is what one of
    those may be to blame for: it proves what was predicted, and nothing new.
    """

    family: str | None
    place: Place | None
    outer: tuple[Place, ...] = ()
    origin: str | None = None
    decisions: int = 0
    answers: int = 0
    error: Failure | None = None
    caught: bool = False
    collateral: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """An exception that ended a recording run early, and the linted calls around its place."""

    place: Place | None
    type: str
    message: str
    outer: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything about one root.

    ``recorded`` is False where the recording did not finish; ``unfinished`` says why anything is missing after the
    stock verdict. ``complete`` is False where its bounds kept the recording from exploring every condition. ``modes``
    has for each instance the first difference of its graphs in train and in eval mode, None where there is none.
    """

    confirmed: Confirmed
    met: tuple[Met, ...] = ()
    executed: tuple[Place, ...] = ()
    ended: tuple[Ended, ...] = ()
    recorded: bool = False
    complete: bool = True
    unfinished: str | None = None
    checks: Mapping[str, Check] = field(default_factory=dict)
    comparison: Comparison | None = None
    modes: tuple[str | None, ...] = ()


class Reading:
    """Puts the messages about one root together."""

    def __init__(self, spell: Spell) -> None:
        self._spell = spell
        self._stocks: list[Confirmed] = []
        self._met: list[Met] = []
        self._executed: dict[Place, None] = {}
        self._ended: dict[Ended, None] = {}
        self._checks: dict[str, Check] = {}
        self._comparison: Comparison | None = None
        self._modes: list[str | None] = []
        self._recordings = 0
        self._complete = True
        self._reason: str | None = None

    def take(self, message: Mapping[str, Any]) -> None:
        kind = message.get("kind")
        if kind == "stock":
            self._stock(message)
        elif kind == "recording":
            self._recording(message)
        elif kind == "suggestion":
            self._checks[message["suggestion"]] = self._check(message)
        elif kind == "beside":
            found = tuple(Difference(**one) for one in message["differences"])
            self._comparison = Comparison(tuple(message["inputs"]), found, message["reason"])
        elif kind == "modes":
            self._modes.append(message["difference"])
        elif kind == "ended" and message.get("reason") is not None:
            self.fail(message["reason"], message.get("place"))

    def fail(self, reason: str, place: Mapping[str, Any] | None = None) -> None:
        """Note why there is no more to come."""
        if place is not None:
            path, _ = self._spell(place["file"])
            reason = f"{reason} ({path}:{place['line']})"
        self._reason = reason

    def take_import_error(self, error: Mapping[str, Any], family: str) -> None:
        """An exception while importing the file: it proves what was predicted on its line.

        A misused torch.fx.wrap is the tracer's matter; anything else that an import raises is not.
        """
        place, outer = self._stack(error["frames"])
        if place is not None:
            kept = family if family == "wrap" else None
            self._met.append(Met(kept, place, outer, error=_failure_at(error, place)))

    def trace(self) -> Trace:
        """All that was reported on the root."""
        fails = next((stock for stock in self._stocks if stock.verdict == "fails"), None)
        first = fails or next(iter(self._stocks), None)
        return Trace(
            first or Confirmed("not-run", self._reason or "the worker ended without an answer"),
            tuple(self._met),
            tuple(self._executed),
            tuple(self._ended),
            recorded=self._recordings > 0 and self._recordings == len(self._stocks),
            complete=self._complete,
            unfinished=self._reason if first is not None else None,
            checks=self._checks,
            comparison=self._comparison,
            modes=tuple(self._modes),
        )

    def _stock(self, message: Mapping[str, Any]) -> None:
        error = message["error"]
        failure = None if error is None else self.failure(error)
        self._stocks.append(Confirmed(message["verdict"], None, message["instance"], failure, _graph(message["graph"])))
        if error is not None:
            place, outer = self._stack(error["frames"])
            self._met.append(Met(None, place, outer, error=failure))

    def _recording(self, message: Mapping[str, Any]) -> None:
        self._recordings += 1
        self._complete = self._complete and message["complete"]
        for event in message["events"]:
            place, outer = self._stack(event["frames"])
            error = event["error"]
            failure = None if error is None else _failure_at(error, place)
            self._met.append(
                Met(
                    event["family"],
                    place,
                    outer,
                    event["origin"],
                    event["decisions"],
                    event["answers"],
                    failure,
                    collateral=event["collateral"],
                )
            )
        for caught in message["caught"]:
            place, outer = self._stack([caught["frame"]])
            self._met.append(Met(caught["family"], place, outer, error=_failure_at(caught, place), caught=True))
        self._executed.update(dict.fromkeys(self.place(frame) for frame in message["executed"]))
        for end in message["ended"]:
            place, outer = self._stack(end["frames"])
            self._ended[Ended(place, end["type"], end["message"], outer)] = None

    def _check(self, message: Mapping[str, Any]) -> Check:
        error = message.get("error")
        return Check(
            message["verdict"],
            None if error is None else self.failure(error),
            _graph(message.get("graph")),
            message.get("equal_outputs"),
            message.get("reason"),
        )

    def failure(self, error: Mapping[str, Any]) -> Failure:
        """An exception at its innermost linted frame, else at the innermost one of anybody's code but torch's."""
        place, _ = self._stack(error["frames"])
        if place is None and error["frames"]:
            place = self.place(error["frames"][-1])
        return _failure_at(error, place)

    def place(self, frame: Mapping[str, Any]) -> Place:
        path, _ = self._spell(frame["file"])
        return Place(path, frame["line"], frame["column"], frame["end_line"], frame["end_column"])

    def _stack(self, frames: Sequence[Mapping[str, Any]]) -> tuple[Place | None, tuple[Place, ...]]:
        """(innermost linted place, the linted ones around it)."""
        linted = [self.place(frame) for frame in frames if self._spell(frame["file"])[1]]
        return (linted[-1], tuple(linted[:-1])) if linted else (None, ())


def _failure_at(error: Mapping[str, Any], place: Place | None) -> Failure:
    if place is None:
        return Failure(error["type"], error["message"])
    return Failure(error["type"], error["message"], place.path, place.line, place.column)


def _graph(graph: Mapping[str, Any] | None) -> Graph | None:
    return None if graph is None else Graph(graph["nodes"], graph["text"])
