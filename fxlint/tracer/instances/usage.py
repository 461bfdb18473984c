"""What a class does with each argument of its constructor, read from its source."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

MAX_STRINGS = 12
_STRING_METHODS = frozenset(("lower", "upper", "split", "startswith", "endswith", "strip", "format", "replace"))
_ITERATING = frozenset(("len", "zip", "enumerate", "sum", "list", "tuple", "sorted", "set", "map", "reversed", "any"))


@dataclass
class Usage:
    """What is done with one argument.

    ``calls`` are the calls of it (number of positional arguments, names of keywords), ``passed`` are the callables that
    it is handed to, with the name of their parameter; ``strings`` are those that it is compared with.
    """

    calls: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    called_in_forward: bool = False
    iterated: bool = False
    unpacked: int | None = None
    indices: set[int | str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    strings: list[str] = field(default_factory=list)
    is_number: bool = False
    types: list[type] = field(default_factory=list)
    passed: list[tuple[Any, str]] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    """The attributes of self that it becomes, or that are computed from it."""


@lru_cache(maxsize=1024)
def usages(cls: type) -> Mapping[str, Usage]:
    """Parameter -> usage; nothing for a constructor without source."""
    defined = next((base for base in cls.__mro__ if "__init__" in vars(base)), None)
    if defined is None:
        return {}
    body = class_source(defined)
    if body is None:
        return {}
    constructor = next(
        (node for node in body.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"), None
    )
    if constructor is None:
        return {}
    scope = vars(sys.modules[defined.__module__])
    reader = _Reader(constructor, scope, defined)
    reader.read(constructor.body)
    reader.read_methods(body, constructor)
    return reader.found


@lru_cache(maxsize=1024)
def parsed(module_name: str) -> ast.Module | None:
    """The source of an imported module, None where there is none that can be read."""
    module = sys.modules.get(module_name)
    try:
        return ast.parse(inspect.getsource(module)) if module is not None else None
    except (OSError, TypeError, SyntaxError, ValueError, RecursionError):
        return None


def class_source(cls: type) -> ast.ClassDef | None:
    """The definition of a class at the top of its module or inside another class."""
    tree = parsed(cls.__module__)
    at: ast.AST | None = tree
    for part in cls.__qualname__.split("."):
        body = getattr(at, "body", [])
        at = next((node for node in _flat(body) if isinstance(node, ast.ClassDef) and node.name == part), None)
        if at is None:
            return None
    return at if isinstance(at, ast.ClassDef) else None


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, also those under its conditions and tries."""
    for node in body:
        yield node
        for name in ("body", "orelse", "handlers", "finalbody"):
            if isinstance(node, (ast.If, ast.Try)):
                for inner in getattr(node, name, []):
                    yield from _flat([inner]) if not isinstance(inner, ast.ExceptHandler) else _flat(inner.body)


def looked_up(node: ast.AST, scope: Mapping[str, Any]) -> Any:
    """The object that a name or an attribute chain stands for in a module, None where it stands for none."""
    if isinstance(node, ast.Name):
        return scope.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        owner = looked_up(node.value, scope)
        try:
            return None if owner is None else getattr(owner, node.attr, None)
        except Exception:  # an attribute of the user's may raise anything
            return None
    return None


