"""Reading and writing nodes: op, target, args, users, meta."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import Final

from fxlint.findings import Edit
from fxlint.transforms.code import mentions, split
from fxlint.transforms.kinds import OPS, Kind
from fxlint.transforms.names import dotted
from fxlint.transforms.view import Event, View, is_number, is_text, same

_NOT_OF_TEXT: Final = frozenset(
    {"__name__", "__module__", "__qualname__", "__wrapped__", "__code__", "overloadpacket", "namespace", "_schema",
     "_opname", "_op", "_overloadname"}
)  # fmt: skip
"""Attributes of functions that a string, the target of every placeholder and output, has not."""
_SUBMODULES: Final = frozenset({"get_submodule", "get_parameter", "get_buffer"})
_LIST_CHANGES: Final = frozenset({"append", "extend", "insert", "remove", "sort", "reverse"})
_DICT_CHANGES: Final = frozenset({"update", "pop", "popitem", "setdefault", "clear"})
_FILLED: Final = frozenset({"val", "tensor_meta", "example_value"})
_LOOKING: Final = frozenset({"list", "reversed", "next", "iter", "len", "print", "enumerate"})
"""Builtins that fill nothing."""
_LAYERS: Final = frozenset(
    "Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d BatchNorm1d BatchNorm2d "
    "BatchNorm3d LayerNorm GroupNorm ReLU ReLU6 GELU SiLU Sigmoid Tanh Softmax Dropout Dropout1d Dropout2d Dropout3d "
    "MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d Embedding "
    "EmbeddingBag LSTM GRU RNN Flatten Identity LeakyReLU ELU PReLU Hardswish Hardtanh Upsample".split()
)
"""Classes that nobody calls an attribute by."""
_COMPUTING: Final = frozenset({"call_function", "call_method", "call_module"})
_STRING_TARGETS: Final = frozenset({"placeholder", "get_attr", "call_module", "call_method", "output"})


def target_without_op(view: View) -> Iterator[Event]:
    """What only a function's target has is asked of the target of every node."""
    for node in view.function.own:
        asked = _asked_of_target(view, node)
        if asked is None:
            continue
        owner, what = asked
        is_tried = any(isinstance(parent, ast.Try) for parent in view.function.around(node))
        if _is_every_node(view, owner) and not view.is_tested(owner, node) and not is_tried:
            yield Event(
                "node.target", node, text=view.text(node), origin=view.text(owner), callee=what,
                help=f"ask for the op first: `if {ast.unparse(owner)}.op == \"{what}\":`",
            )  # fmt: skip


def _asked_of_target(view: View, node: ast.AST) -> tuple[ast.expr, str] | None:
    """(node, op that it must have) where an expression needs a function, or the name of a module, for a target."""
    if isinstance(node, ast.Attribute) and node.attr in _NOT_OF_TEXT and isinstance(node.value, ast.Attribute):
        if isinstance(node.ctx, ast.Load) and view.kind(node.value) is Kind.TARGET:
            return node.value.value, "call_function"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SUBMODULES:
        given = node.args[0] if node.args else None
        if isinstance(given, ast.Attribute) and view.kind(given) is Kind.TARGET:
            return given.value, "call_module" if node.func.attr == "get_submodule" else "get_attr"
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        key = node.slice if isinstance(node.slice, ast.Attribute) else None
        if key is not None and view.kind(key) is Kind.TARGET and _is_table_of_modules(view, node.value):
            return key.value, "call_module"
    return None


def _is_table_of_modules(view: View, node: ast.expr) -> bool:
    """``dict(gm.named_modules())``, or a name for it."""
    value = view.function.only_value(node.id) if isinstance(node, ast.Name) else node
    if not (isinstance(value, ast.Call) and dotted(value.func) == "dict" and len(value.args) == 1):
        return False
    named = value.args[0]
    return isinstance(named, ast.Call) and isinstance(named.func, ast.Attribute) and named.func.attr == "named_modules"


