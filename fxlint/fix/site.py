"""The place of a finding, as the families of fixes look at it."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from fxlint.findings import CALLED_AT, Edit, Finding, Suggestion
from fxlint.fix.parameters import Parameter
from fxlint.fix.plain import is_plain
from fxlint.fix.snippet import Code
from fxlint.fix.source import Source
from fxlint.fix.sources import Sources

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

    def code(self, node: ast.expr) -> Code:
        return self.source.code(node)

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
        first = next(iter(self.finding.provenance), None)
        if first is None or not first.text.endswith(_INPUT):
            return None
        return self.sources.parameter(first.location, first.text.removesuffix(_INPUT))

    @property
    def is_called(self) -> bool:
        """Whether the construct lies in what forward calls, and not in forward itself."""
        return any(step.text.startswith(CALLED_AT) for step in self.finding.provenance)

    def calls(self) -> Iterator[tuple[Source, ast.Call]]:
        """The calls that lead from forward to the construct, the innermost one first."""
        for step in reversed(self.finding.provenance):
            if step.text.startswith(CALLED_AT):
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
        parameters = self.source.facts(self.function).annotations if self.function is not None else {}
        found = is_plain(node, parameters)
        for step in reversed(self.finding.provenance):
            if found is not None:
                break
            if not step.text.startswith(CALLED_AT):
                found = is_plain(_parsed(step.text.removesuffix(_INPUT)), parameters)
        return found is True

    def rewrite(self, text: str, *edits: Edit) -> Suggestion:
        """Edits, with the import of torch where they need it and the file has none."""
        needed = any("torch." in edit.text for edit in edits)
        if needed and not any(self.source.imports(name) for name in ("torch", "torch.fx", "torch.nn")):
            edits = (self.source.insert(self.source.after_imports, "import torch\n"), *edits)
        return Suggestion("rewrite", text, edits)

    def replacement(self, text: str, node: ast.expr, new: Code) -> Suggestion:
        """One expression for another, shown in the text."""
        old, shown = (" ".join(one.split()) for one in (self.text(node), new.text))
        return self.rewrite(f"{text}: replace `{old}` by `{shown}`", self.source.replace_fitting(node, new))

    def advice(self, text: str) -> Suggestion:
        """A way out that nobody can write without knowing what the code is for."""
        return Suggestion("rewrite", text)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.AST:
    """The expression of a step; an empty tree for what is none."""
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.parse(text.strip(), mode="eval").body
    return ast.Module([], [])
