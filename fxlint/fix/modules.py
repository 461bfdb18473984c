"""Modules that the root does not own: create them in `__init__`, in containers that register them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxlint.findings import Edit, Suggestion
from fxlint.fix.site import Site
from fxlint.project.tree import walk

_CONTAINERS = {ast.Dict: "ModuleDict", ast.DictComp: "ModuleDict", ast.List: "ModuleList", ast.ListComp: "ModuleList"}


def registered(site: Site) -> Iterator[Suggestion]:
    """Store a module that is made in forward, or at module level, on ``self``."""
    call, owner, function = site.node, site.class_of, site.function
    if not isinstance(call, ast.Call) or owner is None or function is None:
        return
    made = call.func
    if not isinstance(made, (ast.Call, ast.Name)) or not _is_constant(site, made, function):
        return
    made_of = made.func if isinstance(made, ast.Call) else made
    name = _attribute_name(site, owner, (site.text(made_of).rpartition(".")[2]).lower())
    insert = _in_init(site, owner, f"self.{name} = {' '.join(site.text(made).split())}")
    if insert is not None:
        use = site.source.replace(made, f"self.{name}")
        yield site.rewrite(f"create it in `__init__` as `self.{name}`", insert, use)


def contained(site: Site) -> Iterator[Suggestion]:
    """``nn.ModuleList`` or ``nn.ModuleDict`` around the plain list or dictionary that holds the modules."""
    owner, function = site.class_of, site.function
    if owner is None or function is None:
        return
    used = {site.text(node) for node in walk(function) if isinstance(node, ast.Attribute)}
    for node in walk(owner):
        if isinstance(node, ast.Assign) and any(site.text(target) in used for target in node.targets):
            container = _CONTAINERS.get(type(node.value))
            if container is not None and _holds_modules(node.value):
                new = f"{_nn(site)}.{container}({site.text(node.value)})"
                text = f"hold the modules in an `nn.{container}`, which registers them"
                yield site.rewrite(text, site.source.replace(node.value, new))
                return


def looped(site: Site) -> Iterator[Suggestion]:
    """A loop over the layers of a slice of a Sequential, instead of a call of the slice."""
    call, statement = site.node, site.statement
    indent = site.source.indent(statement)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript) or not indent or len(call.args) != 1:
        return
    given = call.args[0]
    if not isinstance(call.func.slice, ast.Slice) or call.keywords or not isinstance(given, ast.Name):
        return
    loop = f"for layer in {site.text(call.func)}:\n{indent}    {given.id} = layer({given.id})\n{indent}"
    if isinstance(statement, ast.Return) and statement.value is call:
        new = f"{loop}return {given.id}"
    elif isinstance(statement, ast.Assign) and statement.value is call and site.text(statement.targets[0]) == given.id:
        new = loop.rstrip()
    else:
        return
    yield site.rewrite("loop over the layers, which are registered", site.source.replace(statement, new))


def _is_constant(site: Site, made: ast.expr, function: ast.FunctionDef) -> bool:
    """Whether an expression reads no local of the function."""
    facts = site.source.facts(function)
    return not any(isinstance(node, ast.Name) and facts.is_local(node.id) for node in walk(made))


def _attribute_name(site: Site, owner: ast.ClassDef, wanted: str) -> str:
    taken = site.source.class_facts(owner).attributes
    names = (wanted, *(f"{wanted}_{number}" for number in range(2, 100)))
    return next(name for name in names if name not in taken)


def _in_init(site: Site, owner: ast.ClassDef, line: str) -> Edit | None:
    """A line at the end of ``__init__``, which is made where the class has none and inherits from nn.Module alone."""
    functions = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
    init = next((node for node in functions if node.name == "__init__"), None)
    if init is not None:
        last = init.body[-1]
        indent = site.source.indent(last)
        return site.source.insert((last.end_lineno or last.lineno) + 1, f"{indent}{line}\n") if indent else None
    if [site.text(base).rpartition(".")[2] for base in owner.bases] != ["Module"] or not functions:
        return None
    first = functions[0]
    indent = site.source.indent(first)
    lines = ("def __init__(self):", "    super().__init__()", f"    {line}")
    at = min([first.lineno, *(decorator.lineno for decorator in first.decorator_list)])
    return site.source.insert(at, "".join(f"{indent}{row}\n" for row in lines) + "\n")


def _holds_modules(node: ast.expr) -> bool:
    values = [node.elt] if isinstance(node, ast.ListComp) else [node.value] if isinstance(node, ast.DictComp) else []
    values += node.values if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.List) else []
    return bool(values) and all(isinstance(value, (ast.Call, ast.Name)) for value in values)


def _nn(site: Site) -> str:
    """How the file spells ``torch.nn``."""
    for node in site.source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            name = next((alias.asname or alias.name for alias in node.names if alias.name == "nn"), None)
            if name is not None:
                return name
        if isinstance(node, ast.Import):
            name = next((alias.asname for alias in node.names if alias.name == "torch.nn" and alias.asname), None)
            if name is not None:
                return name
    return "torch.nn"
