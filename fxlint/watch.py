"""Linting again when something is saved: each run is an ordinary one, which the cache makes short."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fxlint.config import ConfigError, Configs, common_folder
from fxlint.files import find_files
from fxlint.fixing import stamps
from fxlint.stopping import Stopped, raised

_SUFFIXES: Final = (".py", ".ipynb", ".toml", ".gitignore")
_LOOK_AGAIN: Final = 2_000
"""Milliseconds without a word after which files are looked at all the same."""


def watch(run: Callable[[], object], paths: Sequence[str], configs: Configs) -> None:
    """Run now, and again after each change of a source or a configuration. Ends by Stopped alone.

    Raises ConfigError where the extra ``watch`` is not installed.
    """
    try:
        from watchfiles import watch as changes
    except ImportError:
        raise ConfigError("--watch needs watchfiles, which comes with the extra `watch`") from None
    folders = [*_folders(paths, configs)]
    before = _stamps(paths, configs)
    run()
    try:
        for found in changes(
            *folders,
            watch_filter=lambda _, path: path.endswith(_SUFFIXES),
            rust_timeout=_LOOK_AGAIN,
            yield_on_timeout=True,
            raise_interrupt=True,
        ):
            now = _stamps(paths, configs)
            if found or now != before:  # the first run was under way, or the file system tells nothing
                before = now
                run()
    except KeyboardInterrupt:  # that is what it makes of any exception that a signal raises
        raise (raised[-1] if raised else Stopped(signal.SIGINT)) from None


def _folders(paths: Sequence[str], configs: Configs) -> Iterator[str]:
    """The folders of what is linted, and that of the configuration."""
    yield from dict.fromkeys(path if os.path.isdir(path) else os.path.dirname(path) or "." for path in paths)  # noqa: PTH112, PTH120
    config = configs(common_folder(paths))
    if config.file is not None:
        yield str(config.root)


def _stamps(paths: Sequence[str], configs: Configs) -> object:
    return stamps(find_files(paths, configs).paths)
