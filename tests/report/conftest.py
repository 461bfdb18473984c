"""Hand-made reports: two files, and one finding for every status."""

import os
from pathlib import Path

import pytest

from fxlint.findings import (
    Check,
    Confirmation,
    Confirmed,
    Edit,
    Failure,
    Finding,
    Graph,
    Location,
    ModuleReport,
    Predicted,
    Problem,
    Report,
    Root,
    Step,
    Suggestion,
)
from fxlint.report import Options
from fxlint.report.sources import Sources
from fxlint.rules import Rule, RuleSet

MODEL = """\
from torch import nn


class Net(nn.Module):
    def forward(self, x, flag=False):
        if x.sum() > 0:
            x = -x
        größe = "数数"; n = len(x)
\tif flag:
            return round(x.mean(
                dim=1,
            ))
        return x
"""

TRACE_ERROR = Failure(
    "TraceError",
    "symbolically traced variables cannot be used as inputs to control flow",
    "pkg/model.py",
    6,
    12,
)
GRAPH = Graph(2, "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    return x")


def rule(code: str, name: str, severity: str = "error") -> Rule:
    why = f"The first paragraph of {name}\ngoes on.\n\nThe second is for the page of the rule."
    tracer, fix = f"what the tracer does with {name}", f"how to fix {name}"
    return Rule(code, name, severity, (f"{name}.event",), f"summary of {name}", "{text}", why, tracer, fix, (), ())


RULES = RuleSet(
    [
        rule("FX101", "branch"),
        rule("FX105", "flag"),
        rule("FX120", "length"),
        rule("FX122", "number", "warning"),
        rule("FX123", "math", "info"),
    ]
)


def at(line: int, column: int, end_column: int, end_line: int | None = None, path: str = "pkg/model.py") -> Location:
    return Location(path, line, column, end_line or line, end_column)


BRANCH = Finding(
    "FX101",
    "branch",
    "error",
    at(6, 12, 23),
    "`x.sum() > 0` needs the truth value of `x`, which is traced",
    "bool.if",
    modules=("pkg/model.py::Net",),
    provenance=(
        Step(at(5, 23, 24), "x"),
        Step(at(6, 12, 19), "x.sum()"),
        Step(at(2, 5, 9, path="pkg/util.py"), "f(x)"),
    ),
    confirmation=Confirmation("confirmed", error=TRACE_ERROR),
)
LENGTH = Finding(
    "FX120",
    "length",
    "error",
    at(8, 27, 33),
    "`len(x)` needs the length of `x`",
    "len.call",
    modules=("pkg/model.py::Net", "pkg/model.py::A", "pkg/model.py::B", "pkg/model.py::Outer.C"),
    confirmation=Confirmation("unreached", "Net(): stopped at line 6"),
    suggestions=(
        Suggestion(
            "rewrite",
            "take the first size: `x.size(0)`",
            (Edit(at(8, 27, 33), "x.size(0)"),),
            safe=True,
            checked=Check("traces", graph=GRAPH, equal_outputs=True),
        ),
        Suggestion(
            "wrap",
            "keep `len` as a node",
            (Edit(at(1, 1, 1), "import torch.fx\ntorch.fx.wrap('len')\n"),),
            wrap="len",
            checked=Check("fails", error=TRACE_ERROR),
        ),
    ),
)
FLAG = Finding(
    "FX105",
    "flag",
    "error",
    at(9, 5, 9),
    "`flag` is a placeholder when it is not bound",
    "bool.flag",
    modules=("pkg/model.py::Net",),
    certainty="conditional",
    depends_on=("self.pool", "self.depth > 2"),
    confirmation=Confirmation("unconfirmed", "Net needs arguments: dim"),
    suggestions=(
        Suggestion(
            "concrete_args",
            'bind it: concrete_args={"flag": False}',
            concrete_args='{"flag": False}',
            checked=Check("not-run", reason="no instance"),
        ),
    ),
)
NUMBER = Finding(
    "FX122",
    "number",
    "warning",
    at(10, 20, 15, 12),
    "`round(...)` needs a number, 100% of the time",
    "round.call",
    modules=("pkg/model.py::Net",),
    confirmation=Confirmation("refuted", "Net() ran it"),
)
MATH = Finding("FX123", "math", "info", at(3, 1, 5, path="pkg/util.py"), "`math.sqrt` is\nrecorded", "math.recorded")

MODULES = (
    ModuleReport(
        Root("pkg/model.py", "Net", 4, "class"),
        Predicted("fails", at(6, 12, 23)),
        Confirmed("fails", instance="Net()", error=TRACE_ERROR),
    ),
    ModuleReport(
        Root("pkg/model.py", "Fine", 20, "class"), Predicted("unknown", reason="a base class is not known"),
        Confirmed("traces", instance="Fine(8)", graph=GRAPH),
    ),
    ModuleReport(
        Root("pkg/model.py", "Pool", 30, "class"),
        Predicted("depends", depends_on=("self.pool",)),
        Confirmed("traces", instance="Pool()", graph=GRAPH),
    ),
    ModuleReport(
        Root("pkg/util.py", "f", 1, "function"),
        Predicted("traces"),
        Confirmed("fails", instance="f", error=Failure("KeyError", "0")),
    ),
    ModuleReport(Root("pkg/util.py", "Lazy", 9, "class"), Predicted("traces"), Confirmed("not-run", "import failed")),
)  # fmt: skip
PROBLEMS = (
    Problem("pkg/broken.py", "could not parse: invalid syntax", 3),
    Problem("pkg/util.py", "import failed: ZeroDivisionError", stage="confirm"),
)

REPORT = Report(3, MODULES, (BRANCH, LENGTH, FLAG, NUMBER, MATH), PROBLEMS)
EMPTY = Report(0, (), ())


@pytest.fixture
def golden():
    """Compares a text with a file of tests/report/golden; FXLINT_UPDATE_GOLDEN=1 rewrites the file and fails."""

    def compare(name: str, text: str) -> None:
        path = Path(__file__).parent / "golden" / name
        if os.environ.get("FXLINT_UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
            pytest.fail(f"{name} was rewritten: read the difference")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def report() -> Report:
    return REPORT


@pytest.fixture
def empty() -> Report:
    return EMPTY


@pytest.fixture
def options(tmp_path, monkeypatch) -> Options:
    """A working directory with pkg/model.py; pkg/util.py has vanished."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "model.py").write_text(MODEL, encoding="utf-8")
    return Options(RULES, Sources(), base=Path.cwd())
