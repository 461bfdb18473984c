"""Which interpreter has the user's torch."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fxlint.project.environment import candidates

PROBE = "import importlib.util, sys; sys.exit(0 if importlib.util.find_spec('torch') else 3)"
PROBE_SECONDS = 30


class NoInterpreterError(Exception):
    """Says in one line why nothing can be traced."""


def find_interpreter(python: str | None, roots: Sequence[str]) -> str:
    """The interpreter asked for, else the first with torch of: the active environment's, the project's, conda's, ours.

    Raises NoInterpreterError, naming those that were tried.
    """
    tried: list[str] = []
    for candidate in candidates(python, os.environ, roots):
        if candidate in tried:
            continue
        tried.append(candidate)
        if _has_torch(candidate):
            return candidate
    names = ", ".join(tried)
    raise NoInterpreterError(f"torch is not installed for {names}; name an interpreter that has it with --python")


def _has_torch(python: str) -> bool:
    """Raises NoInterpreterError where it cannot be run at all."""
    try:
        done = subprocess.run(
            [python, "-c", PROBE],
            env=environment(),
            cwd=tempfile.gettempdir(),  # not the user's folder, whose files could shadow the standard library's
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoInterpreterError(f"{python} did not answer within {PROBE_SECONDS} s") from None
    except OSError as error:
        raise NoInterpreterError(f"{python} cannot be run: {error.strerror or error}") from error
    if done.returncode not in (0, 3):
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise NoInterpreterError(f"{python} does not work: {last or f'it ended with status {done.returncode}'}")
    return done.returncode == 0


def environment(folder: str | None = None) -> dict[str, str]:
    """The environment of the worker, whose working directory is the temporary ``folder``."""
    values = dict(os.environ)
    if not values.get("TORCH_LOGS", "x"):
        del values["TORCH_LOGS"]  # set and empty, it makes importing torch 2.14 fail
    values.update(
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONHASHSEED="0",  # the order of sets must not change a verdict
        PYTHONIOENCODING="utf-8",
        OMP_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
        HF_HUB_OFFLINE="1",
        CUDA_VISIBLE_DEVICES="",  # its devices cannot be written to, and tracing needs none
    )
    if values.get("PYTHONPATH"):
        paths = values["PYTHONPATH"].split(os.pathsep)
        values["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in paths if path)
    if folder is not None:
        values["TMPDIR"] = folder
    return values
