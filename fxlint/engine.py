"""The pipeline: files -> predict -> suggest -> confirm; code around graphs; selection, comments, baseline -> Report."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fxlint.baseline import Compared, compare
from fxlint.cells import Cells, confirmed_without_notebooks
from fxlint.config import Config, ConfigError, FailOn
from fxlint.files import Files, find_files
from fxlint.findings import Finding, ModuleReport, Prediction, Problem, Report, Severity
from fxlint.project.environment import interpreters, site_packages
from fxlint.report.summary import standing
from fxlint.rules import RuleSet
from fxlint.selection import selection
from fxlint.suppression import Silenced, silenced
from fxlint.tracing import Tracing, tracing_of

if TYPE_CHECKING:
    from fxlint.confirm import ConfirmSettings

_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}

Log = Callable[[str], None]
"""Takes one line on the progress of a run."""


def run(paths: Sequence[str], config: Config, rules: RuleSet, log: Log = lambda _: None) -> Report:
    """Lint ``paths``. What cannot be read is a problem in the report, and the rest is linted all the same.

    Raises ConfigError for settings that cannot be used.
    """
    from fxlint.predict import predict
    from fxlint.transforms import lint_transforms

    python = interpreter(config)
    jobs = config.jobs or os.cpu_count() or 1
    reported = selection(config, rules)
    clock = _Clock(log)
    files = files_of(paths, config)
    clock.lap(f"found {len(files.paths)} files")
    prediction = predict(files.paths, rules, search_path(config, python), jobs, tracing(config))
    clock.lap(f"predicted {len(prediction.modules)} modules, {len(prediction.findings)} findings")
    prediction = _suggested(prediction, jobs)
    clock.lap(f"suggested {sum(len(finding.suggestions) for finding in prediction.findings)} ways out")
    if config.confirm:
        settings = replace(config, python=python, jobs=jobs)
        prediction = confirmed_without_notebooks(
            prediction, lambda part: _confirm(part, rules, settings, files.paths, log)
        )
        traced = sum(module.confirmed.verdict != "not-run" for module in prediction.modules)
        clock.lap(f"traced {traced} of {len(prediction.modules)} modules")
        prediction = _suggested(prediction, jobs)  # for what the tracer met and nobody predicted
    around = lint_transforms(files.paths, rules, search_path(config, python))
    clock.lap(f"linted the code around graphs, {len(around)} findings")
    findings = tuple(finding for finding in (*prediction.findings, *around) if reported(finding))
    silence = Silenced(findings)
    if not config.ignore_noqa:
        silence = silenced(findings, files.paths, reported, rules, traced=config.confirm)
    compared = Compared(silence.findings, 0, ())
    if config.baseline is not None:
        codes = reported.codes
        compared = compare(config.baseline, silence.findings, files.paths, codes, traced=config.confirm)
    problems = (*files.problems, *prediction.problems, *_slips(prediction, config, files.paths), *compared.gone)
    cells = Cells(files.paths)
    return Report(
        files=len(files.paths),
        modules=tuple(map(cells.module, sorted(prediction.modules, key=_module_order))),
        findings=tuple(map(cells.finding, sorted(map(_shown, compared.findings), key=_finding_order))),
        problems=tuple(map(cells.problem, sorted(problems, key=_problem_order))),
        suppressed=silence.suppressed,
        known=compared.known,
    )


def files_of(paths: Sequence[str], config: Config) -> Files:
    """The files that a run reads."""
    patterns = (*config.exclude, *config.extend_exclude)
    return find_files(paths, patterns, config.root, gitignore=config.respect_gitignore, force=config.force_exclude)


def _shown(finding: Finding) -> Finding:
    """The finding with the files that only its provenance or its error names, which nobody spelled, as seen from here.

    A folder that was given as an absolute path keeps its paths.
    """
    if Path(finding.location.path).is_absolute():
        return finding
    steps = tuple(
        replace(step, location=replace(step.location, path=seen_from_here(step.location.path)))
        for step in finding.provenance
    )
    confirmation = finding.confirmation
    error = confirmation.error
    if error is not None and error.path is not None:
        confirmation = replace(confirmation, error=replace(error, path=seen_from_here(error.path)))
    return replace(finding, provenance=steps, confirmation=confirmation)


def seen_from_here(path: str) -> str:
    """An absolute path below the working directory as a relative one; any other as it is."""
    pure = Path(path)
    here = Path.cwd()
    return pure.relative_to(here).as_posix() if pure.is_absolute() and pure.is_relative_to(here) else path


def tracing(config: Config) -> Tracing:
    return tracing_of(config.tracer, config.concrete_args, (str(config.root),))


def search_path(config: Config, python: str | None) -> tuple[Path, ...]:
    """Where imports of the code under lint are looked up: its root, then the packages of its interpreter."""
    interpreter = python or next(interpreters(os.environ, [str(config.root)]))
    return (config.root, *site_packages(interpreter))


def exit_code(report: Report, fail_on: FailOn) -> int:
    """2 where an input could not be linted, for then the report is not complete; else 1 for findings, or 0.

    Findings of severity ``fail_on`` or above count, except those that the tracer refuted.
    """
    if any(problem.stage == "input" for problem in report.problems):
        return 2
    if fail_on == "never":
        return 0
    return int(any(_RANK[finding.severity] >= _RANK[fail_on] for finding in standing(report)))


def _suggested(prediction: Prediction, jobs: int) -> Prediction:
    """The prediction with ways out of the findings that have none yet."""
    if all(finding.suggestions for finding in prediction.findings):
        return prediction
    from fxlint.fix import with_suggestions

    return with_suggestions(prediction, jobs=jobs)


def _slips(prediction: Prediction, config: Config, files: Sequence[str]) -> tuple[Problem, ...]:
    """What is wrong with the declarations of instances and inputs; that costs a confirmation and nothing else."""
    from fxlint.confirm import slips

    roots = [module.root for module in prediction.modules]
    inputs = {key: (expression,) for key, expression in config.inputs.items()}
    concrete_args = {key: (expression,) for key, expression in config.concrete_args.items()}
    tables = {"instances": config.instances, "inputs": inputs, "concrete-args": concrete_args}
    return slips(roots, files, tables, _config_file(config), (config.root, Path()))


def _config_file(config: Config) -> str:
    """The configuration file as seen from here; empty where there is none."""
    return "" if config.file is None else Path(os.path.relpath(config.file)).as_posix()


def _confirm(prediction: Prediction, rules: RuleSet, config: Config, files: tuple[str, ...], log: Log) -> Prediction:
    """The prediction with the tracer's word on it; what goes wrong here never makes an input unread."""
    from fxlint.confirm import confirm

    confirmed = confirm(prediction, rules, confirm_settings(config, files, log))
    problems = tuple(
        problem if problem in prediction.problems else replace(problem, stage="confirm")
        for problem in confirmed.problems
    )
    return replace(confirmed, problems=problems)


