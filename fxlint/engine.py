"""The pipeline: files -> predict -> suggest -> confirm; code around graphs; selection, comments, baseline -> Report."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fxlint.baseline import Compared, compare, state
from fxlint.cache import FOLDER, Cache, digest_of
from fxlint.cells import Cells
from fxlint.config import Confidence, Config, ConfigError, Configs, common_folder
from fxlint.files import Files, find_files
from fxlint.findings import Finding, ModuleReport, Prediction, Problem, Report, Severity
from fxlint.progress import Progress, unseen
from fxlint.project.buffers import content, digest
from fxlint.project.environment import environment_state, interpreters, site_packages
from fxlint.project.index import Project
from fxlint.project.naming import module_name
from fxlint.report.summary import confidence, counted, standing
from fxlint.rules import RuleSet, load_rules, own_rule_files
from fxlint.selection import selection
from fxlint.static import outlook
from fxlint.suppression import Silenced, silenced
from fxlint.tracing import Tracing, files_named, tracing_of

if TYPE_CHECKING:
    from fxlint.confirm import ConfirmSettings

_RANK: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2}
_CONFIDENCE: dict[Confidence, int] = {"conditional": 0, "certain": 1, "confirmed": 2}

Log = Callable[[str], None]
"""Takes one line on the progress of a run."""


def run(paths: Sequence[str], configs: Configs, log: Log = lambda _: None, progress: Progress = unseen) -> Report:
    """Lint ``paths``, each file with the settings that hold in its folder, and by the rules that they name.

    What cannot be read is a problem in the report, and the rest is linted all the same. Raises ConfigError for settings
    that cannot be used.
    """
    clock = _Clock(log, progress)
    files = find_files(paths, configs)
    clock.lap(f"found {counted(len(files.paths), 'file')}")
    reports: list[Report] = []
    shares = lintable_together(files.paths, configs) or [(configs(common_folder(paths)), ())]
    for config, share in shares:
        if len(shares) > 1:
            log(f"with the settings of {config.file or 'no configuration file'}:")
        elsewhere = [path for _, those in shares if those is not share for path in those]
        reports.append(_lint(share, config, _import_folders(elsewhere), clock))
    return _merged(reports, files)


def lintable_together(files: Sequence[str], configs: Configs) -> list[tuple[Config, tuple[str, ...]]]:
    """The files in shares that have the same settings, and in none of which two packages have the same name."""
    shares: dict[Path | None, tuple[Config, list[str]]] = {}
    for path in files:
        config = configs(os.path.dirname(path))  # noqa: PTH120
        shares.setdefault(config.file, (config, []))[1].append(path)
    return [(config, part) for config, share in shares.values() for part in _without_namesakes(share)]


def _without_namesakes(files: Sequence[str]) -> list[tuple[str, ...]]:
    """The files in as few parts as it takes: of two packages of one name, a process can import only one."""
    folders = {path: os.path.dirname(path) for path in files}  # noqa: PTH120
    homes = {folder: module_name(Path(folder, "__init__.py")) for folder in dict.fromkeys(folders.values())}
    packages: dict[str, set[str]] = {}
    for home in homes.values():
        packages.setdefault(home.folder, set()).update([home.name.partition(".")[0]] if home.package else [])
    taken: list[set[str]] = []
    parts: dict[str, int] = {}
    for folder, names in packages.items():
        parts[folder] = next((part for part, others in enumerate(taken) if others.isdisjoint(names)), len(taken))
        if parts[folder] == len(taken):
            taken.append(set())
        taken[parts[folder]] |= names
    found: list[list[str]] = [[] for _ in taken]
    for path in files:
        found[parts[homes[folders[path]].folder]].append(path)
    return [tuple(part) for part in found]


def _lint(files: tuple[str, ...], config: Config, elsewhere: Sequence[Path], clock: _Clock) -> Report:
    """Lint files that have the same settings; imports are looked up ``elsewhere`` too, where the others are."""
    python = interpreter(config)
    jobs = config.jobs or os.cpu_count() or 1
    folders = search_path(config, python, elsewhere)
    project = Project(files, folders)
    cache = Cache(cache_folder(config), _rules_given(config), project.answers_as)
    environment = environment_state(python, os.environ, [str(config.root)]) if config.confirm else None
    asked, given = (files, str(config.file)), (*_given(files, config, folders, project), environment)
    known = cache.recall_report(asked, given, Report)
    if known is not None:
        clock.lap("nothing has changed since it was last linted")
        cache.close()
        return known
    rules = load_rules(config.rules)
    reported = selection(config, rules)
    read = _digests(files) if config.confirm else {}
    seen = outlook(project, files, rules, folders, jobs, tracing(config, rules), cache)
    prediction = seen.prediction
    found = f"{counted(len(prediction.findings), 'finding')}, and {len(seen.around)} in code around graphs"
    clock.lap(f"predicted {counted(len(prediction.modules), 'module')}: {found}")
    prediction = _suggested(prediction, rules, jobs, cache)
    clock.lap(f"suggested {sum(len(finding.suggestions) for finding in prediction.findings)} ways out")
    if config.confirm:
        settings = replace(config, python=python, jobs=jobs)
        prediction = _confirm(prediction, rules, settings, files, clock, cache)
        prediction = replace(prediction, problems=(*prediction.problems, *_saved_since(read)))
        traced = sum(module.confirmed.verdict != "not-run" for module in prediction.modules)
        clock.lap(f"traced {traced} of {counted(len(prediction.modules), 'module')}")
        prediction = _suggested(prediction, rules, jobs, cache)  # for what the tracer met and nobody predicted
    findings = tuple(finding for finding in (*prediction.findings, *seen.around) if reported(finding))
    silence = Silenced(findings)
    if not config.ignore_noqa:
        silence = silenced(findings, files, reported, rules, traced=config.confirm)
    compared = Compared(silence.findings, 0, ())
    if config.baseline is not None:
        codes = reported.codes
        compared = compare(config.baseline, silence.findings, files, codes, traced=config.confirm)
    report = Report(
        files=len(files),
        modules=prediction.modules,
        findings=tuple(_shown(finding) for finding in compared.findings if _is_told(finding, config)),
        problems=(*prediction.problems, *_slips(prediction, config, files), *compared.gone),
        suppressed=silence.suppressed,
        known=compared.known,
    )
    cache.keep_report(asked, given, report)
    cache.close()
    if cache.trouble is not None:
        clock.log(cache.trouble)
    return report


def cache_folder(config: Config) -> str | None:
    """Where results are kept for later runs; None where they are not."""
    return str(config.cache_dir or config.root / FOLDER) if config.cache else None


def _given(files: Sequence[str], config: Config, folders: Sequence[Path], project: Project) -> tuple[object, ...]:
    """What a report depends on beside the rules, and the files and names that are looked at on the way to it."""
    told = replace(config, jobs=None, fail_on="never", cache=True, cache_dir=None)
    keys = (key for table in (config.instances, config.inputs, config.concrete_args) for key in table)
    owners = [(key.partition("::" if "::" in key else ":")[0], "::" in key) for key in keys]
    places = (place for owner, is_path in owners for place in files_named(owner, is_path, (config.root, Path())))
    there = [os.path.isfile(place) for place in places]  # noqa: PTH113  # unlike Path's False for what no path can be
    baseline = None if config.baseline is None else state(config.baseline)
    return os.getcwd(), told, folders, [project.identity(path) for path in files], baseline, there  # noqa: PTH109


def _rules_given(config: Config) -> str:
    """The project's own rules; those that are shipped are part of fxlint."""
    return digest_of([(str(file), _content_of(file)) for file in own_rule_files(config.rules)])


