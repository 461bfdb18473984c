"""Moves code that cannot be recorded into a function of its own at module level, which `torch.fx.wrap` makes a node."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Sequence

from fxlint.findings import Edit, Suggestion
from fxlint.fix.effects import changed
from fxlint.fix.facts import FunctionFacts
from fxlint.fix.site import Site
from fxlint.fix.source import Source, first_line, unindented
from fxlint.project.tree import walk

_CONTROL = (ast.If, ast.While, ast.For, ast.Match)
_UNMOVABLE = (
    ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda,
    ast.Global, ast.Nonlocal,
)  # fmt: skip

_METHODS = ("index", "count", "get", "size", "dim", "numel")
"""Methods of lists, dictionaries and parameters that no module has: their owner may be handed on as a value."""


MAX_TEXT = 4000
"""Characters of code that are moved: more is no helper function, and would be written once for each finding in it."""


class _CannotMoveError(Exception):
    """The code needs more than values: the module itself, a scope, or a way out that a function has not."""


def value(site: Site) -> Iterator[Suggestion]:
    """Move the expression of the finding."""
    yield from _value(site, site.node)


def conditional(site: Site) -> Iterator[Suggestion]:
    """Move the conditional expression or the boolean operation around the finding."""
    yield from _around(site, (ast.IfExp, ast.BoolOp))


def formatted(site: Site) -> Iterator[Suggestion]:
    """Move the formatted text: an f-string around the finding, or the operation that formats."""
    node = _formatting(site)
    if node is not None:
        yield from _value(site, node)


def is_formatted(site: Site) -> bool:
    """Whether the value goes into a text by a specification that no Proxy takes, whatever it is converted to before."""
    return any(
        (isinstance(node, ast.FormattedValue) and node.format_spec is not None) or _formats(node)
        for node in site.source.around(site.node)
        if isinstance(node, ast.expr)
    )


def _formatting(site: Site) -> ast.AST | None:
    enclosing = (site.node, *site.source.around(site.node))
    itself = site.node if isinstance(site.node, ast.BinOp) or ".format(" in site.text(site.node) else None
    return next((node for node in enclosing if isinstance(node, ast.JoinedStr) or _formats(node)), itself)


def _formats(node: ast.AST) -> bool:
    """``"..." % x`` and ``"...".format(x)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text = node.func.value if node.func.attr == "format" else None
    else:
        text = node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def comprehension(site: Site) -> Iterator[Suggestion]:
    """Move the list or dictionary that is built by going over the traced value."""
    yield from _around(site, (ast.ListComp, ast.DictComp))


def item(site: Site) -> Iterator[Suggestion]:
    """Move a statement that writes into a tensor: the function writes into the same tensor when the graph runs."""
    statement, function = site.statement, site.function
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    base = targets[0].value if isinstance(targets[0], ast.Subscript) else None
    if function is None or len(targets) != 1 or not isinstance(base, ast.Name) or not site.source.indent(statement):
        return
    try:
        move = _Move(site.source, function, [statement], returned=base.id)
        names = move.arguments()
    except _CannotMoveError:
        return
    name = _new_name(site.source, base.id)
    call = f"{base.id} = {name}({', '.join(names.values())})"
    body = f"{move.block([statement])}\nreturn {base.id}"
    yield _suggestion(site, name, list(names), body, site.source.replace_statements(statement, statement, call))


def block(site: Site) -> Iterator[Suggestion]:
    """Move the statement that the finding controls; what follows it goes along where it returns."""
    function = site.function
    owner = next((node for node in site.source.around(site.node) if isinstance(node, _CONTROL)), None)
    if function is None or owner is None or site.statement is not owner:
        return
    try:
        yield _block(site, function, owner)
    except _CannotMoveError:
        return


def _around(site: Site, kinds: tuple[type[ast.expr], ...]) -> Iterator[Suggestion]:
    node = next((node for node in (site.node, *site.source.around(site.node)) if isinstance(node, kinds)), None)
    if node is not None:
        yield from _value(site, node)


def _value(site: Site, node: ast.AST) -> Iterator[Suggestion]:
    function = site.function
    parent = site.source.parent(node)
    is_called = isinstance(parent, ast.Call) and parent.func is node
    is_read = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    if function is None or not isinstance(node, ast.expr) or is_called or not is_read:
        return
    try:
        _check_size(site.source, node, node)
        move = _Move(site.source, function, [node])
        names = move.arguments()
    except _CannotMoveError:
        return
    name = _new_name(site.source, _about(site.statement, node))
    body = f"return {_one_piece(move.text(node))}"
    call = f"{name}({', '.join(names.values())})"
    yield _suggestion(site, name, list(names), body, site.source.replace(node, call))


