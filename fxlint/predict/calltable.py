"""What the stock tracer does with a call, as measured by ``measure/`` and shipped in ``data/``. No torch is imported.

Names are qualified names of any public path (``torch.nn.modules.linear.Linear``, ``torch.functional.split``). Arguments
are told apart by position or keyword as they stand at the call; for ``constant_self`` (a method of a real tensor, or of
a real list, dict, str) the positions leave self out, otherwise ``torch.Tensor.view`` is the unbound function and
position 0 is self. ``NAME()`` is what a callable does that NAME returned: ``call("torch.vmap()", [0])``.

Nothing in these tables was written by hand. What was not measured is ``unknown``, never guessed, except by the fallback
of a group of callables that is itself counted from the measured entries (see ``_fallback``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

Result = Literal["node", "value", "fails", "unknown"]
Kind = Literal["module", "class", "function", "constant"]
Item = tuple[int, str]
DATA: Final = Path(__file__).with_name("data")
_ATEN: Final = "torch.ops.aten"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of a call.

    ``value`` is the kind of an ordinary result (``bool``, ``int``, ``str``, ``tensor``, ``none``, ``list``,
    ``iterator``, ``context``, ``function``, ``class``, ...; with a star, as in ``tuple*``, it holds a proxy),
    ``constant`` the result itself where it is a bool. A ``value`` with an event is lazy: using it (the iterator, the
    context manager) fails in the way that event, exception and message say. ``varies``: the constant holds for the
    machine that measured, such as the presence of an accelerator.
    """

    result: Result
    event: str | None = None
    exception: str | None = None
    message: str | None = None
    value: str | None = None
    constant: object | None = None
    varies: bool = False


UNKNOWN: Final = Outcome("unknown")
NODE: Final = Outcome("node")


