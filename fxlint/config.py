"""The settings of a run: ``[tool.fxlint]`` in pyproject.toml, or fxlint.toml, then what the command line says.

Reading is strict: a key that nobody knows, or a value of the wrong type, is an error that names the file and the key.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from fxlint.findings import Severity
from fxlint.tracing import PRESETS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FailOn = Literal["error", "warning", "info", "never"]
Confidence = Literal["conditional", "certain", "confirmed"]
TracerValue = tuple[str, ...] | str | bool
Format = Literal[
    "full",
    "concise",
    "grouped",
    "json",
    "json-lines",
    "github",
    "gitlab",
    "sarif",
    "junit",
    "rdjson",
    "pylint",
    "azure",
    "markdown",
]

MAX_SECONDS = 86_400
MAX_JOBS = 1024
MODULE = r"\w+(\.\w+)*"
OBJECT = rf"{MODULE}:{MODULE}"
NAME = rf"{MODULE}(:{MODULE})?"
DEFAULT_EXCLUDE = (
    ".*/",  # .git, .venv, .tox, .mypy_cache, ...: a hidden folder holds tools, not models
    "__pycache__/",
    "__pypackages__/",
    "build/",
    "dist/",
    "node_modules/",
    "site-packages/",
    "venv/",
)


class ConfigError(Exception):
    """Settings that cannot be used; the message names the file or option and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting, with its default.

    ``root`` is the folder of the configuration file (the working directory where there is none): patterns and relative
    paths in the file start there. Patterns are written as in .gitignore. ``select``, ``extend_select`` and ``ignore``
    hold codes, prefixes of codes or names of rules, or ``ALL``; an empty ``select`` means every rule that is on by
    default. ``ignore_noqa`` has comments silence nothing. The findings in ``baseline`` are not told, nor those below
    ``min_severity`` and ``min_confidence``. ``fixable`` and ``unfixable`` say whose suggestions are applied and whose
    not. A key of ``per_file_ignores`` is a pattern. ``timeout`` is in seconds per module, ``jobs`` the number of
    processes (None: one for each processor). A key of ``instances`` and ``inputs`` is ``package.module:Class`` or
    ``path/from/root.py::Class``; the values are expressions that make one, and one expression for a tuple of example
    inputs. ``concrete_args`` has the same keys, and an expression for a dictionary. What ``tracer`` says goes to
    ``fxlint/tracing.py``. ``rules`` are files with rules of the project's own, or folders of them.
    ``cache`` has results kept for later runs, in ``cache_dir`` (None: in a folder of its own in ``root``).
    """

    root: Path
    file: Path | None = None
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    ignore_noqa: bool = False
    baseline: Path | None = None
    min_severity: Severity = "info"
    min_confidence: Confidence = "conditional"
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    fail_on: FailOn = "warning"
    python: str | None = None
    timeout: float = 60.0
    jobs: int | None = None
    confirm: bool = True
    cache: bool = True
    cache_dir: Path | None = None
    instances: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    inputs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    tracer: Mapping[str, TracerValue] = field(default_factory=lambda: MappingProxyType({}))
    rules: tuple[Path, ...] = ()
    concrete_args: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


Configs = Callable[[str], Config]
"""The settings that hold for what lies in a folder."""


def load(paths: Sequence[str] = (), said: Sequence[str] = (), *, isolated: bool = False) -> Config:
    """The settings of ``Nearest`` for the common folder of ``paths``. Raises ConfigError."""
    return Nearest(said, isolated=isolated)(common_folder(paths))


class Nearest:
    """The settings in each folder: those of the nearest configuration at or above it, and what is said beside it.

    ``said`` is a file to take instead for all folders, or ``KEY=VALUE``, a line of TOML that goes before the files;
    ``isolated`` is without any file. In one folder fxlint.toml goes before pyproject.toml; a pyproject.toml without
    ``[tool.fxlint]`` is passed over. Folders of one configuration have the same object. Raises ConfigError, also when
    it is called.
    """

    def __init__(self, said: Sequence[str] = (), *, isolated: bool = False) -> None:
        pairs = [text for text in said if "=" in text and not os.path.isfile(text)]  # noqa: PTH113
        files = [Path(text) for text in said if text not in pairs]
        if len(files) > 1 or (files and isolated):
            beside = " beside --isolated" if isolated else ""
            raise ConfigError(f"--config: '{files[-1]}' is one file too many{beside}")
        self._pairs = [_pair(text) for text in pairs]
        self._none = self._complete(Config(Path.cwd()))
        self._only = self._none if isolated else self._in(*files) if files else None
        self._known: dict[Path, Config] = {}
        self._spelled: dict[str, Config] = {}

    def __call__(self, folder: str) -> Config:
        if folder not in self._spelled:
            start = Path(os.path.abspath(folder))  # noqa: PTH100  # `..` goes, symlinks stay
            self._spelled[folder] = self._only or self._nearest(start)
        return self._spelled[folder]

    def _nearest(self, start: Path) -> Config:
        found = None
        passed: list[Path] = []
        for folder in (start, *start.parents):
            passed.append(folder)
            found = self._known.get(folder) or self._own(folder)
            if found is not None:
                break
        self._known.update(dict.fromkeys(passed, found or self._none))
        return self._known[start]

    def _own(self, folder: Path) -> Config | None:
        own = (self._in(file) for file in (folder / "fxlint.toml", folder / "pyproject.toml") if _is_there(file))
        return next((config for config in own if config is not self._none), None)

    def _in(self, file: Path) -> Config:
        table = _table(file)
        return self._none if table is None else self._complete(parse(table, file.absolute()))

    def _complete(self, config: Config) -> Config:
        for pair in self._pairs:
            config = override(config, pair, "--config")
        return config


def each(configs: Configs, change: Callable[[Config], Config]) -> Configs:
    """The settings in each folder after a change, made once for each configuration."""
    known: dict[Path | None, Config] = {}

    def changed(folder: str) -> Config:
        config = configs(folder)
        if config.file not in known:
            known[config.file] = change(config)
        return known[config.file]

    return changed


def _is_there(path: Path) -> bool:
    """Whether there is such a file. Raises ConfigError for what has the name and is none, such as a folder."""
    if os.path.isfile(path):  # noqa: PTH113  # unlike Path.is_file it is False for what no path can be
        return True
    if os.path.lexists(path):
        raise ConfigError(f"{path}: is not a file")
    return False


def _pair(said: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(said)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"--config: '{said}' is no TOML: {error}; text needs quotes") from error


def parse(table: Mapping[str, object], file: Path) -> Config:
    """The settings in the table of ``file``, checked. Raises ConfigError."""
    return replace(Config(root=file.parent, file=file), **_values(table, str(file), file.parent))


def override(config: Config, table: Mapping[str, object], origin: str) -> Config:
    """``config`` with what ``table`` says more, checked; ``origin`` names it in messages. Raises ConfigError.

    ``select`` starts afresh: what the configuration selects and ignores beside it is forgotten. ``ignore`` and the
    lists that extend are added to those that are there, tables are merged, and everything else is replaced. Relative
    paths start in the working directory.
    """
    values = _values(table, origin, Path.cwd())
    if "select" in values:
        config = replace(config, extend_select=(), ignore=())
    for name in ("extend_select", "ignore", "extend_exclude"):
        if name in values:
            values[name] = (*getattr(config, name), *values[name])
    for name in ("per_file_ignores", "instances", "inputs", "tracer", "concrete_args"):
        if name in values:
            values[name] = MappingProxyType({**getattr(config, name), **values[name]})
    return replace(config, **values)


def _values(table: Mapping[str, object], origin: str, root: Path) -> dict[str, Any]:
    """The fields of a Config that a table gives."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            raise ConfigError(f"{origin}: unknown key '{key}'{did_you_mean(key, _KEYS)}")
        try:
            values[key.replace("-", "_")] = _KEYS[key](value, root)
        except ValueError as error:
            raise ConfigError(f"{origin}: '{key}' {error}") from error
    return values


