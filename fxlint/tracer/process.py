"""Processes for the user's code: what it does to its process costs that process only."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import glob
import json
import math
import os
import re
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Literal

from .messages import Message, parsed

CAN_FORK = sys.platform == "linux"
"""Elsewhere forking a process that has loaded torch is not safe: there one process does one file, see worker.py."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
DUMP_SECONDS = 0.5
TICK_SECONDS = 0.05
MAX_FILE_BYTES = 1 << 28
MAX_PROCESSES = 25
"""What the code of one root may start. A process further out allows so many more for each level in between, for the
innermost one to notice first: it knows whose code is running."""
MAX_LEVEL = 3
"""The worker is at level 0, the process that imports a file at 1, that of a root at 2, that of a suggestion at 3."""
MAX_MESSAGE_BYTES = 1 << 26
_TRACE_LINE = re.compile(r'File "(.+)", line (\d+) in (.+)')

_sleep = time.sleep
"""As it was before ``refuse_network``."""

Send = Callable[[Message], None]


@dataclass(frozen=True)
class Limits:
    """``seconds`` of silence after which a process is killed; ``memory`` in bytes beyond those it starts with, or 0."""

    seconds: float
    memory: int = 0


@dataclass(frozen=True)
class Ending:
    """How a process ended; ``what`` says it in a clause and is empty when all went well. The place is where known."""

    kind: Literal["done", "exited", "killed", "timeout"]
    what: str = ""
    file: str | None = None
    line: int | None = None


@dataclass
class _Here:
    """This process: its level, and the descriptors that lead to its parent. What it forks off is given others, so that
    the code under lint speaks for nobody else.
    """

    level: int = 0
    private: tuple[int, ...] = ()


_here = _Here()


class Orphaned(BaseException):
    """The parent is gone."""


def supervised(
    work: Callable[[Send], None],
    on_message: Callable[[Message], None],
    limits: Limits,
    is_user: Callable[[str], bool],
    orphaned: Callable[[], bool] = lambda: False,
) -> Ending:
    """Run ``work`` in a forked process and pass on what it sends. A message may ``allow`` other seconds of silence.

    What the process leaves behind is killed. Raises Orphaned, after killing all, when ``orphaned`` says so.
    """
    adopt_orphans()
    others = children()
    with tempfile.TemporaryFile() as dump:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _child(work, writer, limits, dump)
        os.close(writer)
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        try:
            return _watch(child, reader, on_message, limits, dump, is_user, orphaned, others)
        finally:
            os.close(reader)
            _kill_group(child)
            kill_strays(others)


def keep_private(*descriptors: int) -> None:
    """Have these descriptors, in place of those named before, closed in all that is forked off from now on."""
    _here.private = descriptors


def _child(work: Callable[[Send], None], writer: int, limits: Limits, dump: IO[bytes]) -> None:
    code = 1
    try:
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        _here.level += 1
        for descriptor in _here.private:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        keep_private(writer, dump.fileno())
        die_with_parent()
        _limit(limits)
        faulthandler.enable(dump, all_threads=False)
        faulthandler.register(signal.SIGUSR1, dump, all_threads=False, chain=False)
        send = _or_exit(sender(writer))
        _note_exits(send)
        work(send)
        code = 0
    except MemoryError:
        code = MEMORY_EXIT
    finally:
        os_exit(code)


MEMORY_EXIT = 120
PIPE_EXIT = 121
os_exit = os._exit


def sender(fd: int) -> Send:
    """Writes messages to a descriptor; a process that the user's code forked off must not take part."""
    owner = os.getpid()

    def send(message: Message) -> None:
        if os.getpid() != owner:
            os_exit(0)
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(fd, data) :]

    return send


def _or_exit(send: Send) -> Send:
    """A process that cannot say anything any more is of no use."""

    def sent(message: Message) -> None:
        try:
            send(message)
        except OSError:
            os_exit(PIPE_EXIT)

    return sent


def _note_exits(send: Send) -> None:
    """``os._exit`` leaves no trace of its caller: say who called it, then do it."""
    owner = os.getpid()

    def noted(status: int) -> None:
        if os.getpid() == owner:
            frame = sys._getframe(1)
            send({"exit": f"called os._exit({status})", "file": frame.f_code.co_filename, "line": frame.f_lineno})
        os_exit(status)

    os._exit = noted  # type: ignore[assignment]


def _watch(
    child: int,
    reader: int,
    on_message: Callable[[Message], None],
    limits: Limits,
    dump: IO[bytes],
    is_user: Callable[[str], bool],
    orphaned: Callable[[], bool],
    others: frozenset[int],
) -> Ending:
    os.set_blocking(reader, False)
    next_count = time.monotonic() + TICK_SECONDS
    pending = b""
    allowed = limits.seconds
    deadline = time.monotonic() + allowed
    last_exit: Message | None = None
    status: int | None = None
    closed = False
    while True:
        if closed:  # by its end, or by the code under lint, which may go on without its pipe
            _sleep(0.002)
        elif select.select([reader], [], [], TICK_SECONDS)[0]:
            data = _read(reader)
            closed = not data
            *lines, pending = (pending + data).split(b"\n")
            pending = pending[:MAX_MESSAGE_BYTES]  # one without an end is none of ours
            for message in filter(None, map(parsed, lines)):
                if "exit" in message:
                    last_exit = message
                    continue
                allowed = message.get("allow", limits.seconds)
                deadline = time.monotonic() + allowed
                on_message(message)
            if data and status is not None:
                continue
        if status is not None:
            return _ending(status, last_exit, dump, is_user)
        done, found = os.waitpid(child, os.WNOHANG)
        if done:
            status = found
            continue  # what it said last may not be read yet
        if orphaned():
            raise Orphaned
        now = time.monotonic()
        if now > next_count:
            most = MAX_PROCESSES * (1 + MAX_LEVEL - _here.level)
            if len(_below(children() - others, most)) > most:
                return Ending("killed", "started too many processes")
            next_count = now + TICK_SECONDS
        if now > deadline:
            file, line_number = _place_of(child, dump, is_user)
            return Ending("timeout", f"did not finish within {allowed:g} s", file, line_number)


