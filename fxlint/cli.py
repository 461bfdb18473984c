"""The command line: arguments -> Config -> engine -> report -> exit code.

Findings go to standard output; the summary, problems and progress to standard error. What a command does not need is
imported only where it is used: ``fxlint --version`` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypeVar, get_args

import click

import fxlint
from fxlint import __version__
from fxlint.commands import in_seconds, instances, test_rules, trace
from fxlint.config import (
    MAX_JOBS,
    ConfigError,
    Configs,
    FailOn,
    Format,
    Nearest,
    common_folder,
    each,
    load,
    override,
    shown,
)
from fxlint.project.buffers import holding
from fxlint.report.text import placed, printable
from fxlint.rewrite import RefusedEdit, replace_file
from fxlint.stopping import Stopped, stop_on_signals

if TYPE_CHECKING:
    from fxlint.findings import Problem, Report
    from fxlint.report import Options
    from fxlint.rules import RuleSet

Color = Literal["auto", "always", "never"]
PageFormat = Literal["text", "markdown", "json"]

EXIT_CANNOT = 2

_MAX_ROUNDS = 10
"""How often suggestions are applied and the files linted again; two that undo each other would never end."""
_PIPE_WIDTH = 100
_MAX_WIDTH = 120

_Stamp: TypeAlias = tuple[int, int, int]
"""Inode, size in bytes and time of change in nanoseconds."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point: exits with 0 (clean), 1 (findings), 2 (could not do the job), 130 or 143 (was stopped)."""
    _hold_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name or a message that the console cannot encode must not end the run
            stream.reconfigure(errors="backslashreplace")
    try:
        stop_on_signals()
        code = _exit_code(arguments)
    except Stopped as stopped:
        _say(str(stopped))
        code = stopped.exit_code
    sys.exit(code)


def _exit_code(arguments: Sequence[str] | None) -> int:
    try:
        code: int = cli.main(arguments, prog_name="fxlint", standalone_mode=False)
        return code
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
    except (ConfigError, RefusedEdit) as error:
        _say(f"error: {printable(str(error))}")
    except OSError as error:  # no room left, no more processes, ...: files are dealt with where they are opened
        _discard_output()
        _say(f"error: {printable(str(error))}")
    except Exception:  # Python would exit with 1, which means findings
        _say(traceback.format_exc().rstrip())
        _say(f"error: this is a bug in fxlint {__version__}, please report it with the lines above")
    return EXIT_CANNOT


def _hold_standard_streams() -> None:
    """Have descriptors where the standard ones are closed, or the next file opened is one; writing to them fails."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115


class _DefaultGroup(click.Group):
    """``fxlint PATH`` is ``fxlint check PATH``: what does not begin with the name of a command goes to check."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        own = {*self.commands, "--version", "-h", "--help"}
        if not arguments or arguments[0] not in own:
            arguments = ["check", *arguments]
        return super().parse_args(context, arguments)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(context, formatter)
        check.format_options(context, formatter)


class _Sectioned(click.Command):
    """A command whose help lists its options under headings."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        options = {option.name: option for option in self.params if isinstance(option, click.Option)}
        for heading, names in _SECTIONS.items():
            records = (options[name].get_help_record(context) for name in names.split())
            with formatter.section(heading):
                formatter.write_dl([record for record in records if record is not None])


_SECTIONS = {
    "Files": "exclude extend_exclude force_exclude respect_gitignore stdin_filename show_files",
    "Rules": "select extend_select ignore ignore_noqa add_noqa baseline write_baseline",
    "Tracing": "confirm python timeout jobs",
    "Report": "output_format output_file show_graph statistics color quiet verbose",
    "Fixing": "fix unsafe_fixes diff",
    "Exit code": "fail_on exit_zero exit_non_zero_on_fix",
    "Configuration": "config isolated show_settings",
}


@click.group(
    cls=_DefaultGroup,
    options_metavar="",
    subcommand_metavar="[check] [OPTIONS] [PATH]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Predict what torch.fx symbolic tracing cannot capture, and prove it by tracing.

    PATH is a Python file or a folder, by default the working directory.
    """


def _choice(literal: Any) -> click.Choice[str]:
    return click.Choice(get_args(literal))


def _option(*names: str, **settings: Any) -> Callable[[_Command], _Command]:
    """An option whose absence is None: then the configuration, or the default, decides."""
    return click.option(*names, default=None, **settings)


def _listed(_: click.Context, __: click.Parameter, values: tuple[str, ...] | None) -> list[str] | None:
    """The parts of what is given once or several times, with commas between them."""
    parts = [part.strip() for value in values or () for part in value.split(",")]
    return [part for part in parts if part] or None


