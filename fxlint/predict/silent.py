"""What stops no trace, and leaves a graph that is not the model: notes, which change no verdict.

Decisions that a Proxy takes by answering (``isinstance``, ``is None``) are noted where they are modelled; here is what
depends on when and where something happens.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from fxlint.predict import containers, evaluate, names
from fxlint.predict.machine import Machine, PathEnd, Unwind
from fxlint.predict.scopes import Frame
from fxlint.predict.values import (
    DERIVED_TENSOR,
    FALSE,
    GLOBAL,
    REAL_TENSOR,
    TRUE,
    Class,
    Const,
    External,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Traced,
    Value,
    holds_traced,
    is_of_tracing,
    may_hold_traced,
)
from fxlint.project.tree import kept, walk

_RANDOM: Final = frozenset(
    "torch.rand torch.randn torch.randint torch.randperm torch.normal torch.bernoulli torch.multinomial "
    "torch.rand_like torch.randn_like torch.randint_like torch.poisson".split()
)
_RANDOM_METHODS: Final = frozenset(
    "normal_ uniform_ random_ bernoulli_ exponential_ geometric_ cauchy_ log_normal_ bernoulli multinomial".split()
)
_PLAIN_INITIALISERS: Final = frozenset("constant_ ones_ zeros_ eye_ dirac_ calculate_gain".split())
"""What ``torch.nn.init`` has beside random numbers."""
_ABOUT_THE_STATE: Final = frozenset(
    "seed getstate setstate get_state set_state Random RandomState Generator SeedSequence default_rng".split()
)
"""What the modules for random numbers have that draws none."""
_NUMBERS: Final = frozenset({"item", "tolist", "numpy"})
_HOOKING: Final = frozenset({"weight_norm", "spectral_norm"})
"""Functions of ``torch.nn.utils`` that compute a parameter in a hook that runs before forward."""
_RANDOM_MODULES: Final = ("random.", "numpy.random.")
_CONTEXTS: Final = frozenset(
    "torch.no_grad torch.enable_grad torch.inference_mode torch.set_grad_enabled torch.autocast torch.amp.autocast "
    "torch.cuda.amp.autocast torch.cpu.amp.autocast torch.random.fork_rng torch.nn.attention.sdpa_kernel "
    "torch.autograd.graph.save_on_cpu torch.autograd.graph.saved_tensors_hooks".split()
)
_FOR_WHAT_FOLLOWS: Final = frozenset({"torch.set_grad_enabled", "torch.manual_seed"})
"""Functions that set something for all that is computed afterwards."""
_MODES: Final = frozenset({"train", "eval"})
_CONVERSIONS: Final = frozenset("to type cuda cpu float double half bfloat16 contiguous detach clone".split())
_PLACE: Final = frozenset({"device", "dtype", "is_cuda"})


def asked_for_none(vm: Machine, asked: Traced, node: ast.AST) -> None:
    """``asked is None``: an input may be, unless its default is another; what is computed from one hardly ever is."""
    origin, default = asked.origin, asked.default
    if isinstance(default, Tensor) or (isinstance(default, Const) and default.value is not None):
        return
    if origin is not None and origin.kind == "input" and origin.parent is None:
        vm.note("silent.none", node, origin=origin)


def matched(vm: Machine, subject: Value, node: ast.AST) -> None:
    """``case torch.Tensor():``"""
    if isinstance(subject, Traced):
        vm.note("silent.isinstance", node, origin=subject.origin)


def asked_for_class(vm: Machine, value: Traced, wanted: Value, node: ast.AST) -> None:
    """``isinstance(value, wanted)``: who asks for a Proxy knows of the tracer."""
    vm.note("silent.guard" if is_of_tracing(wanted) else "silent.isinstance", node, origin=value.origin)


def looked_up(vm: Machine, key: Value, node: ast.AST) -> None:
    """A key of a dictionary, or what may be in a set."""
    if holds_traced(key):
        vm.note("silent.key", node, origin=key.origin if isinstance(key, Traced) else None)
    elif is_of_tracing(key):
        vm.note("silent.isinstance", node)


def named(vm: Machine, owner: External, name: str, node: ast.AST) -> None:
    """``type(x).__name__``, of a Proxy."""
    if is_of_tracing(owner) and name in {"__name__", "__qualname__", "__module__"}:
        vm.note("silent.isinstance", node)


def compared(vm: Machine, left: Value, right: Value, node: ast.AST) -> None:
    """``type(x) is torch.Tensor``, with the class of a Proxy on one side."""
    if is_of_tracing(left) or is_of_tracing(right):
        vm.note("silent.isinstance", node)


def called(vm: Machine, name: str, node: ast.AST) -> None:
    """A library function that got no Proxy: it runs while tracing, and its result is a constant."""
    if _is_random(name):
        vm.note("silent.random", node, callee=name)
    elif name in _FOR_WHAT_FOLLOWS or name in _CONTEXTS:
        vm.note("silent.context", node, callee=name)


def _is_random(name: str) -> bool:
    module, _, function = name.rpartition(".")
    if name.startswith(_RANDOM_MODULES):
        return function not in _ABOUT_THE_STATE
    if module == "torch.nn.init":
        return function not in _PLAIN_INITIALISERS
    return name in _RANDOM or (module.startswith("torch.distributions.") and function in {"sample", "rsample"})


def entered(vm: Machine, manager: Value, node: ast.AST) -> None:
    """``with manager``: the code in it runs within, the nodes that it records do not."""
    if isinstance(manager, Instance) and isinstance(manager.cls, External):
        context(vm, manager.cls.name, node)
    else:
        vm.note("silent.manager", node)


def set_for_what_follows(vm: Machine, value: Value, node: ast.AST) -> None:
    """``torch.set_grad_enabled(False)`` as a statement of its own."""
    if isinstance(value, Instance) and isinstance(value.cls, External) and value.cls.name in _FOR_WHAT_FOLLOWS:
        vm.note("silent.context", node, callee=value.cls.name)


def context(vm: Machine, name: str, node: ast.AST, kind: str = "silent.context") -> None:
    if vm.facts.canonical(name) in _CONTEXTS:
        vm.note(kind, node, callee=name)


def stored(vm: Machine, owner: Instance, value: Value, node: ast.AST) -> None:
    """``owner.name = value`` on an object that was there before: the module keeps a Proxy."""
    if owner.attributes.born < vm.begun and holds_traced(value):
        vm.note("silent.attribute", node)


def assigned(vm: Machine, frame: Frame, target: ast.expr, value: Value, node: ast.Assign) -> None:
    """``owner.name = value`` without a Proxy: a count goes on, or a flag or number becomes another one."""
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name) or may_hold_traced(value):
        return
    owner = names.lookup(vm, frame, target.value.id)
    if not isinstance(owner, Instance) or owner.attributes.born >= vm.begun:
        return
    goes_on = _reads(node.value, target.value.id, target.attr) and not _is_converted(node.value)
    if goes_on or _is_another(owner.attributes.get(target.attr), value):
        vm.note("silent.state", node)


def _reads(expression: ast.expr, name: str, attribute: str) -> bool:
    return any(
        isinstance(one, ast.Attribute) and one.attr == attribute and getattr(one.value, "id", None) == name
        for one in walk(expression)
    )


def _is_converted(expression: ast.expr) -> bool:
    """``self.mean.to(x.device)``: the same value for every call."""
    while isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        if expression.func.attr not in _CONVERSIONS:
            return False
        expression = expression.func.value
    return isinstance(expression, ast.Attribute)


def _is_another(old: Value | None, new: Value) -> bool:
    """Whether one known value takes the place of another one; what None becomes is mostly kept for later calls."""
    if not isinstance(old, Const) or not isinstance(new, Const) or old.value is None or new.value is None:
        return False
    return type(old.value) is not type(new.value) or old.value != new.value


def put(vm: Machine, container: Sequence | Mapping, value: Value, node: ast.AST) -> None:
    """A value put into a list or a dictionary that outlives the trace."""
    if container.born >= vm.begun:
        return
    if holds_traced(value):
        vm.note("silent.append", node)
    elif not may_hold_traced(value) and (isinstance(node, ast.AugAssign) or _grows(container, node)):
        vm.note("silent.state", node)


def _grows(container: Sequence | Mapping, node: ast.AST) -> bool:
    """Whether a list of an object gets longer; what is put into a dictionary mostly is kept for later calls."""
    return isinstance(container, Sequence) and container.born != GLOBAL and isinstance(node, ast.Call)


def set_on_tensor(vm: Machine, owner: Traced | Tensor, value: Value, node: ast.AST) -> None:
    """``owner.name = value`` on a tensor: of a Proxy it is an attribute of the Proxy, and no node."""
    if isinstance(owner, Traced):
        vm.note("silent.setattr", node, origin=owner.origin)
    elif holds_traced(value):
        vm.note("silent.constant", node)
    elif isinstance(node, ast.Attribute) and _is_kept(node.value):
        vm.note("silent.state", node)


def set_item_of_tensor(vm: Machine, key: Value, value: Value, node: ast.AST) -> None:
    """``tensor[key] = value`` of a real tensor."""
    if holds_traced(value):
        vm.note("silent.constant", node)
    elif isinstance(node, ast.Subscript) and _is_kept(node.value) and not may_hold_traced(key):
        vm.note("silent.state", node)


def _is_of_library(vm: Machine, frame: Frame, function: ast.expr) -> bool:
    """Whether a name stands in a module of a library: a method of a real tensor is told by what it changes."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and isinstance(names.lookup(vm, frame, function.id), External)