def _content_of(file: Path) -> str | None:
    try:
        return digest(file.read_bytes()) if os.path.isfile(file) else None  # noqa: PTH113  # a pipe would be waited for
    except OSError:
        return None


def _is_told(finding: Finding, config: Config) -> bool:
    sure = _CONFIDENCE[confidence(finding) or "conditional"] >= _CONFIDENCE[config.min_confidence]
    return sure and _RANK[finding.severity] >= _RANK[config.min_severity]


def _merged(reports: Sequence[Report], files: Files) -> Report:
    """One report, sorted, with places in notebooks told by cell."""
    cells = Cells(files.paths)
    modules = [module for report in reports for module in report.modules]
    findings = [finding for report in reports for finding in report.findings]
    problems = dict.fromkeys((*files.problems, *(problem for report in reports for problem in report.problems)))
    return Report(
        files=len(files.paths),
        modules=tuple(map(cells.told, sorted(modules, key=_module_order))),
        findings=tuple(map(cells.told, sorted(findings, key=_finding_order))),
        problems=tuple(map(cells.told, sorted(problems, key=_problem_order))),
        suppressed=sum(report.suppressed for report in reports),
        known=sum(report.known for report in reports),
    )


def _import_folders(paths: Sequence[str]) -> tuple[Path, ...]:
    """The folders from which files can be imported."""
    return tuple(dict.fromkeys(Path(module_name(Path(path)).folder) for path in paths))


def _shown(finding: Finding) -> Finding:
    """The finding with the files that only its provenance or its error names, which nobody spelled, as seen from here.

    A folder that was given as an absolute path keeps its paths.
    """
    if os.path.isabs(finding.location.path):  # noqa: PTH117
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
    here = os.getcwd().replace(os.sep, "/")  # noqa: PTH109
    return path.removeprefix(here if here.endswith("/") else f"{here}/")


