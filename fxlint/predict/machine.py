"""The state of one abstract run: the path taken so far, what happened on it, and forks.

A *path* is a sequence of decisions. A decision on a static value that is not known (the configuration) makes two
paths, each under a guard; a decision on a traced value is an event, after which both sides are looked at. Where both
sides come back together the paths are joined again, so the cost does not grow with the number of decisions.

``failed`` says whether stock tracing would already have stopped on this path. When every way out of the root has
failed, the verdict is ``fails``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NoReturn

from fxlint.predict.heap import MISSING, Changes, Heap
from fxlint.predict.scopes import Exit, Frame, ModuleScope
from fxlint.predict.values import (
    MAYBE,
    TRUE,
    UNKNOWN,
    Attributes,
    Instance,
    Origin,
    Traced,
    Unknown,
    Value,
    clock,
    join,
)
from fxlint.project.source import SourceFile
from fxlint.tracing import STOCK, Tracing

if TYPE_CHECKING:
    from fxlint.predict.arguments import Arguments
    from fxlint.predict.facts import Facts
    from fxlint.predict.memo import Summary
    from fxlint.project.index import Project
    from fxlint.rules import Rule

MAX_DEPTH: Final = 60
MAX_STEPS: Final = 120_000
MAX_STEPS_ASIDE: Final = 1_500
MAX_STEPS_ASIDE_LINTED: Final = 6_000
IN_TRAINING: Final = Unknown(likely=TRUE)


class PathEnd(Exception):
    """No way leads on from here: a raise under a condition of the configuration, or a call that never returns.

    ``raises`` are the events that the raises at the ends of the paths are, should all paths end so.
    """

    def __init__(self, raises: tuple[Event, ...] = ()) -> None:
        self.raises = raises


class Unwind(Exception):
    """An exception of the traced program on its way to a handler that catches it."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler


class Stopped(Exception):
    """Tracing has stopped for certain inside of a package that is not linted: what else it would do is of no use."""


class OutOfBudget(Exception):
    """The root needs more steps than the bound allows."""


@dataclass(eq=False, slots=True)
class Handler:
    """A try statement being run: the exception types it catches (None catches all) and how it was reached.

    ``swallows``: what it caught is that tracing failed.
    """

    catches: Callable[[Value | str], bool]
    entries: list[Changes] = field(default_factory=list)
    swallows: bool = False


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition under which the present path is taken."""

    source: SourceFile
    node: ast.AST
    positive: bool
    traced: bool


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that tracing cannot do, met on a path.

    ``frames`` are the places of the call chain, outermost first, the construct itself last. ``exception`` is the type
    that the stock tracer raises. ``first`` is set where nothing had failed before on the path; ``likely`` where the
    path is that of the default configuration. ``swallowed`` marks an exception that a handler of the program catches.
    """

    kind: str
    frames: tuple[tuple[SourceFile, ast.AST], ...]
    guards: tuple[Guard, ...]
    origin: Origin | None
    exception: str
    callee: str
    first: bool
    likely: bool
    swallowed: bool = False


