"""Restricts itself for good and becomes the command it is given: run as a script, on Linux, by fxlint's interpreter.

``python -I sandbox.py SEARCH_PATH FOLDER COMMAND...``. What the kernel denies a process it denies to all that becomes
of it, so the interpreter of the code under lint needs none of what this one imports. ``SEARCH_PATH`` is a JSON list,
for ``sys.path``. The first line on standard output is a JSON object: "unguarded" are the guards that cannot be had.

``FOLDER`` and what is below it is all that can be written to. Files can be read and programs run, as ever.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_WRITABLE: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_DENIED: Final = (
    "chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat",
    "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr",
    425,  # io_uring_setup: a ring goes round this filter
    452, 463, 466, 469,  # fchmodat2, setxattrat, removexattrat, file_setattr, which older libraries cannot name
)  # fmt: skip
"""System calls that change files and that Landlock leaves alone. Numbers from 424 on are those of all architectures."""


def main() -> None:
    search_path, folder, *command = sys.argv[1:]
    sys.path[:] = json.loads(search_path)
    unguarded = [*_confine(folder), *_filter_calls()]
    with contextlib.suppress(OSError):  # where memory runs out the kernel ends this process first
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    os.write(1, json.dumps({"unguarded": unguarded}).encode() + b"\n")
    os.execvp(command[0], command)


def _confine(folder: str) -> Iterator[str]:
    """Allow changes of files below the folder only, and signals only to what descends from this process."""
    try:
        from landlockpy import AccessFS, AccessNet, LandlockError, Ruleset, Scope, abi_version
    except ImportError as error:
        yield f"files and signals ({error})"
        return
    reading = AccessFS.EXECUTE | AccessFS.READ_FILE | AccessFS.READ_DIR
    everything = AccessFS(~0) & ~reading
    try:
        abi = abi_version()
        with Ruleset(handled_fs=everything, handled_net=AccessNet.NONE, scoped=Scope(~0)) as rules:
            rules.allow_path(folder, everything)
            for device in _WRITABLE:
                with contextlib.suppress(OSError):  # a small system may have no such device
                    rules.allow_path(device, AccessFS.WRITE_FILE | AccessFS.TRUNCATE | AccessFS.IOCTL_DEV)
            rules.restrict()
    except (LandlockError, OSError) as error:
        yield f"files and signals (Landlock: {error})"
        return
    if abi < 3:
        yield f"truncation of files (Landlock's version is {abi}, it takes 3)"
    if abi < 6:
        yield f"signals (Landlock's version is {abi}, it takes 6)"


def _filter_calls() -> Iterator[str]:
    """Allow no sockets but local ones, and no changes of the modes, owners and attributes of files."""
    try:
        import pyseccomp as seccomp
    except (ImportError, RuntimeError) as error:  # RuntimeError: there is no libseccomp
        yield f"network and modes of files ({error})"
        return
    try:
        calls = seccomp.SyscallFilter(seccomp.ALLOW)
        calls.add_rule(seccomp.ERRNO(errno.EACCES), "socket", seccomp.Arg(0, seccomp.NE, socket.AF_UNIX))
        for call in _DENIED:
            calls.add_rule(seccomp.ERRNO(errno.EPERM), call)
        calls.load()
    except OSError as error:
        yield f"network and modes of files (seccomp: {error})"


if __name__ == "__main__":
    main()