@dataclass(frozen=True, slots=True)
class _Variant:
    """One signature of a callable with its outcomes, numbers into the pool."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    plain: int | None
    single: Mapping[Item, int]
    keyword: Mapping[int, int]
    pairs: Mapping[tuple[Item, Item], int]
    sizes: tuple[int, int, int, int] | None


# ---------------------------------------------------------------------------------------------- files


@cache
def _file(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / name).read_text(encoding="utf-8"))
    return data


def releases() -> tuple[str, ...]:
    """The torch releases that were measured, the newest first."""
    return tuple(_file("calls.json")["releases"])


@cache
def nearest(release: str | None) -> str:
    """The measured release that stands for another one: the newest that is not newer, else the oldest."""
    measured = releases()
    if release is None:
        return measured[0]
    wanted = _version(release)
    return next((known for known in measured if _version(known) <= wanted), measured[-1])


def _version(release: str) -> tuple[int, ...]:
    digits = release.partition("+")[0].split(".")[:3]
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in digits)


def _entry(file: str, table: str, name: str, release: str | None) -> Any:
    data = _file(file)
    changes = data["changes"].get(nearest(release), {}).get(table, {})
    return changes[name] if name in changes else data[table].get(name)


@cache
def _outcome(number: int) -> Outcome:
    return Outcome(*_file("calls.json")["outcomes"][number])


# ---------------------------------------------------------------------------------------------- calls


def call(
    name: str,
    traced: Collection[int | str],
    contains: Collection[int | str] = (),
    *,
    constant_self: bool = False,
    release: str | None = None,
    positional: int | None = None,
    keywords: Collection[str] = (),
    patched: bool = True,
) -> Outcome:
    """What happens when ``name`` is called with proxies at ``traced`` and containers of proxies at ``contains``.

    ``positional`` is the number of positional arguments, ``keywords`` all keywords of the call; both only help to
    choose among overloads and to see sizes given as separate arguments (``torch.zeros(n, 3)``). ``patched=False`` is
    for functions of ``math`` bound before tracing: imported by name into a helper's file, or stored on an object.
    """
    if constant_self and not name.startswith("torch.Tensor."):  # measured unbound only: self is position 0
        return call(name, _shifted(traced), _shifted(contains), release=release, keywords=keywords)
    key = name + ("@const" if constant_self else "@unpatched" if not patched else "")
    variants = _variants(key, nearest(release))
    if not variants and not patched:
        return call(name, traced, contains, release=release, positional=positional, keywords=keywords)
    if not variants:
        base, returned = name.removesuffix("()"), "()" if name.endswith("()") else ""
        name = (canonical(base, release) or base) + returned
        variants = _variants(name + ("@const" if constant_self else ""), nearest(release))
    found: list[Outcome] = []
    for variant in variants:
        if (number := _choose(variant, traced, contains, positional, keywords)) is not None:
            found.append(_outcome(number))
    outcome = _agree(found) if found else _fallback(name, traced, contains, release)
    return _said(name, outcome)


def _shifted(places: Collection[int | str]) -> list[int | str]:
    return [place + 1 if isinstance(place, int) else place for place in places]


def _agree(found: list[Outcome]) -> Outcome:
    """One answer for all overloads that the call may mean; where they disagree the other arguments decide."""
    first = found[0]
    if all(other.result == first.result for other in found):
        return first if all(other.value == first.value for other in found) else Outcome(first.result, value="other")
    return Outcome("unknown", message="depends on the overload")


def _said(name: str, outcome: Outcome) -> Outcome:
    """Complete the outcome with what depends on the name: the message, and whether the machine decides the constant."""
    if outcome.message is not None:
        return replace(outcome, message=outcome.message.replace("{f}", name.rpartition(".")[2].removesuffix("()")))
    if outcome.constant is not None and name.startswith(tuple(_file("calls.json")["machine"])):
        return replace(outcome, varies=True)
    return outcome


@lru_cache(maxsize=4096)
def _variants(key: str, release: str) -> tuple[_Variant, ...]:
    entry = _entry("calls.json", "calls", key, release)
    return () if entry is None else tuple(_parse(part) for part in entry.split("|"))


def _parse(part: str) -> _Variant:
    fields = part.split(";") + [""] * 6
    shown = [name for name in fields[0].split(",") if name]
    kinds = tuple("**" if n.startswith("**") else n[0] if n[0] in "/=*" else "" for n in shown)
    cells = fields[2].split(",")
    if fields[2].endswith("*"):
        cells = [fields[2][:-1]] * len(shown)
    single: dict[Item, int] = {}
    for index, cell in enumerate(cells[: len(shown)]):
        for mode, code in zip("tc", cell.split("/"), strict=False):
            if code:
                single[index, mode] = int(code)
    keyword = {int(i): int(code) for i, code in _coded(fields[3])}
    pairs = {_pair(text): int(code) for text, code in _coded(fields[4])}
    sizes = tuple(int(code) for code in fields[5].split(",")) if fields[5] else None
    return _Variant(
        tuple(name.lstrip("/=*") for name in shown),
        kinds,
        int(fields[1]) if fields[1] else None,
        single,
        keyword,
        pairs,
        (sizes[0], sizes[1], sizes[2], sizes[3]) if sizes else None,
    )


def _coded(field: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, field.split(",")):
        left, _, code = part.rpartition(":")
        yield left, code


def _pair(text: str) -> tuple[Item, Item]:
    """``0t12c`` names the items (0, t) and (12, c)."""
    cut = next(i for i, char in enumerate(text) if char in "tc")
    return (int(text[:cut]), text[cut]), (int(text[cut + 1 : -1]), text[-1])


def _choose(
    variant: _Variant,
    traced: Collection[int | str],
    contains: Collection[int | str],
    positional: int | None,
    keywords: Collection[str],
) -> int | None:
    """The outcome of one signature; None where the call does not fit it or where it was not measured."""
    given = max([positional or 0, *(p + 1 for p in (*traced, *contains) if isinstance(p, int))])
    start = _separate_sizes(variant, given)
    if not _fits(variant, given if positional is not None and start is None else None, keywords, (*traced, *contains)):
        return None
    if not traced and not contains:
        return variant.plain
    items: list[tuple[Item, int]] = []
    if start is not None and (places := {p for p in traced if isinstance(p, int) and p >= start}):
        items.append(((start, "s"), _sizes(variant, places)))
        traced = [p for p in traced if p not in places]
    for mode, places_ in (("t", traced), ("c", contains)):
        for place in places_:
            index = _index(variant, place)
            if index is None:
                return None
            number = variant.single.get((index, mode))
            if mode == "t" and isinstance(place, str):
                number = variant.keyword.get(index, number)
            items.append(((index, mode), -1 if number is None else number))
    known = [(item, number) for item, number in items if number >= 0]
    # what was not measured does not matter beside a tensor that dispatches
    if len(known) < len(items) and not any(_outcome(number) == NODE for _, number in known):
        return None
    return _together(variant, known)


def _separate_sizes(variant: _Variant, given: int) -> int | None:
    """The position from which the positional arguments are the sizes one by one; None where there are no such."""
    if variant.sizes is None or given <= variant.sizes[0] + 1:
        return None
    start = variant.sizes[0]
    return start if all(kind in ("=", "**") for kind in variant.kinds[start + 1 :]) else None


def _sizes(variant: _Variant, places: Collection[int]) -> int:
    """The measured outcome of separate sizes: the first is traced, a later one, or both."""
    assert variant.sizes is not None
    start, head, later, both = variant.sizes
    return (both if len(places) > 1 else head) if start in places else later


def _fits(variant: _Variant, given: int | None, keywords: Collection[str], places: Collection[int | str]) -> bool:
    names = {n for n, kind in zip(variant.names, variant.kinds, strict=True) if kind in ("", "=", "/")}
    open_ended = "**" in variant.kinds
    if not open_ended and any(k not in names for k in (*keywords, *(p for p in places if isinstance(p, str)))):
        return False
    room = sum(1 for kind in variant.kinds if kind in ("", "/"))
    return given is None or "*" in variant.kinds or given <= room


def _index(variant: _Variant, place: int | str) -> int | None:
    if isinstance(place, str):
        if place in variant.names:
            return variant.names.index(place)
        return variant.kinds.index("**") if "**" in variant.kinds else None
    ordinary = [i for i, kind in enumerate(variant.kinds) if kind in ("", "/")]
    star = variant.kinds.index("*") if "*" in variant.kinds else None
    before = [i for i in ordinary if star is None or i < star]
    if place < len(before):
        return before[place]
    return star


def _together(variant: _Variant, items: list[tuple[Item, int]]) -> int:
    """Several traced arguments: a failure wins unless a pair was measured to be rescued, then a node, then a value."""
    numbers = dict(items)
    outcomes: list[int] = []
    for item, number in items:
        rescued = [
            code for other in numbers if (code := variant.pairs.get((min(item, other), max(item, other)))) is not None
        ]
        outcomes.append(rescued[0] if rescued else number)
    for wanted in ("fails", "node"):
        for number in outcomes:
            if _outcome(number).result == wanted:
                return number
    return outcomes[0]


def _fallback(
    name: str, traced: Collection[int | str], contains: Collection[int | str], release: str | None
) -> Outcome:
    """For arguments that were not measured: what all measured callables of the same group do, if they agree."""
    if not traced and not contains:
        return UNKNOWN
    group = _ATEN if _is_operator(name) else name.rpartition(".")[0]
    listed = _entry("names.json", "modules", group, release) is not None
    if listed and kind(name, release) != "function":
        return UNKNOWN
    number = _file("calls.json")["groups"].get(group)
    return UNKNOWN if number is None else _outcome(int(number))


def _is_operator(name: str) -> bool:
    """An operator of any library, ``torch.ops.aten.add``, or one of its overloads: one dispatcher calls them all."""
    return name.startswith("torch.ops.") and name.count(".") > 2 and not name.startswith("torch.ops.higher_order.")


# ---------------------------------------------------------------------------------------------- operations


def operation(name: str, *operands: str, release: str | None = None) -> Outcome:
    """What a function of ``operator`` does, by the kinds of its operands: ``operation("add", "list", "traced")``.

    ``traced`` is a proxy; ``list*``, ``tuple*``, ``dict*``, ``slice*`` and ``tuple_slice*`` hold one; the other kinds
    are the ``value`` words of Outcome and ``module_list``, ``module_dict``, ``sequential``, ``parameter``,
    ``parameter_list``. Subscripts are ``getitem``, ``setitem`` (container, index, value) and ``delitem``; ``a in b`` is
    ``contains`` (b, a). ``autograd_function`` is ``Function.apply`` by what forward does with its context.
    """
    entry = _entry("calls.json", "operations", name, release)
    if entry is None:
        return UNKNOWN
    number = _cases(entry).get(" ".join(operands))
    return UNKNOWN if number is None else _outcome(number)


@cache
def _cases(entry: str) -> dict[str, int]:
    groups = (group.partition("=") for group in entry.split("|"))
    return {case: int(code) for code, _, cases in groups for case in cases.split(",")}


def instance_of(name: str, release: str | None = None) -> bool | None:
    """``isinstance(proxy, name)``: a bool, or None where asking raises. Classes of user code answer False."""
    word = _entry("calls.json", "instance", name, release)
    return None if word == "raises" else word == "true"


def proxy_attribute(name: str, release: str | None = None) -> str | None:
    """The kind of an attribute that a Proxy really has (``keys``: ``function``); None where it gives a proxy."""
    word: str | None = _entry("calls.json", "attributes", name, release)
    return word


# ---------------------------------------------------------------------------------------------- names


def canonical(name: str, release: str | None = None) -> str | None:
    """The one name of an object of torch, for any of its public paths; None for names that do not exist."""
    entry = _name(name, release)
    return None if entry is None else entry[1]


def kind(name: str, release: str | None = None) -> Kind | None:
    entry = _name(name, release)
    return None if entry is None else entry[0]


@lru_cache(maxsize=8192)
def _name(name: str, release: str | None) -> tuple[Kind, str] | None:
    if _entry("names.json", "modules", name, release) is not None:
        return "module", name
    module, _, short = name.rpartition(".")
    if not module:
        return None
    listed = _entry("names.json", "modules", module, release)
    if listed is not None:
        return _listed(module, nearest(release)).get(short)
    owner = _name(module, release)
    if owner is not None and owner[0] == "class" and short in members(owner[1], release):
        return "function", f"{owner[1]}.{short}"
    return None


@cache
def _listed(module: str, release: str) -> dict[str, tuple[Kind, str]]:
    """The names of one module of torch."""
    words: dict[str, Kind] = {"c": "class", "f": "function", "v": "constant", "m": "module"}
    found: dict[str, tuple[Kind, str]] = {}
    for letter, text in (_entry("names.json", "modules", module, release) or {}).items():
        for part in text.split():
            own, _, target = part.partition("=")
            found[own] = words[letter], target or f"{module}.{own}"
    return found


def bases(name: str, release: str | None = None) -> tuple[str, ...]:
    """The MRO after the class itself, without ``object``, as canonical names; empty when it is no known class."""
    known = canonical(name, release) or name
    text: str | None = _entry("names.json", "bases", known, release)
    return tuple(text.split()) if text else ()


def members(name: str, release: str | None = None) -> tuple[str, ...]:
    """What a class of torch.nn, torch.autograd, ... defines itself, methods and properties alike; all of Tensor's."""
    text: str | None = _entry("names.json", "members", name, release)
    return tuple(text.split()) if text else ()


