"""Tests of a project's own rules: each example of their pages goes through prediction and through the tracer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from fxlint.config import Config
from fxlint.confirm import ConfirmSettings, confirm
from fxlint.engine import confirm_settings, interpreter, search_path, tracing
from fxlint.findings import Confirmed, Finding, Location, ModuleReport, Prediction, Suggestion
from fxlint.predict import predict
from fxlint.report.text import failure, one_line
from fxlint.rules import MAIN, Example, Rule, RuleSet

_EXAMPLE = "told.example"
_UNCHANGED = "{}"
"""The concrete_args of a way out that changes nothing: trying it compares the graph's outputs with the module's."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An example that does not do what its page says, and what it does."""

    rule: Rule
    example: Example
    problem: str


@dataclass(frozen=True, eq=False)
class _Case:
    """An example in a folder of its own."""

    rule: Rule
    example: Example
    folder: Path

    @property
    def root(self) -> str:
        """The class or function that the instance is made of."""
        return re.split(r"\W", self.example.instance)[0]

    @property
    def key(self) -> str:
        return f"{self.path(MAIN)}::{self.root}"

    def path(self, file: str) -> str:
        """``file`` is ``rules.MAIN`` or the name of a module beside it."""
        return (self.folder / (f"{self.folder.name}.py" if file == MAIN else file)).as_posix()

    def place(self, path: str, line: int) -> str:
        """A line as the page has it."""
        return f"line {line}" if path == self.path(MAIN) else f"{Path(path).name}, line {line}"

    def write(self) -> None:
        self.folder.mkdir()
        for file, text in self.example.sources:
            Path(self.path(file)).write_text(text, encoding="utf-8")


def failures(tested: Sequence[Rule], rules: RuleSet, config: Config) -> tuple[Failed, ...]:
    """What is wrong with the examples of the rules in ``tested``; ``rules`` are all that there are.

    What an example imports of the project is found from the folder of the configuration. Raises ConfigError for
    settings that cannot be used.
    """
    config = replace(config, python=interpreter(config))
    with TemporaryDirectory(prefix="fxlint-") as folder:
        cases = [
            _Case(rule, example, Path(folder, f"{rule.code.lower()}_{example.name}"))
            for rule in tested
            for example in (*rule.bad, *rule.good)
        ]
        for case in cases:
            case.write()
        predicted = {case: _predicted(case, rules, config) for case in cases}
        confirmed = _confirmed(predicted, rules, _settings(cases, rules, config))
        leaves = {case: predicted[case] for case in cases if not case.rule.events}
        others = RuleSet([rule for rule in rules if rule.events])
        without = _confirmed(leaves, others, _settings(list(leaves), others, config)) if leaves else {}
        return tuple(
            Failed(case.rule, case.example, problem)
            for case in cases
            for problem in _problems(case, predicted[case], confirmed[case], without.get(case))
        )


def _predicted(case: _Case, rules: RuleSet, config: Config) -> Prediction:
    paths = [case.path(file) for file, _ in case.example.sources]
    places = (case.folder, *search_path(config, config.python))
    return predict(paths, rules, places, 1, _settings([case], rules, config).tracing)


def _settings(cases: Sequence[_Case], rules: RuleSet, config: Config) -> ConfirmSettings:
    files = tuple(case.path(file) for case in cases for file, _ in case.example.sources)
    bound = {case.key: case.example.concrete_args for case in cases if case.example.concrete_args is not None}
    return replace(
        confirm_settings(config, rules, files),
        instances={case.key: (case.example.instance,) for case in cases},
        inputs={case.key: case.example.inputs for case in cases},
        tracing=replace(tracing(config, rules), concrete_args=bound),
    )


