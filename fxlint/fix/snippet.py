"""Pieces of source that rewrites put together, with parentheses where the parts need them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

BARE: Final = -1
"""Goes over several lines, and needs brackets around it for that."""
ANY: Final = 0
TEST: Final = 1
NOT: Final = 4
COMPARISON: Final = 5
BIT_OR: Final = 6
BIT_AND: Final = 8
SUM: Final = 10
PRODUCT: Final = 11
SIGN: Final = 12
POWER: Final = 13
AWAIT: Final = 14
ATOM: Final = 15
"""How tightly an expression binds; an atom needs no parentheses wherever it stands."""

OPERATIONS: Final = (ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)
_OPERATORS: Final[dict[type[ast.AST], int]] = {
    ast.Or: 2,
    ast.And: 3,
    ast.Not: NOT,
    ast.BitOr: BIT_OR,
    ast.BitXor: 7,
    ast.BitAnd: BIT_AND,
    ast.LShift: 9,
    ast.RShift: 9,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Mult: PRODUCT,
    ast.Div: PRODUCT,
    ast.FloorDiv: PRODUCT,
    ast.Mod: PRODUCT,
    ast.MatMult: PRODUCT,
    ast.UAdd: SIGN,
    ast.USub: SIGN,
    ast.Invert: SIGN,
    ast.Pow: POWER,
}
_OTHERS: Final[dict[type[ast.AST], int]] = {
    ast.NamedExpr: ANY,
    ast.Yield: ANY,
    ast.YieldFrom: ANY,
    ast.Starred: ANY,
    ast.Lambda: TEST,
    ast.IfExp: TEST,
    ast.Compare: COMPARISON,
    ast.Await: AWAIT,
}


@dataclass(frozen=True, slots=True)
class Code:
    """The source of an expression and how tightly it binds."""

    text: str
    rank: int = ATOM

    @classmethod
    def of(cls, node: ast.expr, text: str) -> Code:
        """An expression of the file, whose source this is."""
        if isinstance(node, ast.Tuple):
            return cls(text if _is_in_brackets(text) else f"({text})")
        return cls(text, BARE if "\n" in text and not _is_whole(text) else _rank(node))

    @classmethod
    def held(cls, text: str) -> Code:
        """What stands in parentheses, given with them."""
        return cls(text)

    def within(self, rank: int) -> str:
        """The source where something that binds this tightly is wanted."""
        return self.text if self.rank >= rank else f"({self.text})"

    @property
    def atom(self) -> str:
        return self.within(ATOM)


def joined(parts: Sequence[Code], operator: str, rank: int) -> Code:
    """``a | b | c``, each part in parentheses unless it is an atom."""
    return parts[0] if len(parts) == 1 else Code(f" {operator} ".join(part.atom for part in parts), rank)


def tuple_of(items: Sequence[str]) -> Code:
    return Code(f"({', '.join(items)}{',' if len(items) == 1 else ''})")


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for a chain of attributes of a name; an empty text for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""


def slot(parent: ast.AST, node: ast.AST) -> int:
    """How tightly an expression has to bind in the place of ``node``."""
    if isinstance(parent, ast.BinOp):
        rank = _OPERATORS[type(parent.op)]
        if isinstance(parent.op, ast.Pow):
            return SIGN if node is parent.right else AWAIT
        return rank + (node is parent.right)
    if isinstance(parent, ast.BoolOp):
        return _OPERATORS[type(parent.op)] + 1
    if isinstance(parent, ast.UnaryOp):
        return _OPERATORS[type(parent.op)]
    if isinstance(parent, ast.Compare):
        return BIT_OR
    if isinstance(parent, ast.IfExp):
        return TEST if node is parent.orelse else TEST + 1
    if isinstance(parent, ast.Starred):
        return BIT_OR
    is_owner = node is getattr(parent, "func", None) or node is getattr(parent, "value", None)
    if isinstance(parent, (ast.Attribute, ast.Await)) or (is_owner and isinstance(parent, (ast.Call, ast.Subscript))):
        return ATOM
    is_inside = isinstance(parent, (ast.Call, ast.Subscript, ast.List, ast.Set, ast.Dict, ast.ListComp))
    return BARE if is_inside else TEST + isinstance(parent, ast.comprehension)


def _rank(node: ast.expr) -> int:
    if isinstance(node, (ast.BoolOp, ast.BinOp, ast.UnaryOp)):
        return _OPERATORS[type(node.op)]
    return _OTHERS.get(type(node), ATOM)


def _is_whole(text: str) -> bool:
    """Whether all line ends of an expression are inside brackets."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def _is_in_brackets(text: str) -> bool:
    """Whether a tuple has its parentheses: after a name, they make it a call of one."""
    try:
        return isinstance(ast.parse(f"f{text}", mode="eval").body, ast.Call)
    except SyntaxError:
        return False
