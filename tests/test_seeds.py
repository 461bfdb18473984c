"""The inputs that started the project, each with its expected result beside it in ``fixtures/seeds``."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import tomli
import torch.fx
import truth

from fxlint.confirm import confirm
from fxlint.confirm.settings import ConfirmSettings
from fxlint.findings import Finding, Graph, ModuleReport, Prediction, Suggestion
from fxlint.fix import with_suggestions
from fxlint.predict import predict
from fxlint.rules import load_rules

SEEDS = Path(__file__).parent.parent / "fixtures" / "seeds"


@dataclass(frozen=True)
class Seed:
    """The keys of the TOML file; ``graph`` lists the nodes as "op name", ``error`` is the stock tracer's."""

    path: Path
    instance: str
    inputs: str
    verdict: str
    graph: list[str] = field(default_factory=list)
    error: dict[str, Any] = field(default_factory=dict)
    findings: list[dict[str, Any]] = field(default_factory=list)
    suggestions: list[dict[str, Any]] = field(default_factory=list)

    @property
    def root(self) -> str:
        return self.instance.partition("(")[0]


SEED_FILES = sorted(SEEDS.glob("*.py"))
ALL = [Seed(path, **tomli.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))) for path in SEED_FILES]
each = pytest.mark.parametrize("seed", ALL, ids=lambda seed: seed.path.stem)


def nodes(traced: torch.fx.GraphModule | None) -> list[str]:
    assert traced is not None
    return [f"{node.op} {getattr(node.target, '__name__', node.target)}" for node in traced.graph.nodes]


@pytest.mark.torch
class TestStockTracer:
    @each
    def test_the_verdict(self, seed: Seed):
        outcome = truth.trace(SEEDS, seed.path.name, seed.instance)
        if seed.verdict == "traces":
            assert nodes(outcome.traced) == seed.graph
            assert truth.same(truth.eager_result(outcome, seed.inputs), truth.traced_result(outcome, seed.inputs))
        else:
            assert type(outcome.error).__name__ == seed.error["type"]
            assert seed.error["message"] in str(outcome.error)
            assert outcome.place == truth.Place(seed.path.name, seed.error["line"])

    @each
    def test_every_suggestion_gives_its_graph(self, seed: Seed, tmp_path: Path):
        text = seed.path.read_text(encoding="utf-8")
        for suggestion in seed.suggestions:
            wrap = suggestion.get("wrap")
            wrapping = f"\n\nimport torch.fx\n\ntorch.fx.wrap({wrap!r})\n" if wrap else ""
            (tmp_path / seed.path.name).write_text(text + wrapping, encoding="utf-8")
            outcome = truth.trace(tmp_path, seed.path.name, seed.instance, suggestion.get("concrete_args"))
            assert nodes(outcome.traced) == suggestion["graph"]


def root_of(prediction: Prediction, seed: Seed) -> ModuleReport:
    return next(
        report
        for report in prediction.modules
        if (report.root.path, report.root.qualname) == (str(seed.path), seed.root)
    )


def findings_of(prediction: Prediction, seed: Seed) -> list[Finding]:
    return [finding for finding in prediction.findings if finding.location.path == str(seed.path)]


def summary(findings: list[Finding]) -> list[dict[str, Any]]:
    return [
        {"code": each.code, "event": each.event, "severity": each.severity, "line": each.location.line}
        for each in sorted(findings, key=lambda each: (each.location.line, each.code))
    ]


def shown(graph: Graph | None) -> list[str]:
    """The nodes of a graph of the report, whose text is that of ``torch.fx.Graph``."""
    assert graph is not None
    found = re.findall(r"= (\w+)\[target=(?:\w+\.)*(\w+)\]|^ +(return) ", graph.text, re.MULTILINE)
    nodes = ["output output" if end else f"{op} {name}" for op, name, end in found]
    assert graph.nodes == len(nodes)
    return nodes


def proposes(suggestion: Suggestion, expected: dict[str, Any]) -> bool:
    if suggestion.kind != expected["kind"]:
        return False
    if suggestion.concrete_args is not None:
        return bool(ast.literal_eval(suggestion.concrete_args) == ast.literal_eval(expected["concrete_args"]))
    return suggestion.wrap == expected.get("wrap")


@pytest.fixture(scope="module")
def predicted() -> Prediction:
    return predict([str(seed.path) for seed in ALL], load_rules(), ())


class TestPrediction:
    @each
    def test_the_verdict(self, seed: Seed, predicted: Prediction):
        found = root_of(predicted, seed).predicted
        assert found.verdict == seed.verdict
        assert (found.first.line if found.first else None) == seed.error.get("line")

    @each
    def test_the_findings(self, seed: Seed, predicted: Prediction):
        assert summary(findings_of(predicted, seed)) == seed.findings


@pytest.fixture(scope="module")
def confirmed(predicted: Prediction) -> Prediction:
    settings = ConfirmSettings(
        python=sys.executable,
        instances={f"{seed.path}::{seed.root}": (seed.instance,) for seed in ALL},
        timeout=60,
        memory=4 << 30,
        jobs=2,
        roots=(str(SEEDS),),
    )
    return confirm(with_suggestions(predicted), load_rules(), settings)


@pytest.mark.torch
@pytest.mark.slow
class TestConfirmation:
    @each
    def test_the_verdict_comes_with_the_graph_or_the_error(self, seed: Seed, confirmed: Prediction):
        found = root_of(confirmed, seed).confirmed
        assert found.verdict == seed.verdict
        if seed.verdict == "traces":
            assert shown(found.graph) == seed.graph
        else:
            assert found.error is not None
            assert (found.error.type, found.error.line) == (seed.error["type"], seed.error["line"])
            assert seed.error["message"] in found.error.message

    @each
    def test_every_error_is_confirmed_no_note_is_refuted_and_nothing_is_added(self, seed: Seed, confirmed: Prediction):
        found = findings_of(confirmed, seed)
        assert summary(found) == seed.findings
        statuses = {(finding.severity == "error", finding.confirmation.status) for finding in found}
        assert {status for is_error, status in statuses if is_error} <= {"confirmed"}
        assert (False, "refuted") not in statuses

    @each
    def test_every_suggestion_is_tried_and_seen_to_trace(self, seed: Seed, confirmed: Prediction):
        made = [suggestion for finding in findings_of(confirmed, seed) for suggestion in finding.suggestions]
        for expected in seed.suggestions:
            checks = [suggestion.checked for suggestion in made if proposes(suggestion, expected)]
            traced = [check for check in checks if check is not None and check.verdict == "traces"]
            assert expected["graph"] in [shown(check.graph) for check in traced]
