"""Changing a graph: recompilation, order, insertion, removal, replacement, copies."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from fxlint.findings import Edit
from fxlint.transforms.code import mentions, position
from fxlint.transforms.kinds import CALLS, COPIES, INSERTIONS, TRACING, Kind
from fxlint.transforms.names import dotted
from fxlint.transforms.view import Event, View, same

_NODE_FIELDS: Final = frozenset({"target", "args", "kwargs", "op"})
_NODE_CHANGES: Final = frozenset(
    {"replace_all_uses_with", "replace_input_with", "update_arg", "update_kwarg", "insert_arg", "prepend", "append"}
)
_GRAPH_CHANGES: Final = frozenset({*CALLS, "placeholder", "output", "erase_node", "eliminate_dead_code"})
_HARMLESS: Final = frozenset(
    {"print", "len", "str", "repr", "isinstance", "type", "id", "dict", "list", "tuple", "enumerate", "getattr",
     "hasattr", "setattr", "next", "iter", "reversed", "sorted", "set"}
)  # fmt: skip
"""Builtins that cannot recompile what they are given."""
_REWIRING: Final = frozenset({"replace_all_uses_with", "replace_input_with", "update_arg", "update_kwarg", "map_arg"})
_MOVES: Final = frozenset({"append", "prepend"})
_EFFECTS: Final = ("assert", "check", "constrain", "copy", "print", "wait", "_enter", "_exit", "set_", "guard")
"""Parts of the names of functions that are called for what they do, so that nobody uses their results."""


def stale(view: View) -> Iterator[Event]:
    """A graph is changed, and its module is returned or called without having been recompiled since."""
    function = view.function
    for name, bindings in function.bound.items():
        module = ast.Name(name, ast.Load())
        if view.kind(module) is not Kind.MODULE:
            continue
        is_fresh = len(bindings) == 1 and bindings[0].how == "value" and _is_made_here(view, bindings[0].value)
        key = view.graph_of(module)
        changes = [node for node in _changes(view, key) if not _in_deferred(view, node)]
        if not key or not changes:
            continue
        last = max(changes, key=position)
        if any(_refreshes(view, node, name, key) for node in function.own if _counts_after(view, node, last)):
            continue
        uses = (node for node in function.own if position(node) > position(last) and _uses(node, name, is_fresh))
        use = next(uses, None)
        if use is None or (isinstance(use, ast.Return) and _callers_recompile(view)):
            continue
        statement = function.statement(use)
        line = f"{name}.recompile()"
        edits = () if statement is None or _is_block(statement) else view.inserted_before(statement, line)
        yield Event(
            "graph.stale", last, text=view.text(last), origin=name, edits=edits,
            help=f"call `{line}` after the last change",
        )  # fmt: skip


def _is_made_here(view: View, value: ast.expr | None) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = view.qualified(value.func)
    return name in TRACING or name in COPIES or name.endswith(".GraphModule")


def _changes(view: View, key: str) -> Iterator[ast.AST]:
    """The places where the graph of that key is changed."""
    for node in view.function.own:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if (
                    isinstance(target, ast.Attribute)
                    and target.attr in _NODE_FIELDS
                    and view.kind(target.value) is Kind.NODE
                    and view.graph_of(target.value) == key
                ):
                    yield node
    for call, base, name in view.methods(Kind.NODE, Kind.GRAPH):
        known = _NODE_CHANGES if view.kind(base) is Kind.NODE else _GRAPH_CHANGES
        if name in known and view.graph_of(base) == key:
            yield call


def _in_deferred(view: View, node: ast.AST) -> bool:
    return any(isinstance(parent, ast.Lambda) for parent in view.function.around(node))


def _counts_after(view: View, node: ast.AST, last: ast.AST) -> bool:
    """Whether ``node`` can run after ``last``: it stands later, or in a loop around it."""
    if position(node) > position(last):
        return True
    loops = [parent for parent in view.function.around(last) if isinstance(parent, (ast.For, ast.While))]
    return any(parent in loops for parent in view.function.around(node))


def _refreshes(view: View, node: ast.AST, name: str, key: str) -> bool:
    """Whether the module's code may be made anew here, or the module goes to somebody who may do it."""
    if isinstance(node, ast.Assign):
        attributes = [target for target in node.targets if isinstance(target, ast.Attribute)]
        return any(target.attr == "graph" for target in attributes)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "recompile":
        return True
    if dotted(node.func) in _HARMLESS or dotted(node.func) == name:
        return False
    if isinstance(node.func, ast.Attribute) and view.kind(node.func.value) in (Kind.GRAPH, Kind.NODE, Kind.MODULE):
        return node.func.attr not in _GRAPH_CHANGES | _NODE_CHANGES | {"lint", "eval", "train", "print_tabular"}
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return any(view.kind(value) in (Kind.MODULE, Kind.GRAPH, Kind.NODE) or mentions(value, name) for value in given)


