"""A parameter of the function that is traced, and what its use says about it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from fxlint.fix.lengths import is_sequence, is_tuple, known_length
from fxlint.fix.source import Source


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter of the function that is traced."""

    name: str
    function: ast.FunctionDef
    source: Source

    @cached_property
    def default(self) -> ast.expr | None:
        return self.source.facts(self.function).defaults.get(self.name)

    @cached_property
    def annotation(self) -> str:
        """The source of its annotation, empty where it has none."""
        found = self.source.facts(self.function).annotations.get(self.name)
        return "" if found is None or self.is_variadic else self.source.text(found)

    @property
    def is_variadic(self) -> bool:
        arguments = self.function.args
        return self.name in [one.arg for one in (arguments.vararg, arguments.kwarg) if one is not None]

    @cached_property
    def is_sequence(self) -> bool:
        """Whether it is annotated as a list, a tuple or the like, optional or not."""
        return is_sequence(self.annotation)

    @cached_property
    def is_tuple(self) -> bool:
        return is_tuple(self.annotation)

    @cached_property
    def is_list(self) -> bool:
        """Whether it is a list rather than a tensor when it is iterated over, by its annotation or its use."""
        if self.annotation:
            return self.is_sequence
        return self.name.endswith("s") and not any(isinstance(one, ast.Attribute) for one in self._uses)

    @cached_property
    def keys(self) -> list[str]:
        """The constant keys by which it is read."""
        items = [one.slice for one in self._uses if isinstance(one, ast.Subscript)]
        keys = [one.value for one in items if isinstance(one, ast.Constant)]
        return list(dict.fromkeys(key for key in keys if isinstance(key, str)))

    @cached_property
    def length(self) -> int | None:
        """How many items it has, where the source tells."""
        return known_length(self.name, self.annotation, self.function, self.source)

    @property
    def _uses(self) -> list[ast.AST]:
        """What stands around it where it is read or written."""
        facts = self.source.facts(self.function)
        names = [*facts.loads.get(self.name, ()), *facts.stores.get(self.name, ())]
        found = [(name, self.source.parent(name)) for name in names]
        return [parent for name, parent in found if getattr(parent, "value", None) is name]