def shown(config: Config) -> str:
    """The settings as TOML, which parsed again gives the same; a comment names the file that they come from."""
    rows = [f"# {config.file or 'no configuration file'}"]
    tables: list[str] = []
    for key in _KEYS:
        value = getattr(config, key.replace("-", "_"))
        if isinstance(value, Mapping):
            listed = (f"{toml(name)} = {toml(one)}" for name, one in value.items())
            tables += ["", f"[{key}]", *listed]
        else:
            rows.append(f"# {key} is not set" if value is None else f"{key} = {toml(value)}")
    return "".join(f"{row}\n" for row in (*rows, *tables))


def toml(value: object) -> str:
    """A setting in TOML; text, numbers, flags and lists of text look there as they do in JSON."""
    return json.dumps(value, ensure_ascii=False, default=str).replace("\x7f", "\\u007f")  # only paths are no JSON


def did_you_mean(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    """The end of an error message: the valid word nearest to ``word``."""

    def likeness(one: str) -> tuple[float, int]:
        alike = difflib.SequenceMatcher(None, word.lower(), one.lower()).ratio()
        return alike, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, one, strict=False)))

    return f"; did you mean '{max(known, key=likeness)}'?" if known else ""


def common_folder(paths: Sequence[str]) -> str:
    """The innermost folder that holds all of ``paths``; without any the working directory."""
    absolute = [Path(os.path.abspath(path)) for path in paths or ["."]]  # noqa: PTH100  # `..` goes, symlinks stay
    folders = [path if os.path.isdir(path) else path.parent for path in absolute]  # noqa: PTH112
    try:
        return os.path.commonpath(folders)
    except ValueError:  # different drives
        return str(Path.cwd())