def _uses(node: ast.AST, name: str, is_fresh: bool) -> bool:
    """Whether the generated code is used: the module is called, its code is read, or (a new one) it is returned."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
        return is_fresh and node.value.id == name
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == name
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return node.attr == "code" and isinstance(node.value, ast.Name) and node.value.id == name
    return False


def _callers_recompile(view: View) -> bool:
    """Whether this file calls the function and recompiles what it returns, or does who knows what with it."""
    callers = {caller for _, caller in view.file.calls_of(view.function)}
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr == "recompile"
        for caller in callers
        for call in caller.calls()
    )


def _is_block(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.If, ast.For, ast.While, ast.With))


def order(view: View) -> Iterator[Event]:
    """A node is inserted before a node that it uses."""
    for block, graph, place in _insertions(view, "inserting_before"):
        if _moves_nodes(view) or _is_rebound_inside(view, block, place):
            continue
        first = _is_first_node(view, place)
        for call in view.function.calls():
            if block not in view.function.around(call) or not _creates_in(view, call, graph):
                continue
            used = [name for name in _argument_names(call) if view.kind(name) is Kind.NODE]
            for name in used:
                made = view.created(name)
                if same(name, place) or (first and (made is None or block not in view.function.around(made))):
                    yield Event(
                        "graph.order", call, text=view.text(call), origin=name.id, callee=view.text(place),
                        help=f"insert it after what it uses: `with {ast.unparse(graph)}.inserting_after({name.id}):`",
                        edits=view.replaced(_context(block), f"{view.source(graph)}.inserting_after({name.id})")
                        if len(used) == 1 and len(block.body) == 1
                        else (),
                    )  # fmt: skip
                    break


def _insertions(view: View, *methods: str) -> Iterator[tuple[ast.With, ast.expr, ast.expr]]:
    """(with statement, graph, node) of each insertion point that is one statement's only context."""
    for node in view.function.own:
        if not isinstance(node, ast.With) or len(node.items) != 1:
            continue
        call = node.items[0].context_expr
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in methods):
            continue
        if view.kind(call.func.value) is Kind.GRAPH and len(call.args) == 1:
            yield node, call.func.value, call.args[0]


def _context(block: ast.With) -> ast.expr:
    return block.items[0].context_expr


def _creates_in(view: View, call: ast.Call, graph: ast.expr) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in CALLS
        and view.kind(call.func.value) is Kind.GRAPH
        and view.graph_of(call.func.value) == view.graph_of(graph)
    )


def _argument_names(call: ast.Call) -> list[ast.Name]:
    """The names in the tuples and lists of arguments of a call that makes a node."""
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    found: list[ast.Name] = []
    while values:
        value = values.pop(0)
        if isinstance(value, (ast.Tuple, ast.List)):
            found.extend(item for item in value.elts if isinstance(item, ast.Name))
            values.extend(item for item in value.elts if isinstance(item, (ast.Tuple, ast.List)))
        elif isinstance(value, ast.Dict):
            found.extend(item for item in value.values if isinstance(item, ast.Name))
    return found


def _moves_nodes(view: View) -> bool:
    return any(name in _MOVES for _, _, name in view.methods(Kind.NODE))


def _is_rebound_inside(view: View, block: ast.With, place: ast.expr) -> bool:
    """Whether what the insertion point names becomes another node inside the block."""
    if not isinstance(place, ast.Name):
        return False
    return any(block in view.function.around(bound.node) for bound in view.function.bindings(place.id))