def _block(site: Site, function: ast.FunctionDef, owner: ast.stmt) -> Suggestion:
    source, facts = site.source, site.source.facts(function)
    _check_size(source, owner, owner)
    among = source.block(owner)
    returns = _has(owner, ast.Return)
    if returns and among is not function.body:
        raise _CannotMoveError
    if returns:
        _check_size(source, owner, among[-1])
    statements = among[among.index(owner) :] if returns else [owner]
    if not source.indent(statements[0]) or (not returns and _leaves(owner)):
        raise _CannotMoveError
    move = _Move(source, function, statements)
    stored = dict.fromkeys(name.id for name in _stores(owner))
    written = [] if returns else [name for name in stored if _lives_on(source, facts, name, owner)]
    if not returns and not written:
        raise _CannotMoveError
    before = {name for name in written if facts.is_bound_before(name, owner.lineno)}
    if not all(name in before or _always_written(owner, name) for name in written):
        raise _CannotMoveError
    names = move.arguments(owner.lineno)
    for name in written:
        if name in before:
            names.setdefault(name, name)
    new = _new_name(source, written[0] if len(written) == 1 else "rest" if returns else "values")
    call = f"{new}({', '.join(names.values())})"
    head = "return " if returns else f"{', '.join(written)} = "
    tail = "" if returns else f"\nreturn {', '.join(written)}"
    body = move.block(statements) + tail
    return _suggestion(
        site, new, list(names), body, source.replace_statements(statements[0], statements[-1], f"{head}{call}")
    )


def _check_size(source: Source, first: ast.AST, last: ast.AST) -> None:
    if source.span(last)[1] - source.span(first)[0] > MAX_TEXT:
        raise _CannotMoveError


def _suggestion(site: Site, name: str, parameters: list[str], body: str, edit: Edit) -> Suggestion:
    source = site.source
    line = first_line(source.top_level(site.node))
    while line > 1 and source.file.lines[line - 2].startswith("#"):
        line -= 1
    text = f"@torch.fx.wrap\ndef {name}({', '.join(parameters)}):\n{textwrap.indent(body, '    ')}\n\n\n"
    edits = [source.insert(line, text), edit]
    if not source.imports("torch.fx"):
        edits.insert(0, source.insert(source.after_imports, "import torch.fx\n"))
    return site.rewrite(f"move it to a function at module level, `{name}`, which torch.fx.wrap makes one node", *edits)


