"""The rules: one TOML file each, read strictly, so that a slip in a page is one clear error and never a silent gap.

A shipped rule names the events it reports (see ``findings.Finding.event``), the words it reports them with, and
examples that run. In a bad example each offending line ends with a mark such as ``# <- FX101 bool.if``: the code and
the event there. A rule of a project names calls instead, and has one event at most; a mark there is the code alone.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import string
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from fxlint.config import NAME, OBJECT, ConfigError, did_you_mean
from fxlint.findings import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Frame = Literal["user", "none"]

MAIN = "example.py"
"""The name under which ``Mark.file`` speaks of an example's own code; its other files go by their own names."""

RESERVED = "FX"
"""What the codes of fxlint itself begin with, and those of no other rule."""

_MARK_EVENT = r"\s+(?P<event>[a-z_]+\.[a-z_]+)"
_MARK_START = re.compile(r"#\s*<-")
_CODE = re.compile(rf"{RESERVED}\d{{3}}")
_OWN_CODE = re.compile(r"[A-Z]{2,10}[0-9]{3}")
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")
_EVENT = re.compile(r"[a-z]+\.[a-z_]+")
_EXAMPLE_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_FILE_NAME = re.compile(r"[a-z_][a-z0-9_]*\.py")
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
_MESSAGE_FIELDS = frozenset({"text", "origin", "callee"})
_HEADER = re.compile(r"\s*(\[+)\s*([\w.-]+)\s*\]")
_KEY = re.compile(r"\s*([\w-]+)\s*=")
_QUOTES = re.compile(r"\"\"\"|'''")

_T = TypeVar("_T")


class RuleError(ConfigError):
    """A rule file that cannot be used; the message names the file, where it is known the line, and the key."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked line of a bad example: ``line`` is 1-based in ``file``."""

    file: str
    line: int
    event: str


