"""fxlint from Python: ``fxlint.check("src", select=["FX1"])`` gives the Report that the command line prints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from fxlint.config import Confidence, Config, Configs, FailOn, Nearest, each, override

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from fxlint.findings import Report, Severity

StrPath = str | os.PathLike[str]


class Settings(TypedDict, total=False):
    """The keys of the configuration (see the README), with underscores for dashes."""

    exclude: Sequence[str]
    extend_exclude: Sequence[str]
    force_exclude: bool
    respect_gitignore: bool
    select: Sequence[str]
    extend_select: Sequence[str]
    ignore: Sequence[str]
    per_file_ignores: Mapping[str, Sequence[str]]
    ignore_noqa: bool
    baseline: StrPath
    min_severity: Severity
    min_confidence: Confidence
    fixable: Sequence[str]
    unfixable: Sequence[str]
    fail_on: FailOn
    python: StrPath
    timeout: float
    jobs: int
    confirm: bool
    cache: bool
    cache_dir: StrPath
    instances: Mapping[str, str | Sequence[str]]
    inputs: Mapping[str, str]
    tracer: Mapping[str, str | bool | Sequence[str]]
    rules: Sequence[StrPath]
    concrete_args: Mapping[str, str | Mapping[str, object]]


def check(
    paths: StrPath | Iterable[StrPath] = ".",
    *,
    config: Config | Configs | None = None,
    sources: Mapping[str, str | bytes] | None = None,
    log: Callable[[str], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **settings: Unpack[Settings],
) -> Report:
    """Lint files and folders.

    Args:
        paths: what to lint, one or several; paths in the report start as these do.
        config: settings instead of those in the configuration file that is nearest to each file; a function of the
            folder of a file where they are not the same for all.
        sources: files that are held in memory, by path: they are read there and not on disk. Nothing is confirmed then
            unless ``confirm`` or ``config`` say so.
        log: takes one line on each stage when it is done.
        progress: takes how many modules are traced, of how many.
        settings: what goes before the configuration, as on the command line.

    Returns:
        A frozen Report. What could not be linted is among its ``problems``.

    Raises:
        fxlint.ConfigError: for settings that cannot be used.
    """
    from fxlint.engine import run
    from fxlint.progress import unseen
    from fxlint.project.buffers import holding

    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    spelled = [os.fspath(path) for path in given]
    table: dict[str, object] = {name.replace("_", "-"): _as_in_toml(value) for name, value in settings.items()}
    if sources and config is None:
        table.setdefault("confirm", False)
    given_configs = Nearest() if config is None else config if callable(config) else lambda _: config
    configs = each(given_configs, lambda one: override(one, table, "settings"))
    texts = {path: text.encode() if isinstance(text, str) else text for path, text in (sources or {}).items()}
    with holding(texts):
        return run(spelled, configs, log or (lambda _: None), progress or unseen)


def _as_in_toml(value: Any) -> object:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {name: _as_in_toml(one) for name, one in value.items()}
    return [_as_in_toml(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else value