def _is_every_node(view: View, node: ast.expr) -> bool:
    """Whether a name goes through all nodes of a graph."""
    if not isinstance(node, ast.Name):
        return False
    bindings = view.function.bindings(node.id)
    return len(bindings) == 1 and bindings[0].how == "item" and _is_all(view, bindings[0].value)


def _is_all(view: View, items: ast.expr | None) -> bool:
    if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id in {"list", "reversed"}:
        items = items.args[0] if items.args else None
    return isinstance(items, ast.Attribute) and view.kind(items) is Kind.NODES


def never_equal(view: View) -> Iterator[Event]:
    """The target of a node is compared with what it cannot be, given the op."""
    for node in view.function.own:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield from _compared(view, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            yield from _instance(view, node)


def _compared(view: View, node: ast.Compare) -> Iterator[Event]:
    if not isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)):
        return
    target, other = node.left, node.comparators[0]
    if isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and _ops_of_target(view, other, node) is not None:
        target, other = other, target
    ops = _ops_of_target(view, target, node)
    if not ops:
        return
    items = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
    reasons = {_impossible(view, ops, item) for item in items}
    if len(reasons) == 1 and (reason := reasons.pop()):
        yield Event(
            "node.kind", node, text=view.text(node), origin=view.text(target), callee=reason, help=_compare_instead(ops)
        )


def _ops_of_target(view: View, node: ast.expr, at: ast.AST) -> frozenset[str] | None:
    """The ops that the node of a target may have; None where the expression is no target."""
    if isinstance(node, ast.Attribute) and view.kind(node) is Kind.TARGET:
        return view.ops(node.value, at) & _ops_named_together(view, node.value, at)
    owner = view.function.owner
    if isinstance(node, ast.Name) and owner is not None and view.function.name in _COMPUTING:
        parameters = view.function.parameters
        is_interpreter = view.kinds.class_kind(owner, view.function) in (Kind.INTERPRETER, Kind.TRANSFORMER)
        is_target = len(parameters) > 1 and parameters[1].arg == node.id and len(view.function.bindings(node.id)) == 1
        if is_interpreter and is_target:
            return frozenset({view.function.name})
    return None


def _ops_named_together(view: View, node: ast.expr, at: ast.AST) -> frozenset[str]:
    """What a condition that ``at`` is a part of says about the op after it: ``target == f and op == "..."``."""
    possible = frozenset(OPS)
    for parent in view.function.around(at):
        if not isinstance(parent, ast.expr):
            break
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            for part in split(parent, positive=True):
                named = view.named_ops(part.expression, node)
                if named is not None and named[0]:
                    possible &= named[1]
    return possible


def _impossible(view: View, ops: frozenset[str], item: ast.expr) -> str:
    """Why a target of a node with one of these ops is never ``item``; empty where it may be."""
    if is_text(item):
        if ops == {"call_function"}:
            return "the target of call_function is the function itself"
        name = str(item.value) if isinstance(item, ast.Constant) else ""
        if ops == {"call_module"} and name in _LAYERS:
            return "the target of call_module is the path of the module, such as 'block.0'"
        return ""
    if ops <= _STRING_TARGETS and ops and _is_callable_of_torch(view, item):
        if ops == {"call_module"}:
            return "the target of call_module is the path of the module, such as 'block.0'"
        if ops == {"call_method"}:
            return "the target of call_method is the name of the method"
        return f"the target of {'/'.join(sorted(ops))} is a string"
    return ""


def _is_callable_of_torch(view: View, node: ast.expr) -> bool:
    name = view.qualified(node)
    return name.startswith(("torch.", "operator.")) and "." in name and not name.startswith("torch.fx.")


def _compare_instead(ops: frozenset[str]) -> str:
    if ops == {"call_module"}:
        return "look the module up and ask for its type: `isinstance(gm.get_submodule(node.target), nn.Linear)`"
    if ops == {"call_function"}:
        return "compare with the function itself, such as `torch.relu`"
    return 'compare with the name, such as `"relu"`'