@dataclass(frozen=True, slots=True)
class Example:
    """Code that runs: ``instance`` and ``inputs`` are expressions evaluated in its namespace.

    Code around graphs has no forward to trace; it has ``run`` instead of these two: statements whose assertions show,
    for a bad example, what goes wrong, and for a good one that it goes right.

    ``files`` are the modules beside it that it imports, as (file name, code). ``marks`` come in the order of the lines,
    the example's own first; stock tracing fails at the first one, with no frame in any of the example's files where
    ``frame`` is "none". What traces and is wrong has ``differs`` instead: an expression over ``orig``, ``traced``,
    ``inputs`` and some helpers that is true where the wrongness shows. ``concrete_args`` is an expression for the
    dictionary the example is traced with.
    """

    name: str
    code: str
    instance: str = ""
    inputs: str = ""
    run: str | None = None
    marks: tuple[Mark, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    concrete_args: str | None = None
    differs: str | None = None
    frame: Frame = "user"

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """All of its files as (file name, code), its own first."""
        return ((MAIN, self.code), *self.files)


@dataclass(frozen=True, slots=True)
class Rule:
    """One page.

    ``message`` is a format string over ``text`` (source of the expression), ``origin`` (source of the traced value it
    came from) and ``callee`` (what is called); a message uses those that its events have. A rule that is not on by
    ``default`` reports only where it is selected.

    A rule of a project has names of what is called, as in ``tracing.TracerSettings``: what is ``untraceable``, or
    ``discouraged``, with the expression to call as ``replacement``; or ``leaf_modules`` and ``autowrap_functions``, of
    which it reports nothing.
    """

    code: str
    name: str
    severity: Severity
    events: tuple[str, ...]
    summary: str
    message: str
    why: str
    tracer: str
    fix: str
    bad: tuple[Example, ...]
    good: tuple[Example, ...]
    severity_by_event: Mapping[str, Severity] = field(default_factory=dict)
    default: bool = True
    untraceable: tuple[str, ...] = ()
    discouraged: tuple[str, ...] = ()
    leaf_modules: tuple[str, ...] = ()
    autowrap_functions: tuple[str, ...] = ()
    replacement: str | None = None

    def severity_of(self, event: str) -> Severity:
        return self.severity_by_event.get(event, self.severity)

    @property
    def is_own(self) -> bool:
        """Whether it is a project's."""
        return not self.code.startswith(RESERVED)

    @property
    def calls(self) -> tuple[str, ...]:
        """The names whose calls it reports."""
        return self.untraceable or self.discouraged


class RuleSet:
    """The rules in the order of their codes. Raises RuleError where two rules claim one code, name or event."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._by_code = _index(rules, "code", lambda rule: (rule.code,))
        _index(rules, "name", lambda rule: (rule.name,))
        self._by_event = _index(rules, "event", lambda rule: rule.events)
        self._ordered = tuple(sorted(rules, key=lambda rule: rule.code))

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._ordered)

    def __len__(self) -> int:
        return len(self._ordered)

    def by_code(self, code: str) -> Rule:
        """Raises KeyError for an unknown code."""
        return self._by_code[code]

    def for_event(self, event: str) -> Rule:
        """The rule that reports ``event``. Raises KeyError for an event that no rule names."""
        return self._by_event[event]


def load_rules(extra: Sequence[Path] = (), codes: Collection[str] | None = None) -> RuleSet:
    """The shipped rules and a project's own: ``extra`` are rule files, or directories of them.

    Where ``codes`` are given, of both only these. Raises RuleError for the first file that cannot be used.
    """
    shipped, own = shipped_files(), own_rule_files(extra)
    if codes is not None:
        shipped, own = ([path for path in paths if _code_in_name(path) in codes] for paths in (shipped, own))
    return RuleSet([*map(_shipped, shipped), *(read_rule(path, own=True) for path in own)])


def own_rule_files(extra: Sequence[Path]) -> list[Path]:
    """The files of a project's own rules, each once."""
    return list({os.path.realpath(path): path for place in extra for path in _rule_files(place)}.values())


@cache
def shipped_files() -> list[Path]:
    return _rule_files(_shipped_directory())


def _code_in_name(path: Path) -> str:
    return path.stem.partition("-")[0]


@cache
def _shipped(path: Path) -> Rule:
    return read_rule(path)


def read_rule(path: Path, *, own: bool = False) -> Rule:
    """The rule in one file, of fxlint or of a project. Raises RuleError naming the file and the key that is wrong."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # to read from a pipe is to wait for somebody
            raise RuleError(f"{path}: is no regular file")
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # as in a configuration
        raise RuleError(f"{path}: not valid TOML: {error}") from error
    rule = (_parse_own_rule if own else _parse_rule)(_Table(str(path), "", data, partial(_lines, text)))
    if path.stem != f"{rule.code}-{rule.name}":
        raise RuleError(f"{path}: the file of this rule must be named {rule.code}-{rule.name}.toml")
    return rule


def _shipped_directory() -> Path:
    """In a wheel the rules lie inside the package; an editable install reads them from the checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "_rules"
    return inside if inside.is_dir() else package.parent / "rules"


def _rule_files(place: Path) -> list[Path]:
    return sorted(place.glob("*.toml")) if os.path.isdir(place) else [place]  # noqa: PTH112


def _index(rules: Sequence[Rule], what: str, keys: Callable[[Rule], tuple[str, ...]]) -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for rule in rules:
        for key in keys(rule):
            if key in found:
                owner = found[key]
                raise RuleError(f"{rule.code}-{rule.name}: {what} {key!r} belongs to {owner.code}-{owner.name}")
            found[key] = rule
    return found


class _Table:
    """A TOML table being read: every key is taken once, and ``done`` complains about those that nobody knows."""

    def __init__(self, file: str, prefix: str, data: Mapping[str, Any], lines: Callable[[], Mapping[str, int]]) -> None:
        self._file = file
        self._prefix = prefix
        self._data = data
        self._lines = lines
        self._taken: set[str] = set()

    def error(self, key: str, problem: str) -> RuleError:
        """The error of a key, at its line or at that of the table that it should stand in."""
        place, lines = f"{self._prefix}{key}", self._lines()
        while place and place not in lines:
            place = place.rpartition(".")[0]
        line = f":{lines[place]}" if place else ""
        return RuleError(f"{self._file}{line}: {self._prefix}{key}: {problem}")

    def missing(self, key: str, problem: str = "is missing") -> RuleError:
        """The error of a key that is not there, or of one that is probably meant to be it."""
        for slip in difflib.get_close_matches(key, self._data.keys() - self._taken, n=1):
            return self._unknown(slip, key)
        return self.error(key, problem)

    def _unknown(self, key: str, *known: str) -> RuleError:
        return self.error(key, f"is not a key here{did_you_mean(key, known)}")

    def has(self, key: str) -> bool:
        return key in self._data

    def take(self, key: str, kind: type[_T], *, required: bool = True) -> _T | None:
        self._taken.add(key)
        if key not in self._data:
            if required:
                raise self.missing(key)
            return None
        value = self._data[key]
        if not isinstance(value, kind):
            raise self.error(key, f"must be {_TYPE_WORDS[kind]}")
        return value

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        if value is None:
            raise self.missing(key)
        return value

    def optional_text(self, key: str) -> str | None:
        value = self.take(key, str, required=False)
        if value is not None and not value.strip():
            raise self.error(key, "is empty")
        return None if value is None else value.strip()

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        value = self.text(key)
        if not pattern.fullmatch(value):
            raise self.error(key, f"{value!r} does not have the form {pattern.pattern}")
        return value

    def choice(self, key: str, options: Sequence[_T], default: _T | None = None) -> _T:
        value = self.take(key, str, required=default is None)
        for option in options:
            if option == (default if value is None else value):
                return option
        raise self.error(key, f"{value!r} is none of {', '.join(map(str, options))}")

    def tables(self, key: str) -> list[_Table]:
        values = self.take(key, list, required=False)
        if values is None:
            raise self.missing(key, f"is missing: a rule has at least one [[{key}]] example")
        if not values or not all(isinstance(value, dict) for value in values):
            raise self.error(key, "must be at least one [[table]]")
        return [
            _Table(self._file, f"{self._prefix}{key}[{number}].", value, self._lines)
            for number, value in enumerate(values, 1)
        ]

    def texts(self, key: str) -> dict[str, str]:
        """An optional table whose values are all strings."""
        values = self.take(key, dict, required=False) or {}
        for name, value in values.items():
            if not isinstance(value, str):
                raise self.error(f"{key}.{name}", "must be a string")
        return values

    def done(self) -> None:
        for key in self._data:
            if key not in self._taken:
                raise self._unknown(key, *sorted(self._taken))


def _lines(text: str) -> dict[str, int]:
    """The lines of keys (``severity``, ``bad[2].code``) and of tables (``bad[2]``), which no reader of TOML tells."""
    found: dict[str, int] = {}
    tables: Counter[str] = Counter()
    prefix = quotes = ""
    for number, row in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(row), _KEY.match(row)
        if header and not quotes:
            table = header[2]
            found.setdefault(table, number)
            if header[1] == "[[":
                tables[table] += 1
                table += f"[{tables[table]}]"
                found[table] = number
            prefix = f"{table}."
        elif key and not quotes:
            found.setdefault(f"{prefix}{key[1]}", number)
        for mark in _QUOTES.findall(row):
            quotes = {"": mark, mark: ""}.get(quotes, quotes)
    return found


_TYPE_WORDS: dict[type, str] = {str: "a string", bool: "true or false", list: "a list", dict: "a table"}


def _parse_rule(table: _Table) -> Rule:
    code = table.matching("code", _CODE)
    events = _events(table)
    rule = Rule(
        code=code,
        name=table.matching("name", _NAME),
        severity=table.choice("severity", _SEVERITIES),
        events=events,
        summary=table.text("summary"),
        message=_message(table),
        why=table.text("why"),
        tracer=table.text("tracer"),
        fix=table.text("fix"),
        bad=tuple(_bad_example(example, code, events) for example in table.tables("bad")),
        good=tuple(_good_example(example, may_run=True) for example in table.tables("good")),
        severity_by_event=_severities(table, events),
        default=table.take("default", bool, required=False) is not False,
    )
    table.done()
    _check_names(table, rule)
    return rule


def _check_names(table: _Table, rule: Rule) -> None:
    names = [example.name for example in (*rule.bad, *rule.good)]
    for name in names:
        if names.count(name) > 1:
            raise table.error("name", f"two examples are called {name!r}")


_KINDS: Final[Mapping[str, tuple[Severity, str]]] = {
    "untraceable": ("error", "call"),
    "discouraged": ("warning", "told"),
    "leaf_modules": ("info", ""),
    "autowrap_functions": ("info", ""),
}
"""What a project's rule names calls for -> its severity, and the family of its event where it reports any."""


def _parse_own_rule(table: _Table) -> Rule:
    """A rule of a project: what it names is said by keys, and the rest follows from that."""
    code = table.text("code")
    if code.startswith(RESERVED):
        raise table.error("code", f"{code!r} is taken: codes that begin with {RESERVED} are those of fxlint")
    table.matching("code", _OWN_CODE)
    named = {key: _called(table, key) for key in _KINDS}
    given = [key for key, names in named.items() if names]
    if not given:
        raise table.error("untraceable", f"is missing, and so are {', '.join(list(_KINDS)[1:])}: one must be there")
    severity, family = _KINDS[given[0]]
    for other in given[1:]:
        if family or _KINDS[other][1]:
            raise table.error(other, f"cannot stand beside {given[0]}: make it another rule")
    events = (f"{family}.{code.lower()}",) if family else ()
    rule = Rule(
        code=code,
        name=table.matching("name", _NAME),
        severity=severity,
        events=events,
        summary=table.text("summary"),
        message=_message(table) if events else "",
        why=table.text("why"),
        tracer=table.optional_text("tracer") or "",
        fix=table.text("fix"),
        bad=tuple(_own_bad_example(example, code, events[0]) for example in table.tables("bad")) if events else (),
        good=tuple(_good_example(example) for example in table.tables("good")),
        default=table.take("default", bool, required=False) is not False,
        replacement=_replacement(table, required=bool(named["discouraged"])) if events else None,
        untraceable=named["untraceable"],
        discouraged=named["discouraged"],
        leaf_modules=named["leaf_modules"],
        autowrap_functions=named["autowrap_functions"],
    )
    table.done()
    _check_names(table, rule)
    return rule


def _called(table: _Table, key: str) -> tuple[str, ...]:
    """The names in a list; all that a module holds can be named for leaves, as in the configuration."""
    if not table.has(key):
        return ()
    form = OBJECT if _KINDS[key][1] else NAME
    values = table.take(key, list)
    if not values or not all(isinstance(value, str) and re.fullmatch(form, value) for value in values):
        raise table.error(key, "must be at least one name such as 'package.module:function'")
    return tuple(values)


def _replacement(table: _Table, *, required: bool) -> str | None:
    """What to call instead, a name with dots as it stands in code."""
    said = table.text("replacement") if required else table.optional_text("replacement")
    if said is not None and not all(part.isidentifier() for part in said.split(".")):
        raise table.error("replacement", f"{said!r} is no name such as 'package.function'")
    return said


def _events(table: _Table) -> tuple[str, ...]:
    values = table.take("events", list)
    if not values or not all(isinstance(value, str) and _EVENT.fullmatch(value) for value in values):
        raise table.error("events", "must be at least one dotted event such as 'bool.if'")
    if len(set(values)) != len(values):
        raise table.error("events", "names an event twice")
    return tuple(values)


def _severities(table: _Table, events: tuple[str, ...]) -> dict[str, Severity]:
    found: dict[str, Severity] = {}
    for event, value in table.texts("severity_by_event").items():
        if event not in events:
            raise table.error(f"severity_by_event.{event}", "is not among the events of this rule")
        for severity in _SEVERITIES:
            if severity == value:
                found[event] = severity
        if event not in found:
            raise table.error(f"severity_by_event.{event}", f"{value!r} is none of {', '.join(_SEVERITIES)}")
    return found


def _message(table: _Table) -> str:
    message = table.text("message")
    try:
        fields = [part[1:] for part in string.Formatter().parse(message) if part[1] is not None]
    except ValueError as error:
        raise table.error("message", f"is not a format string: {error}") from error
    for name, form, conversion in fields:
        if name not in _MESSAGE_FIELDS:
            raise table.error("message", f"has no field {{{name}}}; known are {', '.join(sorted(_MESSAGE_FIELDS))}")
        if form or conversion:
            raise table.error("message", f"{{{name}}} stands alone, without a format")
    return message


def _bad_example(table: _Table, code: str, events: tuple[str, ...]) -> Example:
    example = _example(table, frame=table.choice("frame", ("user", "none"), "user"), may_run=True)
    example = replace(example, differs=table.optional_text("differs"))
    marks = tuple(_marks(table, code, example))
    for mark in marks:
        if mark.event not in events:
            raise table.error("code", f"line {mark.line} of {mark.file}: {mark.event} is no event of {code}")
    table.done()
    return replace(example, marks=marks)


def _own_bad_example(table: _Table, code: str, event: str) -> Example:
    example = _example(table)
    marks = tuple(_marks(table, code, example, event))
    table.done()
    return replace(example, marks=marks)


def _good_example(table: _Table, *, may_run: bool = False) -> Example:
    example = _example(table, may_run=may_run)
    table.done()
    for _, text in example.sources:
        if _MARK_START.search(text):
            raise table.error("code", "is a good example and has a marked line")
    return example


def _example(table: _Table, frame: Frame = "user", *, may_run: bool = False) -> Example:
    run = table.optional_text("run") if may_run else None
    return Example(
        name=table.matching("name", _EXAMPLE_NAME),
        code=_code(table.text("code")),
        instance=table.text("instance") if run is None else "",
        inputs=table.text("inputs") if run is None else "",
        run=None if run is None else _code(run),
        files=tuple(_files(table)),
        concrete_args=table.optional_text("concrete_args"),
        frame=frame,
    )


def _files(table: _Table) -> Iterator[tuple[str, str]]:
    for name, text in table.texts("files").items():
        if not _FILE_NAME.fullmatch(name) or name == MAIN:
            raise table.error("files", f"{name!r} is no name of a module beside the example, such as 'helper.py'")
        yield name, _code(text)


def _code(text: str) -> str:
    return text.strip("\n") + "\n"


def _marks(table: _Table, code: str, example: Example, only: str = "") -> Iterator[Mark]:
    """The marked lines, at least one; ``only`` is the event of a rule that has no other, whose marks leave it out."""
    form = f"# <- {code}" if only else f"# <- {code} EVENT"
    mark = re.compile(rf"#\s*<-\s*{code}{'' if only else _MARK_EVENT}\s*$")
    marked = False
    for file, text in example.sources:
        for number, row in enumerate(text.splitlines(), 1):
            if not _MARK_START.search(row):
                continue
            found = mark.search(row)
            if not found:
                raise table.error("code", f"line {number} of {file}: a mark must read '{form}'")
            marked = True
            yield Mark(file, number, only or found["event"])
    if not marked:
        raise table.error("code", f"has no line marked '{form}'")
