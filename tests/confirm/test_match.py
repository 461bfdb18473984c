"""Findings against events: pure functions."""

import pytest

from fxlint.confirm.kinds import Kind
from fxlint.confirm.match import AFTER, match, new_findings
from fxlint.confirm.traces import Ended, Met, Place, Trace
from fxlint.findings import Confirmed, Failure, Finding, Location, Root
from fxlint.rules import load_rules

ROOT = "net.py::Net"
FAILURE = Failure("TraceError", "no", "net.py", 5, 8)
FAILS = Confirmed("fails", None, "Net()", FAILURE)
TRACES = Confirmed("traces", None, "Net()")


def finding(event, line, column=8, end_column=20, *, path="net.py", modules=(ROOT,), end_line=None):
    return Finding(
        "FX101", "rule", "error", Location(path, line, column, end_line or line, end_column), "m", event, modules
    )


def met(family, line, column=8, end_column=20, **more):
    return Met(family, Place("net.py", line, column, more.pop("end_line", line), end_column), **more)


def trace(*events, confirmed=FAILS, executed=(), **more):
    return Trace(confirmed, tuple(events), tuple(executed), recorded=more.pop("recorded", True), **more)


def statuses(findings, traces):
    matched = match(findings, traces)
    return [one.confirmation.status for one in matched.findings]


def status(one, *events, **more):
    return statuses([one], {ROOT: trace(*events, **more)})[0]


def test_the_same_line_and_family():
    assert status(finding("bool.if", 5), met("bool", 5)) == "confirmed"


def test_another_line_says_nothing():
    assert status(finding("bool.if", 5), met("bool", 6)) == "unreached"


def test_another_file_says_nothing():
    assert status(finding("bool.if", 5, path="other.py"), met("bool", 5)) == "unreached"


def test_a_condition_whose_instruction_spans_its_whole_statement():
    assert status(finding("bool.if", 5), met("bool", 5, 5, 30, end_line=9)) == "confirmed"


def test_a_line_inside_an_expression_of_several_lines():
    assert status(finding("iter.star", 5, end_line=8), met("iter", 7)) == "confirmed"


def test_an_interpreter_without_columns():
    event = Met("bool", Place("net.py", 5))
    assert status(finding("bool.if", 5), event) == "confirmed"
    executed = [Place("net.py", 5)]
    assert statuses([finding("bool.if", 5)], {ROOT: trace(executed=executed)}) == ["refuted"]


def test_two_findings_of_a_line_are_told_apart_by_their_columns():
    first, second = finding("bool.and_or", 5, 8, 12), finding("bool.and_or", 5, 16, 20)
    assert statuses([first, second], {ROOT: trace(met("bool", 5, 8, 12))}) == ["confirmed", "unreached"]


def test_two_findings_of_a_line_are_told_apart_by_their_families():
    loop, number = finding("iter.comprehension", 5), finding("int.call", 5, 9, 15)
    assert statuses([loop, number], {ROOT: trace(met("iter", 5))}) == ["confirmed", "unreached"]


@pytest.mark.parametrize(
    ("event", "family"),
    [
        ("float.math", "call"),
        ("tensor.sizes", "index"),
        ("bool.in", "iter"),
        ("signature.variadic", "iter"),
        ("root.library", "bool"),
    ],
)
def test_families_that_stand_for_each_other(event, family):
    assert status(finding(event, 5), met(family, 5, answers=3)) == "confirmed"


def test_a_stock_failure_on_the_line_confirms_whatever_the_family():
    assert status(finding("format.spec", 5), Met(None, Place("net.py", 5, 8, 5, 20), error=FAILURE)) == "confirmed"


def test_a_later_event_of_a_strange_family_does_not():
    assert status(finding("format.spec", 5), met("setitem", 5, answers=2)) == "unreached"


def test_an_event_without_a_place_belongs_to_the_finding_of_its_family():
    assert status(finding("output.type", 5), Met("output", None)) == "confirmed"
    assert status(finding("root.library", 5), Met("bool", None)) == "confirmed"
    assert status(finding("bool.if", 5), Met("bool", None)) == "unreached"