def _is_first_node(view: View, place: ast.expr) -> bool:
    """Whether an expression is certainly the first node of a graph, before which nothing can be used."""
    if isinstance(place, ast.Name):
        value = view.function.only_value(place.id)
        return value is not None and _is_first_node(view, value)
    if isinstance(place, ast.Subscript) and isinstance(place.slice, ast.Constant) and place.slice.value == 0:
        items = place.value
        if isinstance(items, ast.Name):
            items = view.function.only_value(items.id) or items
        return _is_all_nodes(view, items)
    if isinstance(place, ast.Call) and isinstance(place.func, ast.Name) and place.func.id == "next" and place.args:
        inner = place.args[0]
        is_iterator = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "iter"
        return isinstance(inner, ast.Call) and is_iterator and bool(inner.args) and _is_live(view, inner.args[0])
    return False


def _is_all_nodes(view: View, items: ast.expr) -> bool:
    is_list = isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id in {"list", "tuple"}
    return isinstance(items, ast.Call) and is_list and bool(items.args) and _is_live(view, items.args[0])


def _is_live(view: View, node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and view.kind(node) is Kind.NODES


def appended(view: View) -> Iterator[Event]:
    """A node that others use is made without an insertion point, so it comes after the output node."""
    if isinstance(view.function.node, ast.Module):
        return
    names = {call.func.attr for call in view.function.calls() if isinstance(call.func, ast.Attribute)}
    scopes = list(view.function.scopes())[1:]
    outer = [call.func.attr for scope in scopes for call in scope.calls() if isinstance(call.func, ast.Attribute)]
    if names & (_MOVES | {"output", "graph_copy", "_insert"}) or not INSERTIONS.isdisjoint(outer):
        return
    for call, graph, method in view.creations():
        if method not in CALLS or _has_insertion_point(view, call):
            continue
        loops = [parent for parent in view.function.around(call) if isinstance(parent, ast.For)]
        looped = [loop for loop in loops if _loops_over(view, loop, graph)]
        used = [name for name in _named_in_arguments(call) if _is_node_of(view, name, graph)]
        if not used or not (looped or view.is_traced(_module_of(graph))) or not _is_wired_in(view, call):
            continue
        after = used[-1].id
        yield Event(
            "graph.end", call, text=view.text(call), origin=view.text(graph),
            help=f"say where it goes: `with {ast.unparse(graph)}.inserting_after({after}):`",
            edits=_inserted_with(view, call, f"{ast.unparse(graph)}.inserting_after({after})"),
        )  # fmt: skip


def _named_in_arguments(call: ast.Call) -> Iterator[ast.Name]:
    """The names in what follows the target, also those whose own arguments are taken over: ``node.args``."""
    for value in (*call.args[1:], *(keyword.value for keyword in call.keywords)):
        yield from (inner for inner in ast.walk(value) if isinstance(inner, ast.Name))


def _is_node_of(view: View, name: ast.Name, graph: ast.expr) -> bool:
    return view.kind(name) is Kind.NODE and view.graph_of(name) == view.graph_of(graph) != ""


def _has_insertion_point(view: View, call: ast.Call) -> bool:
    """Whether any insertion point is set around or before a call; without ``with`` it stays set."""
    return any(
        isinstance(other.func, ast.Attribute) and "insert" in other.func.attr
        for other in view.function.calls()
        if position(other) < position(call) or _is_looped(view, call)
    )


def _is_looped(view: View, node: ast.AST) -> bool:
    return any(isinstance(parent, (ast.For, ast.While)) for parent in view.function.around(node))


def _module_of(graph: ast.expr) -> ast.expr | None:
    return graph.value if isinstance(graph, ast.Attribute) else None


def _loops_over(view: View, loop: ast.For, graph: ast.expr) -> bool:
    return view.kind(loop.target) is Kind.NODE and view.graph_of(loop.iter) == view.graph_of(graph) != ""


def _is_wired_in(view: View, call: ast.Call) -> bool:
    """Whether the node that a call makes is put in the place of another one, or among its arguments."""
    statement = view.function.statement(call)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    for other in view.function.own:
        if isinstance(other, ast.Call) and isinstance(other.func, ast.Attribute) and other.func.attr in _REWIRING:
            if any(mentions(value, name) for value in other.args):
                return True
        elif isinstance(other, ast.Assign) and mentions(other.value, name):
            targets = [target for target in other.targets if isinstance(target, ast.Attribute)]
            if any(target.attr in {"args", "kwargs"} and view.kind(target.value) is Kind.NODE for target in targets):
                return True
    return False


def _inserted_with(view: View, call: ast.Call, context: str) -> tuple[Edit, ...]:
    statement = view.function.statement(call)
    if statement is None or statement.lineno != statement.end_lineno:
        return ()
    row = view.file.index.source.lines[statement.lineno - 1]
    indent = row[: len(row) - len(row.lstrip())]
    return view.replaced(statement, f"with {context}:\n{indent}    {view.source(statement)}")


def endless(view: View) -> Iterator[Event]:
    """A loop over the live nodes of a graph inserts, behind the current node, what satisfies its own condition."""
    for loop in view.function.own:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        if view.kind(loop.iter) is not Kind.NODES or isinstance(loop.iter, ast.Call) or _can_end(loop):
            continue
        node = loop.target
        for call, graph, method in view.creations():
            if method not in CALLS or loop not in view.function.around(call) or not call.args:
                continue
            if view.graph_of(graph) != view.graph_of(loop.iter) or not _goes_behind(view, call, node):
                continue
            tests = view.function.tests(call)
            inside = [test for test in tests if loop in view.function.around(test.expression)]
            others = [test for test in inside if not _asks_op_or_target(test.expression, node)]
            if others or not any(_is_target(test.expression, node, call.args[0]) and test.positive for test in inside):
                continue
            yield Event(
                "graph.endless", loop.iter, text=view.text(loop.iter), origin=view.text(call),
                help="loop over a list of the nodes that are there now",
                edits=view.replaced(loop.iter, f"list({view.source(loop.iter)})"),
            )  # fmt: skip


def _can_end(loop: ast.For) -> bool:
    return any(isinstance(node, (ast.Break, ast.Return)) for node in ast.walk(loop))


def _goes_behind(view: View, call: ast.Call, node: ast.Name) -> bool:
    """Whether what a call makes is inserted after ``node``, or at the end of the graph."""
    withs = [parent for parent in view.function.around(call) if isinstance(parent, ast.With)]
    if not withs:
        return not _has_insertion_point(view, call)
    context = _context(withs[0])
    return (
        isinstance(context, ast.Call)
        and isinstance(context.func, ast.Attribute)
        and context.func.attr == "inserting_after"
        and len(context.args) == 1
        and same(context.args[0], node)
    )


def _asks_op_or_target(test: ast.expr, node: ast.Name) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], (ast.Eq, ast.Is)):
        return False
    left = test.left
    return isinstance(left, ast.Attribute) and left.attr in {"op", "target"} and same(left.value, node)