_CONFIG_HELP = "A configuration file instead of the nearest one, or a setting that goes before those in it."
_FILE = click.Path(dir_okay=False, path_type=Path)
_SELECTORS: dict[str, Any] = {"multiple": True, "callback": _listed, "metavar": "RULES"}
_PATTERNS: dict[str, Any] = {"multiple": True, "callback": _listed, "metavar": "PATTERNS"}


@cli.command(cls=_Sectioned)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@_option(
    "--output-format",
    type=_choice(Format),
    envvar="FXLINT_OUTPUT_FORMAT",
    help="How to print the report; the default is full.",
)
@_option("--output-file", type=_FILE, envvar="FXLINT_OUTPUT_FILE", help="Write the report here.")
@click.option("--statistics", is_flag=True, help="Count the findings of each rule, instead of listing them.")
@_option("--show-graph", is_flag=True, help="In full: the graph, or the verdict, of every module.")
@_option("--color", type=_choice(Color), help="Colour the full report; the default is auto.")
@_option("--confirm/--no-confirm", help="Prove predictions by running the tracer; --no-confirm runs no code.")
@_option("--python", metavar="PATH", help="The interpreter that has the project's torch, to confirm in.")
@_option("--timeout", type=float, callback=in_seconds, metavar="SECONDS", help="For tracing one module.")
@_option("-j", "--jobs", type=click.IntRange(1, MAX_JOBS), help="How many processes; by default all processors.")
@_option("--select", **_SELECTORS, help="The rules to report: codes, prefixes, names, or ALL.")
@_option("--extend-select", **_SELECTORS, help="Rules to report as well, such as those that are off by default.")
@_option("--ignore", **_SELECTORS, help="Rules not to report.")
@_option("--exclude", **_PATTERNS, help="What to leave out, as in .gitignore; instead of what is configured.")
@_option("--extend-exclude", **_PATTERNS, help="What to leave out as well.")
@_option("--force-exclude/--no-force-exclude", help="Leave it out even if it is named, as pre-commit does.")
@_option("--respect-gitignore/--no-respect-gitignore", help="Whether .gitignore files hold; by default they do.")
@_option("--stdin-filename", metavar="PATH", help="What to call the source on standard input, for which PATH is `-`.")
@_option("--baseline", metavar="FILE", help="Report what is not in this file, and what is in it and found no more.")
@_option("--write-baseline", type=_FILE, help="Make what is found the baseline.")
@_option("--ignore-noqa/--no-ignore-noqa", help="Report what comments suppress, too.")
@click.option("--add-noqa", is_flag=True, help="Write `# noqa: CODE` where something is found, and report nothing.")
@click.option("--fix", is_flag=True, help="Apply safe suggestions, and report what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="To fix: also what traces, outputs not compared.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@_option("--fail-on", type=_choice(FailOn), help="The least severity that makes exit code 1; the default is warning.")
@click.option("--exit-zero", is_flag=True, help="End with 0 though something is found.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="End with 1 though all that was found could be fixed.")
@click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help=_CONFIG_HELP)
@click.option("--isolated", is_flag=True, help="Without any configuration file.")
@click.option("--show-settings", is_flag=True, help="Print the settings, and lint nothing.")
@click.option("--show-files", is_flag=True, help="Print the files that would be linted, and lint nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing but findings and problems.")
@click.option("-v", "--verbose", is_flag=True, help="Say what is done, by which interpreter, and how long it takes.")
def check(
    paths: tuple[str, ...],
    output_format: Format | None,
    output_file: Path | None,
    show_graph: bool | None,
    color: Color | None,
    stdin_filename: str | None,
    config: tuple[str, ...],
    isolated: bool,
    show_settings: bool,
    show_files: bool,
    write_baseline: Path | None,
    add_noqa: bool,
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    statistics: bool,
    exit_zero: bool,
    exit_non_zero_on_fix: bool,
    quiet: bool,
    verbose: bool,
    **given: Any,
) -> int:
    """Lint files and folders (the default command).

    Exit code 0: clean. 1: findings. 2: a path, a file, the configuration or the command line could not be used.
    """
    from fxlint.engine import exit_code

    if output_file is not None and not os.path.isdir(output_file.parent):  # noqa: PTH112  # never raises
        raise ConfigError(f"--output-file: there is no folder '{output_file.parent}'")
    texts = _standard_input(paths, stdin_filename)
    if texts and (add_noqa or fix):
        raise click.UsageError("standard input is no file that could be changed; --diff shows what would be")
    paths = tuple(texts) or paths or (".",)
    config = config or tuple(filter(None, [os.environ.get("FXLINT_CONFIG")]))
    said = {**({"confirm": False} if texts else {}), **_said(given)}
    configs = each(Nearest(config, isolated=isolated), lambda one: override(one, said, "command line"))
    if show_settings:
        _print(shown(configs(common_folder(paths))))
        return 0
    if show_files:
        with holding(texts):
            return _show_files(paths, configs)
    if write_baseline is not None:
        configs = each(configs, lambda one: replace(one, baseline=None))
    never = each(configs, lambda one: replace(one, fail_on="never"))
    lint = partial(fxlint.check, paths, config=configs, log=_say if verbose else None, sources=texts)
    stamps = partial(_stamps, paths, configs) if add_noqa or fix else dict
    before, report, fixed = stamps(), lint(), 0
    if write_baseline is not None or add_noqa or diff:
        with holding(texts):
            if write_baseline is not None:
                _write_baseline(report, write_baseline)
            elif add_noqa:
                _add_noqa(report, before)
            would_change = diff and _show_diff(report, unsafe_fixes)
        _say_problems(report)
        return max(exit_code(report, never), int(would_change))
    if fix:
        report, fixed = _fix(report, before, lambda: (stamps(), lint()), unsafe_fixes)
    with holding(texts):
        colored = output_file is None and _wants_color(color or "auto")
        options = _options(_rules_of(report, paths, configs), show_graph=bool(show_graph), color=colored)
        _write(report, "statistics" if statistics else output_format or "full", options, output_file)
    _say_problems(report)
    if not report.files and not report.problems and not texts:
        _say(f"warning: no Python files in {printable(', '.join(paths))}")
    if not quiet:
        _say_summary(report, fixed if fix else None)
    code = exit_code(report, never if exit_zero else configs)
    return max(code, int(exit_non_zero_on_fix and fixed > 0))


@cli.command("rule")
@click.argument("selector", metavar="RULE")
@click.option("--output-format", type=_choice(PageFormat), default="text", help="How to print the page.")
@_option("--color", type=_choice(Color), help="Colour the page; the default is auto.")
def explain(selector: str, output_format: PageFormat, color: Color | None) -> int:
    """Print the page of a rule: its code or its name."""
    from fxlint import pages
    from fxlint.rules import load_rules
    from fxlint.selection import near

    rules = load_rules(load().rules)
    known = {word: rule for rule in rules for word in (rule.code, rule.name)}
    if selector not in known:
        raise ConfigError(f"there is no rule '{selector}'{near(selector, rules)}")
    rule = known[selector]
    if output_format == "json":
        _print(pages.as_json([rule]))
    elif output_format == "markdown":
        _print(pages.markdown(rule))
    else:
        _print(pages.for_terminal(pages.markdown(rule), width=_width(), color=_wants_color(color or "auto")))
    return 0


@cli.command("rules")
@click.option("--output-format", type=_choice(PageFormat), default="text", help="How to print the list.")
def list_rules(output_format: PageFormat) -> int:
    """List all rules."""
    from fxlint import pages
    from fxlint.rules import load_rules

    write = {"text": pages.listing, "markdown": pages.table, "json": pages.as_json}
    _print(write[output_format](load_rules(load().rules)))
    return 0


def _rules_of(report: Report, paths: Sequence[str], configs: Configs) -> RuleSet:
    """The rules that a report is about: those of the configurations of what was linted."""
    from fxlint.rules import load_rules

    folders = (os.path.dirname(finding.location.path) for finding in report.findings)  # noqa: PTH120
    named = (place for folder in (common_folder(paths), *folders) for place in configs(folder).rules)
    return load_rules(tuple(dict.fromkeys(named)))


def _say_problems(report: Report) -> None:
    for problem in report.problems:
        _say(_problem(problem))


def _say_summary(report: Report, fixed: int | None) -> None:
    from fxlint.report.summary import summary_line

    _say(summary_line(report) + ("" if fixed is None else f"; {fixed} fixed"))


def _show_files(paths: tuple[str, ...], configs: Configs) -> int:
    """Print what would be linted; 2 where a path cannot be."""
    from fxlint.files import find_files

    files = find_files(paths, configs)
    _print("".join(f"{printable(path)}\n" for path in files.paths))
    for problem in files.problems:
        _say(_problem(problem))
    return EXIT_CANNOT if files.problems else 0


def _write_baseline(report: Report, file: Path) -> None:
    """Make what the report holds the baseline."""
    from fxlint.baseline import write
    from fxlint.report.summary import standing

    findings = standing(report)
    try:
        write(file, findings)
    except OSError as error:
        raise ConfigError(f"--write-baseline: '{file}' cannot be written: {error.strerror}") from error
    _say(f"{len(findings)} in the baseline, {printable(str(file))}")


def _stamps(paths: tuple[str, ...], configs: Configs) -> dict[str, _Stamp]:
    """What tells each file that is going to be linted from a later one of its name."""
    from fxlint.files import find_files

    return {path: stamp for path in find_files(paths, configs).paths if (stamp := _stamp(path)) is not None}


def _stamp(path: str) -> _Stamp | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _replace_linted(after: Mapping[str, bytes], before: Mapping[str, _Stamp]) -> None:
    """Write files, all or none: edits to one that was saved since it was read would hit other lines."""
    for path in after:
        if path in before and _stamp(path) != before[path]:
            raise RefusedEdit(f"{path}: was changed while it was linted; nothing is written")
    for path, data in after.items():
        replace_file(path, data)


def _add_noqa(report: Report, before: Mapping[str, _Stamp]) -> None:
    """Have comments suppress what the report holds, but for notebooks, which are not changed."""
    from fxlint.project.notebook import of_cell
    from fxlint.report.summary import standing
    from fxlint.rewrite import changed
    from fxlint.suppression import with_noqa

    findings = [finding for finding in standing(report) if of_cell(finding.location.path)[1] is None]
    _replace_linted(changed(with_noqa(findings)), before)
    many = len(findings) != 1
    _say(f"{len(findings)} {'findings are' if many else 'finding is'} suppressed by a comment now")


def _fix(
    report: Report,
    before: Mapping[str, _Stamp],
    lint: Callable[[], tuple[Mapping[str, _Stamp], Report]],
    unsafe: bool,
) -> tuple[Report, int]:
    """Apply suggestions and lint again, until nothing is left to apply; the last report, and how many were applied."""
    from fxlint.rewrite import changed, fixes

    applied = 0
    for _ in range(_MAX_ROUNDS):
        suggestions = fixes(report.findings, unsafe=unsafe)
        if not suggestions:
            break
        _replace_linted(changed(edit for suggestion in suggestions for edit in suggestion.edits), before)
        applied += len(suggestions)
        before, report = lint()
    return report, applied


def _show_diff(report: Report, unsafe: bool) -> bool:
    """Print what fixing would change; whether there is anything."""
    from difflib import unified_diff

    from fxlint.project.buffers import content
    from fxlint.project.source import decode
    from fxlint.rewrite import changed, fixes

    suggestions = fixes(report.findings, unsafe=unsafe)
    after = changed(edit for suggestion in suggestions for edit in suggestion.edits)
    for path, data in after.items():
        old, new = (decode(raw).splitlines(keepends=True) for raw in (content(path), data))
        _print("".join(unified_diff(old, new, path, path)))
    left = 0 if unsafe else len(fixes(report.findings, unsafe=True)) - len(suggestions)
    if left > 0:
        _say(f"{left} more with --unsafe-fixes: they trace, and whether they give the same was not compared")
    return bool(after)


def _said(given: dict[str, Any]) -> dict[str, object]:
    """What the command line says, by the keys of the configuration."""
    return {name.replace("_", "-"): value for name, value in given.items() if value is not None}


def _standard_input(paths: tuple[str, ...], name: str | None) -> dict[str, bytes]:
    """The source on standard input by its name, where the path is ``-``."""
    if "-" not in paths:
        if name is not None:
            raise click.UsageError("--stdin-filename names what is read from standard input, for which the path is `-`")
        return {}
    if len(paths) > 1:
        raise click.UsageError("`-`, standard input, is linted alone")
    if sys.stdin is None:
        raise ConfigError("standard input is closed")
    return {name or "-": sys.stdin.buffer.read()}


def _options(rules: RuleSet, *, show_graph: bool, color: bool) -> Options:
    from fxlint.report import Options
    from fxlint.report.sources import Sources

    return Options(rules, Sources(), base=Path.cwd(), color=color, width=_width(), show_graph=show_graph)


def _write(report: Report, output_format: Format | Literal["statistics"], options: Options, file: Path | None) -> None:
    from fxlint.report import renderer

    text = renderer(output_format)(report, options)
    if file is None:
        _print(text)
        return
    data = text.encode("utf-8", "backslashreplace")
    try:
        replace_file(str(file), data)
    except OSError as error:
        raise ConfigError(f"--output-file: '{file}' cannot be written: {error.strerror}") from error


def _print(text: str) -> None:
    try:
        click.echo(text, nl=False, color=True)  # the report decided on its colours
    except OSError as error:
        _discard_output()
        if not isinstance(error, BrokenPipeError):  # else who reads it has enough
            raise ConfigError(f"standard output cannot be written: {error.strerror}") from error


def _discard_output() -> None:
    """What is still in the buffer would be written at exit, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _wants_color(color: Color) -> bool:
    if color != "auto":
        return color == "always"
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR"):
        return False
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _MAX_WIDTH) if sys.stdout.isatty() else _PIPE_WIDTH


def _problem(problem: Problem) -> str:
    level = "error" if problem.stage == "input" else "warning"
    return f"{level}: {placed(problem)}"


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # there is nowhere left to say that standard error is full
        click.echo(line, err=True)


cli.add_command(trace)
cli.add_command(instances)
cli.add_command(test_rules)
