"""How it is known that a graph is not the model."""

from dataclasses import replace

import pytest

from fxlint.confirm.match import match
from fxlint.confirm.silence import told
from fxlint.confirm.traces import Place, Trace
from fxlint.findings import Comparison, Confirmed, Difference, Finding, Location

ROOT = "net.py::Net"
OTHER = "net.py::Other"
PLACE = Place("net.py", 5, 8, 5, 20)
OUTPUTS = Difference("outputs", "train", 0)
STATE = Difference("state", None, None, "steps")


def finding(event="silent.none", modules=(ROOT,)):
    return Finding("FX201", "rule", "warning", Location("net.py", 5, 8, 5, 20), "m", event, modules)


def trace(comparison=None, modes=(), verdict="traces", executed=(PLACE,)):
    return Trace(
        Confirmed(verdict, None, "Net()"), executed=executed, recorded=True, comparison=comparison, modes=modes
    )


def compared(*differences, inputs=("(2, 3)", "(3, 3)"), reason=None):
    return trace(Comparison(inputs, differences, reason))


def confirmation(one, *traces):
    return match([one], dict(zip((ROOT, OTHER), traces, strict=False))).findings[0].confirmation


def test_outputs_that_differ_are_the_proof_and_are_told_with_the_inputs():
    found = confirmation(finding(), compared(OUTPUTS))
    assert (found.status, found.proof) == ("confirmed", "comparison")
    assert found.reason == (
        "side by side, on (2, 3) and (3, 3), its graph does not do the same: outputs differ in train mode"
    )
    assert found.comparison == Comparison(("(2, 3)", "(3, 3)"), (OUTPUTS,))


def test_where_nothing_differs_what_ran_while_tracing_is_the_proof():
    found = confirmation(finding(), compared())
    assert (found.status, found.proof) == ("confirmed", "event")
    assert found.reason == (
        "it ran while tracing; side by side, on (2, 3) and (3, 3), the graph does the same, "
        "which says nothing of other inputs or another state"
    )


def test_why_they_were_not_run():
    found = confirmation(finding(), compared(inputs=(), reason="no inputs were found that it takes"))
    assert found.proof == "event"
    assert found.reason == "it ran while tracing; not run side by side: no inputs were found that it takes"


@pytest.mark.parametrize(("event", "proof"), [("silent.state", "comparison"), ("silent.none", "event")])
def test_a_difference_in_the_state_shows_only_what_is_about_the_state(event, proof):
    assert confirmation(finding(event), compared(STATE)).proof == proof


def test_several_warnings_of_one_module_share_the_blame():
    findings = [finding(), finding("silent.random")]
    judged = match(findings, {ROOT: compared(OUTPUTS)}).findings
    assert all("for this or another of 2 warnings: outputs" in (one.confirmation.reason or "") for one in judged)


def test_what_the_module_did_not_come_to_is_not_to_blame():
    elsewhere = replace(finding("silent.random"), location=Location("net.py", 9, 8, 9, 20))
    judged = match([finding(), elsewhere], {ROOT: compared(OUTPUTS)}).findings
    assert "for this or another" not in (judged[0].confirmation.reason or "")


def test_nor_is_the_training_flag_for_each_mode_has_its_own_graph():
    judged = match([finding(), finding("silent.training")], {ROOT: compared(OUTPUTS)}).findings
    assert "for this or another" not in (judged[0].confirmation.reason or "")


def test_of_several_modules_the_one_that_was_run_is_told_even_where_nothing_differs():
    found = confirmation(finding(modules=(ROOT, OTHER)), trace(), compared())
    assert (found.reason or "").startswith("in Other of 2 modules: it ran while tracing; side by side")


def test_of_several_modules_the_one_that_shows_it_is_told():
    found = confirmation(finding(modules=(ROOT, OTHER)), compared(), compared(OUTPUTS))
    assert found.proof == "comparison"
    assert (found.reason or "").startswith("in Other of 2 modules: side by side")


def test_what_was_never_reached_is_not_proved_by_a_difference():
    assert confirmation(finding(), trace(compared(OUTPUTS).comparison, executed=())).status == "unreached"


def test_the_training_flag_is_refuted_where_the_graphs_of_both_modes_are_equal():
    found = confirmation(finding("silent.training"), trace(modes=(None,)))
    assert (found.status, found.proof) == ("refuted", "graphs")


@pytest.mark.parametrize("modes", [("`a` in train mode, `b` in eval mode",), (None, "`a` …")])
def test_the_training_flag_is_confirmed_where_they_differ_for_one_instance(modes):
    found = confirmation(finding("silent.training"), trace(modes=modes))
    assert (found.status, found.proof) == ("confirmed", "graphs")
    assert "the graphs differ: `a`" in (found.reason or "")


def test_one_module_in_which_the_modes_differ_is_enough():
    one = finding("silent.training", (ROOT, OTHER))
    assert confirmation(one, trace(modes=(None,)), trace(modes=("`a` …",))).status == "confirmed"
    assert confirmation(one, trace(modes=(None,)), trace(modes=(None,))).status == "refuted"


def test_where_the_training_flag_is_read_twice_either_may_make_the_difference():
    ran = (PLACE, Place("net.py", 7, 8, 7, 20))
    both = [replace(finding("silent.training"), location=Location("net.py", line, 8, line, 20)) for line in (5, 7)]
    other = finding("silent.none")
    judged = match([*both, other], {ROOT: replace(trace(modes=("`a` …",)), executed=ran)}).findings
    assert [one.confirmation.reason for one in judged[:2]] == [
        "traced in train and in eval mode the graphs differ, for this or another of 2 warnings: `a` …"
    ] * 2


def test_differences_are_put_together():
    both = [Difference("outputs", mode, number) for mode in ("train", "eval") for number in (0, 1)]
    raised = Difference("error", "eval", 0, "TypeError: no")
    state = [STATE, Difference("state", "train", 0, "steps")]
    assert told([*both, raised, *state]) == (
        "outputs differ in train and eval mode; TypeError: no in eval mode; "
        "state (steps) differs in train mode and after tracing"
    )
