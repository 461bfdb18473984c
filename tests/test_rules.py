"""The rules: strictly read, complete, and every example does what its page says, for the tracer and for fxlint."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import truth

from fxlint.config import Config
from fxlint.confirm import confirm
from fxlint.confirm.settings import ConfirmSettings
from fxlint.findings import Finding, ModuleReport, Prediction
from fxlint.fix import with_suggestions
from fxlint.predict import predict
from fxlint.rules import MAIN, Example, Rule, RuleError, RuleSet, load_rules, read_rule
from fxlint.selection import selection
from fxlint.suppression import silenced
from fxlint.transforms import lint_transforms

RULES = load_rules()

VOCABULARY = {
    "suppression": "unused",
    "silent": "none isinstance hasattr identity swallowed random constant training state attribute setattr append "
    "unused context decorator manager gradient checkpoint text copy key device switch method hook buffer computed "
    "alias guard",
    "bool": "if while ternary match assert not and_or compare in flag minmax call param_shape",
    "iter": "for comprehension call star unpack in",
    "kwargs": "unpack",
    "len": "call",
    "index": "range subscript slice call",
    "int": "call",
    "float": "call math",
    "complex": "call",
    "round": "call",
    "math": "recorded",
    "format": "spec",
    "setitem": "assign augmented delete",
    "tensor": "sizes data constant",
    "call": "numpy foreign higher_order unbound_method torch",
    "key": "lookup",
    "output": "type generator",
    "signature": "variadic decorated",
    "root": "library torch uninitialised",
    "module": "unregistered",
    "raise": "reached attribute type name",
    "context": "proxy",
    "wrap": "misuse",
    "graph": "stale order end endless erase self copy set_order",
    "node": "target kind op args users values meta",
    "graphmodule": "dotted get_attr missing forward equals",
    "interpreter": "result signature arity",
    "tracer": "leaf",
    "pattern": "signature unused spelling number mutates output inputs same_input trace handler check",
}


@dataclass(frozen=True)
class Case:
    """An example and the name of the file that holds it in the directory of all examples."""

    rule: Rule
    example: Example
    file: str

    @property
    def marks(self) -> list[tuple[str, int, str]]:
        """(file, line, event) of every marked line."""
        return [(self.file if mark.file == MAIN else mark.file, mark.line, mark.event) for mark in self.example.marks]

    @property
    def fails(self) -> bool:
        return any(self.rule.severity_of(event) == "error" for _, _, event in self.marks)

    @property
    def root(self) -> str:
        """The class or function that the instance is made from."""
        return re.split(r"\W", self.example.instance)[0]


def cases(kind: str, *, traced: bool = True) -> list[Case]:
    """The examples that are traced, or those that run as they are."""
    return [
        Case(rule, example, f"{rule.code.lower()}_{kind}_{example.name}.py")
        for rule in RULES
        for example in (rule.bad if kind == "bad" else rule.good)
        if (example.run is None) is traced
    ]


BAD, GOOD = cases("bad"), cases("good")
RUN_BAD, RUN_GOOD = cases("bad", traced=False), cases("good", traced=False)
ONLY_ADVICE = {
    "loop_over_rows", "loop_over_time_steps", "layer_by_size", "options_as_keywords", "object_of_own_class",
    "traced_key_in_dictionary", "loop_over_arguments", "keywords_passed_on", "wraps_around_keywords",
    "field_called_keys", "device_of_input", "result_of_wrapped_function", "wrapped_method",
    "name_bound_for_tensors", "constructor_without_super", "subclass_without_super",
    "parameter_called_code", "buffer_called_meta", "layer_called_graph",
}  # fmt: skip
"""Bad examples for which nobody can write the way out without knowing what the code is for."""
ANOTHER_TYPE = {"set_of_tensors", "generator"}
"""Bad examples whose output has to become another type before a graph can hold it."""

PROVED_OTHERWISE = {
    "functional_dropout": "graphs", "subclass_of_a_layer": "graphs", "auxiliary_result": "graphs",
    "generation": "graphs", "output_doubled": "graphs", "prediction_by_forward": "graphs",
    "checkpointed_block": "event", "checkpointed_layers": "event", "generator_of_the_module": "event",
    "switched_by_a_method": "event", "label_of_a_result": "event", "printed": "event", "name_from_a_size": "event",
    "input_follows_the_model": "event", "skip_connection": "event", "manager_that_is_an_object": "event",
    "weight_normalised_by_a_hook": "graphs",
}  # fmt: skip
"""Bad examples of graphs that differ in what no call with example inputs shows: how it is known."""

each_bad = pytest.mark.parametrize("case", BAD, ids=lambda case: case.file[:-3])
each_good = pytest.mark.parametrize("case", GOOD, ids=lambda case: case.file[:-3])
each_run_bad = pytest.mark.parametrize("case", RUN_BAD, ids=lambda case: case.file[:-3])
each_run_good = pytest.mark.parametrize("case", RUN_GOOD, ids=lambda case: case.file[:-3])
each_rule = pytest.mark.parametrize("rule", list(RULES), ids=lambda rule: rule.code)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All examples as files of one directory."""
    place = tmp_path_factory.mktemp("examples")
    for case in BAD + GOOD:
        for name, text in ((case.file, case.example.code), *case.example.files):
            (place / name).write_text(text, encoding="utf-8")
    return place