def confirm_settings(config: Config, files: tuple[str, ...], log: Log = lambda _: None) -> ConfirmSettings:
    """How to trace, by the settings of a run over ``files``."""
    from fxlint.confirm import ConfirmSettings

    return ConfirmSettings(
        python=config.python,
        instances=config.instances,
        inputs=config.inputs,
        timeout=config.timeout,
        jobs=config.jobs or os.cpu_count() or 1,
        roots=(str(config.root),),
        files=files,
        config=_config_file(config),
        tracing=tracing(config),
        log=log,
    )


def interpreter(config: Config) -> str | None:
    """The absolute path of the interpreter that was asked for, through no symbolic link: those make an environment."""
    if config.python is None:
        return None
    found = shutil.which(config.python)
    if found is None:
        raise ConfigError(f"'python': '{config.python}' is not an interpreter that can be run")
    return os.path.abspath(found)  # noqa: PTH100


class _Clock:
    """Logs what was done and how long it took."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._since = time.perf_counter()

    def lap(self, done: str) -> None:
        now = time.perf_counter()
        self._log(f"{done} ({now - self._since:.2f} s)")
        self._since = now


def _module_order(module: ModuleReport) -> tuple[str, int, str]:
    return module.root.path, module.root.line, module.root.qualname


def _finding_order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.location.path, finding.location.line, finding.location.column, finding.code


def _problem_order(problem: Problem) -> tuple[str, int, str]:
    return problem.path, problem.line or 0, problem.message