class Machine:
    """One abstract run of one root. The interpreter's parts are functions that take it as their first argument."""

    def __init__(
        self,
        project: Project,
        facts: Facts,
        told: Tracing = STOCK,
        own_rules: tuple[Rule, ...] = (),
        linted: frozenset[str] = frozenset(),
    ) -> None:
        """``own_rules`` are those of the project that name calls, ``linted`` the paths in which findings may stand."""
        self.project = project
        self.linted = linted
        self.facts = facts
        self.told = told
        self.own_rules = own_rules
        self.heap = Heap()
        self.scopes: dict[str, ModuleScope] = {}
        self.frames: list[Frame] = []
        self.guards: list[Guard] = []
        self.handlers: list[Handler] = []
        self.events: list[Event] = []
        self.seen: dict[tuple[str, int, int, bool], Event] = {}
        self.failed = False
        self.unlikely = 0
        self.tracing = False
        self.begun = 0  # the clock when tracing began: what was born before is the user's own
        self.loose = 0
        self.steps = 0
        self.limit = MAX_STEPS  # of the work that is being done
        self.budget = MAX_STEPS  # of the root, or of what is done once for all roots
        self.built = 0  # steps that have gone into constructors of modules
        self.root: Instance | None = None
        self.root_module: ModuleScope | None = None
        self.usual = False  # the options and modes of the root are those of an object as the code makes it
        self.unresolved: dict[str, tuple[SourceFile, ast.AST]] = {}
        self.summaries: dict[Hashable, Summary] = {}
        self.instances: dict[Hashable, tuple[Instance, Arguments]] = {}
        self.costly: dict[int, ast.AST] = {}
        self.foreign: int | None = None  # guards of the path on which a package that is not linted was entered
        self.given: dict[Hashable, Value | None] = {}  # for parameters, by the code that calls their functions
        self.local_reads = 0  # of names whose meaning depends on the root
        self.thrown = 0  # exceptions for which a handler was looked for

    # -- a root -------------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget the run of one root, keep what holds for all of them (modules, classes, constants)."""
        self.heap.rollback(0)
        self.frames.clear()
        self.guards.clear()
        self.handlers.clear()
        self.events, self.seen = [], {}
        self.unresolved = {}
        self.failed = False
        self.unlikely = 0
        self.loose = 0
        self.steps = self.built = 0
        self.limit = self.budget = MAX_STEPS
        self.tracing = False
        self.usual = False
        self.foreign = None

    def begin(self) -> None:
        """From here on the program runs under the tracer."""
        self.tracing, self.begun = True, clock()

    def set_global(self, module: ModuleScope, name: str, value: Value) -> None:
        """``global name; name = value`` while tracing: before that, a global is what the module's statements say."""
        if self.tracing:
            self.local_reads += 1
            self.heap.put(module.values, name, value)

    def within_root(self, module: Instance) -> bool:
        """Whether the tracer finds the module when it walks from the root."""
        return module.registered or module is self.root

    def tick(self) -> None:
        self.steps += 1
        if self.steps > self.limit:
            raise OutOfBudget

    def aside(
        self,
        what: ast.AST,
        run: Callable[[], Value],
        instead: Callable[[], Value] = lambda: UNKNOWN,
        most: int = MAX_STEPS_ASIDE,
    ) -> Value:
        """Work that tracing hardly depends on: what takes many steps is not worth knowing, nor trying again.

        Work inside of such work gets half of the steps that are left, so that the inner one is given up first.
        """
        if id(what) in self.costly:
            return instead()
        limit, built = self.limit, self.built
        depth, handlers, mark = len(self.frames), len(self.handlers), self.heap.mark()
        steps = min(most, (limit - self.steps) // 2)
        if steps < most // 4:  # too little to tell what is at fault
            return run()
        self.limit = self.steps + steps
        try:
            return run()
        except OutOfBudget:
            if self.steps > min(limit + self.built - built, self.budget):
                raise
            del self.frames[depth:], self.handlers[handlers:]
            self.heap.rollback(mark)
            self.costly[id(what)] = what
        finally:
            self.limit = min(limit + self.built - built, self.budget)
        return instead()

    @contextmanager
    def building(self) -> Iterator[None]:
        """The constructor of a module that is linted: tracing depends on it, so work aside is not charged with it."""
        steps, limit, built = self.steps, self.limit, self.built
        self.limit = self.budget
        try:
            yield
        finally:
            used = self.steps - steps
            self.built, self.limit = built + used, min(limit + used, self.budget)

    def trial(self, what: ast.AST, run: Callable[[], Value]) -> Value | None:
        """The value of a call that is perhaps made; nothing that it does is kept. None where no way leads out of it."""
        mark, guards, depth, handlers = self.heap.mark(), len(self.guards), len(self.frames), len(self.handlers)
        events, seen, unresolved = self.events, self.seen, self.unresolved
        failed, unlikely, foreign = self.failed, self.unlikely, self.foreign
        self.events, self.seen, self.unresolved, self.foreign = [], {}, {}, None
        try:
            return self.aside(what, run)
        except (PathEnd, Unwind):
            return None
        finally:
            del self.guards[guards:], self.frames[depth:], self.handlers[handlers:]
            self.heap.rollback(mark)
            self.events, self.seen, self.unresolved = events, seen, unresolved
            self.failed, self.unlikely, self.foreign = failed, unlikely, foreign

    @contextmanager
    def uncharged(self) -> Iterator[None]:
        """Work that is done once for all roots, with a budget of its own."""
        spent = self.steps, self.limit, self.budget, self.built
        self.limit = self.budget = self.steps + MAX_STEPS
        try:
            yield
        finally:
            self.steps, self.limit, self.budget, self.built = spent

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def training(self) -> Value:
        """The mode of the modules: a new object is in training mode."""
        return TRUE if self.usual else IN_TRAINING

    # -- events -------------------------------------------------------------------------------------------------

    def event(
        self,
        kind: str,
        node: ast.AST,
        *,
        origin: Origin | None = None,
        exception: str = "TraceError",
        callee: str = "",
        thrown: Value | str | None = None,
    ) -> None:
        """Something that the stock tracer stops at. Unwinds where a handler of the traced program catches it."""
        if not self.tracing:
            return
        if origin is not None and origin.kind in {"variadic", "decorated"} and kind.startswith(("iter.", "kwargs.")):
            kind = f"signature.{origin.kind}"
        if origin is not None and origin.assumed is not None:
            taken = Guard(origin.assumed.source, origin.assumed.node, True, False)
            with self.guarded(taken):
                self.record(self._event(kind, node, origin, exception, callee, swallowed=False))
            return
        handler = self._catching(thrown if thrown is not None else exception)
        self.record(self._event(kind, node, origin, exception, callee, swallowed=handler is not None))
        if handler is not None:
            handler.swallows = handler.swallows or origin is not None
            raise Unwind(handler)
        self.failed = True
        if self.foreign is not None and len(self.guards) <= self.foreign:
            raise Stopped

    def event_if(self, guard: Guard, kind: str, node: ast.AST, exception: str, unlikely: bool) -> None:
        """What happens in one configuration only: the path goes on in the others."""
        if self.tracing and not self.is_caught(exception):
            self.unlikely += unlikely
            with self.guarded(guard):
                self.record(self._event(kind, node, None, exception, "", swallowed=False))
            self.unlikely -= unlikely

    def note(self, kind: str, node: ast.AST, *, origin: Origin | None = None, callee: str = "") -> None:
        """Something worth telling that does not stop the tracer."""
        if self.tracing:
            self.record(self._event(kind, node, origin, "", callee, swallowed=False))

    def record(self, event: Event) -> None:
        """Keep an event, unless it says nothing that an earlier one of that place has not said.

        What happens in a file that is not linted is told where it is called: it happens anew at each such place.
        """
        told = next((node for source, node in reversed(event.frames) if source.path in self.linted), None)
        place = (event.kind, id(event.frames[-1][1]), id(told), event.swallowed)
        seen = self.seen.get(place)
        if seen is not None and (not seen.guards or (event.guards and not event.first)):
            return
        if seen is None or not event.guards:
            self.seen[place] = event
        self.events.append(event)

    def refuse(self, node: ast.AST, exception: str, thrown: Value | str) -> None:
        """A raise under conditions of the configuration: the program refuses that configuration, the path ends."""
        handler = self._catching(thrown)
        if handler is not None:
            raise Unwind(handler)
        raise PathEnd((self._event("raise.reached", node, None, exception, "", swallowed=False),))

    def is_caught(self, exception: str) -> bool:
        return self._catching(exception) is not None

    def throw(self, thrown: Value | str, node: ast.AST) -> NoReturn:
        """An exception that the program itself raises, outside of what tracing does to it."""
        handler = self._catching(thrown)
        if handler is not None:
            raise Unwind(handler)
        raise PathEnd

    def _event(
        self, kind: str, node: ast.AST, origin: Origin | None, exception: str, callee: str, swallowed: bool
    ) -> Event:
        return Event(
            kind,
            self.chain(node),
            tuple(self.guards),
            origin,
            exception,
            callee,
            first=not self.failed and not swallowed and bool(exception),
            likely=not self.unlikely,
            swallowed=swallowed,
        )

    def chain(self, node: ast.AST) -> tuple[tuple[SourceFile, ast.AST], ...]:
        """The places of the calls that are running, outermost first, and ``node`` last."""
        places: list[tuple[SourceFile, ast.AST]] = []
        for frame, inner in zip(self.frames, self.frames[1:], strict=False):
            if inner.call is not None:
                places.append((frame.source, inner.call))
        places.append((self.frame.source, node))
        return tuple(places)

    @property
    def depth(self) -> int:
        """The number of places in a chain."""
        return 1 + sum(frame.call is not None for frame in self.frames[1:])

    def _catching(self, thrown: Value | str) -> Handler | None:
        self.thrown += 1
        return next((handler for handler in reversed(self.handlers) if handler.catches(thrown)), None)

    def traced(self, node: ast.AST, parent: Value | None, name: str = "") -> Traced:
        """The result of a recorded operation at ``node``; ``parent`` is the operand that made it one."""
        origin = parent.origin if isinstance(parent, Traced) else None
        assumed = origin.assumed if origin is not None else None
        return Traced(Origin(self.frame.source, node, origin, "operation", name, assumed))

    def assumed(self, node: ast.AST, parent: Value | None) -> Traced:
        """The result of a callable that is not known: taken to be a Proxy, and said to be no more than that."""
        result = self.traced(node, parent)
        assert result.origin is not None
        result.origin.assumed = result.origin.assumed or result.origin
        return result

    def unresolvable(self, name: str, node: ast.AST) -> None:
        """A callable whose behaviour under tracing is not known was given a traced value, unless that is unlikely."""
        if self.tracing and not self.failed and not self.unlikely:
            self.unresolved.setdefault(name, (self.frame.source, node))

    # -- forks --------------------------------------------------------------------------------------------------

    def fork(
        self,
        node: ast.AST,
        then: Callable[[], bool],
        otherwise: Callable[[], bool],
        *,
        likely: bool | None = None,
        traced: bool = False,
        source: SourceFile | None = None,
    ) -> bool:
        """Take both branches of an undecided condition and join what they leave. Returns whether any falls through.

        Each branch returns whether it falls through. A branch that stock tracing would have left (``failed``) does not
        contribute values where the other one goes on.
        """
        frame = self.frame
        source = source or frame.source
        sides = taken, other_way = Guard(source, node, True, traced), Guard(source, node, False, traced)
        first = self._branch(taken, then, likely is False)
        second = self._branch(other_way, otherwise, likely is True)
        if first.falls and second.falls:
            if first.failed != second.failed:
                alive = second if first.failed else first
                self.heap.apply(alive.changes)
            else:
                partial = [
                    *self._partial(first.changes, second.changes, other_way, likely is True),
                    *self._partial(second.changes, first.changes, taken, likely is False),
                ]
                self.heap.merge(first.changes, second.changes, likely, None if self.tracing else sides)
                self.failed = first.failed
                for target, name, missing, unlikely in partial:
                    target.partial[name] = (target[name], missing, unlikely)
            return True
        for branch, other in ((first, second), (second, first)):
            if branch.falls:
                self.heap.apply(branch.changes)
                self.failed = branch.failed
                if other.refused:  # the program accepts no other configuration: this is no condition
                    self.guards.extend(branch.guards[1:])
                else:
                    self.guards.extend(branch.guards)
                    self.unlikely = branch.unlikely
            elif branch.left:
                (frame.loops[-1].breaks if frame.loops else frame.pending).append(branch.changes)
        if first.refused and second.refused:
            self._all_refused((*first.raises, *second.raises))
        frame.divided = not first.falls and not second.falls
        return not frame.divided

    def where(self, conditions: tuple[tuple[Guard, bool], ...], run: Callable[[], bool]) -> bool:
        """Run under conditions that were met before; each with whether it is unlikely to hold."""
        if not conditions:
            return run()
        (guard, unlikely), others = conditions[0], conditions[1:]

        def inside() -> bool:
            return self.where(others, run)

        then, otherwise = (inside, lambda: True) if guard.positive else (lambda: True, inside)
        likely = not guard.positive if unlikely else None
        return self.fork(guard.node, then, otherwise, likely=likely, source=guard.source)

    def _partial(
        self, one: Changes, other: Changes, missing: Guard, unlikely: bool
    ) -> Iterator[tuple[Attributes, str, Guard, bool]]:
        """The attributes that only one side of a condition has set, and the other side, on which they are missing."""
        for place, (target, key, value) in one.items() if not self.tracing else ():
            if isinstance(target, Attributes) and place not in other and key not in target and value is not MISSING:
                yield target, str(key), missing, unlikely

    def _all_refused(self, raises: tuple[Event, ...]) -> None:
        """Both sides end in a raise: so does the path before the fork, for certain where nothing else guards it."""
        if self.guards or not raises or not self.tracing:
            raise PathEnd(raises)
        for event in raises:
            self.record(replace(event, first=not self.failed))
        self.failed = True
        self.frame.exits.append(Exit(MAYBE, failed=True, unlikely=self.unlikely))

    def choose(
        self,
        node: ast.AST,
        then: Callable[[], Value],
        otherwise: Callable[[], Value],
        *,
        likely: bool | None = None,
        traced: bool = False,
    ) -> Value:
        """The value of a conditional expression: a fork whose branches give values."""
        values: dict[bool, tuple[Value, bool]] = {}

        def branch(side: bool, run: Callable[[], Value]) -> Callable[[], bool]:
            def body() -> bool:
                values[side] = (run(), self.failed)
                return True

            return body

        if not self.fork(node, branch(True, then), branch(False, otherwise), likely=likely, traced=traced):
            if self.failed:
                return MAYBE  # every side raises, which has been recorded: go on with a stand-in
            raise PathEnd
        if len(values) == 1:
            return next(iter(values.values()))[0]
        (first, failed_first), (second, failed_second) = values[True], values[False]
        if failed_first != failed_second:
            return second if failed_first else first
        return join(first, second, None if likely is None else first if likely else second)

    def _branch(self, guard: Guard, run: Callable[[], bool], unlikely: bool) -> _Branch:
        mark, depth, frames = self.heap.mark(), len(self.guards), len(self.frames)
        failed, was_unlikely, handlers = self.failed, self.unlikely, len(self.handlers)
        self.guards.append(guard)
        self.unlikely += unlikely
        falls = left = refused = False
        raises: tuple[Event, ...] = ()
        try:
            falls = run()
            left = not falls
        except Unwind as unwind:
            unwind.handler.entries.append(self.heap.changes(mark))
        except PathEnd as end:
            refused, raises = True, end.raises
        del self.frames[frames:], self.handlers[handlers:]
        changes, guards = self.heap.changes(mark), self.guards[depth:]
        branch = _Branch(falls, left, refused, raises, self.failed, changes, guards, self.unlikely)
        self.heap.rollback(mark)
        del self.guards[depth:]
        self.failed, self.unlikely = failed, was_unlikely
        return branch

    # -- scoped state -------------------------------------------------------------------------------------------

    @contextmanager
    def guarded(self, guard: Guard) -> Iterator[None]:
        self.guards.append(guard)
        try:
            yield
        finally:
            self.guards.pop()

    @contextmanager
    def at(self, frame: Frame) -> Iterator[None]:
        """Record events as happening in this frame."""
        self.frames.append(frame)
        try:
            yield
        finally:
            self.frames.pop()

    @contextmanager
    def untraced(self) -> Iterator[None]:
        """Run what Python runs before tracing starts: constructors, module bodies, default values."""
        tracing, self.tracing = self.tracing, False
        try:
            yield
        finally:
            self.tracing = tracing

    @contextmanager
    def detached(self) -> Iterator[None]:
        """Run module and class bodies: outside tracing, of no path, with writes that no fork takes back."""
        saved = (self.heap, self.frames, self.guards, self.handlers, self.failed, self.unlikely, self.loose)
        self.heap, self.frames, self.guards, self.handlers = Heap(), [], [], []
        self.failed, self.unlikely, self.loose = False, 0, 0
        try:
            with self.untraced():
                yield
        finally:
            self.heap, self.frames, self.guards, self.handlers, self.failed, self.unlikely, self.loose = saved


@dataclass(eq=False, slots=True)
class _Branch:
    falls: bool
    left: bool  # by return, break or continue
    refused: bool  # by raises
    raises: tuple[Event, ...]
    failed: bool
    changes: Changes
    guards: list[Guard]
    unlikely: int