def tracing(config: Config, rules: RuleSet) -> Tracing:
    """How the project traces, by its settings and by its rules on leaves."""
    told = tracing_of(config.tracer, config.concrete_args, (str(config.root),))
    leaves = tuple(name for rule in rules for name in rule.leaf_modules)
    functions = tuple(name for rule in rules for name in rule.autowrap_functions)
    return told.with_leaves(leaves, functions)


def search_path(config: Config, python: str | None, elsewhere: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Where imports of the code under lint are looked up: its root, other roots, the packages of its interpreter."""
    interpreter = python or next(interpreters(os.environ, [str(config.root)]))
    return (config.root, *elsewhere, *site_packages(interpreter))


def exit_code(report: Report, configs: Configs) -> int:
    """2 where an input could not be linted, for then the report is not complete; else 1 for findings, or 0.

    Findings of the severity that their configuration fails on, or above, count, except those that the tracer refuted.
    """
    if any(problem.stage == "input" for problem in report.problems):
        return 2
    return int(any(_fails(finding, configs) for finding in standing(report)))


def _fails(finding: Finding, configs: Configs) -> bool:
    fail_on = configs(os.path.dirname(finding.location.path)).fail_on  # noqa: PTH120
    return fail_on != "never" and _RANK[finding.severity] >= _RANK[fail_on]


def _suggested(prediction: Prediction, rules: RuleSet, jobs: int, cache: Cache) -> Prediction:
    """The prediction with ways out of the findings that have none yet."""
    if all(finding.suggestions for finding in prediction.findings):
        return prediction
    from fxlint.fix import with_suggestions

    return with_suggestions(prediction, jobs=jobs, own_rules=[rule for rule in rules if rule.is_own], cache=cache)


def _slips(prediction: Prediction, config: Config, files: Sequence[str]) -> tuple[Problem, ...]:
    """What is wrong with the declarations of instances and inputs; that costs a confirmation and nothing else."""
    from fxlint.declarations import slips

    roots = [module.root for module in prediction.modules]
    inputs = {key: (expression,) for key, expression in config.inputs.items()}
    concrete_args = {key: (expression,) for key, expression in config.concrete_args.items()}
    tables = {"instances": config.instances, "inputs": inputs, "concrete-args": concrete_args}
    return slips(roots, files, tables, _config_file(config), (config.root, Path()))


def _config_file(config: Config) -> str:
    """The configuration file as seen from here; empty where there is none."""
    return "" if config.file is None else Path(os.path.relpath(config.file)).as_posix()


def _digests(files: Iterable[str]) -> dict[str, str]:
    """Of the files that can be read."""
    found = {}
    for path in files:
        with suppress(OSError, ValueError):
            found[path] = digest(content(path))
    return found


def _saved_since(read: Mapping[str, str]) -> list[Problem]:
    """What was traced in these files may not be what was predicted: they were read twice, and have changed."""
    now = _digests(read)
    told = "it was saved between prediction and tracing: what is said of the tracer may be about other lines"
    return [Problem(path, told, stage="confirm") for path, seen in read.items() if now.get(path, seen) != seen]


def _confirm(
    prediction: Prediction, rules: RuleSet, config: Config, files: tuple[str, ...], clock: _Clock, cache: Cache
) -> Prediction:
    """The prediction with the tracer's word on it; what goes wrong here never makes an input unread."""
    from fxlint.confirm import confirm

    settings = confirm_settings(config, rules, files, clock.log, clock.progress)
    confirmed = confirm(prediction, rules, settings, cache)
    problems = tuple(
        problem if problem in prediction.problems else replace(problem, stage="confirm")
        for problem in confirmed.problems
    )
    return replace(confirmed, problems=problems)


def confirm_settings(
    config: Config,
    rules: RuleSet,
    files: tuple[str, ...],
    log: Log = lambda _: None,
    progress: Progress = unseen,
) -> ConfirmSettings:
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
        tracing=tracing(config, rules),
        log=log,
        progress=progress,
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

    def __init__(self, log: Log, progress: Progress) -> None:
        self.log = log
        self.progress = progress
        self._since = time.perf_counter()

    def lap(self, done: str) -> None:
        now = time.perf_counter()
        self.log(f"{done} ({now - self._since:.2f} s)")
        self._since = now


def _module_order(module: ModuleReport) -> tuple[str, int, str]:
    return module.root.path, module.root.line, module.root.qualname


def _finding_order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.location.path, finding.location.line, finding.location.column, finding.code


def _problem_order(problem: Problem) -> tuple[str, int, str]:
    return problem.path, problem.line or 0, problem.message
