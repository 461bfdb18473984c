"""What is tried, and how its outcome comes back to the suggestions."""

import dataclasses
from pathlib import Path

import pytest

from fxlint.confirm.traces import Trace
from fxlint.confirm.tries import TOGETHER, checked, tries, try_id
from fxlint.findings import (
    Check,
    Confirmation,
    Confirmed,
    Edit,
    Failure,
    Finding,
    Location,
    ModuleReport,
    Predicted,
    Prediction,
    Root,
    Suggestion,
)

TEXT = "def a(x):\n    return len(x)\n\n\ndef b(x):\n    return x\n"


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "net.py"
    file.write_text(TEXT, encoding="utf-8")
    return str(file)


def finding(path: str, line: int, *suggestions: Suggestion, roots: tuple[str, ...] = ("Net",)) -> Finding:
    place = Location(path, line, 12, line, 18)
    modules = tuple(f"{path}::{root}" for root in roots)
    return Finding("FX120", "length", "error", place, "m", "len.call", modules, suggestions=suggestions)


def asked(path: str, *findings: Finding) -> list[dict]:
    module = ModuleReport(Root(path, "Net", 1, "class"), Predicted("fails"))
    return tries(Prediction((module,), findings)).get(module.root.id, [])


def replace(path: str, line: int, text: str) -> Suggestion:
    return Suggestion("rewrite", text, (Edit(Location(path, line, 12, line, 18), text),))


def by_hand(path: str, line: int, text: str) -> list:
    """The edit of ``replace``, as the worker takes it."""
    return [line, 12, line, 18, text]


class TestWhatIsTried:
    def test_every_kind_says_what_the_worker_has_to_do(self, path):
        at = Edit(Location(path, 1, 1, 1, 1), "import torch\n")
        ways = (
            Suggestion("concrete_args", "", concrete_args="{'x': 1}"),
            Suggestion("wrap", "", (at,), wrap="len, sqrt"),
            Suggestion("rewrite", "", (at,)),
            Suggestion("leaf", "", tracer=f"{path}::Outer.Layer"),
            Suggestion("config", "", tracer="param_shapes_constant"),
            Suggestion("rewrite", "only words"),
        )
        here = [[path, 2, 2]]
        assert asked(path, finding(path, 2, *ways)) == [
            {"id": try_id(ways[0]), "expr": "{'x': 1}", "at": None},
            {"id": try_id(ways[1]), "wraps": [[path, "len"], [path, "sqrt"]], "at": here},
            {"id": try_id(ways[2]), "edits": {path: [[1, 1, 1, 1, "import torch\n"]]}, "at": here},
            {"id": try_id(ways[3]), "tracer": {"leaf": [path, "Outer.Layer"]}, "at": here},
            {"id": try_id(ways[4]), "tracer": {"param_shapes_constant": True}, "at": here},
        ]

    def test_the_same_way_out_of_several_findings_is_tried_once(self, path):
        wrap = Suggestion("wrap", "wrap len", (Edit(Location(path, 1, 1, 1, 1), "a"),), wrap="len")
        again = Suggestion("wrap", "in other words", (Edit(Location(path, 1, 1, 1, 1), "b"),), wrap="len")
        (one,) = asked(path, finding(path, 2, wrap), finding(path, 6, again))
        assert (one["wraps"], one["at"]) == ([[path, "len"]], [[path, 2, 2], [path, 6, 6]])

    @pytest.mark.parametrize("event", ["signature.variadic", "output.type", "root.library", "wrap.misuse"])
    def test_what_fails_while_no_line_of_it_runs_is_tried_in_any_case(self, path, event):
        one = dataclasses.replace(finding(path, 2, replace(path, 2, "one")), event=event)
        assert [way["at"] for way in asked(path, one)] == [None]

    def test_the_first_suggestion_of_every_finding_goes_before_the_others(self, path):
        ways = [replace(path, line, text) for line, text in ((2, "one"), (2, "two"), (6, "three"), (6, "four"))]
        listed = asked(path, finding(path, 2, *ways[:2]), finding(path, 6, *ways[2:]))
        assert [way["id"] for way in listed] == [
            try_id(ways[0]), try_id(ways[2]), TOGETHER, try_id(ways[1]), try_id(ways[3])
        ]  # fmt: skip

    def test_the_first_suggestions_of_all_findings_are_tried_together(self, path):
        one, other = finding(path, 2, replace(path, 2, "one")), finding(path, 6, replace(path, 6, "other"))
        bind = finding(path, 1, Suggestion("concrete_args", "", concrete_args="{'x': 1}"))
        also = finding(path, 1, Suggestion("concrete_args", "", concrete_args="{'y': 2}"))
        together = asked(path, one, other, bind, also)[-1]
        assert together["id"] == TOGETHER
        assert eval(together["expr"]) == {"x": 1, "y": 2}
        assert together["edits"] == {path: [by_hand(path, 2, "one"), by_hand(path, 6, "other")]}

    def test_edits_that_overlap_give_way_and_equal_ones_are_made_once(self, path):
        head = Edit(Location(path, 1, 1, 1, 1), "import torch.fx\n")
        first = Suggestion("rewrite", "", (head, *replace(path, 2, "one").edits))
        inside = Suggestion("rewrite", "", (head, Edit(Location(path, 2, 13, 2, 14), "lost")))
        apart = Suggestion("rewrite", "", (head, *replace(path, 6, "other").edits))
        together = asked(path, *(finding(path, 2, way) for way in (first, inside, apart)))[-1]
        assert [edit[-1] for edit in together["edits"][path]] == ["import torch.fx\n", "one", "other"]

    def test_one_finding_is_not_tried_twice(self, path):
        way = replace(path, 2, "one")
        assert [one["id"] for one in asked(path, finding(path, 2, way))] == [try_id(way)]
        assert [one["id"] for one in asked(path, finding(path, 2, way), finding(path, 3, way))] == [try_id(way)]