def test_the_call_in_an_outer_frame():
    inner = Met("bool", Place("other.py", 1, 1, 1, 9), outer=(Place("net.py", 5, 8, 5, 20),))
    assert status(finding("root.library", 5), inner) == "confirmed"
    assert status(finding("bool.if", 5), inner) == "unreached"


def test_what_a_tensor_asks_of_its_data():
    """``torch.tensor(x)`` asks for the length of x."""
    assert status(finding("tensor.data", 5), met("len", 5, answers=1)) == "confirmed"


def test_a_variadic_parameter_is_met_under_the_name_of_its_use():
    findings = [finding("signature.variadic", 5), finding("iter.star", 5), finding("signature.variadic", 6)]
    assert statuses(findings, {ROOT: trace(met("iter", 5, answers=1))}) == ["confirmed", "confirmed", "unreached"]


class TestWithoutAnEvent:
    RAN = (Place("net.py", 5, 9, 5, 15),)

    def test_ran_and_nothing_happened(self):
        assert status(finding("bool.if", 5), executed=self.RAN) == "refuted"

    def test_only_something_else_on_the_line_ran(self):
        assert status(finding("bool.if", 5), executed=[Place("net.py", 5, 1, 5, 7)]) == "unreached"

    def test_the_whole_call_was_rejected_for_another_reason(self):
        other = Finding("FX120", "rule", "error", Location("net.py", 5, 8, 5, 20), "m", "len.call", (ROOT,))
        events = [met("len", 5, error=FAILURE)]
        assert statuses([finding("setitem.assign", 5), other], {ROOT: trace(*events, executed=self.RAN)}) == [
            "unreached",
            "confirmed",
        ]

    def test_the_recording_ended_there(self):
        ended = (Ended(Place("net.py", 5, 8, 5, 20), "ValueError", "odd"),)
        (judged,) = match([finding("bool.if", 5)], {ROOT: trace(executed=self.RAN, ended=ended)}).findings
        assert judged.confirmation.status == "unconfirmed"
        assert judged.confirmation.reason == "the recording ended on this line: ValueError: odd"

    @pytest.mark.parametrize(("ran", "expected"), [((), "unreached"), ((Place("net.py", 5, 8, 5, 20),), "refuted")])
    def test_the_recording_ended_in_what_it_calls_before_it_runs_itself(self, ran, expected):
        """``range(count(x))``, where ``count`` raises."""
        part = Place("net.py", 5, 10, 5, 15)
        ended = (Ended(Place("net.py", 20, 8, 20, 20), "ValueError", "odd", (part,)),)
        found = trace(executed=(part, *ran), ended=ended)
        judged = match([finding("index.range", 5)], {ROOT: found}, lambda location, place: place in ran).findings[0]
        assert judged.confirmation.status == expected

    def test_the_recording_did_not_finish(self):
        unfinished = trace(executed=self.RAN, recorded=False, unfinished="recording it crashed with SIGSEGV")
        (judged,) = match([finding("bool.if", 5)], {ROOT: unfinished}).findings
        assert judged.confirmation.reason == "the recording did not finish: recording it crashed with SIGSEGV"

    def test_the_recording_met_its_bounds(self):
        (judged,) = match([finding("bool.if", 5)], {ROOT: trace(complete=False)}).findings
        assert judged.confirmation.status == "unreached"
        assert "bounds" in judged.confirmation.reason

    def test_the_recording_met_its_bounds_after_it_ran(self):
        (judged,) = match([finding("bool.if", 5)], {ROOT: trace(executed=self.RAN, complete=False)}).findings
        assert judged.confirmation.status == "unreached"
        assert "bounds" in judged.confirmation.reason

    def test_no_instance(self):
        nothing = Trace(Confirmed("not-run", "its constructor needs width"))
        (judged,) = match([finding("bool.if", 5)], {ROOT: nothing}).findings
        assert (judged.confirmation.status, judged.confirmation.reason) == (
            "unconfirmed",
            "its constructor needs width",
        )

    def test_a_family_that_the_tracer_cannot_see(self):
        (judged,) = match([finding("graph.stale", 5)], {ROOT: trace(executed=self.RAN)}).findings
        assert judged.confirmation.status == "unconfirmed"

    def test_no_module_at_all(self):
        assert statuses([finding("bool.if", 5, modules=())], {}) == ["unconfirmed"]


