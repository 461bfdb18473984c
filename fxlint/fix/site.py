"""The place of a finding, as the families of fixes look at it."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fxlint.findings import Edit, Finding, Suggestion
from fxlint.fix.plain import is_plain
from fxlint.fix.source import Source, Sources

_CALLED_AT = "called at "
_INPUT = " (input)"


@dataclass(frozen=True)
class Site:
    """A finding with the node that it is about."""

    finding: Finding
    source: Source
    sources: Sources
    node: ast.AST

    @property
    def event(self) -> str:
        return self.finding.event

    def text(self, node: ast.AST) -> str:
        return self.source.text(node)

    @cached_property
    def statement(self) -> ast.stmt:
        return self.source.statement(self.node)

    @cached_property
    def function(self) -> ast.FunctionDef | None:
        """The function whose body holds the construct."""
        found = self.source.function(self.node)
        return found if isinstance(found, ast.FunctionDef) else None

    @cached_property
    def class_of(self) -> ast.ClassDef | None:
        return self.source.class_of(self.node)

    @property
    def names(self) -> list[str]:
        """What the message quotes; the qualified name of what is called is among it where the rule tells it."""
        return self.finding.message.split("`")[1::2]

    @cached_property
    def parameter(self) -> Parameter | None:
        """The parameter of the root that the traced value came from; None where it came from elsewhere."""
        for step in self.finding.provenance[:1]:
            if not step.text.endswith(_INPUT):
                return None
            source = self.sources.get(step.location.path)
            node = source.at(step.location) if source is not None else None
            function = source.function(node) if source is not None and node is not None else None
            if isinstance(node, ast.arg) and isinstance(function, ast.FunctionDef) and source is not None:
                return Parameter(step.text.removesuffix(_INPUT), function, source)
        return None

    def calls(self) -> Iterator[tuple[Source, ast.Call]]:
        """The calls that lead from forward to the construct, the innermost one first."""
        for step in reversed(self.finding.provenance):
            if step.text.startswith(_CALLED_AT):
                source = self.sources.get(step.location.path)
                node = source.at(step.location) if source is not None else None
                if source is not None and isinstance(node, ast.Call):
                    yield source, node

    @cached_property
    def is_number(self) -> bool:
        """Whether the value is a size, a dtype or the like: no tensor when the graph runs."""
        return self.is_plain(self.node)

    def is_plain(self, node: ast.AST) -> bool:
        """Whether an expression is a plain Python value when the graph runs.

        Where it does not tell by itself, the last of the steps that led to the finding that tells decides.
        """
        parameters = annotated(self.function)
        found = is_plain(node, parameters)
        for step in reversed(self.finding.provenance):
            if found is None and not step.text.startswith(_CALLED_AT):
                found = is_plain(_parsed(step.text.removesuffix(_INPUT)), parameters)
        return found is True

    def rewrite(self, text: str, *edits: Edit) -> Suggestion:
        """Edits, with the import of torch where they need it and the file has none."""
        needed = any("torch." in edit.text for edit in edits)
        if needed and not any(self.source.imports(name) for name in ("torch", "torch.fx", "torch.nn")):
            edits = (self.source.insert(self.source.after_imports(), "import torch\n"), *edits)
        return Suggestion("rewrite", text, edits)

    def replacement(self, text: str, node: ast.expr, new: str) -> Suggestion:
        """One expression for another, shown in the text."""
        old, shown = (" ".join(one.split()) for one in (self.text(node), new))
        return self.rewrite(f"{text}: replace `{old}` by `{shown}`", self.source.replace_fitting(node, new))

    def advice(self, text: str) -> Suggestion:
        """A way out that nobody can write without knowing what the code is for."""
        return Suggestion("rewrite", text)


@dataclass(frozen=True)
class Parameter:
    """A parameter of the function that is traced."""

    name: str
    function: ast.FunctionDef
    source: Source

    @cached_property
    def default(self) -> ast.expr | None:
        return defaults(self.function).get(self.name)

    @cached_property
    def annotation(self) -> str:
        arguments = self.function.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if argument.arg == self.name and argument.annotation is not None:
                return self.source.text(argument.annotation)
        return ""


def annotated(function: ast.FunctionDef | None) -> dict[str, ast.expr]:
    """The parameters that are annotated."""
    arguments = [one for one in ast.walk(function.args) if isinstance(one, ast.arg)] if function is not None else []
    return {one.arg: one.annotation for one in arguments if one.annotation is not None}


def _parsed(text: str) -> ast.AST:
    """The expression of a step; an empty tree for what is none."""
    with contextlib.suppress(SyntaxError):
        return ast.parse(text.strip(), mode="eval").body
    return ast.Module([], [])


def defaults(function: ast.FunctionDef) -> dict[str, ast.expr]:
    """The parameters that have a default, in the order of the signature."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    found = dict(zip((one.arg for one in positional[::-1]), arguments.defaults[::-1], strict=False))
    given = {one.arg: value for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value}
    return {**{one.arg: found[one.arg] for one in positional if one.arg in found}, **given}
