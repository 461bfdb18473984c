"""From a family and a place to the event, the source text and the callee of a finding nobody predicted."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fxlint.findings import Location

from .traces import Met, Place

MAX_TEXT = 80
_COMPARING = frozenset({"max", "min", "sorted", "any", "all"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DATA = frozenset({"tensor", "as_tensor", "from_numpy", "asarray", "Size"})
_HIGHER_ORDER = frozenset(
    {"vmap", "cond", "while_loop", "grad", "jvp", "vjp", "jacrev", "jacfwd", "hessian", "map", "scan"}
)
_OF_TORCH = ("torch.", "F.", "nn.functional.")
_Span = tuple[int, int, int, int]  # line, column, end line, end column
_DEFAULT = {
    "bool": "bool.call",
    "iter": "iter.call",
    "len": "len.call",
    "index": "index.call",
    "int": "int.call",
    "float": "float.call",
    "complex": "complex.call",
    "round": "round.call",
    "format": "format.spec",
    "kwargs": "kwargs.unpack",
    "setitem": "setitem.assign",
    "key": "key.lookup",
    "tensor": "tensor.sizes",
    "call": "call.foreign",
    "output": "output.type",
    "raise": "raise.reached",
    "module": "module.unregistered",
    "signature": "signature.variadic",
    "context": "context.proxy",
    "wrap": "wrap.misuse",
    "math": "math.recorded",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a finding says: the event, the source that it is about, its place, and the callee where there is one."""

    event: str
    text: str
    callee: str
    location: Location


def kind_of(met: Met, place: Place, source: str) -> Kind | None:
    """The kind of an event at ``place`` of a file with this source; None for a family that no rule speaks of."""
    if met.family not in _DEFAULT:
        return None
    tree = Tree.of(source)
    node, parents = tree.at(place) if tree is not None else (None, ())
    if tree is None or node is None:
        location = _line_location(place, source)
        text = _shortened(_row(source, place.line).strip())
        return Kind(_DEFAULT[met.family], text, text, location)
    event = _event(met, node, parents)
    subject = _subject(met.family, node, parents)
    text = _shortened(", ".join(tree.text(word) for word in _words(event, subject)))
    call = next((found for found in (subject, node) if isinstance(found, ast.Call)), None)
    return Kind(event, text, _shortened(tree.text(call.func)) if call else text, tree.location(subject, place.path))


def kind_of_root(met: Met, path: str, line: int, source: str) -> Kind | None:
    """The kind of an event that no linted line was running for: it is told at the head of the root, ``line``."""
    row = _row(source, line)
    text = _shortened(row.strip().rstrip(":"))
    message = met.error.message if met.error is not None else ""
    if met.family == "output":
        event = "output.generator" if "generator" in message else "output.type"
    elif met.family == "signature":
        event = "signature.decorated" if _has_decorated_forward(source, line) else "signature.variadic"
    elif met.family == "wrap":
        event = "wrap.misuse"
    elif met.family == "root":
        event = "root.uninitialised"
    elif met.family is None:
        event = "root.torch"
    elif met.family in ("bool", "iter", "len", "index", "int", "float", "call", "kwargs", "tensor", "setitem", "key"):
        event = "root.library"
    else:
        return None
    return Kind(event, text, text, _line_location(Place(path, line), source))


def _event(met: Met, node: ast.AST, parents: tuple[ast.AST, ...]) -> str:
    family = met.family or ""
    if isinstance(node, ast.Call) and _is_forward_of_super(node.func):
        return "root.library"
    if family == "bool":
        return _bool_event(met, node, parents)
    if family == "iter":
        return _iter_event(node)
    if family == "index":
        return _index_event(node)
    if family == "float" and isinstance(node, ast.Call) and _name(node.func) != "float":
        return "float.math"
    if family == "tensor":
        return _tensor_event(node)
    if family == "call":
        return _call_event(node)
    if family == "setitem" and isinstance(node, ast.Delete):
        return "setitem.delete"
    if family == "setitem" and any(isinstance(found, ast.AugAssign) for found in (node, *parents[:1])):
        return "setitem.augmented"
    if family == "raise" and met.error is not None and met.error.type == "AttributeError":
        return "raise.attribute"
    if family == "raise" and met.error is not None and met.error.type in {"NameError", "UnboundLocalError"}:
        return "raise.name"
    return _DEFAULT[family]


