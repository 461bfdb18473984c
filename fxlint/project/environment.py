"""Where the interpreter of the code under lint keeps its packages, found from the file system; nothing is run."""

from __future__ import annotations

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


def site_packages(python: str) -> tuple[Path, ...]:
    """The folders in which an interpreter's environment installs packages; empty where there are none."""
    prefix = Path(python).parent.parent
    patterns = ("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages")
    found = [folder for pattern in patterns for folder in sorted(prefix.glob(pattern))]
    windows = Path(python).parent / "Lib" / "site-packages"
    return tuple(dict.fromkeys([*found, *([windows] if windows.is_dir() else [])]))