class TestWhatTracesAndIsWrong:
    RAN = (Place("net.py", 5, 8, 5, 20),)

    def test_it_is_confirmed_where_it_runs_while_tracing(self):
        assert status(finding("silent.none", 5), confirmed=TRACES, executed=self.RAN) == "confirmed"

    def test_it_is_unreached_where_tracing_goes_another_way(self):
        assert status(finding("silent.none", 6), confirmed=TRACES, executed=self.RAN) == "unreached"

    def test_what_no_graph_of_the_class_has_is_confirmed_by_the_graph(self):
        assert status(finding("silent.method", 9), confirmed=TRACES) == "confirmed"
        assert status(finding("silent.method", 9), confirmed=FAILS) != "confirmed"

    def test_a_failure_there_proves_the_error_and_not_the_warning(self):
        found = [finding("silent.none", 5), finding("bool.if", 5)]
        assert statuses(found, {ROOT: trace(met("bool", 5))}) == ["unreached", "confirmed"]

    def test_it_does_not_hide_a_failure_that_nobody_predicted(self):
        traces = {ROOT: trace(met("bool", 5))}
        matched = match([finding("silent.none", 5)], traces)
        roots = {ROOT: Root("net.py", "Net", 1, "class")}
        kind = Kind("bool.if", "x", "x", Location("net.py", 5, 8, 5, 20))
        added = new_findings(matched.unpredicted, matched.findings, traces, roots, load_rules(), lambda *_: kind)
        assert [one.code for one in added] == ["FX101"]


class TestSeveralModules:
    OTHER = "net.py::Other"

    def statuses(self, first, second):
        return statuses([finding("bool.if", 5, modules=(ROOT, self.OTHER))], {ROOT: first, self.OTHER: second})

    def test_one_that_met_it_confirms(self):
        quiet = trace(confirmed=TRACES, executed=TestWithoutAnEvent.RAN)
        assert self.statuses(quiet, trace(met("bool", 5))) == ["confirmed"]

    def test_one_that_ran_it_refutes(self):
        quiet = trace(confirmed=TRACES, executed=TestWithoutAnEvent.RAN)
        assert self.statuses(Trace(Confirmed("not-run", "why")), quiet) == ["refuted"]

    def test_one_that_was_traced_leaves_it_unreached(self):
        assert self.statuses(Trace(Confirmed("not-run", "why")), trace(confirmed=TRACES)) == ["unreached"]

    def test_the_module_that_says_so_is_named_where_others_do_not(self):
        quiet = trace(confirmed=TRACES, executed=TestWithoutAnEvent.RAN)
        unknown = Trace(Confirmed("not-run", "why"))
        assert self.reason(quiet, trace(met("bool", 5))) == "in Other of 2 modules"
        assert self.reason(unknown, quiet) == "in Other of 2 modules: it ran while tracing, and nothing happened"
        assert self.reason(trace(confirmed=TRACES), unknown) == "in Net of 2 modules: tracing never comes here"
        assert self.reason(trace(met("bool", 5)), trace(met("bool", 5))) is None

    def reason(self, first, second):
        one = finding("bool.if", 5, modules=(ROOT, self.OTHER))
        (judged,) = match([one], {ROOT: first, self.OTHER: second}).findings
        return judged.confirmation.reason