class TestPages:
    def test_every_event_of_the_vocabulary_belongs_to_a_rule_and_no_other_event_does(self):
        vocabulary = [f"{family}.{kind}" for family, kinds in VOCABULARY.items() for kind in kinds.split()]
        assert sorted(event for rule in RULES for event in rule.events) == sorted(vocabulary)

    def test_rules_are_found_by_code_and_by_event_and_come_in_the_order_of_their_codes(self):
        assert [rule.code for rule in RULES] == sorted(rule.code for rule in RULES)
        assert RULES.by_code("FX101") is RULES.for_event("bool.if")

    def test_no_two_rules_share_a_message_or_a_summary(self):
        assert len({rule.message for rule in RULES}) == len(RULES)
        assert len({rule.summary for rule in RULES}) == len(RULES)

    @each_rule
    def test_summary_and_message_are_one_line_without_a_final_period(self, rule: Rule):
        for line in (rule.summary, rule.message):
            assert "\n" not in line
            assert not line.endswith(".")
            assert len(line) <= 120

    @each_rule
    def test_all_rules_speak_with_one_voice(self, rule: Rule):
        assert not re.search(r"values? that (is|are) traced", rule.summary), "that is a traced value"
        assert rule.fix[0].isupper(), "what to do begins with what to do: a verb, or the case that it is for"
        assert rule.message[0] == "`" or rule.message[0].islower(), "a message goes on after the place and the code"

    @each_rule
    def test_prose_is_made_of_whole_sentences(self, rule: Rule):
        for text in (rule.why, rule.tracer, rule.fix):
            assert text.endswith(".")
            assert len(text.split()) >= 15

    @each_rule
    def test_what_the_tracer_does_names_the_exception_or_says_that_there_is_none(self, rule: Rule):
        assert re.search(r"\b\w+(Error|Exception)\b" if rule.severity == "error" else r"Error\b|exception", rule.tracer)

    @each_rule
    def test_every_event_is_shown_by_a_bad_example(self, rule: Rule):
        assert {mark.event for example in rule.bad for mark in example.marks} == set(rule.events)

    @each_rule
    def test_torch_cond_is_never_suggested(self, rule: Rule):
        shown = [text for example in rule.good for text in (example.code, *(code for _, code in example.files))]
        assert not any("torch.cond" in text for text in (rule.why, rule.fix, *shown))

    def test_examples_can_lie_in_one_directory(self):
        every = [*BAD, *GOOD, *RUN_BAD, *RUN_GOOD]
        beside = [name for case in every for name, _ in case.example.files]
        assert len(set(beside)) == len(beside)
        assert len({case.file for case in every}) == len(every)


PAGE = '''
code = "FX901"
name = "some-rule"
severity = "error"
events = ["bool.some"]
summary = "A summary"
message = "`{text}` is wrong"
why = "Why."
tracer = "What."
fix = "How."

[[bad]]
name = "wrong"
code = """
x = 1  # <- FX901 bool.some
"""
instance = "x"
inputs = "()"

[[good]]
name = "right"
code = "x = 2"
instance = "x"
inputs = "()"
'''


