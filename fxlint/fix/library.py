"""Library code that does not trace: other spellings, leaf modules, and settings of the Tracer."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.messages import plain_message
from fxlint.fix.site import Site
from fxlint.project.tree import walk
from fxlint.rules import Rule


def leaf(site: Site) -> Iterator[Suggestion]:
    """A subclass of a layer of torch.nn, or a layer as the root: make it a leaf, or hold it in a module."""
    owner = site.node if isinstance(site.node, ast.ClassDef) else site.class_of
    if owner is None:
        return
    names = [node.name for node in (owner, *site.source.around(owner)) if isinstance(node, ast.ClassDef)]
    yield Suggestion(
        "leaf",
        f"make `{owner.name}` a leaf, with a Tracer whose `is_leaf_module` says True for it, in a module that holds it",
        tracer=f"{site.source.path}::{'.'.join(reversed(names))}",
    )
    yield site.advice(
        f"hold a `{site.names[0]}` as a submodule and write forward around it, instead of inheriting from it"
    )


def constant_shapes(site: Site) -> Iterator[Suggestion]:
    """The setting that makes shapes of parameters real, for which they have to be read by ``shape``."""
    sizes = [node for node in walk(site.node) if _is_size(node)]
    edits = tuple(site.source.replace(call, _as_shape(site, call)) for call in sizes if isinstance(call, ast.Call))
    reading = " and `shape` in place of `size`" if edits else ""
    text = f"trace with `torch.fx.Tracer(param_shapes_constant=True)`{reading}, or keep the number on the module"
    yield Suggestion("config", text, edits, tracer="param_shapes_constant")


def _is_size(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size"


def _as_shape(site: Site, call: ast.Call) -> str:
    owner = site.text(call.func)[: -len("size")]
    return f"{owner}shape[{site.text(call.args[0])}]" if call.args else f"{owner}shape"


def bound_method(site: Site) -> Iterator[Suggestion]:
    """`x.flatten()` for `torch.Tensor.flatten(x)`."""
    call = site.node
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args and not _starred(call):
        owner = site.text(call.args[0])
        if not isinstance(call.args[0], (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            owner = f"({owner})"
        rest = ", ".join(site.text(one) for one in call.args[1:])
        words = ", ".join(f"{word.arg}={site.text(word.value)}" for word in call.keywords)
        new = f"{owner}.{call.func.attr}({', '.join(part for part in (rest, words) if part)})"
        yield site.rewrite("call the method on the tensor", site.source.replace(call, new))


def own_check(site: Site) -> Iterator[Suggestion]:
    """`torch._assert` for `torch._check`."""
    call = site.node
    checks = ("_check", "_check_value", "_check_type")
    if isinstance(call, ast.Call) and call.args and site.text(call.func).rpartition(".")[2] in checks:
        said = call.args[1].body if len(call.args) > 1 and isinstance(call.args[1], ast.Lambda) else None
        message = plain_message(said, site.text(call.args[0]))
        new = f"torch._assert({site.text(call.args[0])}, {message})"
        yield site.rewrite("say it with `torch._assert`, which becomes a node", site.source.replace(call, new))


def device(site: Site) -> Iterator[Suggestion]:
    yield site.advice("pass the device on, `device=x.device`, or enter the context around the traced module")


def printed(site: Site) -> Iterator[Suggestion]:
    """Drop a statement that only prints or logs what is formatted."""
    statement = site.statement
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield site.rewrite("drop it, or print where forward is called", site.source.drop(statement))


def renamed_wrap(site: Site) -> Iterator[Suggestion]:
    """Import a function of another module by its name, and wrap that name."""
    call = site.node
    argument = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if isinstance(call, ast.Call) and isinstance(argument, ast.Attribute) and isinstance(argument.value, ast.Name):
        name = argument.attr
        new = f'from {argument.value.id} import {name}\n\n{site.text(call.func)}("{name}")'
        yield site.rewrite(f"import `{name}` by name and wrap that name", site.source.replace(call, new))
    else:
        yield site.advice("move it to a function at module level and decorate that with `@torch.fx.wrap`")


def renamed_field(site: Site) -> Iterator[Suggestion]:
    if isinstance(site.node, ast.Attribute) and ".keys" in site.text(site.node):
        yield site.advice("give the field another name than `keys`, which is a method of every Proxy")


def plain_output(site: Site) -> Iterator[Suggestion]:
    """A list for a generator or a set; a dataclass for an object of one's own class."""
    value = site.node.value if isinstance(site.node, ast.Return) else None
    if isinstance(value, ast.GeneratorExp):
        inside = site.text(value)
        inside = inside[1:-1] if inside.startswith("(") else inside
        yield site.rewrite("return a list", site.source.replace(value, f"[{inside}]"))
    elif isinstance(value, ast.Set):
        yield site.rewrite("return a list", site.source.replace(value, f"[{site.text(value)[1:-1]}]"))
    else:
        yield site.advice("return a dict, a tuple or a dataclass: a graph can hold those")


def foreign(site: Site) -> Iterator[Suggestion]:
    yield site.advice("call the torch operation that does the same, or wrap a function of your own that makes the call")


def table(site: Site) -> Iterator[Suggestion]:
    yield site.advice("keep numbers in a buffer and read it with `torch.index_select`, or choose before the trace")


def replaced(rule: Rule, site: Site) -> Iterator[Suggestion]:
    """What a rule of the project says to call instead, imported where the file has no such name."""
    if rule.replacement is None:
        return
    call, text = site.node, f"call `{rule.replacement}`"
    names = {re.split("[:.]", name)[-1] for name in rule.calls}
    if not isinstance(call, ast.Call) or re.split(r"\W", site.text(call.func))[-1] not in names:
        yield site.advice(text)  # a module, or another name for what is called
        return
    head, (module, _, _) = rule.replacement.split(".")[0], rule.replacement.rpartition(".")
    missing = module and site.source.binding(head) is None
    edits = (site.source.insert(site.source.after_imports, f"import {module}\n"),) if missing else ()
    yield Suggestion("rewrite", text, (*edits, site.source.replace(call.func, rule.replacement)))


def _starred(call: ast.Call) -> bool:
    return any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords)