def _bool_event(met: Met, node: ast.AST, parents: tuple[ast.AST, ...]) -> str:
    if isinstance(node, ast.Call):
        return "bool.minmax" if _name(node.func) in _COMPARING else _event_of_test(node, parents) or "bool.call"
    if isinstance(node, ast.Compare):
        if any(isinstance(operator, (ast.In, ast.NotIn)) for operator in node.ops):
            return "bool.in"
        if len(node.ops) > 1:
            return "bool.compare"
    test = _test_of(node)
    if _is_flag(met.origin, test if test is not None else node, parents):
        return "bool.flag"
    return _event_of_test(node, parents) or "bool.if"


def _event_of_test(node: ast.AST, parents: tuple[ast.AST, ...]) -> str | None:
    for inner, outer in zip((node, node, *parents), (node, *parents), strict=False):
        if isinstance(outer, ast.Assert):
            return "bool.assert"
        if isinstance(outer, ast.While):
            return "bool.while"
        if isinstance(outer, ast.IfExp):
            return "bool.ternary"
        if isinstance(outer, (ast.If, ast.comprehension)):
            return "bool.if"
        if isinstance(outer, ast.Match):
            return "bool.match"
        if isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not):
            return "bool.not"
        if isinstance(outer, ast.BoolOp):
            return "bool.and_or"
        if outer is not inner:
            return None
    return None


def _test_of(node: ast.AST) -> ast.expr | None:
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return node.test
    return node.operand if isinstance(node, ast.UnaryOp) else None