class _Reader:
    def __init__(self, constructor: ast.FunctionDef, scope: Mapping[str, Any], cls: type) -> None:
        arguments = constructor.args
        names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self._self = names[0] if names else "self"
        self.found = {name: Usage() for name in names[1:]}
        self._aliases: dict[str, str] = {name: name for name in self.found}
        self._scope = scope
        self._cls = cls
        self._in_forward = False

    def read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            for node in ast.walk(statement):
                self._node(node)

    def read_methods(self, body: ast.ClassDef, constructor: ast.FunctionDef) -> None:
        """What other methods do with the attributes that hold the arguments."""
        attributes = {name: param for name, param in self._aliases.items() if name.startswith(f"{self._self}.")}
        for node in body.body:
            if isinstance(node, ast.FunctionDef) and node is not constructor and node.args.args:
                own = node.args.args[0].arg
                self._aliases = {f"{own}.{name.partition('.')[2]}": param for name, param in attributes.items()}
                self._in_forward = True
                self.read(node.body)

    def _param(self, node: ast.AST | None) -> Usage | None:
        name = self._name(node)
        param = self._aliases.get(name) if name is not None else None
        return None if param is None else self.found[param]

    def _name(self, node: ast.AST | None) -> str | None:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return f"{node.value.id}.{node.attr}"
        return None

    def _node(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self._call(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            self._assign(node)
        elif isinstance(node, ast.Compare):
            self._compare(node)
        elif isinstance(node, ast.Subscript):
            self._subscript(node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, (ast.For, ast.comprehension)):
            self._loop(node)
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)) and not isinstance(getattr(node, "op", None), ast.Not):
            self._arithmetic(node)
        elif isinstance(node, ast.Starred):
            usage = self._param(node.value)
            if usage is not None:
                usage.iterated = True

    def _call(self, node: ast.Call) -> None:
        usage = self._param(node.func)
        if usage is not None:
            if self._in_forward:
                usage.called_in_forward = True
            else:
                keywords = tuple(one.arg for one in node.keywords if one.arg is not None)
                usage.calls.append((len(node.args), keywords))
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "isinstance" and len(node.args) == 2:
            self._types(self._param(node.args[0]), node.args[1])
            return
        for position, argument in enumerate(node.args):
            usage = self._param(argument)
            if usage is None:
                continue
            if name in _ITERATING:
                usage.iterated = True
            elif name in ("range", "abs", "round"):
                usage.is_number = True
            elif not self._in_forward:
                self._passed(usage, node.func, position, None)
        for keyword in node.keywords:
            usage = self._param(keyword.value)
            if usage is not None and keyword.arg is not None and not self._in_forward:
                self._passed(usage, node.func, None, keyword.arg)

    def _types(self, usage: Usage | None, node: ast.AST) -> None:
        if usage is None:
            return
        for one in node.elts if isinstance(node, ast.Tuple) else [node]:
            found = looked_up(one, self._scope)
            if isinstance(found, type):
                usage.types.append(found)

    def _passed(self, usage: Usage, func: ast.expr, position: int | None, keyword: str | None) -> None:
        callee = self._callee(func)
        if callee is None:
            return
        if keyword is None:
            try:
                names = list(inspect.signature(callee).parameters.values())
            except (TypeError, ValueError):
                return
            if position is None or position >= len(names) or names[position].kind == names[position].VAR_POSITIONAL:
                return
            keyword = names[position].name
        usage.passed.append((callee, keyword))

    def _callee(self, func: ast.expr) -> Any:
        if (
            isinstance(func, ast.Attribute)
            and func.attr == "__init__"
            and isinstance(func.value, ast.Call)
            and isinstance(func.value.func, ast.Name)
            and func.value.func.id == "super"
        ):
            return next((base for base in self._cls.__mro__[1:] if "__init__" in vars(base)), None)
        found = looked_up(func, self._scope)
        return found if callable(found) else None

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            usage = self._param(node.value)
            if isinstance(target, (ast.Tuple, ast.List)):
                if usage is not None:
                    usage.iterated, usage.unpacked = True, len(target.elts)
                continue
            name = self._name(target)
            if name is None or node.value is None:
                continue
            if name.startswith(f"{self._self}."):
                for inner in ast.walk(node.value):
                    mentioned = self._param(inner)
                    if mentioned is not None:
                        mentioned.stored.add(name.partition(".")[2])
            for choice in _choices(node.value):
                held = self._name(choice)
                if held in self._aliases and name not in self.found:
                    self._aliases[name] = self._aliases[held]

    def _compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for side in sides:
            usage = self._param(side)
            if usage is None:
                continue
            for other in sides:
                for constant in other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]:
                    if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                        self._string(usage, constant.value)
                    elif isinstance(constant, ast.Constant) and type(constant.value) in (int, float):
                        usage.is_number = True
                if isinstance(node.ops[0], (ast.In, ast.NotIn)) and other is not side:
                    self._keys(usage, other)

    def _string(self, usage: Usage, value: str) -> None:
        if value not in usage.strings and len(usage.strings) < MAX_STRINGS:
            usage.strings.append(value)

    def _keys(self, usage: Usage, container: ast.AST) -> None:
        """The strings that a container in the module's scope knows."""
        if isinstance(container, ast.Call) and isinstance(container.func, ast.Attribute):
            container = container.func.value
        known = looked_up(container, self._scope)
        if isinstance(known, (dict, list, tuple, set, frozenset)):
            for key in list(known)[:MAX_STRINGS]:
                if isinstance(key, str):
                    self._string(usage, key)

    def _subscript(self, node: ast.Subscript) -> None:
        usage = self._param(node.value)
        if usage is not None:
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, (int, str)):
                usage.indices.add(node.slice.value)
            else:
                usage.iterated = True
        key = self._param(node.slice)
        if key is not None:
            if isinstance(node.value, ast.Dict):
                for one in node.value.keys:
                    if isinstance(one, ast.Constant) and isinstance(one.value, str):
                        self._string(key, one.value)
            else:
                self._keys(key, node.value)

    def _attribute(self, node: ast.Attribute) -> None:
        usage = self._param(node.value)
        if usage is not None and node.attr not in _STRING_METHODS:
            usage.attributes.add(node.attr)

    def _loop(self, node: ast.For | ast.comprehension) -> None:
        usage = self._param(node.iter)
        if usage is not None:
            usage.iterated = True

    def _arithmetic(self, node: ast.BinOp | ast.UnaryOp) -> None:
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        for side in sides:
            usage = self._param(side)
            if usage is not None:
                usage.is_number = True


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    """What an expression may be, itself: ``p``, and both of ``p or q`` and of ``p if c else q``."""
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _choices(value)
    elif isinstance(node, ast.IfExp):
        yield from _choices(node.body)
        yield from _choices(node.orelse)
    else:
        yield node
