"""Constructor calls with literal arguments, as they stand in the package, its tests, examples and documentation."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping

MAX_BYTES = 400_000
_PLAIN = frozenset(("dict", "list", "tuple", "set", "frozenset", "range", "int", "float", "str", "bool", "slice"))
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.) ?(.*)$")
_FENCE = re.compile(r"^\s*```\s*(?:python|py|pycon)?[^\n]*\n(.*?)^\s*```", re.DOTALL | re.MULTILINE)
_ALLOWED = ("torch.nn.", "torch.Size", "torch.device", "torch.tensor", "torch.zeros", "torch.ones", "torch.eye",
            "torch.rand", "torch.linspace", "torch.arange", "functools.partial", "collections.OrderedDict",
            "types.SimpleNamespace", "numpy.array")  # fmt: skip


def calls_in(
    text: str, is_python: bool, module: str | None, wanted: Mapping[str, str], packages: Collection[str]
) -> Iterator[tuple[str, str]]:
    """(class name, expression) of calls of wanted classes whose arguments are all known from the text alone.

    ``wanted`` gives the dotted name of a class by its simple name. ``module`` is the dotted name under which the text
    is imported, where it is. ``packages`` are the top-level packages whose callables may appear inside the arguments.
    """
    if len(text) > MAX_BYTES or not any(f"{name}(" in text for name in wanted):
        return
    if is_python:
        tree = _parse(text)
        if tree is None:
            return
        scope = _Scope(tree, module, wanted, packages)
        yield from scope.calls(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>>" in node.value:
                yield from _in_session(node.value, module, wanted, packages)
    else:
        yield from _in_session(text, module, wanted, packages)
        for block in _FENCE.findall(text):
            tree = _parse(block)
            if tree is not None:
                yield from _Scope(tree, None, wanted, packages).calls(tree)


def _in_session(
    text: str, module: str | None, wanted: Mapping[str, str], packages: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The calls in lines that stand behind prompts; a line that does not parse costs itself only."""
    rows = [found[1] for found in map(_PROMPT.match, text.splitlines()) if found]
    tree = _parse("\n".join(rows))
    if tree is None:
        bodies = [parsed.body for parsed in map(_parse, rows) if parsed is not None]
        tree = ast.Module([statement for body in bodies for statement in body], [])
    yield from _Scope(tree, None, wanted, packages).calls(tree)


def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class NotClosedError(Exception):
    """An expression depends on something that the text alone does not tell."""