# ---------------------------------------------------------------------------------------------- modules


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter; ``prefix`` is ``/`` (positional only), ``=`` (keyword only), ``*``, ``**`` or empty."""

    name: str
    prefix: str
    default: str | None


@dataclass(frozen=True, slots=True)
class Attribute:
    """What ``__init__`` leaves under a name.

    ``kind`` is ``parameter``, ``buffer``, ``none``, ``module <class>``, ``absent`` or a ``value`` word of Outcome.
    ``follows``: it equals the constructor's argument of the same name; with ``repeated`` n it is a tuple that holds the
    argument n times, where that is a number. ``value`` is the source of a constant that no argument changed.
    ``otherwise`` lists the kinds it has when one argument differs, as (``bias=False``, kind).
    """

    kind: str
    follows: bool
    value: str | None
    otherwise: tuple[tuple[str, str], ...]
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class InnerCall:
    """How a forward calls a method of its own object, and what becomes of that forward when the method works.

    An argument is ``*`` (a Proxy), ``.name`` (a parameter of the object), the source of a constant, or ``?``.
    """

    arguments: tuple[str, ...]
    afterwards: Outcome


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """A module class of torch.

    ``traces`` answers ``root.train``, ``root.eval`` (its forward is the root's: every parameter a placeholder),
    ``super.train`` and ``super.eval`` (a subclass calls ``super().forward`` with the required arguments): NODE, or the
    failure. Empty where it could not be built and called, or has no forward. ``by_mode``: a subclass has another graph
    in each mode.

    ``methods`` answers for its other methods what a call with Proxies does. ``calls`` has those that its forward calls:
    a subclass may bring its own.
    """

    name: str
    leaf: bool
    required: int
    forward: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    attributes: Mapping[str, Attribute]
    traces: Mapping[str, Outcome]
    by_mode: bool
    methods: Mapping[str, Outcome]
    calls: Mapping[str, InnerCall]
    bases: tuple[str, ...]
    aliases: tuple[str, ...]


@cache
def module_class(name: str, release: str | None = None) -> ModuleFacts | None:
    """The facts about a class of torch.nn or torch.ao.nn under any of its public names; None for other names."""
    known = canonical(name, release) or name
    known = _module_aliases().get(known, known)
    entry = _entry("modules.json", "modules", known, release)
    if entry is None:
        return None
    return ModuleFacts(
        known,
        entry.get("leaf", True),
        entry["required"],
        tuple(_parameter(text) for text in entry["forward"]),
        tuple(_parameter(text) for text in entry["parameters"]),
        {attribute: _attribute(text) for attribute, text in entry.get("attributes", {}).items()},
        {mode: _traced(why) for mode, why in entry.get("traces", {}).items()},
        entry.get("by_mode", False),
        {method: Outcome(*row) for method, row in entry.get("methods", {}).items()},
        {method: InnerCall(tuple(given), _traced(why)) for method, (given, why) in entry.get("calls", {}).items()},
        bases(known, release),
        tuple(entry["aliases"]),
    )


@cache
def _module_aliases() -> dict[str, str]:
    """The names under which the classes were measured, by their other names."""
    return {alias: name for name, entry in _file("modules.json")["modules"].items() for alias in entry["aliases"]}


def _traced(failure: list[Any] | None) -> Outcome:
    return NODE if failure is None else Outcome("fails", *failure)


def _parameter(text: str) -> Parameter:
    bare = text.lstrip("/=*")
    name, equals, default = bare.partition("=")
    return Parameter(name, text[: len(text) - len(bare)], default if equals else None)


def _attribute(text: str) -> Attribute:
    head, *others = text.split("|")
    kind, colon, value = head.partition(":")
    kind, follows, repeated = kind.partition("=")
    otherwise = tuple((condition, _kind(other)) for condition, _, other in (part.rpartition(":") for part in others))
    count = int(repeated.removeprefix("x") or 0)
    return Attribute(_kind(kind), bool(follows) and not count, value if colon else None, otherwise, count)


def _kind(text: str) -> str:
    """The kind with the class of a submodule under its canonical name."""
    word, _, name = text.partition(" ")
    return f"{word} {canonical(name) or name}" if name else text
