"""Forward hooks: what the call of a module that is no leaf runs before and after its forward, while tracing too."""

from __future__ import annotations

import ast
from typing import Final

from fxlint.predict import calls, containers
from fxlint.predict.arguments import Arguments
from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Frame, ModuleScope
from fxlint.predict.values import (
    FALSE,
    MAYBE,
    NONE,
    Attributes,
    Const,
    External,
    Instance,
    Mapping,
    Sequence,
    Unknown,
    Value,
    join_all,
    options,
)

BEFORE: Final = "register_forward_pre_hook"
AFTER: Final = "register_forward_hook"
HANDLE: Final = "torch.utils.hooks.RemovableHandle"
_HOOKS, _HOOK = "hooks of the handle", "hook of the handle"


def are_given(module: ModuleScope) -> bool:
    """Whether code of this file gives hooks to objects: none of them then stands for all that are built alike."""
    return "register_forward_" in module.source.text


def register(vm: Machine, module: Instance, kind: str, args: Arguments) -> Instance:
    """``module.register_forward_hook(hook)``: the result takes it away again."""
    entry = Sequence("tuple", [args.get(0, "hook") or MAYBE, args.keywords.get("with_kwargs", FALSE)])
    hooks = _of(module, kind)
    containers.append(vm, hooks, entry)
    return Instance(External(HANDLE), Attributes({_HOOKS: hooks, _HOOK: entry}.items()))


def remove(vm: Machine, handle: Instance) -> None:
    """``handle.remove()``."""
    hooks = handle.attributes.get(_HOOKS)
    if isinstance(hooks, Sequence):
        kept = [entry for entry in hooks.items if entry is not handle.attributes[_HOOK]]
        vm.heap.refill(hooks, kept, hooks.rest)


def _of(module: Instance, kind: str) -> Sequence:
    """The list of a module's hooks, under a name that no code can spell. An empty one is the same as none."""
    found = module.attributes.setdefault(f"{kind}()", Sequence("list", [], born=module.attributes.born))
    assert isinstance(found, Sequence)
    return found


def before(vm: Machine, frame: Frame, module: Instance, args: Arguments, node: ast.AST) -> Arguments:
    """The arguments for forward: those of the call, or what hooks return in place of them."""
    for entry, sure in _entries(module, BEFORE):
        result = _run(vm, frame, module, entry, sure, args, [], node)
        args = _with_keywords(args, result) if _takes_keywords(entry) else _with_positional(args, result)
    return args


def after(vm: Machine, frame: Frame, module: Instance, args: Arguments, output: Value, node: ast.AST) -> Value:
    """The result of the call: that of forward, or what hooks return in place of it."""
    for entry, sure in _entries(module, AFTER):
        output = _unless_none(_run(vm, frame, module, entry, sure, args, [output], node), output)
    return output


def _entries(module: Instance, kind: str) -> list[tuple[Value, bool]]:
    """The hooks, each with whether it is there under all conditions."""
    hooks = module.attributes.get(f"{kind}()")
    if not isinstance(hooks, Sequence):
        return []
    perhaps = [] if hooks.rest is None else [(option, False) for option in options(hooks.rest)]
    return [(option, option is entry) for entry in hooks.items for option in options(entry)] + perhaps


def _takes_keywords(entry: Value) -> bool:
    told = entry.items[1] if isinstance(entry, Sequence) else FALSE
    return isinstance(told, Const) and bool(told.value)


def _run(
    vm: Machine,
    frame: Frame,
    module: Instance,
    entry: Value,
    sure: bool,
    args: Arguments,
    output: list[Value],
    node: ast.AST,
) -> Value:
    hook = entry.items[0] if isinstance(entry, Sequence) else MAYBE
    given: list[Value] = [module, Sequence("tuple", list(args.positional), args.extra)]
    if _takes_keywords(entry):
        named = Mapping({("", name): (Const(name), value) for name, value in args.keywords.items()})
        named.rest = args.extra_keywords
        given.append(named)
    given += output
    if sure:
        return calls.invoke(vm, frame, hook, given, node)
    return vm.choose(node, lambda: calls.invoke(vm, frame, hook, given, node), lambda: NONE)


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def _unless_none(made: Value, old: Value) -> Value:
    """What a hook returns, or what was there before it where it returns None."""
    kept = [old] if any(_is_none(option) or isinstance(option, Unknown) for option in options(made)) else []
    return join_all([*kept, *(option for option in options(made) if not _is_none(option))])


def _with_positional(args: Arguments, made: Value) -> Arguments:
    """What is no tuple is the only argument."""
    if _is_none(made):
        return args
    if isinstance(made, Sequence) and made.kind == "tuple":
        return Arguments(list(made.items), args.keywords, made.rest, args.extra_keywords)
    if len(args.positional) == 1 and args.extra is None and not isinstance(made, Unknown):
        return Arguments([_unless_none(made, args.positional[0])], args.keywords, None, args.extra_keywords)
    return Arguments([], args.keywords, MAYBE, args.extra_keywords)


def _with_keywords(args: Arguments, made: Value) -> Arguments:
    """What is returned is a tuple of the positional arguments and a dictionary of the others."""
    if _is_none(made):
        return args
    if isinstance(made, Sequence) and len(made.items) == 2:
        positional, named = made.items
        if isinstance(positional, Sequence) and isinstance(named, Mapping):
            keywords = {str(key.value): value for key, value in named.items.values() if isinstance(key, Const)}
            return Arguments(list(positional.items), keywords, positional.rest, named.rest)
    return Arguments([], {}, MAYBE, MAYBE)
