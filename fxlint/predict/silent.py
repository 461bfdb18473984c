"""What stops no trace, and leaves a graph that is not the model: notes, which change no verdict.

Decisions that a Proxy takes by answering (``isinstance``, ``is None``) are noted where they are modelled; here is what
depends on when and where something happens.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from fxlint.predict import evaluate, names
from fxlint.predict.machine import Machine, PathEnd, Unwind
from fxlint.predict.scopes import Frame
from fxlint.predict.values import (
    DERIVED_TENSOR,
    REAL_TENSOR,
    TRUE,
    Class,
    Const,
    External,
    Instance,
    Sequence,
    Tensor,
    Traced,
    Value,
    holds_traced,
    is_of_tracing,
)
from fxlint.project.tree import kept, walk

_RANDOM: Final = frozenset(
    "torch.rand torch.randn torch.randint torch.randperm torch.normal torch.bernoulli torch.multinomial "
    "torch.rand_like torch.randn_like torch.randint_like torch.poisson".split()
)
_NUMBERS: Final = frozenset({"item", "tolist", "numpy"})
_HOOKING: Final = frozenset({"weight_norm", "spectral_norm"})
"""Functions of ``torch.nn.utils`` that compute a parameter in a hook that runs before forward."""
_RANDOM_MODULES: Final = ("random.", "numpy.random.")
_CONTEXTS: Final = frozenset(
    "torch.no_grad torch.enable_grad torch.inference_mode torch.set_grad_enabled torch.autocast torch.amp.autocast "
    "torch.cuda.amp.autocast torch.cpu.amp.autocast".split()
)


def asked_for_none(vm: Machine, asked: Traced, node: ast.AST) -> None:
    """``asked is None``: an input may be, unless its default is another; what is computed from one hardly ever is."""
    origin, default = asked.origin, asked.default
    if isinstance(default, Tensor) or (isinstance(default, Const) and default.value is not None):
        return
    if origin is not None and origin.kind == "input" and origin.parent is None:
        vm.note("silent.none", node, origin=origin)


def compared(vm: Machine, left: Value, right: Value, node: ast.AST) -> None:
    """``type(x) is torch.Tensor``, with the class of a Proxy on one side."""
    if is_of_tracing(left) or is_of_tracing(right):
        vm.note("silent.isinstance", node)


def called(vm: Machine, name: str, node: ast.AST) -> None:
    """A library function that got no Proxy: it runs while tracing, and its result is a constant."""
    if name in _RANDOM or name.startswith(_RANDOM_MODULES):
        vm.note("silent.random", node, callee=name)


def entered(vm: Machine, manager: Value, node: ast.AST) -> None:
    """``with manager``: the code in it runs within, the nodes that it records do not."""
    if isinstance(manager, Instance) and isinstance(manager.cls, External):
        context(vm, manager.cls.name, node)
    else:
        vm.note("silent.manager", node)


def context(vm: Machine, name: str, node: ast.AST, kind: str = "silent.context") -> None:
    if vm.facts.canonical(name) in _CONTEXTS:
        vm.note(kind, node, callee=name)


def stored(vm: Machine, owner: Instance, value: Value, node: ast.AST) -> None:
    """``owner.name = value`` on an object that was there before: the module keeps a Proxy."""
    if owner.attributes.born < vm.begun and holds_traced(value):
        vm.note("silent.attribute", node)


def appended(vm: Machine, receiver: Sequence, value: Value, node: ast.AST) -> None:
    """A Proxy put into a list that outlives the trace."""
    if receiver.born < vm.begun and holds_traced(value):
        vm.note("silent.append", node)


def augmented(vm: Machine, target: ast.expr, old: Value, right: Value, node: ast.AST) -> None:
    """``target += right``."""
    if isinstance(old, Tensor) and holds_traced(right):
        vm.note("silent.constant", node)
    elif isinstance(target, ast.Attribute) and not isinstance(old, Traced):
        vm.note("silent.state", node)


def tensor_method(vm: Machine, receiver: Tensor, name: str, traced: bool, node: ast.AST) -> None:
    """A method of a real tensor: what ends with an underscore changes it, other ones make a number of it."""
    if name in _NUMBERS:
        read(vm, receiver, node)
    if not name.endswith("_") or name.startswith("_"):
        return
    if traced:
        vm.note("silent.constant", node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_kept(node.func.value):
        vm.note("silent.state", node)


def _is_kept(place: ast.expr) -> bool:
    """Whether a tensor belongs to an object, as a buffer does; one in a local name is made anew for every call."""
    while isinstance(place, ast.Subscript):
        place = place.value
    return isinstance(place, ast.Attribute)


def read(vm: Machine, value: Value, node: ast.AST) -> None:
    """The truth of a real tensor, a number made of it, or a loop over it: what the module holds now is decisive."""
    if isinstance(value, Tensor) and value.held:
        vm.note("silent.buffer", node)


def derived(vm: Machine, operands: Iterable[Value], node: ast.AST) -> Tensor:
    """The result of an operation on real tensors, of which the module may hold one: the graph gets it as it is now."""
    given = list(operands)
    if any(isinstance(one, Tensor) and one.held == "own" for one in given) and not isinstance(node, ast.AugAssign):
        vm.note("silent.computed", node)
    return compared_tensors(given)


def compared_tensors(operands: Iterable[Value]) -> Tensor:
    """The answer to a comparison, which somebody is going to ask for its truth."""
    return DERIVED_TENSOR if any(isinstance(one, Tensor) and one.held for one in operands) else REAL_TENSOR


def discarded(vm: Machine, node: ast.expr, value: Value) -> None:
    """A method of a Proxy, called for what it does: a node that nothing uses."""
    if not (isinstance(node, ast.Call) and isinstance(value, Traced) and value.origin is not None):
        return
    receiver = value.origin.parent
    if value.origin.node is node and receiver is not None and receiver.node is node.func:
        vm.note("silent.unused", node, origin=receiver)


def device(vm: Machine, owner: Tensor, name: str, node: ast.AST) -> None:
    """Where a parameter is, and of which type, as the module itself tells: read once."""
    if owner.parameter and name in {"device", "dtype"}:
        vm.note("silent.device", node)


def switch(vm: Machine, frame: Frame, test: ast.expr, value: Value) -> None:
    """A condition on an attribute that the class itself sets to True: it is there for somebody to switch it off."""
    if not isinstance(test, ast.Attribute) or value is not TRUE or vm.guards:
        return
    owner = names.lookup(vm, frame, test.value.id) if isinstance(test.value, ast.Name) else None
    cls = owner.cls if isinstance(owner, Instance) else None
    classes = [base for base in cls.mro if isinstance(base, Class)] if isinstance(cls, Class) else []
    if not any(_is_argument(base.node, test.attr) for base in classes):
        vm.note("silent.switch", test)


def _is_argument(cls: ast.ClassDef, attribute: str) -> bool:
    """Whether the constructor of a class sets an attribute by one of its own parameters."""
    for init in cls.body:
        if isinstance(init, ast.FunctionDef) and init.name == "__init__":
            named = [*init.args.posonlyargs, *init.args.args][1:]
            parameters = {one.arg for one in (*named, *init.args.kwonlyargs)}
            for node in ast.walk(init):
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    if any(isinstance(target, ast.Attribute) and target.attr == attribute for target in targets):
                        return any(isinstance(one, ast.Name) and one.id in parameters for one in ast.walk(node.value))
    return False


def lost(vm: Machine, cls: Class) -> None:
    """What a GraphModule has no more: the methods that call the module, and the hooks of the root."""
    for member in cls.node.body:
        if isinstance(member, ast.FunctionDef):
            if not member.name.startswith("_") and _calls_itself(member):
                vm.note("silent.method", member, callee=member.name)
            for call in _hooks_on_itself(vm, member):
                vm.note("silent.hook", call)
    source = cls.module.source
    if "register_forward_" in source.text:
        for call in _hooks(source.tree, cls.name):
            vm.note("silent.hook", call)


def _hooks_on_itself(vm: Machine, method: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls in a method that give the module itself a forward hook."""
    own = method.args.args[0].arg if method.args.args else ""
    for call in _calls(method):
        if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("register_forward_"):
            if isinstance(call.func.value, ast.Name) and call.func.value.id == own:
                yield call
        elif call.args and isinstance(call.args[0], ast.Name) and call.args[0].id == own:
            dotted = ast.unparse(call.func)
            if dotted.rpartition(".")[2] in _HOOKING and _means(vm, dotted):
                yield call


