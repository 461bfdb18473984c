"""The cases from real reports: what the stock tracer does to each, and that both halves of fxlint say so."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import truth

from fxlint.confirm import confirm
from fxlint.confirm.settings import ConfirmSettings
from fxlint.findings import Finding, Prediction
from fxlint.predict import predict
from fxlint.rules import load_rules
from fxlint.transforms import lint_transforms

CASES = Path(__file__).parent.parent / "fixtures" / "cases"
EXPECTATIONS = ("error", "graph", "silent", "lint-only")


@dataclass(frozen=True)
class Case:
    path: Path
    header: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def expect(self) -> str:
        return self.header["expect"]

    @property
    def lines(self) -> set[int]:
        return {int(number) for number in self.header["line"].split(",")}

    @property
    def root(self) -> str:
        return re.split(r"\W", self.header["instance"])[0]

    def trace(self) -> truth.Outcome:
        return truth.trace(self.path.parent, self.path.name, self.header["instance"])


def read(path: Path) -> Case:
    rows = iter(path.read_text(encoding="utf-8").splitlines())
    header: dict[str, str] = {}
    while found := re.fullmatch(r"# (\w+): (.*)", next(rows)):
        header[found[1]] = found[2]
    return Case(path, header)


ALL = [read(path) for path in sorted(CASES.glob("*/*.py"))]


def each(*expectations: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "case", [case for case in ALL if case.expect in expectations], ids=lambda case: case.name[:-3]
    )


@each(*EXPECTATIONS)
def test_the_header_is_complete_and_names_lines_of_code(case: Case):
    needed = ["source", "expect", "line", "kind", "instance", "inputs", "fix"]
    assert list(case.header)[: len(needed)] == needed
    assert set(case.header) - set(needed) <= {"differs", "check", "frame"}
    assert case.expect == case.path.parent.name
    rows = case.path.read_text(encoding="utf-8").splitlines()
    assert all(rows[line - 1].strip() and not rows[line - 1].startswith("#") for line in case.lines)


def check_holds(case: Case, outcome: truth.Outcome) -> bool:
    return truth.holds(outcome, case.header["check"], case.header["instance"], case.header["inputs"])


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
class TestStockTracer:
    @each("error")
    def test_an_error_is_raised_on_a_listed_line(self, case: Case):
        outcome = case.trace()
        assert outcome.error is not None
        if case.header.get("frame") == "none":
            assert outcome.place is None
        else:
            assert outcome.place is not None, repr(outcome.error)
            assert (outcome.place.file, outcome.place.line in case.lines) == (case.path.name, True)
        if outcome.root is not None:
            truth.eager_result(outcome, case.header["inputs"])

    @each("graph")
    def test_a_graph_gives_what_the_original_gives(self, case: Case):
        outcome = case.trace()
        assert outcome.error is None
        assert truth.same(
            truth.eager_result(outcome, case.header["inputs"]), truth.traced_result(outcome, case.header["inputs"])
        )

    @each("silent")
    def test_a_silent_case_traces_and_is_wrong_as_described(self, case: Case):
        outcome = case.trace()
        assert outcome.error is None
        assert case.header["differs"]
        assert check_holds(case, outcome)

    @each("lint-only")
    def test_the_mistake_shows(self, case: Case):
        assert check_holds(case, case.trace())


def located(prediction: Prediction, case: Case) -> list[Finding]:
    return [finding for finding in prediction.findings if finding.location.path == str(case.path)]


def errors(prediction: Prediction, case: Case) -> list[Finding]:
    return [finding for finding in located(prediction, case) if finding.severity == "error"]


@pytest.fixture(scope="module")
def predicted() -> Prediction:
    """What is found without tracing: in forward, and in the code around graphs."""
    paths = [str(case.path) for case in ALL]
    prediction = predict(paths, load_rules(), ())
    return replace(prediction, findings=(*prediction.findings, *lint_transforms(paths, load_rules())))


class TestPrediction:
    @each("error")
    def test_an_error_is_predicted_on_a_listed_line(self, case: Case, predicted: Prediction):
        assert case.lines & {finding.location.line for finding in errors(predicted, case)}

    @each("silent")
    def test_what_is_wrong_is_told_on_the_line(self, case: Case, predicted: Prediction):
        assert case.lines & {one.location.line for one in located(predicted, case) if one.severity == "warning"}

    @each("graph")
    def test_what_is_right_has_no_finding(self, case: Case, predicted: Prediction):
        assert [finding for finding in located(predicted, case) if finding.severity != "info"] == []

    @each("graph", "silent")
    def test_what_traces_is_not_predicted_to_fail(self, case: Case, predicted: Prediction):
        assert errors(predicted, case) == []
        verdicts = [report.predicted for report in predicted.modules if report.root.path == str(case.path)]
        assert verdicts
        assert "fails" not in {verdict.verdict for verdict in verdicts}

    @each("error", "graph", "silent")
    def test_nothing_is_found_in_code_that_has_no_graphs(self, case: Case):
        assert lint_transforms([str(case.path)], load_rules()) == ()

    def test_what_no_rule_covers_yet_is_listed(self, predicted: Prediction):
        rows = (CASES / "not-yet-covered.txt").read_text(encoding="utf-8").splitlines()
        listed = [row for row in rows if not row.startswith("#")]
        uncovered = [
            case.name
            for case in ALL
            if case.expect in ("silent", "lint-only")
            and not case.lines
            & {finding.location.line for finding in located(predicted, case) if finding.severity != "info"}
        ]
        assert listed == sorted(uncovered)


@pytest.fixture(scope="module")
def confirmed(predicted: Prediction) -> Prediction:
    traced = {str(case.path): case for case in ALL if case.expect in ("error", "graph", "silent")}
    settings = ConfirmSettings(
        python=sys.executable,
        instances={f"{path}::{case.root}": (case.header["instance"],) for path, case in traced.items()},
        timeout=60,
        memory=4 << 30,
        jobs=2,
        roots=(str(CASES / "error"), str(CASES / "graph"), str(CASES / "silent")),
    )
    return confirm(
        replace(
            predicted,
            modules=tuple(report for report in predicted.modules if report.root.path in traced),
            findings=tuple(finding for finding in predicted.findings if finding.location.path in traced),
        ),
        load_rules(),
        settings,
    )


@pytest.mark.torch
@pytest.mark.slow
class TestConfirmation:
    @each("error")
    def test_the_finding_on_a_listed_line_is_confirmed(self, case: Case, confirmed: Prediction):
        found = [finding for finding in errors(confirmed, case) if finding.location.line in case.lines]
        assert "confirmed" in {finding.confirmation.status for finding in found}

    @each("silent")
    def test_what_is_wrong_is_confirmed_on_the_line(self, case: Case, confirmed: Prediction):
        found = [one for one in located(confirmed, case) if one.location.line in case.lines]
        assert "confirmed" in {finding.confirmation.status for finding in found}

    @each("graph")
    def test_a_graph_is_seen_to_trace_and_nothing_is_met_on_the_way(self, case: Case, confirmed: Prediction):
        assert errors(confirmed, case) == []
        verdict = next(
            report.confirmed
            for report in confirmed.modules
            if (report.root.path, report.root.qualname) == (str(case.path), case.root)
        )
        assert verdict.verdict == "traces"