class _Move:
    """Code on its way into another function: what it reads becomes a parameter there.

    It must not change what it is given, but for what the function gives back under the name ``returned``.
    """

    def __init__(
        self, source: Source, function: ast.FunctionDef, nodes: Sequence[ast.AST], returned: str | None = None
    ) -> None:
        self._source = source
        self._facts = source.facts(function)
        self._inside = [node for root in nodes for node in walk(root)]
        arguments = [*function.args.posonlyargs, *function.args.args]
        self._owner = arguments[0].arg if arguments and isinstance(source.parent(function), ast.ClassDef) else None
        if any(isinstance(node, _UNMOVABLE) or _spans_lines(node) for node in self._inside):
            raise _CannotMoveError
        self._attributes = {node: self._attribute(node) for node in self._inside if self._is_owner(node)}
        if any(source.is_misplaced(node) for node in self._attributes.values()):
            raise _CannotMoveError
        if any(name == self._owner or self._facts.is_local(name) for name in changed(nodes) - {returned}):
            raise _CannotMoveError

    def _is_owner(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in (self._owner, "super", "__class__")

    def _attribute(self, name: ast.AST) -> ast.Attribute:
        """The longest chain of attributes that starts at ``self``; raises where it is called or written."""
        node = name
        while isinstance(parent := self._source.parent(node), ast.Attribute):
            node = parent
        if isinstance(parent, ast.Call) and parent.func is node:
            method = node
            node = method.value if isinstance(method, ast.Attribute) and method.attr in _METHODS else name
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
            raise _CannotMoveError
        return node

    def arguments(self, line: int | None = None) -> dict[str, str]:
        """Parameter of the new function -> what the call gives for it, in the order of their first use.

        Only what is bound above ``line`` can be given; without a line, every local of the function.
        """
        bound_inside = {
            name.id
            for node in self._inside
            if isinstance(node, ast.comprehension)
            for name in walk(node.target)
            if isinstance(name, ast.Name)
        }
        used = {node.id for node in self._inside if isinstance(node, ast.Name)}
        names = [node for node in self._inside if isinstance(node, ast.Name)]
        found: dict[str, str] = {}
        for node in sorted(names, key=lambda node: (node.lineno, node.col_offset)):
            if node in self._attributes:
                chain = self._source.text(self._attributes[node])
                if _flat(chain) in used or self._is_known(_flat(chain), line):
                    raise _CannotMoveError
                found[_flat(chain)] = chain
            elif isinstance(node.ctx, ast.Load) and node.id not in bound_inside and self._is_known(node.id, line):
                found[node.id] = node.id
        return found

    def _is_known(self, name: str, line: int | None) -> bool:
        return self._facts.is_local(name) if line is None else self._facts.is_bound_before(name, line)

    def text(self, node: ast.AST) -> str:
        """The source of a node with the attributes of ``self`` as parameters."""
        return self._renamed(self._source.text(node), self._source.location(node).line, node)

    def block(self, statements: Sequence[ast.stmt]) -> str:
        """The lines of statements, likewise, without their indentation."""
        rows = self._source.rows(statements[0], statements[-1])
        indent = self._source.indent(statements[0])
        for line, start, end, text in self._renamings():
            index = line - statements[0].lineno
            shift = unindented(self._source.file.lines[line - 1], indent) + 1
            rows[index] = rows[index][: start - shift] + text + rows[index][end - shift :]
        return "\n".join(rows)

    def _renamed(self, text: str, line: int, node: ast.AST) -> str:
        rows = text.split("\n")
        shift = self._source.location(node).column - 1
        for row, start, end, new in self._renamings():
            index, offset = row - line, shift if row == line else 0
            rows[index] = rows[index][: start - 1 - offset] + new + rows[index][end - 1 - offset :]
        return "\n".join(rows)

    def _renamings(self) -> list[tuple[int, int, int, str]]:
        places = [(self._source.location(node), self._source.text(node)) for node in self._attributes.values()]
        found = {(place.line, place.column, place.end_column, _flat(chain)) for place, chain in places}
        return sorted(found, reverse=True)


def _flat(chain: str) -> str:
    return "_".join(chain.split(".")[1:])


def _spans_lines(node: ast.AST) -> bool:
    """Texts over several lines would change when they are indented anew."""
    return isinstance(node, (ast.Constant, ast.JoinedStr)) and node.lineno != node.end_lineno


def _stores(node: ast.AST) -> list[ast.Name]:
    return [name for name in walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]


def _lives_on(source: Source, facts: FunctionFacts, name: str, owner: ast.stmt) -> bool:
    """Whether something reads the name after the statement: below it, in another round of a loop, in a function."""
    loops = [node for node in source.around(owner) if isinstance(node, (ast.For, ast.While))]
    for load in facts.loads.get(name, ()):
        around = list(source.around(load))
        if owner not in around and (
            load.lineno > owner.lineno
            or source.function(load) is not facts.function
            or any(loop in around for loop in loops)
        ):
            return True
    return False


def _always_written(owner: ast.stmt, name: str) -> bool:
    """Whether both sides of an ``if`` bind the name."""
    if not isinstance(owner, ast.If) or not owner.orelse:
        return False
    sides = (owner.body, owner.orelse)
    return all(any(name == store.id for one in side for store in _stores(one)) for side in sides)


def _has(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    return any(isinstance(found, kinds) for found in walk(node))


def _leaves(owner: ast.stmt) -> bool:
    """Whether a ``break`` or ``continue`` in the statement is for a loop around it."""
    loops = (ast.For, ast.While)
    return not isinstance(owner, loops) and not _has(owner, *loops) and _has(owner, ast.Break, ast.Continue)


def _about(statement: ast.stmt, node: ast.expr) -> str:
    """A word for an expression: the name that it is assigned to, or the function that it calls."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
        return node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    return "value"


def _new_name(source: Source, about: str) -> str:
    return source.new_name(f"compute_{about.strip('_').lower()}")


def _one_piece(text: str) -> str:
    return f"({text})" if "\n" in text else text