def _instance(view: View, node: ast.Call) -> Iterator[Event]:
    """``isinstance(node.target, nn.Linear)``: a target is a name or a function, never a module."""
    if len(node.args) != 2:
        return
    ops = _ops_of_target(view, node.args[0], node)
    classes = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    if ops and ops <= _STRING_TARGETS and all(_is_layer_class(view, item) for item in classes):
        yield Event(
            "node.kind", node, text=view.text(node), origin=view.text(node.args[0]),
            callee="the target of call_module is the path of the module, such as 'block.0'",
            help=_compare_instead(frozenset({"call_module"})),
        )  # fmt: skip


def _is_layer_class(view: View, node: ast.expr) -> bool:
    name = view.qualified(node)
    return name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper()


def unknown_op(view: View) -> Iterator[Event]:
    """The op of a node is compared with what is no op."""
    for node in view.function.own:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        op, other = node.left, node.comparators[0]
        if view.kind(op) is not Kind.OP:
            op, other = other, op
        if view.kind(op) is not Kind.OP or not isinstance(node.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
            continue
        items = other.elts if isinstance(other, (ast.Tuple, ast.List, ast.Set)) else [other]
        for item in items:
            is_wrong_name = is_text(item) and isinstance(item, ast.Constant) and item.value not in (*OPS, "root")
            is_substring = isinstance(node.ops[0], (ast.In, ast.NotIn)) and item is other
            if (is_wrong_name and not is_substring) or _is_callable_of_torch(view, item):
                yield Event(
                    "node.op", node, text=view.text(node), origin=view.text(item),
                    help=f"the ops are {', '.join(OPS)}", edits=_nearest(view, item),
                )  # fmt: skip
                break


def _nearest(view: View, item: ast.expr) -> tuple[Edit, ...]:
    if not isinstance(item, ast.Constant):
        return ()
    near = difflib.get_close_matches(str(item.value), OPS, n=1, cutoff=0.6)
    return view.replaced(item, f'"{near[0]}"') if near else ()


def arguments_in_place(view: View) -> Iterator[Event]:
    """The arguments of a node are changed in place."""
    for node in view.function.own:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            kind = view.kind(node.value)
            inner = node.value.value if isinstance(node.value, ast.Subscript) else None
            if kind in (Kind.ARGS, Kind.KWARGS) or view.kind(inner) in (Kind.ARGS, Kind.KWARGS):
                yield _in_place(view, node, node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value
            changes = {Kind.ARGS: _LIST_CHANGES, Kind.KWARGS: _DICT_CHANGES}.get(view.kind(changed) or Kind.OP)
            if isinstance(changed, ast.Subscript) and view.kind(changed.value) in (Kind.ARGS, Kind.KWARGS):
                changes = _LIST_CHANGES | _DICT_CHANGES
            if changes is not None and node.func.attr in changes:
                yield _in_place(view, node, changed)


def _in_place(view: View, node: ast.expr, container: ast.expr) -> Event:
    is_kwargs = view.kind(container) is Kind.KWARGS
    update = "update_kwarg" if is_kwargs else "update_arg"
    return Event(
        "node.args", node, text=view.text(node), origin=view.text(container),
        help=f"use `node.{update}(...)`, or assign a new {'dictionary' if is_kwargs else 'tuple'} to the attribute",
        edits=_updated(view, node, container, update),
    )  # fmt: skip


def _updated(view: View, node: ast.expr, container: ast.expr, update: str) -> tuple[Edit, ...]:
    statement = view.function.statement(node)
    if not (isinstance(statement, ast.Assign) and statement.targets == [node] and isinstance(node, ast.Subscript)):
        return ()
    is_plain = isinstance(container, ast.Attribute) and not isinstance(node.slice, ast.Slice)
    if not is_plain or not isinstance(container, ast.Attribute):
        return ()
    owner, place, value = (view.source(part) for part in (container.value, node.slice, statement.value))
    return view.replaced(statement, f"{owner}.{update}({place}, {value})")


def users_as_number(view: View) -> Iterator[Event]:
    """The users of a node, a dictionary, are compared with a number."""
    for node in view.function.own:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        users, number = node.left, node.comparators[0]
        if is_number(users):
            users, number = number, users
        if is_number(number) and view.kind(users) is Kind.USERS:
            yield Event(
                "node.users", node, text=view.text(node), origin=view.text(users),
                help="count them", edits=view.replaced(users, f"len({view.source(users)})"),
            )  # fmt: skip


def unmapped_arguments(view: View) -> Iterator[Event]:
    """A target is called with the nodes among the arguments instead of their values."""
    for call in view.function.calls():
        owner = _owner_of_called(view, call)
        if owner is None or not (_is_every_node(view, owner) or view.function.name == "run_node"):
            continue  # the caller of a helper may know that this node has constants for arguments
        stars = [value.value for value in call.args if isinstance(value, ast.Starred)]
        raw = [value for value in stars if view.kind(value) is Kind.ARGS and isinstance(value, ast.Attribute)]
        if not any(isinstance(value, ast.Attribute) and same(value.value, owner) for value in raw):
            continue
        if any(_is_about_arguments(test.expression, owner) for test in view.function.tests(call)):
            continue
        yield Event(
            "node.values", call, text=view.text(call), origin=view.text(owner),
            help="put the values in their places first: `torch.fx.map_arg(node.args, lambda n: values[n])`, "
            "in an Interpreter `self.fetch_args_kwargs_from_env(node)`",
        )  # fmt: skip


def _owner_of_called(view: View, call: ast.Call) -> ast.expr | None:
    if isinstance(call.func, ast.Attribute) and view.kind(call.func) is Kind.TARGET:
        return call.func.value
    asked = _asked_of_target(view, call.func)  # a module that is looked up by the target
    return asked[0] if asked is not None and asked[1] == "call_module" else None


def _is_about_arguments(test: ast.expr, owner: ast.expr) -> bool:
    """Whether a test is about more than the op and the target of the node: it may know that no node is among them."""
    if not mentions(test, dotted(owner).partition(".")[0]):
        return False
    left = test.left if isinstance(test, ast.Compare) else None
    return not (isinstance(left, ast.Attribute) and left.attr in {"op", "target"})


def unfilled_meta(view: View) -> Iterator[Event]:
    """Values are read from the meta of a graph that the stock tracer has just made; it puts none there."""
    for node in view.function.own:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if view.kind(node.value) is not Kind.META or not isinstance(node.value, ast.Attribute):
            continue
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        owner = node.value.value
        module = view.graph_of(owner)
        if key not in _FILLED or not module or module in _modules_handed_on(view) or _asks_meta(view, node):
            continue
        if view.is_traced(ast.Name(module, ast.Load())) and _is_own(view, module):
            yield Event(
                "node.meta", node, text=view.text(node), origin=str(key), callee=module,
                help=_filler(str(key), module),
            )  # fmt: skip


def _filler(key: str, module: str) -> str:
    if key == "tensor_meta":
        return f"run `torch.fx.passes.shape_prop.ShapeProp({module}).propagate(*inputs)` first"
    return f"run `torch.fx.passes.fake_tensor_prop.FakeTensorProp({module}).propagate(*inputs)` first"


def _is_own(view: View, name: str) -> bool:
    return name in view.function.bound and view.function.only_value(name) is not None


def _modules_handed_on(view: View) -> set[str]:
    """Keys of the graphs of which something is given to a function, which may fill the meta."""
    found: set[str] = set()
    for node in view.function.own:
        if isinstance(node, ast.Call):
            is_known = isinstance(node.func, ast.Name) and node.func.id in _LOOKING
            given = [] if is_known else [*node.args, *(keyword.value for keyword in node.keywords)]
            found |= {view.graph_of(value) for value in given}
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and view.kind(node.value) is Kind.META:
            found.add(view.graph_of(node.value.value) if isinstance(node.value, ast.Attribute) else "")
    return found - {""}


def _asks_meta(view: View, node: ast.AST) -> bool:
    return any(
        isinstance(inner, ast.Attribute) and inner.attr == "meta"
        for test in view.function.tests(node)
        for inner in ast.walk(test.expression)
    )


CHECKS = (
    target_without_op,
    never_equal,
    unknown_op,
    arguments_in_place,
    users_as_number,
    unmapped_arguments,
    unfilled_meta,
)