class TestStrictReading:
    def page(self, place: Path, text: str, name: str = "FX901-some-rule.toml") -> Path:
        path = place / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_a_page_is_read_with_the_lines_of_its_marks(self, tmp_path: Path):
        assert [mark.line for mark in read_rule(self.page(tmp_path, PAGE)).bad[0].marks] == [1]

    def test_a_rule_is_on_by_default_unless_its_page_says_otherwise(self, tmp_path: Path):
        assert read_rule(self.page(tmp_path, PAGE)).default
        assert not read_rule(self.page(tmp_path, PAGE.replace("severity =", "default = false\nseverity ="))).default

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ('severity = "error"', 'severity = "fatal"', "severity: 'fatal' is none of error, warning, info"),
            ('severity = "error"', "", "severity: is missing"),
            ('severity = "error"', 'severity = "error"\nwhys = "x"', ":5: whys: is not a key here; did you mean 'why'"),
            ('why = "Why."', 'why = " "', "why: is empty"),
            ('why = "Why."', 'why = "Why."\ndefault = "no"', "default: must be true or false"),
            ('code = "FX901"', 'code = "F901"', "code: 'F901' does not have the form"),
            ('name = "some-rule"', 'name = "other-rule"', "must be named FX901-other-rule.toml"),
            ("{text}", "{source}", "message: has no field {source}"),
            ("{text}", "{text", "message: is not a format string"),
            ('["bool.some"]', "[]", "events: must be at least one"),
            ('["bool.some"]', '["bool.some", "bool.some"]', "events: names an event twice"),
            ('["bool.some"]', '["bool.other"]', "bad[1].code: line 1 of example.py: bool.some is no event of FX901"),
            ("  # <- FX901 bool.some", "", ":14: bad[1].code: has no line marked"),
            ("<- FX901 bool.some", "<- FX902 bool.some", "bad[1].code: line 1 of example.py: a mark must read"),
            ("<- FX901 bool.some", "<- FX901", "bad[1].code: line 1 of example.py: a mark must read"),
            ('code = "x = 2"', 'code = "x = 2  # <- FX901 bool.some"', "good[1].code: is a good example"),
            ('name = "right"', 'name = "wrong"', "name: two examples are called 'wrong'"),
            ('name = "wrong"', 'name = "wrong"\nframe = "top"', "bad[1].frame: 'top' is none of user, none"),
            ('name = "right"', 'name = "right"\nframe = "none"', "good[1].frame: is not a key here"),
            ('name = "wrong"', 'name = "wrong"\ninstances = "x"', "bad[1].instances: is not a key here"),
            ('fix = "How."', 'fix = 3', "fix: must be a string"),
            ('fix = "How."', 'fix = "How."\nseverity_by_event = {"bool.x" = "info"}', "severity_by_event.bool.x: is"),
            ('instance = "x"', 'run = "assert x"', "bad[1].inputs: is not a key here"),
            ('instance = "x"\ninputs = "()"', "", ":12: bad[1].instance: is missing"),
            ("[[good]]", "[[okay]]", "good: is missing"),
            ('code = "FX901"', 'code = "FX901', "not valid TOML"),
        ],
    )  # fmt: skip
    def test_a_slip_is_one_error_naming_the_file_and_the_key(self, tmp_path: Path, old: str, new: str, complaint: str):
        assert old in PAGE
        path = self.page(tmp_path, PAGE.replace(old, new, 1))
        with pytest.raises(RuleError) as caught:
            read_rule(path)
        assert str(path) in str(caught.value)
        assert complaint in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("old", "new", "complaint"),
        [
            ("FX901", "FX101", "code 'FX101' belongs to"),
            ("some-rule", "wrap-misuse", "name 'wrap-misuse' belongs to FX174-wrap-misuse"),
            ("bool.some", "bool.if", "event 'bool.if' belongs to FX101-data-dependent-branch"),
        ],
    )
    def test_two_rules_cannot_claim_the_same(self, tmp_path: Path, old: str, new: str, complaint: str):
        text = PAGE.replace(old, new)
        name = "-".join(re.findall(r'^(?:code|name) = "(.*)"$', text, re.MULTILINE)[:2])
        with pytest.raises(RuleError, match=re.escape(complaint)):
            RuleSet([*RULES, read_rule(self.page(tmp_path, text, f"{name}.toml"))])


