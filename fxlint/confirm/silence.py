"""How it is known that a graph is not the model: by running both, by the graphs, or by what ran while tracing."""

from __future__ import annotations

from collections.abc import Iterable

from fxlint.findings import Confirmation, Difference, Proof

from .traces import Trace

TRAINING = "silent.training"

_IN_STATE = frozenset({"silent.state", "silent.attribute", "silent.append", "silent.constant"})
"""What shows in the state of the module; of others a difference there proves nothing."""
_RANKS: tuple[Proof, ...] = ("comparison", "graphs", "event")


def judged(event: str, of_result: bool, trace: Trace, together: int) -> Confirmation:
    """Of an event that was met in a root: ``of_result`` are those that no graph of the class can have. ``together`` is
    the number of findings that may be to blame for a difference. Of others than the silent ones a graph proves nothing.
    """
    if not event.startswith("silent."):
        return Confirmation("confirmed", "it ran while tracing")
    comparison = trace.comparison
    if event == TRAINING and trace.modes:
        return _of_modes(trace, together)
    met = "it traces, and this is not in the result" if of_result else "it ran while tracing"
    if trace.confirmed.verdict == "fails":
        met = f"{met}, which fails elsewhere"
    proof: Proof = "graphs" if of_result else "event"
    if comparison is None:
        return Confirmation("confirmed", met, proof=proof)
    if comparison.reason is not None:
        return Confirmation("confirmed", f"{met}; not run side by side: {comparison.reason}", None, proof, comparison)
    shown = [one for one in comparison.differences if one.what != "state" or event in _IN_STATE]
    on = f"on {' and '.join(comparison.inputs)}"
    if not shown:
        same = f"side by side, {on}, the graph does the same, which says nothing of other inputs or another state"
        return Confirmation("confirmed", f"{met}; {same}", None, proof, comparison)
    blamed = _blamed(together)
    reason = f"side by side, {on}, its graph does not do the same{blamed}: {told(shown)}"
    return Confirmation("confirmed", reason, None, "comparison", comparison)


def rank(confirmation: Confirmation) -> tuple[bool, int, bool]:
    """What says most comes first."""
    proof, comparison = confirmation.proof, confirmation.comparison
    was_run = comparison is not None and comparison.reason is None
    return confirmation.status != "confirmed", len(_RANKS) if proof is None else _RANKS.index(proof), not was_run


def _of_modes(trace: Trace, together: int) -> Confirmation:
    difference = next((one for one in trace.modes if one is not None), None)
    if difference is None:
        return Confirmation("refuted", "traced in train and in eval mode the graphs are equal", None, "graphs")
    reason = f"traced in train and in eval mode the graphs differ{_blamed(together)}: {difference}"
    return Confirmation("confirmed", reason, None, "graphs", trace.comparison)


def _blamed(together: int) -> str:
    return f", for this or another of {together} warnings" if together > 1 else ""


def told(differences: Iterable[Difference]) -> str:
    """``outputs differ in train and eval mode, gradients (input 1) in train mode``."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for one in differences:
        where = "after tracing" if one.mode is None else f"{one.mode} mode"
        groups.setdefault((one.what, one.said), {})[where] = None
    return "; ".join(_told(what, said, list(where)) for (what, said), where in groups.items())


def _told(what: str, said: str, where: list[str]) -> str:
    modes = [one.removesuffix(" mode") for one in where if one.endswith(" mode")]
    places = [f"in {' and '.join(modes)} mode"] if modes else []
    places += [one for one in where if not one.endswith(" mode")]
    at = " and ".join(places)
    if what == "error":
        return f"{said} {at}"
    names = f" ({said})" if said else ""
    return f"{what}{names} differ {at}" if what != "state" else f"state{names} differs {at}"