def _table(file: Path) -> Mapping[str, object] | None:
    """The part of ``file`` that is ours; None for a pyproject.toml that has none."""
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # also what is no UTF-8, and numbers that are too large
        raise ConfigError(f"{file}: not valid TOML: {error}") from error
    if file.name != "pyproject.toml":
        return data
    tool = data.get("tool", {})
    table = tool.get("fxlint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{file}: 'tool.fxlint' must be a table")
    return table


def _is_text(value: object) -> bool:
    """Whether it is a string that can be a name or an expression: one with a null character is no path either."""
    return isinstance(value, str) and bool(value) and "\0" not in value


def _strings(value: object, _: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("must be a list of strings")
    for one in value:
        if not _is_text(one):
            raise ValueError(f"has {toml(one)}, which names nothing")
    return tuple(value)


def _flag(value: object, _: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def seconds(value: object) -> float:
    """A setting in seconds. Raises ValueError for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= MAX_SECONDS:
        raise ValueError(f"must be a number of seconds above 0, at most {MAX_SECONDS}")
    return float(value)


def _jobs(value: object, _: Path) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_JOBS:
        raise ValueError(f"must be a number of processes, from 1 to {MAX_JOBS}")
    return value


def _one_of(literal: Any) -> Callable[[object, Path], object]:
    words = get_args(literal)

    def read(value: object, _: Path) -> object:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return value

    return read


def _interpreter(value: object, root: Path) -> str:
    if not isinstance(value, str) or not _is_text(value):
        raise ValueError("must be the path or the name of a Python interpreter")
    if os.sep not in value and "/" not in value:
        return value
    return str(root / os.path.expanduser(value))  # noqa: PTH111  # unlike Path's it leaves users alone that are none


def _instances(value: object, _: Path) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for key, expressions in _by_class(value, "Net(8)"):
        listed = [expressions] if isinstance(expressions, str) else expressions
        if not isinstance(listed, list) or not listed or not all(map(_is_text, listed)):
            raise ValueError(f"must give '{key}' an expression or a list of expressions")
        found[key] = tuple(listed)
    return MappingProxyType(found)


def _inputs(value: object, _: Path) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for key, expression in _by_class(value, "(torch.randn(2, 8),)"):
        if not isinstance(expression, str) or not _is_text(expression):
            raise ValueError(f"must give '{key}' an expression for a tuple")
        found[key] = expression
    return MappingProxyType(found)


CONSTANTS = ("None", "True", "False")
"""Values of Python that somebody who writes them as a text does not mean as one; TOML has no None."""


def _concrete_args(value: object, _: Path) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for key, said in _by_class(value, "{'flag': True}"):
        if isinstance(said, dict):
            for name, one in said.items():
                if one in CONSTANTS:
                    raise ValueError(
                        f"gives '{key}' the text '{one}' for {name}; for the value write the expression "
                        f"\"{{'{name}': {one}}}\" in place of the table"
                    )
            said = repr(said)
        if not isinstance(said, str) or not _is_text(said):
            raise ValueError(f"must give '{key}' a table such as {{flag = true}}, or an expression for a dictionary")
        found[key] = said
    return MappingProxyType(found)


def _tracer(value: object, root: Path) -> Mapping[str, TracerValue]:
    if not isinstance(value, dict):
        raise ValueError('must be a table such as leaf-modules = ["package.module:Block"]')
    found: dict[str, TracerValue] = {}
    for key, said in value.items():
        if key not in _TRACER_KEYS:
            raise ValueError(f"has the unknown key '{key}'{did_you_mean(key, _TRACER_KEYS)}")
        try:
            found[key] = _TRACER_KEYS[key](said, root)
        except ValueError as error:
            raise ValueError(f"has the key '{key}', which {error}") from error
    return MappingProxyType(found)


def _names(pattern: str, form: str) -> Callable[[object, Path], tuple[str, ...]]:
    def read(value: object, root: Path) -> tuple[str, ...]:
        names = _strings(value, root)
        for name in names:
            if not re.fullmatch(pattern, name):
                raise ValueError(f"has '{name}', not of the form {form}")
        return names

    return read


def _class(value: object, _: Path) -> str:
    if not isinstance(value, str) or not re.fullmatch(OBJECT, value):
        raise ValueError("must be the name of a class, 'package.module:MyTracer'")
    return value


def _presets(value: object, root: Path) -> tuple[str, ...]:
    names = _strings(value, root)
    for name in names:
        if name not in PRESETS:
            raise ValueError(f"has the unknown preset '{name}'{did_you_mean(name, PRESETS)}")
    return names


def _files(value: object, root: Path) -> tuple[Path, ...]:
    return tuple(root / name for name in _strings(value, root))


def _file(value: object, root: Path) -> Path:
    if not isinstance(value, str) or not _is_text(value):
        raise ValueError("must be a path")
    return root / value


def _ignores(value: object, _: Path) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not all(map(_is_text, value)):
        raise ValueError('must be a table such as "tests/" = ["FX105"]')
    found: dict[str, tuple[str, ...]] = {}
    for pattern, selectors in value.items():
        if not isinstance(selectors, list) or not all(map(_is_text, selectors)):
            raise ValueError(f"must give '{pattern}' a list of strings")
        found[pattern] = tuple(selectors)
    return MappingProxyType(found)


def _by_class(value: object, example: str) -> Iterator[tuple[str, object]]:
    if not isinstance(value, dict):
        raise ValueError(f'must be a table such as "package.module:Net" = "{example}"')
    for key, said in value.items():
        if ":" not in key.strip(":") or not _is_text(key):
            raise ValueError(f"has the key '{key}', not of the form 'package.module:Class' or 'path.py::Class'")
        yield key, said


_TRACER_KEYS: Mapping[str, Callable[[object, Path], TracerValue]] = {
    "leaf-modules": _names(NAME, "'package.module:Name' or 'package.module'"),
    "autowrap-functions": _names(NAME, "'package.module:name' or 'package.module'"),
    "autowrap-modules": _names(MODULE, "'package.module'"),
    "param-shapes-constant": _flag,
    "class": _class,
    "presets": _presets,
    "bind-defaults": _flag,
}
_KEYS: Mapping[str, Callable[[object, Path], object]] = {
    "exclude": _strings,
    "extend-exclude": _strings,
    "force-exclude": _flag,
    "respect-gitignore": _flag,
    "select": _strings,
    "extend-select": _strings,
    "ignore": _strings,
    "rules": _files,
    "ignore-noqa": _flag,
    "baseline": _file,
    "per-file-ignores": _ignores,
    "min-severity": _one_of(Severity),
    "min-confidence": _one_of(Confidence),
    "fixable": _strings,
    "unfixable": _strings,
    "fail-on": _one_of(FailOn),
    "python": _interpreter,
    "timeout": lambda value, _: seconds(value),
    "jobs": _jobs,
    "confirm": _flag,
    "cache": _flag,
    "cache-dir": _file,
    "instances": _instances,
    "inputs": _inputs,
    "tracer": _tracer,
    "concrete-args": _concrete_args,
}