def trace(way: Suggestion | None = None, check: Check | None = None, **others: Check) -> Trace:
    known = dict(others) if way is None or check is None else {try_id(way): check, **others}
    return Trace(Confirmed("fails"), (), (), (), True, True, None, known)


FAILS = Check("fails", Failure("TraceError", "next", "other.py", 7, 3))
TRACES = Check("traces", equal_outputs=True)


class TestWhatComesBack:
    def outcome(self, path: str, suggestion: Suggestion, *traces: Trace) -> Suggestion:
        roots = tuple(f"Net{number}" for number in range(len(traces)))
        one = finding(path, 2, suggestion, roots=roots)
        known = dict(zip(one.modules, traces, strict=True))
        return checked(one, known).suggestions[0]

    def test_a_suggestion_is_as_good_as_on_the_root_where_it_went_best(self, path):
        one = replace(path, 2, "one")
        way = self.outcome(path, one, trace(one, FAILS), trace(one, TRACES))
        assert (way.checked, way.safe) == (TRACES, True)

    def test_outputs_that_differ_on_one_root_count_more_than_equal_ones_on_another(self, path):
        one = replace(path, 2, "one")
        differs = Check("traces", equal_outputs=False)
        assert self.outcome(path, one, trace(one, TRACES), trace(one, differs)).checked == differs

    @pytest.mark.parametrize("equal", [False, None])
    def test_nothing_is_safe_that_was_not_seen_to_give_the_same(self, path, equal):
        one = replace(path, 2, "one")
        assert not self.outcome(path, one, trace(one, Check("traces", equal_outputs=equal))).safe

    @pytest.mark.parametrize("alone", [FAILS, Check("not-run", reason="tracing fails before it comes here")])
    def test_where_it_fails_alone_the_others_may_complete_it(self, path, alone):
        one = replace(path, 2, "one")
        way = self.outcome(path, one, trace(one, alone, together=TRACES))
        assert way.checked.verdict == "traces"
        assert "together" in way.checked.reason

    def test_what_changes_a_line_that_tracing_does_not_reach_is_not_shown_to_be_safe_by_a_trace(self, path):
        one = replace(path, 2, "one")
        passed_by = dataclasses.replace(finding(path, 2, one), confirmation=Confirmation("unreached"))
        for known in (trace(one, TRACES), trace(one, FAILS, together=TRACES)):
            (way,) = checked(passed_by, dict.fromkeys(passed_by.modules, known)).suggestions
            told = Check("traces", equal_outputs=True, reason="but tracing did not reach this line")
            assert (way.checked, way.safe) == (told, False)

    def test_advice_is_not_run(self, path):
        way = self.outcome(path, Suggestion("rewrite", "words"), trace())
        assert (way.checked.verdict, way.checked.reason) == ("not-run", "it is advice")

    def test_without_an_instance_the_reason_is_that_of_the_root(self, path):
        known = Trace(Confirmed("not-run", "no instance"), (), (), (), False, False, None, {})
        way = self.outcome(path, replace(path, 2, "one"), known)
        assert (way.checked.verdict, way.checked.reason) == ("not-run", "no instance")

    @pytest.mark.parametrize(("met", "told"), [(1, 1), (8, 2), (9, 3), (14, 8)])
    def test_the_next_error_has_its_line_before_the_edits(self, path, met, told):
        edits = (
            Edit(Location(path, 2, 1, 2, 1), "import torch.fx\n" * 4),
            Edit(Location(path, 2, 5, 2, 18), "a = (\n1,\n)"),
        )
        error = Failure("TraceError", "next", path, met, 5)
        one = Suggestion("rewrite", "", edits)
        way = self.outcome(path, one, trace(one, Check("fails", error)))
        assert way.checked.error.line == told

    def test_a_failure_that_is_there_without_it_too_comes_first(self, path):
        one = replace(path, 2, "one")
        failed = Confirmed("fails", error=Failure("TraceError", "next", "other.py", 7, 9))
        before = Trace(failed, checks={try_id(one): FAILS})
        assert self.outcome(path, one, before).checked.reason == "another failure comes first"
        assert self.outcome(path, one, trace(one, FAILS)).checked.reason is None