def _is_flag(origin: str | None, test: ast.AST, parents: tuple[ast.AST, ...]) -> bool:
    """Whether the test asks a parameter with a default itself, by its name or by comparing it with a constant."""
    function = next((found for found in parents if isinstance(found, _FUNCTIONS)), None)
    if isinstance(test, ast.Compare) and all(isinstance(value, ast.Constant) for value in test.comparators):
        test = test.left
    if function is None or not isinstance(test, ast.Name) or test.id != origin:
        return False
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaulted = positional[len(positional) - len(arguments.defaults) :] if arguments.defaults else []
    keyword = [argument for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    return origin in {argument.arg for argument in (*defaulted, *keyword)}


def _iter_event(node: ast.AST) -> str:
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return "iter.for"
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return "iter.comprehension"
    if isinstance(node, ast.Compare):
        return "iter.in"
    if isinstance(node, ast.Call):
        return "iter.star" if any(isinstance(argument, ast.Starred) for argument in node.args) else "iter.call"
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and any(isinstance(item, ast.Starred) for item in node.elts):
        return "iter.star" if isinstance(node, ast.Set) or isinstance(node.ctx, ast.Load) else "iter.unpack"
    return "iter.star" if isinstance(node, ast.Starred) else "iter.call"


def _index_event(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return "index.range" if _name(node.func) == "range" else "index.call"
    if isinstance(node, ast.Subscript):
        sliced = any(isinstance(found, ast.Slice) for found in ast.walk(node.slice))
        return "index.slice" if sliced else "index.subscript"
    return "index.call"


def _tensor_event(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        name = _name(node.func)
        if name.startswith("torch."):
            return "tensor.data" if name.rpartition(".")[2] in _DATA else "tensor.sizes"
    return "tensor.constant"


def _call_event(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return "call.foreign"
    name = _name(node.func)
    if name.startswith("torch.Tensor."):
        return "call.unbound_method"
    if name.startswith(("np.", "numpy.")):
        return "call.numpy"
    if name.startswith(_OF_TORCH):
        higher = name.rpartition(".")[2] in _HIGHER_ORDER or name.startswith("torch.func.")
        return "call.higher_order" if higher else "call.torch"
    return "call.foreign"


def _subject(family: str, node: ast.AST, parents: tuple[ast.AST, ...]) -> ast.AST:
    """The part of the node that a reader should look at."""
    if family == "bool":
        return _test_of(node) or node
    if family == "iter" and isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter
    if family == "iter" and isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return node.generators[0].iter
    if family == "context" and isinstance(node, ast.With):
        return node.items[0].context_expr
    if family == "setitem" and parents and isinstance(parents[0], (ast.Assign, ast.AugAssign)):
        return parents[0]
    return node


def _words(event: str, node: ast.AST) -> Sequence[ast.AST]:
    """What the message calls the text: the arguments of a call that rejects them, the index of a container."""
    family = event.partition(".")[0]
    if isinstance(node, ast.Call):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if event == "iter.star":
            starred = [argument.value for argument in arguments if isinstance(argument, ast.Starred)]
            return starred or [node]
        about_arguments = family in ("index", "int", "float", "complex", "round", "call", "math") or event in (
            "iter.call", "tensor.sizes", "tensor.data", "kwargs.unpack"
        )  # fmt: skip
        return arguments if about_arguments and arguments else [node]
    if isinstance(node, ast.Subscript) and family == "index":
        return [node.slice]
    return [node]


def _is_forward_of_super(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "forward"
        and isinstance(node.value, ast.Call)
        and _name(node.value.func) == "super"
    )


def _name(node: ast.AST) -> str:
    """The dotted name of an expression, empty where it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


class Tree:
    """A file's syntax tree with positions in code points."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self._rows = source.splitlines()
        self._tree = tree
        self._index: dict[_Span, tuple[ast.AST, tuple[ast.AST, ...]]] = {}
        for node, parents in _walk(tree, ()):
            if isinstance(node, (ast.expr, ast.stmt)):
                self._index.setdefault(self._span(node), (node, parents))

    @staticmethod
    @lru_cache(maxsize=64)
    def of(source: str) -> Tree | None:
        try:
            return Tree(source, ast.parse(source))
        except (SyntaxError, ValueError, RecursionError):
            return None

    def at(self, place: Place) -> tuple[ast.AST | None, tuple[ast.AST, ...]]:
        """The outermost node with exactly this span, and its parents, innermost first."""
        if place.column is None or place.end_column is None:
            return None, ()
        return self._index.get((place.line, place.column, place.last_line, place.end_column), (None, ()))

    def location(self, node: ast.AST, path: str) -> Location:
        line, column, end_line, end_column = self._span(node)
        return Location(path, line, column, end_line, end_column)

    def text(self, node: ast.AST) -> str:
        line, column, end_line, end_column = self._span(node)
        rows = self._rows[line - 1 : end_line]
        if line == end_line:
            return rows[0][column - 1 : end_column - 1]
        pieces = [rows[0][column - 1 :], *rows[1:-1], rows[-1][: end_column - 1]]
        return " ".join(piece.strip() for piece in pieces)

    def _span(self, node: ast.AST) -> _Span:
        assert isinstance(node, (ast.expr, ast.stmt))
        end_line = node.end_lineno or node.lineno
        return (
            node.lineno,
            self._column(node.lineno, node.col_offset),
            end_line,
            self._column(end_line, node.end_col_offset or 0),
        )

    def _column(self, line: int, offset: int) -> int:
        row = self._rows[line - 1] if line <= len(self._rows) else ""
        return offset + 1 if row.isascii() else len(row.encode()[:offset].decode("utf-8", "ignore")) + 1


def _walk(node: ast.AST, parents: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    yield node, parents
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, (node, *parents))


def _has_decorated_forward(source: str, line: int) -> bool:
    tree = Tree.of(source)
    nodes = ast.walk(tree._tree) if tree is not None else iter(())
    for node in nodes:
        if isinstance(node, ast.ClassDef) and node.lineno == line:
            functions = [item for item in node.body if isinstance(item, _FUNCTIONS)]
            return any(item.name == "forward" and item.decorator_list for item in functions)
    return False


def _line_location(place: Place, source: str) -> Location:
    row = _row(source, place.line)
    start = len(row) - len(row.lstrip()) + 1
    return Location(place.path, place.line, start, place.line, max(start, len(row.rstrip()) + 1))


def _row(source: str, line: int) -> str:
    rows = source.splitlines()
    return rows[line - 1] if 0 < line <= len(rows) else ""


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