def set_mode(vm: Machine, module: Instance, name: str, node: ast.AST) -> None:
    """``self.eval()`` in a forward: done once, and undone by the next ``train()`` of the graph."""
    if name in _MODES and module.attributes.born < vm.begun:
        vm.note("silent.state", node)


def augmented(vm: Machine, frame: Frame, target: ast.expr, old: Value, right: Value, node: ast.AST) -> None:
    """``target += right``."""
    if isinstance(old, Traced):
        return
    is_global = isinstance(target, ast.Name) and frame.outer_names.get(target.id, frame.scope) is None
    if isinstance(old, Tensor) and holds_traced(right):
        vm.note("silent.constant", node)
    elif isinstance(target, ast.Attribute) or is_global:
        vm.note("silent.state", node)


def tensor_method(vm: Machine, receiver: Tensor, name: str, traced: bool, node: ast.AST) -> None:
    """A method of a real tensor: what ends with an underscore changes it, other ones make a number of it."""
    if name in _NUMBERS:
        read(vm, receiver, node)
    if name in _RANDOM_METHODS and not traced:
        vm.note("silent.random", node, callee=name)
        return
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
    given = [one for value in operands for one in (value.members() if isinstance(value, Sequence) else [value])]
    if any(isinstance(one, Tensor) and one.held == "own" for one in given) and not isinstance(node, ast.AugAssign):
        vm.note("silent.computed", node)
    return compared_tensors(given)


