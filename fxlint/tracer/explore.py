"""Records everything tracing a root meets, by tracing it again and again with other answers."""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from . import classify
from .classify import of_exception
from .executed import Executed
from .failures import Failed, failed, message_of
from .frames import Frame, UserCode
from .recorder import EndOfRun, Event, Key, Learned, Plan, Run, Site, recording_class
from .sites import Sites
from .stock import Root
from .tracing import STOCK, Tracing

MAX_RUNS = 64
MAX_LENGTH = 16
PATIENCE = 16
"""A recording that looks for something ends after so many runs in a row that met nothing new."""
IDLE_SECONDS = 1.0
"""Or after so many seconds of processor time without anything new: runs of a large model are dear."""
QUIET = 3
"""One that looks for nothing any more, after so many."""
_TOO_FEW = re.compile(r"not enough values to unpack \(expected (?:at least )?(\d+), got (\d+)\)")
_TOO_MANY = re.compile(r"too many values to unpack \(expected (\d+)")


Goal = tuple[str, int, int]
"""Real path of a file, first and last line of what is predicted there."""


@dataclass(frozen=True)
class Caught:
    """An exception that the traced code itself caught: a failure swallowed by a ``try``."""

    family: str
    frame: Frame
    type: str
    message: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def caught(executed: Executed, final: Failed | None, user: UserCode) -> list[Caught]:
    """What was raised on watched lines since the last call, without ``final``, which nobody caught."""
    found: list[Caught] = []
    for instruction, error in executed.take_raised():
        frame, kind = instruction.frame(), type(error).__name__
        if final is None or final.type != kind or frame not in final.frames:
            found.append(Caught(of_exception(error, user), frame, kind, message_of(error)))
    return list(dict.fromkeys(found))


@dataclass
class Recording:
    """What was met in all runs. ``ended`` are the exceptions that ended a run early after a stand-in was given.

    ``complete`` is False where the bounds on runs or seconds left conditions unexplored, ``missed`` are the goals that
    no run came to.
    """

    events: list[Event] = field(default_factory=list)
    ended: list[Failed] = field(default_factory=list)
    caught: list[Caught] = field(default_factory=list)
    runs: int = 0
    complete: bool = True
    missed: frozenset[Goal] = frozenset()

    def to_json(self) -> dict[str, Any]:
        return {
            "events": [event.to_json() for event in self.events],
            "ended": [end.to_json() for end in self.ended],
            "caught": [one.to_json() for one in self.caught],
            "runs": self.runs,
            "complete": self.complete,
            "missed": sorted(self.missed),
        }


def record(
    build: Callable[[], Root],
    user: UserCode,
    executed: Executed,
    seconds: float,
    max_runs: int = MAX_RUNS,
    known: Collection[Key] = (),
    goals: Collection[Goal] = (),
    tracing: Tracing = STOCK,
) -> Recording:
    """Trace fresh instances from ``build`` with all answers that the bounds allow.

    ``goals`` are the places where something is predicted: they are what is looked for. ``known`` is what other roots
    have met: it is told when met again, and not looked for.

    ``seconds`` bounds the processor time, so that other load does not change what is found.
    """
    return _Exploration(build, user, executed, time.process_time() + seconds, max_runs, known, goals, tracing).explore()