def _is_target(test: ast.expr, node: ast.Name, target: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], (ast.Eq, ast.Is))
        and same(test.left, ast.Attribute(node, "target", ast.Load()))
        and same(test.comparators[0], target)
    )


def erased(view: View) -> Iterator[Event]:
    """A node whose result is used is erased, and nothing takes its place, or only the next statements see to that."""
    for call, _, method in view.methods(Kind.GRAPH):
        if method != "erase_node" or len(call.args) != 1 or not isinstance(call.args[0], ast.Name):
            continue
        node = call.args[0]
        rewired = list(_rewirings(view))
        late = _rewired_after(view, call, node)
        if rewired and (late is None or position(rewired[0]) < position(call)):
            continue
        if view.kind(node) is not Kind.NODE or _is_handed_on(view, node) or not _has_result(view, node, call):
            continue
        yield Event(
            "graph.erase", call, text=view.text(call), origin=node.id,
            help=f"replace its uses first: `{node.id}.replace_all_uses_with({node.id}.args[0])`, or by another node"
            if late is None
            else f"replace its uses first: `{view.text(late)}`",
            edits=_replaced_first(view, call, node, late),
        )  # fmt: skip


def _rewirings(view: View) -> Iterator[ast.AST]:
    """What may give the users of a node something else, or looks whether there are any, in the order of the source."""
    for node in sorted(view.function.own, key=position):
        if isinstance(node, ast.Call):
            is_rewiring = dotted(node.func) in _REWIRING
            if is_rewiring or (isinstance(node.func, ast.Attribute) and node.func.attr in _REWIRING):
                yield node
        elif isinstance(node, ast.Attribute):
            is_stored = isinstance(node.ctx, ast.Store) and node.attr in {"args", "kwargs"}
            if is_stored or node.attr == "users":
                yield node