def _confirmed(
    predicted: dict[_Case, Prediction], rules: RuleSet, settings: ConfirmSettings
) -> dict[_Case, Prediction]:
    """What the tracer makes of each example; all of them are traced in one go."""
    every = predicted.values()
    done = confirm(
        Prediction(
            tuple(module for one in every for module in one.modules),
            tuple(finding for case, one in predicted.items() for finding in (*one.findings, _unchanged(case))),
        ),
        rules,
        settings,
    )
    return {
        case: Prediction(
            tuple(module for module in done.modules if Path(module.root.path).parent == case.folder),
            tuple(finding for finding in done.findings if Path(finding.location.path).parent == case.folder),
        )
        for case in predicted
    }


def _unchanged(case: _Case) -> Finding:
    """What has the tracer compare the outputs of the graph."""
    return Finding(
        case.rule.code,
        case.rule.name,
        "info",
        Location(case.path(MAIN), 1, 1, 1, 1),
        "",
        _EXAMPLE,
        modules=(case.key,),
        suggestions=(Suggestion("concrete_args", "", concrete_args=_UNCHANGED),),
    )


def _problems(case: _Case, predicted: Prediction, confirmed: Prediction, without: Prediction | None) -> Iterator[str]:
    """``without`` is what the tracer makes of it without the leaves that the rule names, if it names any."""
    done = _report(confirmed, case)
    if done is None:
        yield f"`{case.root}`, of which the instance is made, is no module class and no function that is traced"
        return
    findings = [finding for finding in confirmed.findings if finding.event != _EXAMPLE]
    yield from _differences(case, predicted.findings, findings)
    yield from _verdict(case, done.confirmed)
    for finding in findings:
        status, reason = finding.confirmation.status, finding.confirmation.reason
        if finding.code == case.rule.code and status != "confirmed":
            yield f"{case.place(finding.location.path, finding.location.line)}: {status}: {one_line(reason or '')}"
    if not case.example.marks and done.confirmed.verdict == "traces":
        yield from _outputs(confirmed)
    before = None if without is None else _report(without, case)
    if before is not None and before.confirmed.graph is not None and before.confirmed.graph == done.confirmed.graph:
        yield "the graph is the same without this rule"


def _report(prediction: Prediction, case: _Case) -> ModuleReport | None:
    return next((module for module in prediction.modules if module.root.id == case.key), None)


def _differences(case: _Case, predicted: Sequence[Finding], found: Sequence[Finding]) -> Iterator[str]:
    """Marked lines where nothing is predicted, and findings that are not marked."""
    marked = {(case.path(mark.file), mark.line, case.rule.code) for mark in case.example.marks}
    for path, line, _ in sorted(marked - _places(case, predicted)):
        yield f"{case.place(path, line)}: is marked, and nothing is predicted there"
    for path, line, code in sorted(_places(case, found) - marked):
        yield f"{case.place(path, line)}: {code} is found there, and it is not marked"


def _places(case: _Case, findings: Sequence[Finding]) -> set[tuple[str, int, str]]:
    """(path, line, code) of what the rule reports, and of all errors."""
    return {
        (finding.location.path, finding.location.line, finding.code)
        for finding in findings
        if finding.code == case.rule.code or finding.severity == "error"
    }


def _verdict(case: _Case, done: Confirmed) -> Iterator[str]:
    fails = bool(case.example.marks) and case.rule.severity == "error"
    if done.verdict == "not-run":
        yield f"it was not traced: {one_line(done.reason or '')}"
    elif done.verdict == "traces" and fails:
        yield "it traces"
    elif done.error is not None and not fails:
        place = "" if done.error.path is None else f" ({case.place(done.error.path, done.error.line or 0)})"
        yield f"it does not trace: {failure(replace(done.error, path=None))}{place}"


def _outputs(confirmed: Prediction) -> Iterator[str]:
    """What is wrong with the outputs of the graph beside those of the module."""
    for check in (one.checked for finding in confirmed.findings for one in finding.suggestions):
        if check is not None and check.equal_outputs is False:
            yield "the graph gives other outputs than the module"
        elif check is not None and check.equal_outputs is None:
            yield f"outputs were not compared: {one_line(check.reason or 'the inputs do not fit')}"
