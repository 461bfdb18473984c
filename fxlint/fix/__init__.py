"""Ways out of findings: from a finding and the source to suggestions. Nothing here is tried; the tracer does that.

A family of fixes is a function from a Site to suggestions, in a file with its kin. ``FAMILIES`` says which are asked
for an event, the best one first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

from fxlint.cache import Cache
from fxlint.findings import Finding, Prediction, Suggestion
from fxlint.fix import (
    arguments,
    branches,
    extract,
    items,
    library,
    loops,
    modules,
    reductions,
    signatures,
    sizes,
    wrapping,
)
from fxlint.fix.site import Site
from fxlint.fix.sound import sound
from fxlint.fix.sources import Read, Sources
from fxlint.garbage import uncollected
from fxlint.processes import in_processes
from fxlint.project.reads import Reads
from fxlint.project.source import read_text
from fxlint.rules import Rule

__all__ = ["Read", "read_text", "suggest", "with_suggestions"]

KEPT: Final = 16
"""Files whose syntax trees are kept: those that helpers and their callers are in."""

SHARE: Final = 50
"""Findings that are worth a process of their own."""

_KIND: Final = "suggestions"

Family = Callable[[Site], Iterator[Suggestion]]

_MOVED = (extract.value, wrapping.helper)

_NUMBERS: Final = frozenset({"int.call", "float.call", "complex.call", "round.call"})
FAMILIES: Final[dict[str, tuple[Family, ...]]] = {
    "bool.if": (arguments.fixed, branches.checked, branches.choice, extract.block, wrapping.helper, branches.settled),
    "bool.while": (arguments.fixed, extract.block, wrapping.helper),
    "bool.match": (arguments.fixed, extract.block, wrapping.helper, branches.settled),
    "bool.ternary": (arguments.fixed, branches.choice, extract.conditional, wrapping.helper, branches.settled),
    "bool.assert": (arguments.fixed, branches.checked),
    "bool.not": (arguments.fixed, branches.checked, branches.operators, wrapping.helper),
    "bool.and_or": (arguments.fixed, branches.checked, branches.operators, extract.conditional, wrapping.helper),
    "bool.compare": (arguments.fixed, branches.checked, branches.operators, *_MOVED),
    "bool.in": (arguments.fixed, branches.checked, branches.operators, *_MOVED),
    "bool.flag": (arguments.flag,),
    "bool.minmax": (arguments.fixed, reductions.tested, wrapping.called, *_MOVED),
    "bool.call": (arguments.fixed, reductions.tested, *_MOVED),
    "bool.param_shape": (library.constant_shapes,),
    "iter.in": (arguments.structure,),
    "iter.for": (loops.unrolled, arguments.structure, extract.block, wrapping.helper, loops.counted),
    "iter.comprehension": (
        loops.unrolled,
        arguments.structure,
        extract.comprehension,
        wrapping.helper,
        loops.counted,
    ),
    "iter.call": (
        loops.unrolled,
        arguments.structure,
        extract.block,
        extract.comprehension,
        wrapping.called,
        wrapping.helper,
        loops.counted,
    ),
    "iter.star": (signatures.same, sizes.starred, wrapping.helper, loops.by_number),
    "iter.unpack": (sizes.starred, wrapping.helper, loops.by_number),
    "kwargs.unpack": (signatures.same, arguments.structure, wrapping.helper),
    "len.call": (sizes.length, arguments.structure, wrapping.called, wrapping.helper),
    "index.range": (arguments.fixed, extract.block, wrapping.helper, loops.counted),
    "index.subscript": (arguments.fixed, *_MOVED, library.table),
    "index.slice": (arguments.fixed, *_MOVED),
    "index.call": (arguments.fixed, wrapping.called, *_MOVED),
    "int.call": (arguments.fixed, sizes.number, *_MOVED),
    "float.call": (arguments.fixed, sizes.number, *_MOVED),
    "complex.call": (arguments.fixed, *_MOVED),
    "round.call": (arguments.fixed, sizes.number, wrapping.called, *_MOVED),
    "float.math": (arguments.fixed, sizes.root, wrapping.called, *_MOVED),
    "math.recorded": (sizes.root,),
    "format.spec": (library.printed, extract.formatted),
    "setitem.assign": (items.assigned, extract.item, items.advised),
    "setitem.augmented": (items.assigned, extract.item, items.advised),
    "setitem.delete": (arguments.structure,),
    "tensor.sizes": (arguments.fixed, sizes.made, sizes.starred, *_MOVED),
    "tensor.data": (arguments.fixed, sizes.made, *_MOVED),
    "tensor.constant": (arguments.fixed, sizes.constant, *_MOVED),
    "call.numpy": (wrapping.called, *_MOVED, library.foreign),
    "call.foreign": (wrapping.called, *_MOVED, library.foreign),
    "call.higher_order": (*_MOVED, library.foreign),
    "call.unbound_method": (library.bound_method, wrapping.helper),
    "call.torch": (library.own_check, *_MOVED),
    "key.lookup": (arguments.key, extract.value, library.table),
    "output.type": (library.plain_output,),
    "output.generator": (library.plain_output,),
    "raise.reached": (wrapping.helper, branches.dropped, arguments.missing_inputs),
    "raise.attribute": (arguments.missing_inputs, library.renamed_field),
    "raise.type": (arguments.missing_inputs,),
    "module.unregistered": (modules.registered, modules.contained, modules.looped),
    "signature.variadic": (signatures.named, signatures.advised),
    "signature.decorated": (signatures.same, signatures.advised),
    "root.library": (library.leaf,),
    "context.proxy": (library.device,),
    "wrap.misuse": (library.renamed_wrap,),
}


def suggest(finding: Finding, read: Read = read_text) -> tuple[Suggestion, ...]:
    """The ways out of a finding, the best one first; ``read`` gives the text of a file by its path."""
    return _suggest(finding, Sources(read))


def with_suggestions(
    prediction: Prediction,
    read: Read = read_text,
    jobs: int = 1,
    own_rules: Sequence[Rule] = (),
    cache: Cache | None = None,
) -> Prediction:
    """The prediction with suggestions in those of its findings that have none; ``own_rules`` say some themselves.

    With a ``cache`` those that are known of the findings in a file are not worked out again.
    """
    cache = cache or Cache(None)
    without: dict[str, list[Finding]] = {}
    for finding in prediction.findings:
        if not finding.suggestions:
            without.setdefault(finding.location.path, []).append(finding)
    of_file = {path: cache.recall(_KIND, path, without[path], _Suggested) for path in sorted(without)}
    todo = [without[path] for path, known in of_file.items() if known is None]
    work = partial(_suggest_share, read=read, own={event: rule for rule in own_rules for event in rule.events})
    done = chain.from_iterable(in_processes(work, _shares(todo, jobs)))
    for findings, (suggested, reads) in zip(todo, done, strict=True):
        path = findings[0].location.path
        cache.keep(_KIND, path, findings, reads, suggested)
        of_file[path] = suggested
    found = {path: iter(known.suggestions) for path, known in of_file.items() if known is not None}
    return replace(
        prediction,
        findings=tuple(
            finding if finding.suggestions else replace(finding, suggestions=next(found[finding.location.path]))
            for finding in prediction.findings
        ),
    )


@dataclass(frozen=True, slots=True)
class _Suggested:
    """The suggestions for the findings in one file, in their order."""

    suggestions: tuple[tuple[Suggestion, ...], ...]


def _shares(todo: Sequence[list[Finding]], jobs: int) -> list[list[list[Finding]]]:
    """The findings of files that lie beside each other, about as many for each process."""
    size = max(SHARE, -(-sum(map(len, todo)) // jobs))
    shares: list[list[list[Finding]]] = []
    room = 0
    for findings in todo:
        if room <= 0:
            shares.append([])
            room = size
        shares[-1].append(findings)
        room -= len(findings)
    return shares


def _suggest_share(share: list[list[Finding]], read: Read, own: Mapping[str, Rule]) -> list[tuple[_Suggested, Reads]]:
    sources = Sources(read)
    found = []
    with uncollected():
        for findings in share:
            sources.reads = Reads()
            suggested = []
            for finding in findings:
                suggested.append(_suggest(finding, sources, own.get(finding.event)))
                sources.forget(KEPT)
            found.append((_Suggested(tuple(suggested)), sources.reads))
    return found


def _asked(site: Site) -> tuple[Family, ...]:
    """A number that goes into a text is of no use in another form: it is the text that has to move."""
    is_text = site.event in _NUMBERS and extract.is_formatted(site)
    return FAMILIES.get("format.spec" if is_text else site.event, ())


def _of_own(rule: Rule) -> tuple[Family, ...]:
    """What is asked for a call that a rule of the project names."""
    others = (wrapping.called, *_MOVED) if rule.untraceable else ()
    return (partial(library.replaced, rule), *others)


def _suggest(finding: Finding, sources: Sources, own: Rule | None = None) -> tuple[Suggestion, ...]:
    source = sources.get(finding.location.path)
    node = source.at(finding.location) if source is not None else None
    if source is None or node is None:
        return ()
    site = Site(finding, source, sources, node)
    families = (*(_asked(site) if own is None else _of_own(own)), branches.other_mode)
    found: dict[Suggestion, None] = {}
    for family in families:
        with contextlib.suppress(Exception):  # source of a form that a family did not foresee gets no advice from it
            for suggestion in family(site):
                checked = sound(suggestion, sources)
                if checked is not None:
                    found[checked] = None
    return tuple(found)
