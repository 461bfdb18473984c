"""Where the interpreter of the code under lint keeps its packages, found from the file system; nothing is run."""

from __future__ import annotations

import configparser
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def interpreters(environment: Mapping[str, str], roots: Sequence[str]) -> Iterator[str]:
    """Interpreters to look at, in order: the active environment's, the project's, conda's, the running one."""
    projects = [str(Path(root) / ".venv") for root in roots]
    for folder in (environment.get("VIRTUAL_ENV"), *projects, environment.get("CONDA_PREFIX")):
        if not folder:
            continue
        # not resolved: it is the symbolic link that makes the environment; isfile is False for what no path can be
        places = (Path(folder, "bin", "python"), Path(folder, "Scripts", "python.exe"), Path(folder, "python.exe"))
        yield from (str(place) for place in places if os.path.isfile(place))  # noqa: PTH113
    yield sys.executable


def candidates(python: str | None, environment: Mapping[str, str], roots: Sequence[str]) -> list[str]:
    """The interpreters to look for torch in: the one that is asked for, else all."""
    return [python] if python is not None else list(interpreters(environment, roots))


def site_packages(python: str) -> tuple[Path, ...]:
    """The folders in which an interpreter's environment installs packages; empty where there are none."""
    prefix = Path(python).parent.parent
    patterns = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages")
    found = [folder for pattern in patterns for folder in sorted(prefix.glob(pattern))]
    windows = Path(python).parent / "Lib" / "site-packages"
    return tuple(dict.fromkeys([*found, *([windows] if windows.is_dir() else [])]))


_TOLD_BY = ("PYTHON", "TORCH", "PYTORCH", "LD_", "HF_")
"""What the names of the variables start with that interpreters, torch and the loader go by."""


def environment_state(python: str | None, environment: Mapping[str, str], roots: Sequence[str]) -> list[object]:
    """Equal while the interpreters that may trace, the packages installed for them, and what they are told are equal.

    A package that is installed, updated or removed changes the names in the folder that it is in.
    """
    told = sorted((name, value) for name, value in environment.items() if name.startswith(_TOLD_BY))
    pythons = dict.fromkeys(candidates(python, environment, roots))
    return [told, *((one, _stamp(Path(one)), _installed(one)) for one in pythons)]


def _installed(python: str) -> list[tuple[str, list[str]]]:
    pythons = [python, *_base(python)]
    folders = [*(folder for one in pythons for folder in site_packages(one)), *_of_the_user()]
    return [(str(folder), _names(folder)) for folder in folders]


def _base(python: str) -> list[str]:
    """The interpreter whose packages an environment has beside its own."""
    parser = configparser.ConfigParser(interpolation=None)
    with contextlib.suppress(OSError, ValueError, configparser.Error):
        parser.read_string("[environment]\n" + (Path(python).parent.parent / "pyvenv.cfg").read_text("utf-8"))
        settings = parser["environment"]
        if settings.getboolean("include-system-site-packages", fallback=False):
            return [str(Path(settings["home"]) / "python")]
    return []


def _of_the_user() -> list[Path]:
    return sorted(Path.home().glob(".local/lib/python3*/site-packages"))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name != "__pycache__")  # noqa: PTH208
    except OSError:
        return []


def _stamp(path: Path) -> tuple[str, int, int] | None:
    """What an interpreter is, behind symbolic links."""
    try:
        real = path.resolve()
        found = real.stat()
    except (OSError, RuntimeError):
        return None
    return str(real), found.st_size, found.st_mtime_ns