@pytest.mark.torch
class TestStockTracer:
    @each_bad
    def test_a_bad_example_works_eagerly_and_fails_at_its_first_mark(self, case: Case, directory: Path):
        outcome = truth.trace(directory, case.file, case.example.instance)
        if case.example.differs is not None:
            assert outcome.error is None
            assert truth.holds(outcome, case.example.differs, case.example.instance, case.example.inputs)
            return
        if not case.fails:
            assert outcome.error is None
            assert truth.same(
                truth.eager_result(outcome, case.example.inputs), truth.traced_result(outcome, case.example.inputs)
            )
            return
        assert outcome.error is not None
        if case.example.frame == "none":
            assert outcome.place is None
        else:
            file, line, _ = case.marks[0]
            assert outcome.place == truth.Place(file, line), repr(outcome.error)
        if outcome.root is not None:
            truth.eager_result(outcome, case.example.inputs)

    @each_good
    def test_a_good_example_traces_and_gives_what_it_gives_eagerly(self, case: Case, directory: Path):
        example = case.example
        outcome = truth.trace(directory, case.file, example.instance, example.concrete_args)
        assert outcome.error is None
        assert truth.same(truth.eager_result(outcome, example.inputs), truth.traced_result(outcome, example.inputs))

    def test_math_is_recorded_as_a_node_of_the_graph(self, directory: Path):
        recorded = [case for case in BAD if any(event == "math.recorded" for _, _, event in case.marks)]
        assert recorded
        for case in recorded:
            traced = truth.trace(directory, case.file, case.example.instance).traced
            assert traced is not None
            assert any(getattr(node.target, "__module__", None) == "math" for node in traced.graph.nodes)


