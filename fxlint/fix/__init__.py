"""Ways out of findings: from a finding and the source to suggestions. Nothing here is tried; the tracer does that.

A family of fixes is a function from a Site to suggestions, in a file with its kin. ``FAMILIES`` says which are asked
for an event, the best one first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

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
    sizes,
    wrapping,
)
from fxlint.fix.site import Site
from fxlint.fix.source import Read, Sources, read_text

__all__ = ["Read", "read_text", "suggest", "with_suggestions"]

Family = Callable[[Site], Iterator[Suggestion]]

FAMILIES: Final[dict[str, tuple[Family, ...]]] = {
    "bool.if": (branches.checked, branches.choice, extract.block, wrapping.helper, branches.settled),
    "bool.while": (extract.block, wrapping.helper),
    "bool.match": (extract.block, wrapping.helper, branches.settled),
    "bool.ternary": (branches.choice, extract.conditional, wrapping.helper, branches.settled),
    "bool.assert": (branches.checked,),
    "bool.not": (branches.checked, branches.operators, wrapping.helper),
    "bool.and_or": (branches.checked, branches.operators, extract.conditional, wrapping.helper),
    "bool.compare": (branches.checked, branches.operators, extract.value, wrapping.helper),
    "bool.in": (branches.checked, branches.operators, extract.value, wrapping.helper),
    "bool.flag": (arguments.flag,),
    "bool.minmax": (reductions.tested, wrapping.called, extract.value, wrapping.helper),
    "bool.call": (reductions.tested, extract.value, wrapping.helper),
    "bool.param_shape": (library.constant_shapes,),
    "iter.in": (arguments.structure,),
    "iter.for": (loops.unrolled, arguments.structure, extract.block, wrapping.helper, loops.counted),
    "iter.comprehension": (loops.unrolled, arguments.structure, wrapping.helper, loops.counted),
    "iter.call": (loops.unrolled, arguments.structure, wrapping.called, wrapping.helper, loops.counted),
    "iter.star": (sizes.starred, wrapping.helper),
    "iter.unpack": (sizes.starred, wrapping.helper),
    "kwargs.unpack": (arguments.structure, wrapping.helper),
    "len.call": (sizes.length, wrapping.called, wrapping.helper),
    "index.range": (extract.block, wrapping.helper, loops.counted),
    "index.subscript": (extract.value, wrapping.helper, library.table),
    "index.slice": (extract.value, wrapping.helper),
    "index.call": (wrapping.called, extract.value, wrapping.helper),
    "int.call": (sizes.number, extract.value, wrapping.helper),
    "float.call": (sizes.number, extract.value, wrapping.helper),
    "complex.call": (extract.value, wrapping.helper),
    "round.call": (sizes.number, wrapping.called, extract.value, wrapping.helper),
    "float.math": (sizes.root, wrapping.called, extract.value, wrapping.helper),
    "math.recorded": (sizes.root,),
    "format.spec": (library.printed, extract.formatted),
    "setitem.assign": (items.assigned, items.advised),
    "setitem.augmented": (items.assigned, items.advised),
    "setitem.delete": (arguments.structure,),
    "tensor.sizes": (sizes.made, sizes.starred, extract.value, wrapping.helper),
    "tensor.data": (sizes.made, extract.value, wrapping.helper),
    "tensor.constant": (sizes.constant, extract.value, wrapping.helper),
    "call.numpy": (wrapping.called, extract.value, wrapping.helper, library.foreign),
    "call.foreign": (wrapping.called, extract.value, wrapping.helper, library.foreign),
    "call.higher_order": (extract.value, wrapping.helper, library.foreign),
    "call.unbound_method": (library.bound_method, wrapping.helper),
    "call.torch": (library.own_check, extract.value, wrapping.helper),
    "key.lookup": (arguments.key, extract.value, library.table),
    "output.type": (library.plain_output,),
    "output.generator": (library.plain_output,),
    "raise.reached": (branches.dropped, arguments.missing_inputs),
    "raise.attribute": (arguments.missing_inputs, library.renamed_field),
    "raise.type": (arguments.missing_inputs,),
    "module.unregistered": (modules.registered, modules.contained, modules.looped),
    "signature.variadic": (library.named_parameters,),
    "signature.decorated": (library.signature,),
    "root.library": (library.leaf,),
    "context.proxy": (library.device,),
    "wrap.misuse": (library.renamed_wrap,),
}


def suggest(finding: Finding, read: Read = read_text) -> tuple[Suggestion, ...]:
    """The ways out of a finding, the best one first; ``read`` gives the text of a file by its path."""
    return _suggest(finding, Sources(read))


def with_suggestions(prediction: Prediction, read: Read = read_text) -> Prediction:
    """The prediction with suggestions in those of its findings that have none."""
    sources = Sources(read)
    findings = (
        finding if finding.suggestions else replace(finding, suggestions=_suggest(finding, sources))
        for finding in prediction.findings
    )
    return replace(prediction, findings=tuple(findings))


def _suggest(finding: Finding, sources: Sources) -> tuple[Suggestion, ...]:
    source = sources.get(finding.location.path)
    node = source.at(finding.location) if source is not None else None
    if source is None or node is None:
        return ()
    site = Site(finding, source, sources, node)
    found = (suggestion for family in FAMILIES.get(finding.event, ()) for suggestion in family(site))
    return tuple(dict.fromkeys(found))
