"""The format that people read."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

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
    Report,
    Root,
    Step,
    Suggestion,
)
from fxlint.report import Options
from fxlint.report.full import render
from fxlint.report.sources import Sources
from fxlint.rules import load_rules

RULES = load_rules()


def test_the_whole_page(report, options, golden):
    golden("full.txt", render(report, options))


def test_with_graphs_every_module_and_every_tried_suggestion_shows_its_own(report, options, golden):
    golden("full_graph.txt", render(report, replace(options, show_graph=True)))


def test_in_colour(report, options, golden):
    golden("full_color.txt", render(report, replace(options, color=True)))


def test_colour_changes_nothing_but_colour(report, options):
    colored = render(report, replace(options, color=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render(report, options)


@pytest.mark.parametrize("variable", ["NO_COLOR", "FORCE_COLOR"])
def test_the_environment_does_not_decide_on_colour_here(report, options, monkeypatch, variable):
    expected = [render(report, replace(options, color=color)) for color in (True, False)]
    monkeypatch.setenv(variable, "1")
    assert [render(report, replace(options, color=color)) for color in (True, False)] == expected


def test_nothing_found_is_an_empty_page(empty, options):
    assert render(empty, options) == ""


def test_paragraphs_fit_a_narrow_terminal(report, options):
    page = render(report, replace(options, width=50))
    prose = [row for row in page.splitlines() if row.startswith("  ") and " | " not in row]
    assert max(map(len, prose)) <= 50


def test_the_why_of_a_rule_stands_at_its_first_finding_only(report, options):
    twice = replace(report, findings=(report.findings[0], report.findings[0]))
    assert render(twice, options).count("The first paragraph of branch goes on.") == 1


def finding(line: int, column: int, end_line: int, end_column: int, message: str = "m") -> Finding:
    return Finding("FX101", "branch", "error", Location("a.py", line, column, end_line, end_column), message, "bool.if")


def frame(options, source: str, *span: int) -> list[str]:
    (options.base / "a.py").write_text(source, encoding="utf-8", newline="")
    page = render(Report(1, (), (finding(*span),)), options)
    return [row.partition(" | ")[2] for row in page.splitlines() if " | " in row]


def test_carets_stand_under_the_span(options):
    assert frame(options, "a\nif x > 0: y\n", 2, 4, 2, 9) == ["a", "if x > 0: y", "   ^^^^^"]


def test_carets_count_wide_characters_and_tabs(options):
    assert frame(options, "\t'数'; len(x)\n", 1, 7, 1, 13) == ["    '数'; len(x)", "          ^^^^^^"]


def test_a_span_of_several_lines_is_marked_line_by_line(options):
    assert frame(options, "y = f(\n    x,\n)\n", 1, 5, 3, 2) == ["y = f(", "    ^^", "    x,", "    ^^", ")", "^"]


def test_a_long_span_is_cut(options):
    rows = frame(options, "f(\n" + "    x,\n" * 9 + ")\n", 1, 1, 11, 2)
    assert rows == ["f(", "^^", "    x,", "    ^^", "    x,", "    ^^", "    x,", "    ^^", "..."]


def test_an_empty_line_is_no_context(options):
    assert frame(options, "\nlen(x)\n", 2, 1, 2, 7) == ["len(x)", "^^^^^^"]


def test_form_feeds_and_odd_line_separators_do_not_shift_the_lines(options):
    assert frame(options, "'\x0c\u2028'\r\nlen(x)\r\n", 2, 1, 2, 7) == ["'\\x0c\\u2028'", "len(x)", "^^^^^^"]


def test_without_the_file_there_is_no_frame(options):
    assert frame(options, "", 7, 1, 7, 3) == []
    (options.base / "a.py").unlink()
    assert "a.py:7:1: error FX101 m\n" in render(Report(1, (), (finding(7, 1, 7, 3),)), options)


def test_neither_source_nor_messages_can_drive_the_terminal(options):
    evil = replace(
        finding(1, 1, 1, 2, "\x1b]0;title\x07"), confirmation=Confirmation("confirmed", error=Failure("E", "\x1b[2J"))
    )
    (options.base / "a.py").write_text("'\x1b[2J[bold]'\n")
    page = render(Report(1, (), (evil,)), options)
    assert "\x1b" not in page
    assert "[bold]" in page


def module(confirmed: Confirmed) -> ModuleReport:
    return ModuleReport(Root("a.py", "Net", 3, "class"), Predicted("traces"), confirmed)


def test_a_module_that_fails_without_a_finding_is_shown(options):
    failing = module(Confirmed("fails", instance="Net()", error=Failure("KeyError", "0", "a.py", 5)))
    assert render(Report(1, (failing,), ()), options) == "a.py:3: Net fails with Net(): KeyError: 0 (a.py:5)\n\n"


def test_a_module_that_a_finding_explains_is_not_shown_again(options):
    failing = module(Confirmed("fails", error=Failure("KeyError", "0")))
    explained = replace(finding(1, 1, 1, 2), modules=("a.py::Net",))
    assert "a.py:3: Net" not in render(Report(1, (failing,), (explained,)), options)


def test_a_module_that_depends_is_told_with_what_it_depends_on(options):
    some = replace(module(Confirmed("traces")), predicted=Predicted("depends", depends_on=("self.pool", "n > 2")))
    assert render(Report(1, (some,), ()), options) == "a.py:3: Net depends on `self.pool`, `n > 2`\n"
    decided = replace(some, predicted=replace(some.predicted, verdict="traces"))
    assert render(Report(1, (decided,), ()), options) == ""


@pytest.mark.parametrize(
    "other",
    [{"severity": "warning"}, {"confirmation": Confirmation("refuted", "nothing happened")}],
    ids=["warning", "refuted"],
)
def test_what_says_nothing_of_a_failure_does_not_explain_it(options, other):
    failing = module(Confirmed("fails", instance="Net()", error=Failure("KeyError", "0")))
    beside = replace(finding(1, 1, 1, 2), modules=("a.py::Net",), **other)
    assert "a.py:3: Net fails with Net(): KeyError: 0\n" in render(Report(1, (failing,), (beside,)), options)


def test_a_status_is_told_once(options):
    def said(status, reason):
        one = replace(finding(1, 1, 1, 2), confirmation=Confirmation(status, reason))
        page = render(Report(1, (), (one,)), options)
        return next(row.partition("tracer:  ")[2] for row in page.splitlines() if "tracer:" in row)

    ran = "it ran while tracing, and nothing happened"
    assert said("refuted", ran) == f"refuted: {ran}"
    assert said("unreached", "tracing never comes here") == "unreached: tracing never comes here"
    assert said("confirmed", "in Net of 2 modules") == "confirmed, the tracer met it here, in Net of 2 modules"


class TestSuggestions:
    """What was tried and does not trace is not shown as a fix."""

    AT = Location("a.py", 3, 5, 3, 11)

    def page(self, options, *suggestions: Suggestion) -> str:
        one = Finding("FX101", "branch", "error", self.AT, "m", "bool.if", suggestions=suggestions)
        return render(Report(1, (), (one,)), options)

    def tried(self, text: str, verdict: str, line: int | None = None, **more) -> Suggestion:
        error = None if line is None else Failure("TraceError", "again", "a.py", line, 1)
        return Suggestion("rewrite", text, (Edit(self.AT, "new"),), checked=Check(verdict, error=error, **more))

    def test_what_fails_at_the_same_place_is_left_out(self, options):
        assert "write it anew" not in self.page(options, self.tried("write it anew", "fails", 3))

    def test_what_gets_past_the_place_and_then_fails_is_told_with_the_next_error(self, options):
        page = self.page(options, self.tried("write it anew", "fails", 9))
        assert page.endswith(
            "  partly:  write it anew\n"
            "           a.py: replace a part of line 3 by\n"
            "               new\n"
            "           tried: this place is passed; the next failure is TraceError: again (a.py:9:1)\n\n"
        )
        assert "help:" not in page

    def test_what_another_failure_hides_is_not_told_as_a_failure_of_its_own(self, options):
        check = Check("fails", Failure("TraceError", "again", "a.py", 1, 1), reason="another failure comes first")
        page = self.page(options, replace(self.tried("write it anew", "fails"), checked=check))
        assert "tried: another failure comes first: TraceError: again (a.py:1:1)" in page

    def test_where_something_traces_nothing_else_is_shown(self, options):
        one, two = self.tried("way one", "fails", 9), self.tried("way two", "traces", reason="with others")
        page = self.page(options, one, two)
        assert "way one" not in page
        assert "tried: traces, with others" in page

    def test_what_gives_other_outputs_is_no_help_and_no_reason_to_leave_out_the_others(self, options):
        differs, advice = self.tried("way one", "traces", equal_outputs=False), Suggestion("rewrite", "think again")
        page = self.page(options, differs, advice)
        assert "  partly:  way one\n" in page
        assert page.endswith("           tried: traces, but the outputs differ\n  help:    think again\n\n")

    def test_advice_is_not_said_to_be_untried(self, options):
        advice = Suggestion("rewrite", "think again", checked=Check("not-run", reason="it is advice"))
        page = self.page(options, advice)
        assert "think again" in page
        assert "not tried" not in page

    def test_without_confirm_every_suggestion_stands(self, options):
        page = self.page(options, *(Suggestion("rewrite", text) for text in ("one way", "another way")))
        assert page.count("help:") == 2


def chain(report: Report, *texts: str) -> str:
    """What is told of a chain with these steps, on the lines 1, 2, ..."""
    steps = tuple(Step(Location("pkg/model.py", n, 1, n, 2), text) for n, text in enumerate(texts, 1))
    options = Options(RULES, Sources(), base=Path())
    told = render(replace(report, findings=(replace(report.findings[0], provenance=steps),)), options)
    return " ".join(told.partition("from:")[2].partition("tracing:")[0].split())


def test_a_chain_tells_words_as_words_and_leaves_out_what_is_only_looked_up(report):
    assert chain(report, "x (input)", "x.sum", "x.sum()", "x.sum() > 0", "called at f(x)") == (
        "`x` (input, line 1) -> `x.sum()` (line 3) -> `x.sum() > 0` (line 4) -> called at `f(x)` (line 5)"
    )


def test_one_step_of_a_long_chain_is_told_rather_than_counted(report):
    assert "more" not in chain(report, *(f"s{number}" for number in range(9)))


def test_a_long_chain_and_many_conditions_are_told_in_part(options):
    place = Location("pkg/model.py", 6, 12, 6, 23)
    steps = tuple(Step(replace(place, line=number), f"s{number}") for number in range(1, 21))
    conditions = tuple(f"c{number}" for number in range(1, 9))
    long = Finding("FX101", "r", "error", place, "m", "bool.if", ("a::N",), "conditional", conditions, steps)
    long = replace(long, more_conditions=4)
    text = " ".join(render(Report(1, (), (long,)), options).split())
    assert "`s3` (line 3) -> 12 more -> `s16` (line 16)" in text
    assert "only if: `c6`, `c7`, `c8` and 9 more" in text


def test_conditions_that_nobody_knows_are_not_told(options):
    place = Location("pkg/model.py", 6, 12, 6, 23)
    met = Finding("FX101", "r", "error", place, "m", "bool.if", ("a::N",), "conditional")
    assert "only if" not in render(Report(1, (), (met,)), options)
