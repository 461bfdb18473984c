"""The command line: arguments -> Config -> engine -> report -> exit code.

Findings go to standard output; the summary, problems and progress to standard error. What a command does not need is
imported only where it is used: ``fxlint --version`` answers at once.
"""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

import fxlint
from fxlint import __version__
from fxlint.commands import in_seconds, instances, test_rules, trace
from fxlint.config import (
    MAX_JOBS,
    Confidence,
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
from fxlint.findings import Severity
from fxlint.garbage import uncollected
from fxlint.project.buffers import holding
from fxlint.report.text import placed, printable
from fxlint.rewrite import replace_file
from fxlint.stopping import Stopped, stop_on_signals

if TYPE_CHECKING:
    from fxlint.findings import Finding, Problem, Report
    from fxlint.fixing import Changes
    from fxlint.report import Options
    from fxlint.rules import RuleSet

Color = Literal["auto", "always", "never"]
PageFormat = Literal["text", "markdown", "json"]

EXIT_CANNOT = 2

_PIPE_WIDTH = 100
_MAX_WIDTH = 120

Say: TypeAlias = Callable[[str], None]
"""Takes a line for standard error."""
_Command = TypeVar("_Command", bound=Callable[..., Any])


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point: exits with 0 (clean), 1 (findings), 2 (could not do the job), 130 or 143 (was stopped)."""
    _hold_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name or a message that the console cannot encode must not end the run
            stream.reconfigure(errors="backslashreplace")
    with uncollected():
        try:
            stop_on_signals()
            code = _exit_code(lambda: cli.main(arguments, prog_name="fxlint", standalone_mode=False))
        except Stopped as stopped:
            _say(str(stopped))
            code = stopped.exit_code
        gc.freeze()  # nor at the end of the process, which takes all with it
    sys.exit(code)


def _exit_code(run: Callable[[], int]) -> int:
    """What a run returns; where it raises, that is told in a line."""
    try:
        return run()
    except click.ClickException as error:
        with contextlib.suppress(OSError):
            error.show()
    except ConfigError as error:
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
        nothing_yet = context.resilient_parsing and not arguments  # a shell completes the first word
        if not nothing_yet and (not arguments or arguments[0] not in own):
            if arguments and not context.resilient_parsing:
                self._check_no_slip(arguments[0])
            arguments = ["check", *arguments]
        return super().parse_args(context, arguments)

    def _check_no_slip(self, word: str) -> None:
        """Raise UsageError where a word is no path, and almost the name of a command."""
        import difflib

        near = difflib.get_close_matches(word, self.commands, n=1, cutoff=0.75)
        if near and not os.path.exists(word):  # noqa: PTH110  # never raises
            raise click.UsageError(f"there is no command, file or folder '{word}'; did you mean '{near[0]}'?")

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        inner = check.make_context("check", [], parent=context, resilient_parsing=True)
        found = [*super().shell_complete(context, incomplete), *check.shell_complete(inner, incomplete)]
        if not incomplete.startswith("-"):
            found.append(CompletionItem(incomplete, type="file"))
        return list({item.value: item for item in found}.values())

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(context, formatter)
        check.format_options(context, formatter)


class _Check(click.Command):
    """Its help lists the options under headings, and --add-noqa takes its value after ``=`` or has none."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        return super().parse_args(context, ["--add-noqa=" if word == "--add-noqa" else word for word in arguments])

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        options = {option.name: option for option in self.params if isinstance(option, click.Option)}
        for heading, names in _SECTIONS.items():
            records = (options[name].get_help_record(context) for name in names.split())
            with formatter.section(heading):
                formatter.write_dl([record for record in records if record is not None])


_SECTIONS = {
    "Files": "exclude extend_exclude force_exclude respect_gitignore stdin_filename show_files watch",
    "Rules": "select extend_select ignore min_severity min_confidence ignore_noqa add_noqa baseline write_baseline",
    "Tracing": "confirm python timeout jobs require_confirm",
    "Report": "output_format output_file show_graph statistics color quiet silent verbose",
    "Fixing": "fix fix_only unsafe_fixes diff show_fixes fixable unfixable",
    "Exit code": "fail_on exit_zero exit_non_zero_on_fix",
    "Configuration": "config isolated show_settings no_cache cache_dir",
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
_FOLDER = click.Path(file_okay=False, path_type=Path)
_SELECTORS: dict[str, Any] = {"multiple": True, "callback": _listed, "metavar": "RULES"}
_PATTERNS: dict[str, Any] = {"multiple": True, "callback": _listed, "metavar": "PATTERNS"}


@cli.command(cls=_Check)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
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
@click.option("--require-confirm", is_flag=True, help="End with 2 if a module could not be traced.")
@_option("-j", "--jobs", type=click.IntRange(1, MAX_JOBS), help="How many processes; by default all processors.")
@_option("--select", **_SELECTORS, help="The rules to report: codes, prefixes, names, or ALL.")
@_option("--extend-select", **_SELECTORS, help="Rules to report as well, such as those that are off by default.")
@_option("--ignore", **_SELECTORS, help="Rules not to report.")
@_option("--min-severity", type=_choice(Severity), help="Report what is at least this grave; the default is info.")
@_option("--min-confidence", type=_choice(Confidence), help="Report what is at least this sure: see the README.")
@_option("--exclude", **_PATTERNS, help="What to leave out, as in .gitignore; instead of what is configured.")
@_option("--extend-exclude", **_PATTERNS, help="What to leave out as well.")
@_option("--force-exclude/--no-force-exclude", help="Leave it out even if it is named, as pre-commit does.")
@_option("--respect-gitignore/--no-respect-gitignore", help="Whether .gitignore files hold; by default they do.")
@_option("--stdin-filename", metavar="PATH", help="What to call the source on standard input, for which PATH is `-`.")
@_option("--baseline", metavar="FILE", help="Report what is not in this file, and what is in it and found no more.")
@_option("--write-baseline", type=_FILE, help="Make what is found the baseline.")
@_option("--ignore-noqa/--no-ignore-noqa", help="Report what comments suppress, too.")
@_option("--add-noqa", metavar="[=REASON]", help="Write `# noqa: CODE` where something is found; report nothing.")
@click.option("--fix", is_flag=True, help="Apply safe suggestions, and report what is left.")
@click.option("--fix-only", is_flag=True, help="Apply them, and neither report nor fail for what is left.")
@click.option("--unsafe-fixes", is_flag=True, help="To fix: also what traces, outputs not compared.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option("--show-fixes", is_flag=True, help="List what was fixed, or would be.")
@_option("--fixable", **_SELECTORS, help="The rules whose suggestions are applied; by default all.")
@_option("--unfixable", **_SELECTORS, help="Rules whose suggestions are not applied.")
@_option("--fail-on", type=_choice(FailOn), help="The least severity that makes exit code 1; the default is warning.")
@click.option("--exit-zero", is_flag=True, help="End with 0 though something is found.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="End with 1 though all that was found could be fixed.")
@click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help=_CONFIG_HELP)
@click.option("--isolated", is_flag=True, help="Without any configuration file.")
@click.option("--no-cache", is_flag=True, envvar="FXLINT_NO_CACHE", help="Use no earlier results, and keep none.")
@_option("--cache-dir", metavar="FOLDER", envvar="FXLINT_CACHE_DIR", help="Where results are kept for later runs.")
@click.option("--show-settings", is_flag=True, help="Print the settings, and lint nothing.")
@click.option("--show-files", is_flag=True, help="Print the files that would be linted, and lint nothing.")
@click.option("--watch", is_flag=True, help="Lint again whenever a file is saved, until it is interrupted.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing but findings and problems.")
@click.option("-s", "--silent", is_flag=True, help="Print nothing: there is the exit code, and the report in a file.")
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
    no_cache: bool,
    watch: bool,
    show_settings: bool,
    show_files: bool,
    write_baseline: Path | None,
    add_noqa: str | None,
    fix: bool,
    fix_only: bool,
    unsafe_fixes: bool,
    diff: bool,
    show_fixes: bool,
    require_confirm: bool,
    statistics: bool,
    exit_zero: bool,
    exit_non_zero_on_fix: bool,
    quiet: bool,
    silent: bool,
    verbose: bool,
    **given: Any,
) -> int:
    """Lint files and folders (the default command).

    Exit code 0: clean. 1: findings. 2: a path, a file, the configuration or the command line could not be used.
    """
    from fxlint.engine import exit_code
    from fxlint.files import find_files
    from fxlint.fixing import Changes, fixed, stamps, suppressed, write
    from fxlint.progress import bar

    if output_file is not None and not os.path.isdir(output_file.parent):  # noqa: PTH112  # never raises
        raise ConfigError(f"--output-file: there is no folder '{output_file.parent}'")
    texts = _standard_input(paths, stdin_filename)
    fix = fix or fix_only
    if texts and (fix or add_noqa is not None):
        raise click.UsageError("standard input is no file that could be changed; --diff shows what would be")
    paths = tuple(texts) or paths or (".",)
    config = config or tuple(filter(None, [os.environ.get("FXLINT_CONFIG")]))
    over = {**({"confirm": False} if texts else {}), **({"cache": False} if no_cache else {}), **_said(given)}
    configs = each(Nearest(config, isolated=isolated), lambda one: override(one, over, "command line"))
    if watch:
        if texts or fix or diff or add_noqa is not None or write_baseline is not None:
            raise click.UsageError("--watch reports what is in files, and changes nothing")
        return _watch(paths, configs)
    if show_settings:
        _print(shown(configs(common_folder(paths))))
        return 0
    if show_files:
        with holding(texts):
            return _show_files(paths, configs)
    _check_replaced(output_file, write_baseline, paths, configs)
    if write_baseline is not None:
        configs = each(configs, lambda one: replace(one, baseline=None))
    never = each(configs, lambda one: replace(one, fail_on="never"))
    can_fix = _can_fix(configs)
    say = _say_nothing if silent else _say

    def lint(held: Mapping[str, bytes]) -> Report:
        if verbose or quiet or silent:
            return fxlint.check(paths, config=configs, log=say if verbose else None, sources=held)
        with bar(sys.stderr) as progress:
            return fxlint.check(paths, config=configs, progress=progress, sources=held)

    with holding(texts):
        linted = stamps(find_files(paths, configs).paths) if fix or add_noqa is not None else {}
        changes = fixed(lint, texts, can_fix=can_fix, unsafe=unsafe_fixes) if fix or diff else Changes(lint(texts))
        if write_baseline is not None or add_noqa is not None or diff:
            if write_baseline is not None:
                _write_baseline(changes.report, write_baseline, say)
            elif add_noqa is not None:
                changes = suppressed(changes.report, add_noqa)
                write(changes, linted)
                many = len(changes.applied) != 1
                say(f"{len(changes.applied)} {'findings are' if many else 'finding is'} suppressed by a comment now")
            else:
                _show_diff(changes, can_fix, say, unsafe=unsafe_fixes)
                if show_fixes:
                    _say_fixes(changes, say)
            _say_problems(changes.outcome, say)
            return max(exit_code(changes.outcome, never), int(diff and bool(changes.after)))
        if fix and not write(changes, linted):
            changes.report = lint(texts)
        report = changes.outcome
        if not fix_only and not (silent and output_file is None):
            colored = output_file is None and _wants_color(color or "auto")
            form = "statistics" if statistics else output_format or "full"
            rules = _rules_of(report, paths, configs, every=form == "sarif")
            _write(report, form, _options(rules, show_graph=bool(show_graph), color=colored), output_file)
    _say_problems(report, say)
    if not report.files and not report.problems and not texts:
        say(f"warning: no Python files in {printable(', '.join(paths))}")
    if show_fixes:
        _say_fixes(changes, say)
    if fix:
        _say_untried(changes, can_fix, say)
    if not quiet:
        _say_summary(report, len(changes.applied) if fix else None, can_fix, say)
    code = exit_code(report, never if exit_zero or fix_only else configs)
    untraced = sum(module.confirmed.verdict == "not-run" for module in report.modules)
    if require_confirm and untraced:
        say(f"error: {untraced} of {len(report.modules)} modules were not traced, and --require-confirm asks for all")
        return EXIT_CANNOT
    return max(code, int(exit_non_zero_on_fix and bool(changes.applied)))


@cli.command("rule")
@click.argument("selector", metavar="RULE", required=False)
@click.option("--all", "every", is_flag=True, help="Print the pages of all rules.")
@click.option("--output-format", type=_choice(PageFormat), default="text", help="How to print the page.")
@_option("--color", type=_choice(Color), help="Colour the page; the default is auto.")
def explain(selector: str | None, every: bool, output_format: PageFormat, color: Color | None) -> int:
    """Print the page of a rule: its code or its name."""
    from fxlint import pages
    from fxlint.rules import load_rules
    from fxlint.selection import near

    if every == (selector is not None):
        raise click.UsageError("name one rule, or say --all")
    chosen = [] if every else [rule for rule in load_rules() if selector in (rule.code, rule.name)]
    if not chosen:  # no slip in a project's own rules hides the pages of the others
        rules = load_rules(load().rules)
        chosen = [rule for rule in rules if every or selector in (rule.code, rule.name)]
        if not chosen:
            raise ConfigError(f"there is no rule '{selector}'{near(selector or '', rules)}")
    if output_format == "json":
        _print(pages.as_json(chosen))
        return 0
    text = "\n".join(pages.markdown(rule) for rule in chosen)
    if output_format == "text":
        text = pages.for_terminal(text, width=_width(), color=_wants_color(color or "auto"))
    _print(text)
    return 0


@cli.command("rules")
@click.option("--output-format", type=_choice(PageFormat), default="text", help="How to print the list.")
@click.option("--pages", "folder", type=_FOLDER, help="Write the pages of all rules here as Markdown, with an index.")
def list_rules(output_format: PageFormat, folder: Path | None) -> int:
    """List all rules, or write their pages."""
    from fxlint import pages
    from fxlint.rules import load_rules

    rules = load_rules(load().rules)
    if folder is not None:
        _write_pages(pages.files(rules), folder)
        return 0
    write = {"text": pages.listing, "markdown": pages.table, "json": pages.as_json}
    _print(write[output_format](rules))
    return 0


def _write_pages(pages: Mapping[str, str], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            replace_file(str(folder / name), text.encode("utf-8"))
    except OSError as error:
        raise ConfigError(f"--pages: '{folder}' cannot be written: {error.strerror}") from error
    _say(f"{len(pages)} pages in {printable(str(folder))}")


def _rules_of(report: Report, paths: Sequence[str], configs: Configs, *, every: bool) -> RuleSet:
    """The rules of the findings in a report, or every one of the configurations of what was linted."""
    from fxlint.rules import load_rules

    folders = (os.path.dirname(finding.location.path) for finding in report.findings)  # noqa: PTH120
    named = (place for folder in (common_folder(paths), *folders) for place in configs(folder).rules)
    return load_rules(tuple(dict.fromkeys(named)), None if every else {finding.code for finding in report.findings})


@cli.command("clean")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@_option("--cache-dir", metavar="FOLDER", envvar="FXLINT_CACHE_DIR", help="The folder to clean, if another one.")
@click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help=_CONFIG_HELP)
def clean(paths: tuple[str, ...], config: tuple[str, ...], **given: Any) -> int:
    """Remove what was kept for later runs over files and folders; by default the working directory.

    What fxlint has not made is left alone.
    """
    from fxlint import cache
    from fxlint.engine import cache_folder
    from fxlint.files import find_files

    paths = paths or (".",)
    said = {"cache": True, **_said(given)}
    configs = each(Nearest(config), lambda one: override(one, said, "command line"))
    files = find_files(paths, configs)
    folders = dict.fromkeys([common_folder(paths), *map(os.path.dirname, files.paths)])
    for place in dict.fromkeys(cache_folder(configs(folder)) for folder in folders):
        if place is not None and cache.clean(place):
            _say(f"removed {printable(place)}")
    for problem in files.problems:
        _say(_problem(problem))
    return EXIT_CANNOT if files.problems else 0


@cli.command("server")
@click.option("--stdio", is_flag=True, hidden=True, help="What it does anyway; editors say it.")
def serve(stdio: bool) -> int:
    """Answer an editor over standard input and output: the language server, which runs no code."""
    del stdio
    try:
        from fxlint.server import server
    except ImportError:
        raise ConfigError("the server needs pygls, which comes with the extra `server`") from None
    server().start_io()
    return 0


def _watch(paths: Sequence[str], configs: Configs) -> int:
    """Run the command that is under way, without --watch, again and again."""
    from fxlint.watch import watch

    context = click.get_current_context()
    given = {**context.params, "watch": False}

    def run() -> None:
        if sys.stdout.isatty():
            click.clear()
        _exit_code(lambda: context.invoke(check, **given))  # a slip in the configuration is not the end
        if not given["quiet"] and not given["silent"]:
            _say("watching for changes; interrupt to end")
        gc.collect()

    watch(run, paths, configs)
    return 0


def _can_fix(configs: Configs) -> Callable[[Finding], bool]:
    """Whether the configuration of its file lets a finding be fixed."""
    from fxlint.rules import load_rules
    from fxlint.selection import ALL, fixable

    codes: dict[Path | None, frozenset[str]] = {}

    def can_fix(finding: Finding) -> bool:
        config = configs(os.path.dirname(finding.location.path))  # noqa: PTH120
        if config.fixable == (ALL,) and not config.unfixable:
            return True  # whatever the rules are
        if config.file not in codes:
            codes[config.file] = fixable(config, load_rules(config.rules))
        return finding.code in codes[config.file]

    return can_fix


def _say_problems(report: Report, say: Say) -> None:
    for problem in report.problems:
        say(_problem(problem))


def _say_fixes(changes: Changes, say: Say) -> None:
    from fxlint.report.text import one_line

    for finding, suggestion in changes.applied:
        place = f"{printable(finding.location.path)}:{finding.location.line}:{finding.location.column}"
        say(f"fixed: {place}: {finding.code} {one_line(suggestion.text)}")


def _say_summary(report: Report, fixed: int | None, can_fix: Callable[[Finding], bool], say: Say) -> None:
    from fxlint.report.summary import standing, summary_line
    from fxlint.rewrite import fix_of

    found = [finding for finding in standing(report) if can_fix(finding)]
    safe, all_that_trace = (
        sum(fix_of(finding, unsafe=unsafe) is not None for finding in found) for unsafe in (False, True)
    )
    say(summary_line(report) + ("" if fixed is None else f"; {fixed} fixed"))
    ways = [f"{safe} fixable with --fix"] if safe else []
    if all_that_trace > safe:
        ways.append(f"{all_that_trace - safe} {'more' if safe else 'fixable'} with --fix --unsafe-fixes")
    if ways:
        say(", ".join(ways))


def _show_files(paths: tuple[str, ...], configs: Configs) -> int:
    """Print what would be linted; 2 where a path cannot be."""
    from fxlint.files import find_files

    files = find_files(paths, configs)
    _print("".join(f"{printable(path)}\n" for path in files.paths))
    for problem in files.problems:
        _say(_problem(problem))
    return EXIT_CANNOT if files.problems else 0


def _check_replaced(report: Path | None, baseline: Path | None, paths: Sequence[str], configs: Configs) -> None:
    """Raise ConfigError where source code, what is linted, or what is no baseline would be replaced."""
    from fxlint.baseline import is_replaceable
    from fxlint.files import SOURCES, find_files

    for option, file in ("--output-file", report), ("--write-baseline", baseline):
        if file is None or not os.path.isfile(file):  # noqa: PTH113  # never raises
            continue
        real = os.path.realpath(file)
        if real.endswith(SOURCES) or real in map(os.path.realpath, find_files(paths, configs).paths):
            raise ConfigError(f"{option}: '{file}' is source code, which is not replaced")
        if file is baseline and not is_replaceable(file):
            raise ConfigError(f"{option}: '{file}' is no baseline, and not replaced by one")


def _write_baseline(report: Report, file: Path, say: Say) -> None:
    """Make what the report holds the baseline."""
    from fxlint.baseline import write
    from fxlint.report.summary import standing

    findings = standing(report)
    try:
        write(file, findings)
    except OSError as error:
        raise ConfigError(f"--write-baseline: '{file}' cannot be written: {error.strerror}") from error
    say(f"{len(findings)} in the baseline, {printable(str(file))}")


def _show_diff(changes: Changes, can_fix: Callable[[Finding], bool], say: Say, *, unsafe: bool) -> None:
    """Print what fixing would change."""
    from fxlint.fixing import diff
    from fxlint.rewrite import fixes

    _print("".join(diff(changes)))
    left = 0 if unsafe else len(fixes(filter(can_fix, changes.report.findings), unsafe=True))
    if left:
        say(f"{left} more with --unsafe-fixes: they trace, and whether they give the same was not compared")
    _say_untried(changes, can_fix, say)


def _say_untried(changes: Changes, can_fix: Callable[[Finding], bool], say: Say) -> None:
    from fxlint.report.summary import counted
    from fxlint.rewrite import is_untried

    untried = sum(is_untried(finding) for finding in changes.report.findings if can_fix(finding))
    if untried:
        say(f"not applied for {counted(untried, 'finding')}: a change has to be seen to trace, and nothing was traced")


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


def _say_nothing(_: str) -> None:
    """What --silent has said."""


def _say(line: str) -> None:
    with contextlib.suppress(OSError):  # there is nowhere left to say that standard error is full
        click.echo(line, err=True)


cli.add_command(trace)
cli.add_command(instances)
cli.add_command(test_rules)
