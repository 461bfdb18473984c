"""The vocabulary that every stage speaks.

Positions are 1-based; columns count code points, as Python's ``str`` indexes a line. Paths are as the user gave them,
with forward slashes. Everything here is frozen: a stage that learns more makes a new object with
``dataclasses.replace``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning", "info"]
Certainty = Literal["always", "conditional"]
PredictedVerdict = Literal["traces", "fails", "depends", "unknown"]
TracedVerdict = Literal["traces", "fails", "not-run"]
Status = Literal["confirmed", "refuted", "unreached", "unconfirmed"]
Proof = Literal["comparison", "graphs", "event"]
SuggestionKind = Literal["concrete_args", "wrap", "rewrite", "leaf", "config"]


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A half-open span of source: ``end_column`` is the column after the last code point."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Root:
    """Something that can be traced: an nn.Module class with a forward, or a free function.

    ``qualname`` is the qualified name inside the file (``Outer.Inner``). ``instances`` and ``inputs`` are what comments
    in the source declare for it: expressions that make one (``# fxlint: instance=Net(8)``), and one for a tuple of
    example inputs (``# fxlint: inputs=(torch.randn(2, 8),)``), evaluated in the namespace of its module.
    """

    path: str
    qualname: str
    line: int
    kind: Literal["class", "function"]
    instances: tuple[str, ...] = ()
    inputs: str | None = None

    @property
    def id(self) -> str:
        return f"{self.path}::{self.qualname}"


CALLED_AT: Final = "called at "
"""What the text of a step starts with that is a call on the way to the construct."""


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a provenance chain: how a traced value got here.

    ``text`` is source; where the chain starts, ``x (input)`` or ``self.weight (parameter)``.
    """

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the source in ``location`` by ``text`` (an empty span inserts)."""

    location: Location
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """The exception that stopped a trace, at the innermost frame of the user's code (None when no frame is theirs)."""

    type: str
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    nodes: int
    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """What the tracer did when a suggestion was tried. ``equal_outputs`` is None where it was not compared."""

    verdict: TracedVerdict
    error: Failure | None = None
    graph: Graph | None = None
    equal_outputs: bool | None = None
    reason: str | None = None

    @property
    def helps(self) -> bool:
        """Whether it traces, and was not seen to compute something else."""
        return self.verdict == "traces" and self.equal_outputs is not False


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A way out. ``concrete_args`` is a Python expression for the dictionary, for suggestions of that kind.

    ``wrap`` names the globals that ``torch.fx.wrap`` takes, with ``, `` between them, and the edit says in which file
    and line that must stand. ``tracer`` is for leaf and config: the id of the class that the Tracer takes for a leaf
    (``path::Class``), or an argument of ``torch.fx.Tracer`` that is to be True.
    ``safe`` is only ever set after a check that traced, or where nothing but comments changes.
    """

    kind: SuggestionKind
    text: str
    edits: tuple[Edit, ...] = ()
    concrete_args: str | None = None
    wrap: str | None = None
    tracer: str | None = None
    safe: bool = False
    checked: Check | None = None

    @property
    def is_advice(self) -> bool:
        """Whether there are only words in it, and nothing that the tracer could try."""
        return not (self.edits or self.concrete_args or self.tracer)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a module and its graph do not do the same: in what a call returns (``outputs``), in ``gradients``, in the
    ``state`` that it leaves, in the ``inputs`` that it changes, or by an ``error`` that only the graph raises.

    ``mode`` and ``inputs``, an index into those of the comparison, are None of what tracing itself leaves behind.
    """

    what: Literal["outputs", "gradients", "state", "inputs", "error"]
    mode: Literal["train", "eval"] | None = None
    inputs: int | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A module and its graph, run side by side in both modes on ``inputs``, of which the shapes are told.

    ``reason`` says why they were not run.
    """

    inputs: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """``proof`` says how it is known that a graph is not the model: by the ``comparison``, by the ``graphs`` alone, or
    by the ``event`` that was met while tracing. None for what fails, for there the ``error`` is the proof.
    """

    status: Status
    reason: str | None = None
    error: Failure | None = None
    proof: Proof | None = None
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One construct that tracing cannot capture, for one or more roots.

    ``event`` is what happens to the tracer there, a dotted kind such as ``bool.if`` (see docs of the rules): its first
    part is the family that the recording tracer reports. ``depends_on`` lists the expressions of the configuration
    under which the construct is reached, the nearest of them last; empty means always. ``more_conditions`` counts those
    further out, which are not listed.
    """

    code: str
    rule: str
    severity: Severity
    location: Location
    message: str
    event: str
    modules: tuple[str, ...] = ()
    certainty: Certainty = "always"
    depends_on: tuple[str, ...] = ()
    provenance: tuple[Step, ...] = ()
    confirmation: Confirmation = Confirmation("unconfirmed")
    suggestions: tuple[Suggestion, ...] = ()
    more_conditions: int = 0


@dataclass(frozen=True, slots=True)
class Predicted:
    """The static verdict of a root; ``reason`` says why it is unknown.

    ``depends_on`` are the conditions of its failures, also where the options that code gives have decided.
    """

    verdict: PredictedVerdict
    first: Location | None = None
    depends_on: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What the stock tracer did to an instance of a root; ``instance`` is the expression or path it came from."""

    verdict: TracedVerdict
    reason: str | None = None
    instance: str | None = None
    error: Failure | None = None
    graph: Graph | None = None


@dataclass(frozen=True, slots=True)
class ModuleReport:
    root: Root
    predicted: Predicted
    confirmed: Confirmed = Confirmed("not-run", "confirm was not asked for")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that kept fxlint from doing its job on one input; the rest of the run went on.

    ``stage`` is "input" where a file could not be linted at all, which makes the exit code 2, and "confirm" where only
    a verification could not run, which leaves it alone.
    """

    path: str
    message: str
    line: int | None = None
    stage: Literal["input", "confirm"] = "input"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one run, sorted: modules by place, findings by place and code.

    ``suppressed`` counts the findings that comments in the source silence, ``known`` those in the baseline.
    """

    files: int
    modules: tuple[ModuleReport, ...]
    findings: tuple[Finding, ...]
    problems: tuple[Problem, ...] = ()
    suppressed: int = 0
    known: int = 0


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a stage hands to the next one: the same shape before and after confirm."""

    modules: tuple[ModuleReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