def compared_tensors(operands: Iterable[Value]) -> Tensor:
    """The answer to a comparison, which somebody is going to ask for its truth."""
    return DERIVED_TENSOR if any(isinstance(one, Tensor) and one.held for one in operands) else REAL_TENSOR


def discarded(vm: Machine, frame: Frame, node: ast.expr, value: Value) -> None:
    """A call that is recorded, and made for what it does: a node that nothing uses."""
    set_for_what_follows(vm, value, node)
    if not (isinstance(node, ast.Call) and isinstance(value, Traced) and value.origin is not None):
        return
    if value.origin.node is not node:
        return
    receiver = value.origin.parent
    is_method = receiver is not None and receiver.node is node.func
    if is_method or _works_in_place(vm, frame, node):
        vm.note("silent.unused", node, origin=receiver)


def _works_in_place(vm: Machine, frame: Frame, node: ast.Call) -> bool:
    """``torch.relu_(x)``, ``F.relu(x, inplace=True)``, ``torch.add(x, y, out=x)``, ``self.relu(x)`` of such a layer."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name.endswith("_") and not name.startswith("_") and _is_of_library(vm, frame, node.func):
        return True
    for keyword in node.keywords:
        if keyword.arg == "inplace" and getattr(keyword.value, "value", False) is True:
            return True
        if keyword.arg == "out" and isinstance(containers.stored_at(vm, frame, keyword.value), Traced):
            return True
    found = containers.stored_at(vm, frame, node.func)
    flag = found is not None and isinstance(found, Instance) and vm.facts.attribute(vm, found, "inplace")
    return isinstance(flag, Const) and flag.value is True


def device(vm: Machine, owner: Tensor, name: str, node: ast.AST) -> None:
    """Where a parameter is, and of which type, as the module itself tells: read once."""
    if (owner.parameter or owner.held == "own") and name in _PLACE:
        vm.note("silent.device", node)


def switch(vm: Machine, frame: Frame, test: ast.expr, value: Value) -> None:
    """A condition on an attribute that is there to be switched: one that the class sets to True, or by a method."""
    if not isinstance(test, ast.Attribute) or not (value is TRUE or value is FALSE) or vm.guards:
        return
    owner = names.lookup(vm, frame, test.value.id) if isinstance(test.value, ast.Name) else None
    cls = owner.cls if isinstance(owner, Instance) else None
    classes = [base for base in cls.mro if isinstance(base, Class)] if isinstance(cls, Class) else []
    if any(_is_argument(base.node, test.attr) for base in classes):
        return
    if value is TRUE or any(_is_set_by_a_method(base.node, test.attr) for base in classes):
        vm.note("silent.switch", test)


def _is_set_by_a_method(cls: ast.ClassDef, attribute: str) -> bool:
    """Whether a method for that purpose sets an attribute: not the constructor, nor forward while it runs."""
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == attribute
        for method in cls.body
        if isinstance(method, ast.FunctionDef) and method.name not in {"__init__", "forward"}
        for node in walk(method)
    )


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
    if "register_forward_" in source.text or "register_full_backward_" in source.text:
        for call in _hooks(source.tree, cls.name):
            vm.note("silent.hook", call)


def _hooks_on_itself(vm: Machine, method: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls in a method that give the module itself a forward hook."""
    own = method.args.args[0].arg if method.args.args else ""
    for call in _calls(method):
        if isinstance(call.func, ast.Attribute) and _gives_a_hook(call.func.attr):
            if isinstance(call.func.value, ast.Name) and call.func.value.id == own:
                yield call
        elif call.args and isinstance(call.args[0], ast.Name) and call.args[0].id == own:
            dotted = ast.unparse(call.func)
            if dotted.rpartition(".")[2] in _HOOKING and _means(vm, dotted):
                yield call


def _gives_a_hook(method: str) -> bool:
    return method.startswith(("register_forward_", "register_full_backward_"))


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
    return any(_is_call_of(call.func, own) for call in _calls(method))


def _is_call_of(function: ast.expr, own: str) -> bool:
    """``self``, ``self.forward`` or ``self.__call__`` as what is called."""
    if isinstance(function, ast.Attribute) and function.attr in {"forward", "__call__"}:
        function = function.value
    return isinstance(function, ast.Name) and function.id == own


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
            if isinstance(target, ast.Name)
            and isinstance(statement.value.func, ast.Name)
            and statement.value.func.id == name
        }
        for statement in function.body if made else ():
            call = statement.value if isinstance(statement, ast.Expr) else None
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and _gives_a_hook(call.func.attr)
                and isinstance(call.func.value, ast.Name)
                and call.func.value.id in made
            ):
                yield call