def _rewired_after(view: View, call: ast.Call, node: ast.Name) -> ast.stmt | None:
    """The statement in the same block that replaces the uses of the node when it has already been erased."""
    erasing = view.function.statement(call)
    block = [] if erasing is None else getattr(view.file.parents.get(erasing), "body", [])
    for later in block[block.index(erasing) + 1 :] if erasing in block else ():
        match later:
            case ast.Expr(ast.Call(ast.Attribute(of, "replace_all_uses_with"))) if same(of, node):
                return later
    return None


def _replaced_first(view: View, call: ast.Call, node: ast.Name, late: ast.stmt | None) -> tuple[Edit, ...]:
    statement = view.function.statement(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return ()
    if late is not None:  # the two change places
        return (*view.replaced(statement, view.source(late)), *view.replaced(late, view.source(statement)))
    return view.inserted_before(statement, f"{node.id}.replace_all_uses_with({node.id}.args[0])")


def _is_handed_on(view: View, node: ast.Name) -> bool:
    """Whether a function that may rewire the node gets hold of it, or of what it is in."""
    for call in view.function.calls():
        if isinstance(call.func, ast.Attribute) and view.kind(call.func.value) in (Kind.GRAPH, Kind.NODE, Kind.MODULE):
            continue
        if dotted(call.func) in _HARMLESS:
            continue
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(view.kind(value) in (Kind.NODE, Kind.GRAPH, Kind.MODULE) for value in given):
            return view.qualified(call.func) not in TRACING
        if any(mentions(value, node.id) for value in given):
            return True
    return False


def _has_result(view: View, node: ast.Name, at: ast.AST) -> bool:
    """Whether the tests say that the node calls something that is called for its result."""
    for test in view.function.tests(at):
        compared = test.expression
        if test.positive and _is_layer(view, compared, node):
            return True
        if not (test.positive and isinstance(compared, ast.Compare) and len(compared.ops) == 1):
            continue
        left, right = compared.left, compared.comparators[0]
        if not (isinstance(left, ast.Attribute) and left.attr == "target" and same(left.value, node)):
            continue
        if isinstance(compared.ops[0], (ast.Eq, ast.Is)) and _is_function_of_torch(view, right):
            return True
    return False


def _is_layer(view: View, test: ast.expr, node: ast.Name) -> bool:
    """Whether a test says that a node calls a layer: ``isinstance(modules[node.target], nn.Dropout)``."""
    if not (isinstance(test, ast.Call) and dotted(test.func) == "isinstance" and len(test.args) == 2):
        return False
    classes = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    looked_up = any(same(inner, ast.Attribute(node, "target", ast.Load())) for inner in ast.walk(test.args[0]))
    return looked_up and all(view.qualified(each).startswith("torch.nn.") for each in classes)


def _is_function_of_torch(view: View, node: ast.expr) -> bool:
    name = view.qualified(node)
    parts = name.split(".")
    is_plain = name.startswith(("torch.", "operator.")) and not name.startswith(("torch.ops.higher_order", "torch._"))
    effects = any(part.endswith("_") or any(word in part for word in _EFFECTS) for part in parts)
    return is_plain and not effects


def self_use(view: View) -> Iterator[Event]:
    """All uses of a node are replaced by a new node that itself uses it."""
    for call, node, method in view.methods(Kind.NODE):
        if method != "replace_all_uses_with" or len(call.args) != 1 or call.keywords:
            continue
        new = call.args[0]
        made = view.created(new)
        if made is None or not isinstance(new, ast.Name) or not isinstance(node, ast.Name):
            continue
        if position(made) > position(call) or not any(name.id == node.id for name in _argument_names(made)):
            continue
        if _is_rewired_later(view, new.id, call) or _is_bound_between(view, node.id, made, call):
            continue
        yield Event(
            "graph.self", call, text=view.text(call), origin=new.id, callee=node.id,
            help=f"leave the new node out: `delete_user_cb=lambda user: user is not {new.id}`",
            edits=view.replaced(new, f"{new.id}, delete_user_cb=lambda user: user is not {new.id}"),
        )  # fmt: skip


def _is_rewired_later(view: View, name: str, call: ast.Call) -> bool:
    """Whether the arguments of the new node are set after the replacement."""
    for node in view.function.own:
        if position(node) <= position(call):
            continue
        if isinstance(node, ast.Attribute) and node.attr in {"args", "kwargs", "_args", "_kwargs"}:
            if isinstance(node.ctx, ast.Store) and dotted(node.value) == name:
                return True
        elif isinstance(node, ast.Call) and name in [dotted(value) for value in (*node.args, _base(node.func))]:
            return True
    return False


def _base(node: ast.expr) -> ast.expr:
    """The object whose method is called."""
    return node.value if isinstance(node, ast.Attribute) else node


def _is_bound_between(view: View, name: str, first: ast.AST, last: ast.AST) -> bool:
    return any(position(first) < position(bound.node) < position(last) for bound in view.function.bindings(name))


def copied(view: View) -> Iterator[Event]:
    """Nodes are copied into a new graph with the arguments that they had in the old one."""
    for call, graph, method in view.methods(Kind.GRAPH):
        if method != "node_copy" or len(call.args) != 1 or call.keywords:
            continue
        node = call.args[0]
        value = view.function.only_value(graph.id) if isinstance(graph, ast.Name) else None
        is_new = isinstance(value, ast.Call) and not value.args and view.kind(value) is Kind.GRAPH
        if not is_new or view.kind(node) is not Kind.NODE or view.graph_of(node) in ("", view.graph_of(graph)):
            continue
        if view.ops(node, call) <= {"placeholder", "get_attr"} or _is_guarded_otherwise(view, node, call):
            continue
        yield Event(
            "graph.copy", call, text=view.text(call), origin=view.text(graph),
            help="say which new node stands for each old one: keep a dictionary and pass `lambda old: copies[old]`",
        )  # fmt: skip


def _is_guarded_otherwise(view: View, node: ast.expr, at: ast.AST) -> bool:
    """Whether a test that is not about the op decides on the node."""
    asked = [test.expression for test in view.function.tests(at) if mentions(test.expression, dotted(node))]
    return not all(_is_about_op(test) for test in asked)


def _is_about_op(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Attribute) and test.left.attr == "op"


def set_order(view: View) -> Iterator[Event]:
    """Inputs or outputs of a graph are made in the order of a set."""
    for call, graph, method in view.creations():
        if method == "placeholder":
            for loop in view.function.around(call):
                if isinstance(loop, ast.For) and view.kind(loop.iter) is Kind.SET:
                    yield _set_order(view, loop.iter, call, graph)
                    break
        elif method == "output" and call.args:
            for inner in ast.walk(call.args[0]):
                items = _sequence_of(inner)
                if items is not None and view.kind(items) is Kind.SET:
                    yield _set_order(view, items, call, graph)


def _set_order(view: View, items: ast.expr, call: ast.Call, graph: ast.expr) -> Event:
    return Event(
        "graph.set_order", items, text=view.text(items), origin=view.text(graph), callee=view.text(call),
        help="give it an order: a dictionary keeps the order of insertion, `sorted` makes one",
    )  # fmt: skip


def _sequence_of(node: ast.AST) -> ast.expr | None:
    """The iterable that a call or a comprehension turns into a sequence."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"tuple", "list"}:
        inner = node.args[0] if node.args else None
        return inner.generators[0].iter if isinstance(inner, ast.GeneratorExp) else inner
    return node.generators[0].iter if isinstance(node, ast.ListComp) else None


CHECKS = (stale, order, appended, endless, erased, self_use, copied, set_order)