class _Exploration:
    def __init__(
        self,
        build: Callable[[], Root],
        user: UserCode,
        executed: Executed,
        deadline: float,
        max_runs: int,
        known: Collection[Key],
        goals: Collection[Goal],
        tracing: Tracing,
    ) -> None:
        self._build = build
        self._tracing = tracing
        self._user = user
        self._executed = executed
        self._deadline = deadline
        self._max_runs = max_runs
        self._known = known
        places = [place for _, place in known if place is not None]
        self._goals = {goal for goal in goals if not any(_is_at(place, goal) for place in places)}
        self._idle = 0
        self._idle_until = time.process_time() + IDLE_SECONDS
        self._is_new = False
        self._sites = Sites(user)
        self._learned = Learned()
        self._queued: set[tuple[Site, bool]] = set()
        self._plans: deque[Plan] = deque([Plan()])
        self._tried: set[Plan] = set()
        self._events: dict[tuple[Any, ...], Event] = {}
        self._ended: dict[tuple[Any, ...], Failed] = {}
        self._caught: dict[Caught, None] = {}

    def explore(self) -> Recording:
        runs = 0
        while self._plans and runs < self._max_runs and time.process_time() < self._deadline:
            if self._idle >= (PATIENCE if self._goals else QUIET) or time.process_time() > self._idle_until:
                break
            plan = self._plans.popleft()
            runs += 1
            self._is_new = False
            run, error = self._trace(plan)
            final = None if error is None else failed(error, self._user)
            self._caught.update(dict.fromkeys(caught(self._executed, final, self._user)))
            self._learned.covered.update(run.decisions)
            for event in run.events:
                self._keep(event)
            for passed in run.passed:
                self._note_end(passed)
            replaced = error is not None and self._go_on(plan, run, error)
            if self._is_new or replaced:
                self._idle_until = time.process_time() + IDLE_SECONDS
            if self._is_new:
                self._idle = 0
            elif not replaced:
                self._idle += 1
            if not replaced:
                self._branch(plan, run)
        return Recording(
            list(self._events.values()),
            list(self._ended.values()),
            list(self._caught),
            runs,
            complete=not self._plans,
            missed=frozenset(self._goals),
        )

    def _trace(self, plan: Plan) -> tuple[Run, BaseException | None]:
        root = self._build()
        made = recording_class(self._tracing.tracer_class())
        tracer = made(self._user, plan, self._learned, sys._getframe(), self._deadline, **self._tracing.arguments)
        self._sites.guard.tracer = tracer
        try:
            with self._executed.collecting():
                tracer.trace(root, self._tracing.bound(root))
        except EndOfRun:
            return tracer.run, None
        except BaseException as error:
            return tracer.run, error
        finally:
            self._sites.guard.tracer = None
        return tracer.run, None

    def _go_on(self, plan: Plan, run: Run, error: BaseException) -> bool:
        """Deal with the exception that ended a run; True where a better run takes its place."""
        users = self._user.of_traceback(error.__traceback__)
        answered = tuple(answer for _, answer in run.decisions)
        unsupported = not users and classify.is_unsupported_output(error)
        if not run.answers or unsupported:
            self._keep(_event(error, self._user, run))
        if unsupported:
            return False
        length = _other_length(error, plan)
        if length is not None and run.answers and self._again(replace(plan, prefix=answered, length=length)):
            return True
        if users and self._asks_again(error, run) and self._sites.add(self._user.own(users)[-1]):
            self._plans.appendleft(replace(plan, prefix=answered))
            return True
        if not users and not plan.unwrap and of_exception(error, self._user) == "signature":
            self._plans.append(replace(plan, unwrap=True))
            return True
        if run.answers:
            self._note_end(error)
        return False

    def _note_end(self, error: BaseException) -> None:
        end = failed(error, self._user)
        self._ended.setdefault((end.type, end.frames[-1:]), end)

    def _asks_again(self, error: BaseException, run: Run) -> bool:
        """A raise of the user's own, met after an answer that leads to it, is what the code means to do with that."""
        return not run.answers or not self._sites.is_chosen(error, run)

    def _again(self, plan: Plan) -> bool:
        if plan in self._tried:
            return False
        self._tried.add(plan)
        self._plans.appendleft(plan)
        return True

    def _branch(self, plan: Plan, run: Run) -> None:
        """Queue the other side of every condition that was not given it yet."""
        answers = [answer for _, answer in run.decisions]
        for index in range(len(answers)):
            site, answer = run.decisions[index]
            other = (site, not answer)
            if other not in self._learned.covered and other not in self._queued:
                self._queued.add(other)
                branch = replace(plan, prefix=(*answers[:index], not answer))
                if self._leads_to_goal(site):
                    self._plans.appendleft(branch)
                else:
                    self._plans.append(branch)

    def _leads_to_goal(self, site: Site) -> bool:
        """Whether something that is looked for stands below a condition in its function, as far as lines tell."""
        file, _, first, last = site[-1][:4]
        return any(file == goal[0] and first <= goal[1] <= last for goal in self._goals)

    def _keep(self, event: Event) -> None:
        """Keep an event once per place: the earliest met, and for an exception what its guard knows of it.

        What a helper of a file that is not linted meets is told where it is called, so it is kept for each such place.
        """
        own = [frame.place for frame in event.frames if self._user.is_own(frame.file)]
        linted = [frame.place for frame in event.frames if self._user.is_linted(frame.file)]
        innermost = (own or [frame.place for frame in event.frames])[-1:]
        place = (*innermost, *linted[-1:])
        key: tuple[Any, ...] = (place, "exception" if event.error is not None else event.family)
        known = self._events.get(key)
        if known is None:
            self._events[key] = event
            left = {goal for goal in self._goals if not any(_is_at(one, goal) for one in place)}
            if len(left) < len(self._goals) or (event.key not in self._known and not event.collateral):
                self._is_new = True
            self._goals = left
        elif known.collateral and not event.collateral:
            self._events[key] = event
        elif event.error is not None and event.origin is not None and known.origin is None:
            self._events[key] = replace(event, decisions=known.decisions, answers=known.answers)


def _is_at(place: tuple[Any, ...], goal: Goal) -> bool:
    file, first, last = goal
    return bool(place[0] == file and first <= place[1] <= last)


def _event(error: BaseException, user: UserCode, run: Run) -> Event:
    told = failed(error, user)
    return Event(
        of_exception(error, user),
        told.frames,
        decisions=len(run.decisions),
        answers=run.answers,
        error=(told.type, told.message),
    )


def _other_length(error: BaseException, plan: Plan) -> int | None:
    """How many elements an iteration should have had, where unpacking its result says so."""
    if not isinstance(error, ValueError):
        return None
    found = _TOO_FEW.search(str(error)) or _TOO_MANY.search(str(error))
    wanted = int(found.group(1)) if found else None
    return wanted if wanted is not None and wanted != plan.length and wanted <= MAX_LENGTH else None