def _read(reader: int) -> bytes:
    try:
        return os.read(reader, 1 << 16)
    except BlockingIOError:
        return b""


def _ending(status: int, last_exit: Message | None, dump: IO[bytes], is_user: Callable[[str], bool]) -> Ending:
    if last_exit is not None:
        return Ending("exited", last_exit["exit"], last_exit["file"], last_exit["line"])
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        file, line = _parse_dump(dump, is_user)
        if number == signal.SIGXCPU:
            return Ending("killed", "used up its processor time", file, line)
        return Ending("killed", f"crashed with {_signal_name(number)}", file, line)
    code = os.waitstatus_to_exitcode(status)
    if code == MEMORY_EXIT:
        return Ending("exited", "ran out of memory")
    if code == PIPE_EXIT:
        return Ending("exited", "closed the pipe to fxlint")
    return Ending("done") if code == 0 else Ending("exited", f"ended its process with status {code}")


def _place_of(child: int, dump: IO[bytes], is_user: Callable[[str], bool]) -> tuple[str | None, int | None]:
    """Where a process that hangs is, told by its faulthandler."""
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGUSR1)
    give_up = time.monotonic() + DUMP_SECONDS
    while time.monotonic() < give_up:
        _sleep(0.02)
        file, line = _parse_dump(dump, is_user)
        if file is not None:
            return file, line
    return None, None


def _parse_dump(dump: IO[bytes], is_user: Callable[[str], bool]) -> tuple[str | None, int | None]:
    """The innermost frame of the user's in a faulthandler dump, which lists the most recent call first."""
    dump.seek(0)
    for file, line, _ in _TRACE_LINE.findall(dump.read().decode("utf-8", "replace")):
        if is_user(file):
            return file, int(line)
    return None, None


def _kill_group(child: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(child, 0)


def adopt_orphans() -> None:
    """Have the kernel give this process the orphans among its descendants, where it can, for them to be killed."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def kill_strays(others: frozenset[int]) -> None:
    """Kill the children of this process that are none of ``others``, and all below them."""
    while strays := children() - others:
        for stray in _below(strays):
            with contextlib.suppress(OSError):
                os.kill(stray, signal.SIGKILL)
        for stray in strays:
            with contextlib.suppress(OSError):
                os.waitpid(stray, 0)


def children(of: int | None = None) -> frozenset[int]:
    """The children of a process, by default of this one; none where the system does not tell (most Linux do)."""
    found: set[int] = set()
    for listed in glob.glob(f"/proc/{of or 'self'}/task/*/children"):
        with contextlib.suppress(OSError), open(listed, encoding="ascii") as pids:
            found.update(map(int, pids.read().split()))
    return frozenset(found)


def _below(pids: frozenset[int], enough: float = math.inf) -> set[int]:
    """Processes with all that descends from them, or a few more of those than are enough."""
    found: set[int] = set()
    todo = list(pids)
    while todo and len(found) <= enough:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo.extend(children(pid))
    return found


def die_with_parent() -> None:
    """Have the kernel kill this process when the one that forked it dies."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit(limits: Limits) -> None:
    import resource

    cpu = int(limits.seconds * 4) + 5  # a process may take its seconds several times, once per message
    _lower(resource.RLIMIT_CPU, cpu)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
    if limits.memory:
        _lower(resource.RLIMIT_AS, _address_space() + limits.memory)


def _lower(which: int, value: int) -> None:
    import resource

    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(which, (value, hard))


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def refuse_network() -> None:
    """Connections to other machines fail at once; nothing that is imported or built may download.

    Who sleeps after a refusal waits to try again, and would be refused again: such sleeps are over at once.
    """
    import socket

    local = getattr(socket, "AF_UNIX", None)
    was_refused = False

    def refused(*args: Any, **kwargs: Any) -> Any:
        nonlocal was_refused
        was_refused = True
        raise OSError("network access is refused while fxlint confirms")

    def sleep_unless_refused(seconds: Any) -> None:
        if not was_refused:
            _sleep(seconds)

    time.sleep = sleep_unless_refused

    def guard(name: str) -> None:
        original = getattr(socket.socket, name)

        def guarded(self: socket.socket, *args: Any, **kwargs: Any) -> Any:
            return original(self, *args, **kwargs) if self.family == local else refused()

        setattr(socket.socket, name, guarded)

    for name in ("connect", "connect_ex", "sendto"):
        guard(name)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        setattr(socket, name, refused)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Standard input, output and error lead nowhere: what the user's code prints is nobody's business."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    saved = [os.dup(fd) for fd in (0, 1, 2)]
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)
    try:
        yield
    finally:
        for fd, copy in enumerate(saved):
            os.dup2(copy, fd)
            os.close(copy)