def _means(vm: Machine, dotted: str) -> bool:
    """Whether a name of the root's module is a function of ``torch.nn.utils``."""
    try:
        with vm.untraced():
            found = evaluate.expression(vm, vm.frame, ast.parse(dotted, mode="eval").body)
    except (PathEnd, Unwind):
        return False
    return isinstance(found, External) and found.name.startswith("torch.nn.utils.") and "parametriz" not in found.name


def _calls_itself(method: ast.FunctionDef) -> bool:
    if any(isinstance(one, ast.Name) and one.id in {"classmethod", "staticmethod"} for one in method.decorator_list):
        return False
    own = method.args.args[0].arg if method.args.args else ""
    return any(isinstance(call.func, ast.Name) and call.func.id == own for call in _calls(method))


@kept
def _calls(method: ast.FunctionDef) -> list[ast.Call]:
    return [node for node in walk(method) if isinstance(node, ast.Call)]


def _hooks(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    """The calls that register a forward hook on a variable that holds a new object of the class."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.Module)):
            continue
        made = {
            target.id
            for statement in function.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
            for target in statement.targets
            if isinstance(target, ast.Name) and isinstance(statement.value.func, ast.Name)
            and statement.value.func.id == name
        }
        for statement in function.body if made else ():
            call = statement.value if isinstance(statement, ast.Expr) else None
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr.startswith("register_forward_")
                and isinstance(call.func.value, ast.Name)
                and call.func.value.id in made
            ):
                yield call