class TestTheErrorShown:
    def error(self, *events):
        (judged,) = match([finding("bool.if", 5)], {ROOT: trace(*events)}).findings
        return judged.confirmation

    def test_the_first_failure_is_the_stock_tracers(self):
        assert self.error(met("bool", 5)).error == FAILURE

    def test_a_later_one_is_its_own(self):
        later = Failure("TypeError", "int() ...", "net.py", 5, 8)
        confirmation = self.error(met("bool", 5, answers=1, error=later))
        assert (confirmation.error, confirmation.reason) == (later, AFTER)

    def test_one_at_another_place_is_not_quoted(self):
        """Of two instances the one fails elsewhere first."""
        elsewhere = Confirmed("fails", None, "Net()", Failure("TraceError", "no", "net.py", 3, 8))
        own = Failure("TypeError", "int() ...", "net.py", 5, 8)
        (judged,) = match(
            [finding("bool.if", 5)], {ROOT: trace(met("bool", 5, error=own), confirmed=elsewhere)}
        ).findings
        assert judged.confirmation.error == own

    def test_one_that_the_code_catches(self):
        caught = Failure("TypeError", "int() ...", "net.py", 5, 8)
        confirmation = self.error(met("bool", 5, error=caught, caught=True))
        assert confirmation.error == caught
        assert "catches the exception" in confirmation.reason


def test_an_event_that_no_finding_predicts_is_handed_back():
    event = met("bool", 6)
    assert match([finding("bool.if", 5)], {ROOT: trace(event)}).unpredicted == ((ROOT, event),)


def test_what_is_predicted_for_another_module_is_no_second_finding():
    other = "net.py::Other"
    matched = match([finding("bool.if", 5)], {ROOT: trace(met("bool", 5)), other: trace(met("bool", 5))})
    assert [one.modules for one in matched.findings] == [(ROOT, other)]
    assert matched.unpredicted == ()


def test_a_star_on_traced_arguments_proves_what_is_said_of_the_star_and_of_the_call():
    star = finding("iter.star", 5, 14, 20)
    call = finding("signature.variadic", 5, 5, 20)
    assert statuses([star, call], {ROOT: trace(met("iter", 5, 5, 20))}) == ["confirmed", "confirmed"]


def test_what_a_stand_in_may_be_to_blame_for_proves_what_was_predicted_and_nothing_new():
    event = met("len", 5, answers=2, collateral=True)
    assert status(finding("len.call", 5), event) == "confirmed"
    (unpredicted,) = match([], {ROOT: trace(event)}).unpredicted
    assert new_findings([unpredicted], [], {ROOT: trace(event)}, {}, load_rules(), lambda *_: None) == ()


class TestWhatFailsInTorchItself:
    """The stock tracer stops with nobody's code on the stack but torch's."""

    STOPPED = Met(None, None, error=Failure("RuntimeError", "Code has not been generated!"))
    HEAD = Kind("root.torch", "class Net", "class Net", Location("net.py", 1, 1, 1, 10))

    def added(self, *findings, stopped=STOPPED):
        traces = {ROOT: trace(stopped, confirmed=Confirmed("fails", None, "Net()", stopped.error))}
        matched = match(findings, traces)
        roots = {ROOT: Root("net.py", "Net", 1, "class")}
        return new_findings(matched.unpredicted, matched.findings, traces, roots, load_rules(), lambda *_: self.HEAD)

    def test_it_is_a_finding_of_its_own_when_nobody_predicted_it(self):
        (one,) = self.added()
        assert (one.code, one.severity, one.modules, one.confirmation.status) == (
            "FX176",
            "error",
            (ROOT,),
            "confirmed",
        )
        assert one.confirmation.error == self.STOPPED.error

    def test_a_warning_of_the_module_does_not_explain_it(self):
        assert [one.code for one in self.added(finding("silent.training", 5))] == ["FX176"]

    def test_what_was_predicted_is_not_said_twice(self):
        assert self.added(finding("root.torch", 5)) == ()

    def test_what_fails_at_a_line_may_be_the_fault_of_the_instance(self):
        at_a_line = Met(None, None, error=Failure("TypeError", "", "lib.py", 3))
        assert self.added(stopped=at_a_line) == ()