@pytest.fixture(scope="module")
def runnable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples of code around graphs as files of one directory."""
    place = tmp_path_factory.mktemp("runnable")
    for case in RUN_BAD + RUN_GOOD:
        (place / case.file).write_text(case.example.code, encoding="utf-8")
    return place


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
class TestRunning:
    @each_run_bad
    def test_a_bad_example_goes_wrong_as_its_page_says(self, case: Case, runnable: Path):
        truth.run(runnable, case.file, case.example.run or "")

    @each_run_good
    def test_a_good_example_goes_right(self, case: Case, runnable: Path):
        truth.run(runnable, case.file, case.example.run or "")


class TestCodeAroundGraphs:
    @each_run_bad
    def test_a_bad_example_has_exactly_the_marked_findings(self, case: Case, runnable: Path):
        found = linted(runnable / case.file)
        assert places(list(found)) == marked(case, "error", "warning", "info")
        assert {finding.severity for finding in found} == {case.rule.severity}

    @each_run_good
    def test_a_good_example_has_none(self, case: Case, runnable: Path):
        assert linted(runnable / case.file) == ()


def linted(file: Path) -> tuple[Finding, ...]:
    """The findings in code around graphs and in comments."""
    found = lint_transforms([str(file)], RULES)
    everything = selection(Config(file.parent, select=("ALL",)), RULES)
    return silenced(found, [str(file)], everything, RULES, traced=True).findings


def the_root(prediction: Prediction, case: Case) -> ModuleReport:
    return next(
        report
        for report in prediction.modules
        if Path(report.root.path).name == case.file and report.root.qualname == case.root
    )


def findings_of(prediction: Prediction, case: Case, *severities: str) -> list[Finding]:
    files = {case.file, *(name for name, _ in case.example.files)}
    return [
        finding
        for finding in prediction.findings
        if Path(finding.location.path).name in files and finding.severity in severities
    ]


def places(findings: list[Finding]) -> list[tuple[str, int, str, str]]:
    return sorted({(Path(each.location.path).name, each.location.line, each.code, each.event) for each in findings})


def marked(case: Case, *severities: str) -> list[tuple[str, int, str, str]]:
    return sorted(
        (file, line, case.rule.code, event)
        for file, line, event in case.marks
        if case.rule.severity_of(event) in severities
    )


@pytest.fixture(scope="module")
def predicted(directory: Path) -> Prediction:
    return predict([str(path) for path in sorted(directory.glob("*.py"))], RULES, (directory,))


class TestPrediction:
    @each_bad
    def test_a_bad_example_has_exactly_the_marked_findings(self, case: Case, predicted: Prediction):
        assert places(findings_of(predicted, case, "error")) == marked(case, "error")
        assert set(marked(case, "info")) <= set(places(findings_of(predicted, case, "info")))
        if not case.fails:
            assert places(findings_of(predicted, case, "warning")) == marked(case, "warning")

    @each_bad
    def test_the_verdict_of_a_bad_example_names_its_first_mark(self, case: Case, predicted: Prediction):
        verdict = the_root(predicted, case).predicted
        if not case.fails:
            assert verdict.verdict == "traces"
            return
        assert verdict.verdict == "fails"
        assert verdict.first is not None
        assert (Path(verdict.first.path).name, verdict.first.line) == case.marks[0][:2]

    @each_good
    def test_a_good_example_has_no_error_and_traces(self, case: Case, predicted: Prediction):
        if case.example.concrete_args is None:
            assert places(findings_of(predicted, case, "error", "warning")) == []
            assert the_root(predicted, case).predicted.verdict == "traces"

    def test_nothing_went_wrong(self, predicted: Prediction):
        assert predicted.problems == ()


@pytest.fixture(scope="module")
def confirmed(directory: Path, predicted: Prediction) -> Prediction:
    settings = ConfirmSettings(
        python=sys.executable,
        instances={f"{directory / case.file}::{case.root}": (case.example.instance,) for case in BAD + GOOD},
        inputs={f"{directory / case.file}::{case.root}": case.example.inputs for case in BAD + GOOD},
        timeout=60,
        memory=4 << 30,
        jobs=2,
        roots=(str(directory),),
    )
    return confirm(with_suggestions(predicted), RULES, settings)


@pytest.mark.torch
@pytest.mark.slow
class TestConfirmation:
    @each_bad
    def test_every_mark_is_confirmed_and_nothing_else_is_met(self, case: Case, confirmed: Prediction):
        found = findings_of(confirmed, case, "error")
        assert places(found) == marked(case, "error")
        told = [*found, *(findings_of(confirmed, case, "warning") if not case.fails else ())]
        assert {finding.confirmation.status for finding in told} <= {"confirmed"}

    @each_bad
    def test_what_traces_and_is_wrong_is_shown_by_running_both_or_says_what_else_proves_it(
        self, case: Case, confirmed: Prediction
    ):
        told = findings_of(confirmed, case, "warning") if case.example.differs is not None else []
        proofs = {finding.confirmation.proof for finding in told}
        assert proofs <= {PROVED_OTHERWISE.get(case.example.name, "comparison")}

    @each_bad
    def test_the_stock_verdict_of_a_bad_example_is_at_its_first_mark(
        self, case: Case, confirmed: Prediction, directory: Path
    ):
        verdict = the_root(confirmed, case).confirmed
        if not case.fails:
            assert verdict.verdict == "traces"
            return
        if truth.trace(directory, case.file, case.example.instance).root is None:
            assert verdict.verdict == "not-run"  # the file cannot even be imported
            assert verdict.reason is not None
            return
        assert verdict.verdict == "fails"
        assert verdict.error is not None
        if case.example.frame == "none":
            assert verdict.error.path is None
        else:
            assert verdict.error.path is not None
            assert (Path(verdict.error.path).name, verdict.error.line) == case.marks[0][:2]

    @each_bad
    def test_a_way_out_traces_and_gives_the_same_unless_there_is_only_advice(self, case: Case, confirmed: Prediction):
        found = findings_of(confirmed, case, "error", "info")
        checks = [[one.checked for one in finding.suggestions if one.checked is not None] for finding in found]
        ways = [[check.equal_outputs for check in tried if check.verdict == "traces"] for tried in checks]
        assert all(ways) == (case.example.name not in ONLY_ADVICE)
        if all(ways) and case.example.name not in ANOTHER_TYPE:
            assert all(True in equal for equal in ways)

    @each_good
    def test_a_good_example_is_seen_to_trace(self, case: Case, confirmed: Prediction):
        if case.example.concrete_args is None:
            assert places(findings_of(confirmed, case, "error")) == []
            assert the_root(confirmed, case).confirmed.verdict == "traces"
