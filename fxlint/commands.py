"""The commands beside ``check``: one trace in full, and the instances that are found."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from fxlint.config import (
    Config,
    ConfigError,
    Configs,
    Nearest,
    common_folder,
    did_you_mean,
    each,
    override,
    seconds,
)
from fxlint.report.text import failure, one_line, placed, printable

if TYPE_CHECKING:
    from fxlint.confirm.shown import Shown
    from fxlint.findings import Prediction, Problem, Root
    from fxlint.rules import RuleSet

EXIT_FAILS: Final = 1
EXIT_CANNOT: Final = 2


def in_seconds(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """A value of --timeout, checked."""
    try:
        return None if value is None else seconds(value)
    except ValueError as error:
        raise click.BadParameter(f"{value} {error}") from error


def _with_settings(command: Any) -> Any:
    """The options that say how to trace."""
    for option in (
        click.option("--config", multiple=True, metavar="FILE|KEY=VALUE", help="A configuration file, or a setting."),
        click.option("--timeout", type=float, callback=in_seconds, metavar="SECONDS", help="For one module."),
        click.option("--python", metavar="PATH", help="The interpreter that has the project's torch."),
    ):
        command = option(command)
    return command


@click.command()
@click.argument("name", metavar="MODULE:CLASS|PATH::CLASS")
@click.option("--concrete-args", metavar="ARGS", help="Arguments to fix: `flag=True, mask=None`, or a dictionary.")
@click.option("--inputs", metavar="EXPRESSION", help="A tuple of example inputs, for shapes and dtypes.")
@click.option("--instance", metavar="EXPRESSION", help="What to trace, instead of what is found.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "tabular", "code", "json", "svg"]),
    default="text",
    show_default=True,
    help="How to print the graph.",
)
@_with_settings
def trace(
    name: str,
    concrete_args: str | None,
    inputs: str | None,
    instance: str | None,
    output_format: str,
    config: tuple[str, ...],
    **given: Any,
) -> int:
    """Trace one class or function in the project's interpreter, and show the graph or what stops it.

    Exit code 0: it traces. 1: it does not. 2: there is nothing to trace.
    """
    from fxlint.cells import Cells
    from fxlint.confirm import show
    from fxlint.engine import confirm_settings
    from fxlint.report.graph import FORMATS, CannotDrawError
    from fxlint.rules import load_rules

    path = name.rpartition("::")[0]
    settings = _configs(config, given)(common_folder([path] if path else []))
    rules = load_rules(settings.rules)
    root = _root_of(name, settings, rules)
    if instance is not None:
        root = replace(root, instances=(instance,))
    if inputs is not None:
        root = replace(root, inputs=inputs)
    tracer = confirm_settings(settings, rules, (root.path,))
    if concrete_args is not None:
        key = f"{Path(root.path).resolve()}::{root.qualname}"
        tracer = replace(tracer, tracing=replace(tracer.tracing, concrete_args={key: _dictionary(concrete_args)}))
    shown = Cells([root.path]).told(show(root, tracer))
    for problem in shown.problems:
        _say(f"warning: {placed(problem)}")
    if shown.error is not None or shown.instance is None:
        _say(_why_not(shown))
        return EXIT_CANNOT if shown.instance is None else EXIT_FAILS
    if shown.no_shapes is not None:
        _say(f"warning: no shapes: {one_line(shown.no_shapes)}")
    try:
        click.echo(FORMATS[output_format](shown), nl=False)
    except CannotDrawError as error:
        raise ConfigError(str(error)) from error
    _say(f"{root.qualname} traces: {len(shown.nodes)} nodes, from {one_line(shown.instance)}")
    return 0


def _why_not(shown: Shown) -> str:
    if shown.error is not None:
        return f"{shown.root.qualname} fails, from {one_line(shown.instance or '')}: {failure(shown.error)}"
    return f"error: {shown.root.qualname} was not traced: {one_line(shown.reason or 'it is not known why')}"


def _dictionary(said: str) -> str:
    """The expression for the dictionary that is written as one, or as the arguments of a call."""
    try:
        is_dictionary = isinstance(ast.parse(said.strip(), mode="eval").body, (ast.Dict, ast.Call))
    except (SyntaxError, ValueError):
        is_dictionary = False
    expression = said if is_dictionary else f"dict({said})"
    try:
        ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        wrong = f"'{said}' is neither `name=value, ...` nor a dictionary"
        raise click.BadParameter(wrong, param_hint="--concrete-args") from error
    return expression


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@_with_settings
def instances(paths: tuple[str, ...], config: tuple[str, ...], **given: Any) -> int:
    """List the instance that is found for each class, and how; for the others, lines for the configuration.

    Exit code 0: each has one. 1: some have none. 2: it could not be done.
    """
    from fxlint.engine import lintable_together
    from fxlint.files import find_files

    configs = _configs(config, given)
    files = find_files(paths or (".",), configs)
    shares = lintable_together(files.paths, configs)
    told = [_instances(share, settings, name=len(shares) > 1) for settings, share in shares]
    problems = [*files.problems, *(problem for one in told for problem in one.problems)]
    for problem in problems:
        _say(f"error: {placed(problem)}")
    found, wanted = sum(one.found for one in told), sum(one.wanted for one in told)
    _say(f"{found} of {wanted} classes have an instance")
    return EXIT_CANNOT if problems else int(found < wanted)


@dataclass(frozen=True, slots=True)
class _Told:
    """How many instances were found of how many that are wanted, and what could not be read."""

    found: int
    wanted: int
    problems: tuple[Problem, ...]


def _instances(files: tuple[str, ...], settings: Config, *, name: bool) -> _Told:
    """Print the instances of the classes in files of one configuration, whose name is told where there are several."""
    from fxlint.cells import Cells
    from fxlint.confirm import find_instances
    from fxlint.engine import confirm_settings
    from fxlint.rules import load_rules

    rules = load_rules(settings.rules)
    prediction = _predicted(files, settings, rules)
    modules = [module for module in prediction.modules if module.root.kind == "class"]
    found = find_instances(prediction, confirm_settings(settings, rules, files))
    cells = Cells(files)
    for module in modules:
        root = cells.told(module).root
        for one in found.instances.get(module.root.id, ()):
            click.echo(f"{printable(root.path)}:{root.line}: {root.qualname}: {one.how}: {one_line(one.text)}")
    missing = [module.root for module in modules if module.root.id not in found.instances]
    if missing:
        heading = "[tool.fxlint.instances]" + (f"  # {settings.file or 'no configuration file'}" if name else "")
        click.echo(f"\n{heading}" if len(missing) < len(modules) else heading)
    for root in missing:
        click.echo(_line(root, found.reasons.get(root.id), settings.root))
    for problem in map(cells.told, found.problems):
        _say(f"warning: {placed(problem)}")
    return _Told(len(modules) - len(missing), len(modules), tuple(map(cells.told, prediction.problems)))


def _line(root: Root, reason: str | None, folder: Path) -> str:
    """A line of TOML: the expression with what it needs left open, and in a comment why nothing was found."""
    from fxlint.project.naming import module_name

    name = module_name(Path(root.path))
    place = Path(root.path).resolve()
    spelled = place.relative_to(folder).as_posix() if place.is_relative_to(folder) else place.as_posix()
    key = f"{name.name}:{root.qualname}" if name.package else f"{spelled}::{root.qualname}"
    needs = ", ".join(f"{parameter}=..." for parameter in _required(root))
    comment = f"  # {one_line(reason)}" if reason else ""
    return f"{json.dumps(key)} = {json.dumps(f'{root.qualname}({needs})')}{comment}"


def _required(root: Root) -> list[str]:
    """The parameters without a default of the constructor that stands in the class itself."""
    from fxlint.project.source import read

    tree = read(root.path, Path(root.path)).tree
    cls = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.lineno == root.line)
    for member in cls.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            named = [*member.args.posonlyargs, *member.args.args]
            required = named[1 : len(named) - len(member.args.defaults)]
            keywords = zip(member.args.kwonlyargs, member.args.kw_defaults, strict=True)
            return [one.arg for one in (*required, *(arg for arg, default in keywords if default is None))]
    return []


@click.command("test-rules")
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@_with_settings
def test_rules(paths: tuple[Path, ...], config: tuple[str, ...], **given: Any) -> int:
    """Run the examples of the project's own rules: predicted as marked, and the same for the tracer.

    PATH is a rule or a folder of them, by default those of the configuration. Exit code 0: each example does what its
    page says. 1: some do not. 2: it could not be done.
    """
    from fxlint.confirm import NoInterpreterError, find_interpreter
    from fxlint.report.summary import counted
    from fxlint.rule_tests import failures
    from fxlint.rules import load_rules

    settings = _configs(config, given)(common_folder([str(path) for path in paths]))
    rules = load_rules((*settings.rules, *paths))
    codes = {rule.code for rule in load_rules(paths or settings.rules) if rule.is_own}
    tested = [rule for rule in rules if rule.code in codes]
    if not tested:
        raise ConfigError("there are no rules of the project's own: name them, or set `rules` in the configuration")
    try:
        find_interpreter(settings.python, (str(settings.root),))
    except NoInterpreterError as error:
        raise ConfigError(str(error)) from error
    failed = failures(tested, rules, settings)
    for one in failed:
        kind = "bad" if one.example.marks else "good"
        click.echo(f"{one.rule.code} {one.rule.name}, {kind} example {one.example.name}: {printable(one.problem)}")
    examples = sum(len(rule.bad) + len(rule.good) for rule in tested)
    wrong = len({(one.rule.code, one.example.name) for one in failed})
    told = f"{counted(len(tested), 'rule')}, {counted(examples, 'example')}"
    _say(f"{told}: {examples - wrong} as their pages say, {wrong} not")
    return int(bool(failed))


def _configs(config: tuple[str, ...], given: Mapping[str, object]) -> Configs:
    """The settings in each folder, each with the path of its interpreter."""
    from fxlint.engine import interpreter

    said = {name: value for name, value in given.items() if value is not None}

    def complete(one: Config) -> Config:
        settings = override(one, said, "command line")
        return replace(settings, python=interpreter(settings))

    return each(Nearest(config), complete)


def _predicted(paths: Sequence[str], settings: Config, rules: RuleSet) -> Prediction:
    from fxlint.engine import search_path, tracing
    from fxlint.predict import predict

    jobs = settings.jobs or os.cpu_count() or 1
    return predict(paths, rules, search_path(settings, settings.python), jobs, tracing(settings, rules))


def _root_of(name: str, settings: Config, rules: RuleSet) -> Root:
    """The class or function of a name, ``package.module:Net`` or ``path.py::Net``."""
    from fxlint.engine import search_path, seen_from_here
    from fxlint.findings import Root
    from fxlint.project.index import Project
    from fxlint.project.source import read

    path, separator, qualname = name.rpartition("::")
    module = ""
    if not separator:
        module, separator, qualname = name.partition(":")
    if not qualname or not (path or module):
        raise ConfigError(f"'{printable(name)}' is no name; write package.module:Class or path.py::Class")
    if module:
        index = Project((), search_path(settings, settings.python)).module(module)
        if index is None:
            raise ConfigError(f"there is no module {printable(module)}")
        path = seen_from_here(index.source.path)
    prediction = _predicted((path,), settings, rules)
    for problem in prediction.problems:
        raise ConfigError(placed(problem))
    roots = {module.root.qualname: module.root for module in prediction.modules}
    body = read(path, Path(path)).tree.body
    functions = {node.name: node.lineno for node in body if isinstance(node, ast.FunctionDef)}
    if qualname in roots:
        return roots[qualname]
    if qualname in functions:
        return Root(path, qualname, functions[qualname], "function")
    near = did_you_mean(qualname, [*roots, *functions])
    raise ConfigError(f"{printable(path)} has no module class or function {printable(qualname)}{near}")


def _say(line: str) -> None:
    click.echo(line, err=True)
