"""Where in the user's code something happened: stacks and tracebacks reduced to the frames that are the user's."""

from __future__ import annotations

import dis
import linecache
import os
import sysconfig
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch

TRACER = os.path.dirname(os.path.realpath(__file__))
TORCH = os.path.dirname(os.path.realpath(torch.__file__))
STDLIB = tuple({os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")})
_INSTALLED = ("site-packages", "dist-packages")

MAX_FRAMES = 60


@dataclass(frozen=True)
class Frame:
    """One frame of the user's: ``file`` is a real path; positions are 1-based code points, None where unknown.

    The columns (Python 3.11 and later) are those of the instruction that was executing.
    """

    file: str
    line: int
    column: int | None
    end_line: int | None
    end_column: int | None
    function: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def place(self) -> tuple[str, int, int | None, int | None, int | None]:
        return (self.file, self.line, self.column, self.end_line, self.end_column)


@dataclass(frozen=True)
class Instruction:
    """An instruction of a code object: what a traceback entry or a running frame points at."""

    code: CodeType
    offset: int
    line: int

    @property
    def opname(self) -> str:
        return dis.opname[self.code.co_code[self.offset]]

    @property
    def span(self) -> tuple[int, int, int, int] | None:
        """(line, end line, UTF-8 column, UTF-8 end column) as ``ast`` counts them, None before Python 3.11."""
        positions = _positions(self.code)
        found = positions[self.offset // 2] if self.offset // 2 < len(positions) else (None,) * 4
        line, end_line, column, end_column = found
        if line is None or end_line is None or column is None or end_column is None:
            return None
        return (line, end_line, column, end_column)

    def frame(self) -> Frame:
        span = self.span
        file, function = real_path(self.code.co_filename), self.code.co_name
        if span is None:
            return Frame(file, self.line, None, None, None, function)
        line, end_line, column, end_column = span
        start = _code_points(self.code.co_filename, line, column)
        end = _code_points(self.code.co_filename, end_line, end_column)
        return Frame(file, line, start, end_line, end, function)


class UserCode:
    """Tells the user's frames from those of torch, the standard library and this tracer.

    A file of ``interest`` is the user's wherever it lies: torch's own modules can be linted too. What lies in the
    package or folder of such a file is the user's own, in contrast to the inside of the libraries it uses.
    """

    def __init__(self, interest: Collection[str] = ()) -> None:
        self._interest = frozenset(os.path.realpath(file) for file in interest)
        self._own_folders = tuple({_top_folder(file) for file in self._interest})
        self._known: dict[str, bool] = {}

    def is_user(self, filename: str) -> bool:
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = self._decide(filename)
        return known

    def _decide(self, filename: str) -> bool:
        if filename.startswith("<"):  # <string>, <frozen importlib>, fx's own <eval_with_key>
            return False
        file = real_path(filename)
        if file in self._interest:
            return True
        if _inside(file, TRACER) or _inside(file, TORCH):
            return False
        return not any(
            _inside(file, library) and not any(part in _INSTALLED for part in file[len(library) :].split(os.sep))
            for library in STDLIB
        )

    def own(self, instructions: list[Instruction]) -> list[Instruction]:
        """Those in the user's own code, or all where none is: what lies below them is a library's inside."""
        return [found for found in instructions if self.is_own(found.code.co_filename)] or instructions

    def is_linted(self, filename: str) -> bool:
        return real_path(filename) in self._interest

    def is_own(self, filename: str) -> bool:
        file = real_path(filename)
        return self.is_linted(file) or any(_inside(file, folder) for folder in self._own_folders)

    def of_traceback(self, traceback: TracebackType | None) -> list[Instruction]:
        """The user's entries of a traceback, outermost first."""
        return [entry for entry in entries(traceback) if self.is_user(entry.code.co_filename)]

    def of_stack(self, frame: FrameType | None, until: FrameType | None = None) -> list[Instruction]:
        """The user's frames of a running stack up to ``until``, outermost first."""
        found: list[Instruction] = []
        while frame is not None and frame is not until and len(found) < MAX_FRAMES:
            if self.is_user(frame.f_code.co_filename):
                found.append(Instruction(frame.f_code, frame.f_lasti, frame.f_lineno))
            frame = frame.f_back
        return found[::-1]


def _top_folder(file: str) -> str:
    """The folder of a file's top-level package; of a file beside the road its folder, if that is no place for all."""
    folder = os.path.dirname(file)
    if os.path.basename(folder) in _INSTALLED:
        return file
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.isfile(
        os.path.join(os.path.dirname(folder), "__init__.py")
    ):
        folder = os.path.dirname(folder)
    return folder


def entries(traceback: TracebackType | None) -> Iterator[Instruction]:
    while traceback is not None:
        yield Instruction(traceback.tb_frame.f_code, traceback.tb_lasti, traceback.tb_lineno)
        traceback = traceback.tb_next


def frames_of(instructions: list[Instruction]) -> tuple[Frame, ...]:
    """Frames for instructions, the innermost ones where a recursion makes too many."""
    return tuple(instruction.frame() for instruction in instructions[-MAX_FRAMES:])


@lru_cache(maxsize=4096)
def real_path(filename: str) -> str:
    return os.path.realpath(filename)


def _inside(file: str, directory: str) -> bool:
    return file.startswith(directory + os.sep)


@lru_cache(maxsize=4096)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    co_positions = getattr(code, "co_positions", None)  # Python 3.11 and later
    return list(co_positions()) if co_positions is not None else []


def _code_points(filename: str, line: int, column: int) -> int:
    """The 1-based column in code points of a 0-based column in UTF-8 bytes."""
    text = linecache.getline(filename, line)
    if text.isascii():
        return column + 1
    return len(text.encode("utf-8", "replace")[:column].decode("utf-8", "ignore")) + 1