class _Scope:
    """What the names of a text stand for."""

    def __init__(
        self, tree: ast.Module, module: str | None, wanted: Mapping[str, str], packages: Collection[str]
    ) -> None:
        self._dotted: dict[str, str] = {}
        self._values: list[dict[str, ast.expr]] = [{}]
        self._wanted = wanted
        self._packages = tuple(packages)
        for node in ast.walk(tree):
            self._import(node, module)
        for statement in tree.body:
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef)) and module is not None:
                self._dotted[statement.name] = f"{module}.{statement.name}"
            elif isinstance(statement, ast.Assign) and module is not None:
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        self._dotted[target.id] = f"{module}.{target.id}"

    def _import(self, node: ast.AST, module: str | None) -> None:
        if isinstance(node, ast.Import):
            for one in node.names:
                name = one.asname or one.name.partition(".")[0]
                self._dotted[name] = one.name if one.asname else name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                if module is None:
                    return
                parents = module.split(".")[: -node.level]
                base = ".".join([*parents, base] if base else parents)
            for one in node.names:
                self._dotted[one.asname or one.name] = f"{base}.{one.name}"

    def calls(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """The calls of wanted classes below a node, innermost scope by scope."""
        inner = isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef))
        if inner:
            self._values.append(_parametrized(node))
        try:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Assign) and len(child.targets) == 1 and isinstance(child.targets[0], ast.Name):
                    self._values[-1][child.targets[0].id] = child.value
                yield from self.calls(child)
        finally:
            if inner:
                self._values.pop()
        if isinstance(node, ast.Call):
            name = _last(node.func)
            if name in self._wanted:
                try:
                    yield name, self._call(node, name)
                except NotClosedError:
                    return

    def _call(self, node: ast.Call, name: str) -> str:
        try:
            func = self._name(node.func)
        except NotClosedError:  # in an example: the class itself is not imported there
            func = self._wanted[name]
        if func.rpartition(".")[2] != name:
            raise NotClosedError
        if func.partition(".")[0] not in self._packages:
            func = self._wanted[name]
        arguments = [self._closed(one, 0) for one in node.args]
        keywords = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise NotClosedError
            keywords.append(f"{keyword.arg}={self._closed(keyword.value, 0)}")
        return f"{func}({', '.join([*arguments, *keywords])})"

    def _name(self, node: ast.expr) -> str:
        """The dotted name of an attribute chain from an import or a definition of the text."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            raise NotClosedError
        if node.id in self._dotted:
            return ".".join([self._dotted[node.id], *parts])
        if parts and (node.id in self._packages or node.id in ("torch", "nn")):
            return ".".join(["torch.nn" if node.id == "nn" else node.id, *parts])
        raise NotClosedError

    def _closed(self, node: ast.expr, depth: int) -> str:
        """The expression with full names. Raises NotClosedError where it is not known from the text alone."""
        if depth > 6:
            raise NotClosedError
        if isinstance(node, ast.Constant):
            return repr(node.value)
        if isinstance(node, ast.Name):
            return self._variable(node, depth)
        if isinstance(node, ast.Attribute):
            return self._name(node)
        if isinstance(node, ast.UnaryOp):
            return ast.unparse(ast.UnaryOp(node.op, self._parsed(node.operand, depth)))
        if isinstance(node, ast.BinOp):
            return ast.unparse(ast.BinOp(self._parsed(node.left, depth), node.op, self._parsed(node.right, depth)))
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            inner = ", ".join(self._closed(one, depth + 1) for one in node.elts)
            if isinstance(node, ast.Tuple):
                return f"({inner},)" if node.elts else "()"
            return f"[{inner}]" if isinstance(node, ast.List) else f"{{{inner}}}"
        if isinstance(node, ast.Dict):
            pairs = []
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    raise NotClosedError
                pairs.append(f"{self._closed(key, depth + 1)}: {self._closed(value, depth + 1)}")
            return f"{{{', '.join(pairs)}}}"
        if isinstance(node, ast.Call):
            return self._inner_call(node, depth)
        raise NotClosedError

    def _parsed(self, node: ast.expr, depth: int) -> ast.expr:
        return ast.parse(self._closed(node, depth + 1), mode="eval").body

    def _variable(self, node: ast.Name, depth: int) -> str:
        for values in reversed(self._values):
            if node.id in values:
                value = values[node.id]
                if isinstance(value, ast.Name) and value.id == node.id:
                    break
                return (
                    f"({self._closed(value, depth + 1)})" if not isinstance(value, ast.Constant) else repr(value.value)
                )
        if node.id in self._dotted:
            return self._dotted[node.id]
        if node.id in _PLAIN or (hasattr(builtins, node.id) and node.id in ("True", "False", "None")):
            return node.id
        raise NotClosedError

    def _inner_call(self, node: ast.Call, depth: int) -> str:
        if isinstance(node.func, ast.Name) and node.func.id in _PLAIN and node.func.id not in self._dotted:
            func = node.func.id
        else:
            func = self._name(node.func)
            if not func.startswith((*_ALLOWED, *(f"{package}." for package in self._packages))):
                raise NotClosedError
        arguments = [self._closed(one, depth + 1) for one in node.args]
        for keyword in node.keywords:
            if keyword.arg is None:
                raise NotClosedError
            arguments.append(f"{keyword.arg}={self._closed(keyword.value, depth + 1)}")
        return f"{func}({', '.join(arguments)})"


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _parametrized(node: ast.AST) -> dict[str, ast.expr]:
    """The first values that ``pytest.mark.parametrize`` gives a test's arguments, and the defaults of parameters."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return {}
    found: dict[str, ast.expr] = {}
    arguments = [*node.args.posonlyargs, *node.args.args]
    for one, default in zip(reversed(arguments), reversed(node.args.defaults), strict=False):
        found[one.arg] = default
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or _last(decorator.func) != "parametrize" or len(decorator.args) < 2:
            continue
        names, values = decorator.args[:2]
        listed = [part.strip() for part in names.value.split(",")] if isinstance(names, ast.Constant) and isinstance(
            names.value, str
        ) else [one.value for one in getattr(names, "elts", []) if isinstance(one, ast.Constant)]  # fmt: skip
        if not isinstance(values, (ast.List, ast.Tuple)) or not values.elts:
            continue
        first = values.elts[0]
        row = [first] if len(listed) == 1 else list(getattr(first, "elts", []))
        found.update(zip(map(str, listed), row, strict=False))
    return found
