"""``y += 1`` on a Proxy: a tensor is changed in place, the graph makes a new one.

It matters where somebody else holds the tensor that is changed.
"""

from __future__ import annotations

import ast
from typing import Final

from fxlint.predict.machine import Machine
from fxlint.predict.scopes import Frame
from fxlint.predict.values import Mapping, Origin, Sequence, Traced, Value

_VIEWS: Final = frozenset(
    "view view_as reshape flatten unflatten transpose permute squeeze unsqueeze expand expand_as narrow select t "
    "chunk split unbind swapaxes movedim diagonal T mT data detach real imag".split()
)
"""Methods and attributes whose result has the memory of the tensor that they are called on."""
_SIZES: Final = frozenset({"shape", "size", "dim", "ndim", "numel", "stride", "device", "dtype"})
_PLAIN: Final = frozenset({"int", "float", "bool", "str", "complex"})


def in_place(vm: Machine, frame: Frame, node: ast.AugAssign, old: Value) -> None:
    """Note an augmented assignment that in the module changes what is read again under another name."""
    if not isinstance(old, Traced) or old.origin is None:
        return
    memory = _memory(old.origin)
    if memory and (_is_held_elsewhere(vm, frame, memory[-1]) or _is_read_again(frame, node, old, memory)):
        vm.note("silent.alias", node, origin=old.origin)


def _memory(origin: Origin) -> list[Origin]:
    """The operations through which a tensor has its memory, up to the one that made it; none for a number."""
    links = [origin]
    while links[-1].parent is not None and (_is_view(links[-1].node) or _is_size(links[-1].node)):
        links.append(links[-1].parent)
    return [] if any(_is_size(link.node) for link in links) else links


def _is_view(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(node, (ast.Subscript, ast.Tuple)) or (isinstance(called, ast.Attribute) and called.attr in _VIEWS)


def _is_size(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr in _SIZES


def _is_held_elsewhere(vm: Machine, frame: Frame, maker: Origin) -> bool:
    """Whether it is an input of the root, which the caller of the module holds too, or a parameter of the module."""
    if maker.kind == "parameter":
        return True
    function = frame.function
    if function is None or vm.frames[1].function is not function:
        return False
    return maker.kind == "input" and maker.parent is None and _is_tensor(maker)


def _is_tensor(made: Origin) -> bool:
    """Not an input that is a number by its annotation."""
    said = made.node.annotation if isinstance(made.node, ast.arg) else None
    return not (isinstance(said, ast.Name) and said.id in _PLAIN)


def _is_read_again(frame: Frame, node: ast.AugAssign, old: Traced, memory: list[Origin]) -> bool:
    """Whether another name of the function has the same memory, and is read before it gets another value."""
    own = node.target.id if isinstance(node.target, ast.Name) else None
    body = frame.function.node if frame.function is not None else None
    if body is None or not _is_tensor(memory[-1]):
        return False
    return any(
        name != own and _holds(value, old, memory) and _first_use_is_reading(body, node, name)
        for name, value in frame.scope.vars.items()
    )


def _holds(value: Value, old: Traced, memory: list[Origin]) -> bool:
    if isinstance(value, Traced):
        return value is old or value.origin in memory
    if isinstance(value, Sequence):
        return any(_holds(one, old, memory) for one in value.members())
    return isinstance(value, Mapping) and any(_holds(one, old, memory) for one in value.entries())


def _first_use_is_reading(body: ast.AST, node: ast.AugAssign, name: str) -> bool:
    after = (node.end_lineno or node.lineno, node.end_col_offset or 0)
    inside = list(ast.walk(body))
    augmented = {one.target for one in inside if isinstance(one, ast.AugAssign)}
    uses = [one for one in inside if isinstance(one, ast.Name) and one.id == name and _position(one) >= after]
    first = min(uses, key=_position, default=None)
    return first is not None and (isinstance(first.ctx, ast.Load) or first in augmented)


def _position(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset
