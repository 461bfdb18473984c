"""Which instructions of the watched lines ran."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from .frames import Frame, Instruction

Watch = Mapping[str, Sequence[tuple[int, int]]]
"""Real path of a file -> the spans of lines (first, last) to watch in it."""


class Executed:
    """Collects the instructions that run on watched lines while ``collecting`` is active.

    Instructions rather than lines: ``self.flag and x.sum() > 0`` runs its line without ever testing the sum.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = {os.path.realpath(file): list(spans) for file, spans in watch.items()}
        self._codes: dict[int, tuple[CodeType, bool]] = {}
        """By identity, here and below: to hash a code object takes longer than most functions run."""
        self._strange: set[str] = set()
        """Names of files that are not watched, as code objects spell them."""
        self._seen: dict[tuple[int, int], CodeType] = {}
        self._raised: list[tuple[Instruction, BaseException]] = []

    def take_raised(self) -> list[tuple[Instruction, BaseException]]:
        """The exceptions that passed through watched functions since the last call, caught there or not."""
        raised, self._raised = self._raised, []
        return raised

    def frames(self) -> list[Frame]:
        """The watched places that ran, each once, in order."""
        found: set[Frame] = set()
        for (_, offset), code in self._seen.items():
            line = _line(code, offset)
            if line is not None:
                found.add(Instruction(code, offset, line).frame())
        watched = [frame for frame in found if self._covers(frame.file, frame.line, frame.end_line or frame.line)]
        return sorted(watched, key=lambda frame: tuple(part or 0 for part in frame.place[1:]))

    def _raise(self, code: CodeType, offset: int, error: Any) -> None:
        if isinstance(error, BaseException) and not isinstance(error, (StopIteration, GeneratorExit)):
            self._raised.append((Instruction(code, offset, _line(code, offset) or code.co_firstlineno), error))

    def _covers(self, file: str, first: int, last: int) -> bool:
        return any(first <= end and start <= last for start, end in self._watch.get(file, ()))

    def _watched(self, code: CodeType) -> bool:
        known = self._codes.get(id(code))
        if known is None:
            file = os.path.realpath(code.co_filename)
            known = self._codes[id(code)] = (code, file in self._watch and self._covers(file, *_line_range(code)))
            if file not in self._watch:
                self._strange.add(code.co_filename)
        return known[1]

    def _run(self, code: CodeType, offset: int) -> None:
        self._seen[id(code), offset] = code

    @contextmanager
    def collecting(self) -> Iterator[None]:
        if not self._watch:
            yield
        elif sys.version_info >= (3, 12):
            with self._monitoring():
                yield
        else:
            with self._tracing():
                yield

    @contextmanager
    def _tracing(self) -> Iterator[None]:
        def on_call(frame: FrameType, event: str, arg: Any) -> Any:
            if frame.f_code.co_filename in self._strange or not self._watched(frame.f_code):
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            return on_opcode

        def on_opcode(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "opcode":
                self._run(frame.f_code, frame.f_lasti)
            elif event == "exception":
                self._raise(frame.f_code, frame.f_lasti, arg[1])
            return on_opcode

        before = sys.gettrace()
        sys.settrace(on_call)
        try:
            yield
        finally:
            sys.settrace(before)

    if sys.version_info >= (3, 12):

        @contextmanager
        def _monitoring(self) -> Iterator[None]:
            monitoring = sys.monitoring
            tool = next((tool for tool in (4, 3, 5) if monitoring.get_tool(tool) is None), None)
            if tool is None:  # every free tool number is taken: a debugger or a coverage run
                with self._tracing():
                    yield
                return

            def on_start(code: CodeType, offset: int) -> Any:
                if self._watched(code):
                    monitoring.set_local_events(tool, code, monitoring.events.INSTRUCTION)
                return monitoring.DISABLE

            def on_instruction(code: CodeType, offset: int) -> Any:
                self._run(code, offset)
                return monitoring.DISABLE

            def on_raise(code: CodeType, offset: int, error: BaseException) -> None:
                if self._watched(code):
                    self._raise(code, offset, error)

            monitoring.use_tool_id(tool, "fxlint")
            monitoring.register_callback(tool, monitoring.events.PY_START, on_start)
            monitoring.register_callback(tool, monitoring.events.INSTRUCTION, on_instruction)
            monitoring.register_callback(tool, monitoring.events.RAISE, on_raise)
            monitoring.set_events(tool, monitoring.events.PY_START | monitoring.events.RAISE)
            monitoring.restart_events()
            try:
                yield
            finally:
                monitoring.set_events(tool, 0)
                for code, watched in self._codes.values():
                    if watched:
                        monitoring.set_local_events(tool, code, 0)
                monitoring.free_tool_id(tool)


def _line_range(code: CodeType) -> tuple[int, int]:
    """First and last line of a code object, its nested ones included."""
    lines = [line for _, _, line in code.co_lines() if line is not None]
    return (code.co_firstlineno, max(lines, default=code.co_firstlineno))


def _line(code: CodeType, offset: int) -> int | None:
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return line
    return None
