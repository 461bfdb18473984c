"""How many items an input that is a list has, where the source tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fxlint.fix.snippet import dotted
from fxlint.fix.source import Source
from fxlint.project.tree import walk

_SEQUENCES: Final = frozenset(
    {"list", "List", "tuple", "Tuple", "Sequence", "MutableSequence", "Iterable", "Collection"}
)


def is_sequence(annotation: str) -> bool:
    """Whether an annotation is a list, a tuple or the like, optional or not."""
    return _head(annotation) in _SEQUENCES


def is_tuple(annotation: str) -> bool:
    return _head(annotation) in ("tuple", "Tuple")


def known_length(name: str, annotation: str, function: ast.FunctionDef, source: Source) -> int | None:
    """The length by the annotation, a check, an unpacking, or a container of modules that is zipped with the list."""
    class_of = source.class_of(function)
    found = [*_annotated(annotation)]
    for node in walk(function):
        if isinstance(node, (ast.Assert, ast.If)):
            found += _checked(node, name, source, class_of)
        elif isinstance(node, ast.Call) and _is_call_of(node, "zip") and any(_is(one, name) for one in node.args):
            found += [length for one in node.args for length in _container(one, source, class_of)]
        elif (
            isinstance(node, ast.Assign)
            and _is(node.value, name)
            and isinstance(node.targets[0], (ast.Tuple, ast.List))
        ):
            names = node.targets[0].elts
            found += [] if any(isinstance(one, ast.Starred) for one in names) else [len(names)]
    return found[0] if found else None


def _expression(annotation: str) -> ast.expr | None:
    """The annotation without quotes and without None."""
    try:
        node: ast.expr = ast.parse(annotation.strip("'\""), mode="eval").body
    except SyntaxError:
        return None
    if isinstance(node, ast.BinOp):
        return node.left if _is_none(node.right) else node.right
    is_optional = isinstance(node, ast.Subscript) and dotted(node.value).rpartition(".")[2] == "Optional"
    return node.slice if isinstance(node, ast.Subscript) and is_optional else node


def _head(annotation: str) -> str:
    node = _expression(annotation)
    if node is None:
        return ""
    return dotted(node.value if isinstance(node, ast.Subscript) else node).rpartition(".")[2]


def _annotated(annotation: str) -> Iterator[int]:
    node = _expression(annotation)
    items = node.slice.elts if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) else []
    if is_tuple(annotation) and items and not any(isinstance(one, ast.Constant) and one.value is ... for one in items):
        yield len(items)


def _checked(node: ast.Assert | ast.If, name: str, source: Source, class_of: ast.ClassDef | None) -> Iterator[int]:
    """`assert len(NAME) == 3`, and `if len(NAME) != 3: raise ...`, also with `len(self.layers)`."""
    if isinstance(node, ast.If) and not isinstance(node.body[-1], ast.Raise):
        return
    wanted = ast.Eq if isinstance(node, ast.Assert) else ast.NotEq
    joins = ast.And if isinstance(node, ast.Assert) else ast.Or
    is_joined = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, joins)
    tests = node.test.values if isinstance(node.test, ast.BoolOp) and is_joined else [node.test]
    for test in tests:
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], wanted):
            sides = (test.left, test.comparators[0])
            for one, other in (sides, sides[::-1]):
                if isinstance(one, ast.Call) and _is_call_of(one, "len") and _is(one.args[0], name):
                    yield from _number(other, source, class_of)


def _number(node: ast.expr, source: Source, class_of: ast.ClassDef | None) -> Iterator[int]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node.value
    elif isinstance(node, ast.Call) and _is_call_of(node, "len"):
        yield from _container(node.args[0], source, class_of)


def _container(node: ast.expr, source: Source, class_of: ast.ClassDef | None) -> Iterator[int]:
    """The length of a display, or of `self.NAME` that the class sets to one or to a ModuleList of one, once."""
    if isinstance(node, (ast.List, ast.Tuple)) and not any(isinstance(one, ast.Starred) for one in node.elts):
        yield len(node.elts)
    elif isinstance(node, ast.ListComp) and len(node.generators) == 1 and not node.generators[0].ifs:
        yield from _counted(node.generators[0].iter, source, class_of)
    elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "ModuleList" and node.args:
        yield from _container(node.args[0], source, class_of)
    elif isinstance(node, ast.Attribute) and _is(node.value, "self") and class_of is not None:
        wanted = f"self.{node.attr}"
        stores = source.class_facts(class_of).assigned.get(wanted, [])
        grows = any(f"{wanted}.{word}(" in source.text(class_of) for word in ("append", "extend", "insert"))
        if len(stores) == 1 and isinstance(stores[0], ast.Assign) and not grows:
            yield from _container(stores[0].value, source, None)


def _counted(node: ast.expr, source: Source, class_of: ast.ClassDef | None) -> Iterator[int]:
    if isinstance(node, ast.Call) and _is_call_of(node, "range"):
        if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, int):
            yield node.args[0].value
    else:
        yield from _container(node, source, class_of)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_call_of(node: ast.Call, name: str) -> bool:
    return _is(node.func, name) and bool(node.args)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
