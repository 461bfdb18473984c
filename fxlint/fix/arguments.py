"""`concrete_args={...}`: parameters whose value is known before the trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.lengths import is_sequence, is_tuple, known_length
from fxlint.fix.plain import is_plain_annotation
from fxlint.fix.site import Parameter, Site, annotated, defaults

PH = "torch.fx.PH"
"""What stands for a placeholder inside a structure of ``concrete_args``."""


def flag(site: Site) -> Iterator[Suggestion]:
    """Fix the parameter that is tested, at its default first, then at what it is compared with."""
    parameter = site.parameter
    if parameter is None:
        return
    values = _values(site, parameter)
    for value in values:
        yield bound({parameter.name: value}, f"trace with `{parameter.name}` fixed")
    if not values:
        yield Suggestion("concrete_args", f"trace with concrete_args={{'{parameter.name}': ...}}; choose the value")
    yield from all_defaults(site)


def fixed(site: Site) -> Iterator[Suggestion]:
    """Fix the parameter that the value comes from at its default, and at what it is itself compared with."""
    parameter = site.parameter
    default = _literal(parameter.default) if parameter is not None else []
    if parameter is not None and default in ([], ["None"]):
        yield from _chosen(site, parameter)
    if parameter is None or default in ([], ["None"]):
        return
    for value in _values(site, parameter) if len(site.finding.provenance) == 1 else default:
        yield bound({parameter.name: value}, f"trace with `{parameter.name}` fixed")


def _chosen(site: Site, parameter: Parameter) -> Iterator[Suggestion]:
    """Fix a parameter without a default that is annotated as a plain value, at what it is compared with."""
    annotation = annotated(parameter.function).get(parameter.name)
    if annotation is None or not is_plain_annotation(annotation) or len(site.finding.provenance) > 2:
        return
    is_equal = isinstance(site.node, ast.Compare) and isinstance(site.node.ops[0], (ast.Eq, ast.NotEq, ast.In))
    values = _values(site, parameter) if is_equal else ["True", "False"] if "bool" in parameter.annotation else []
    for value in values:
        yield bound({parameter.name: value}, f"trace with `{parameter.name}` fixed")
    if not values:
        yield Suggestion("concrete_args", f"trace with concrete_args={{'{parameter.name}': ...}}; choose the value")


def key(site: Site) -> Iterator[Suggestion]:
    """Fix the parameter that is the key, at each key that the table is seen to have."""
    parameter = site.parameter
    if parameter is None or len(site.finding.provenance) != 1:
        return
    values = list(dict.fromkeys([*_literal(parameter.default), *_keys_of(site)]))
    for value in values:
        yield bound({parameter.name: value}, f"trace with `{parameter.name}` fixed, one graph per key")
    if not values:
        yield Suggestion("concrete_args", f"trace with concrete_args={{'{parameter.name}': ...}}, one graph per key")


def missing_inputs(site: Site) -> Iterator[Suggestion]:
    """Fix optional inputs at None: a Proxy is never None, so the trace takes the path on which all are given."""
    function = site.function
    if function is None:
        return
    optional = [name for name, value in defaults(function).items() if _is_none(value)]
    tested = [name for name in _tested_names(site) if name in optional]
    for name in reversed(tested if len(tested) > 1 else []):
        yield bound({name: "None"}, f"trace without `{name}`")
    if optional:
        yield bound(dict.fromkeys(optional, "None"), "trace without the optional inputs")


def structure(site: Site) -> Iterator[Suggestion]:
    """Give an input that is a dictionary or a list its structure, with a placeholder for each item."""
    parameter, node = site.parameter, site.node
    if parameter is None or len(site.finding.provenance) != 1 or site.function is not parameter.function:
        return
    keys = _keys_used(parameter)
    if keys:
        tested = node.left.value if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant) else None
        without = [one for one in keys if one != tested]
        choices: list[list[object]] = [[*without], [*without, tested]] if tested is not None else [[*keys]]
        for chosen in choices:
            items = ", ".join(f"{one!r}: {PH}" for one in chosen)
            yield bound({parameter.name: f"{{{items}}}"}, f"trace with the keys of `{parameter.name}` known")
    elif site.event == "kwargs.unpack" and not _is_variadic(parameter):
        text = f"trace with the keys of `{parameter.name}` known: concrete_args={{'{parameter.name}': {{...: {PH}}}}}"
        yield Suggestion("concrete_args", text)
    elif site.event.startswith(("iter.", "len.")) and not _is_variadic(parameter) and _is_list(parameter):
        length = known_length(parameter, site.source, site.class_of)
        said = f"here {length}" if length is not None else "here 2 as an example, which you adapt"
        items = ", ".join([PH] * (2 if length is None else length))
        display = (f"({items},)" if length == 1 else f"({items})") if is_tuple(parameter) else f"[{items}]"
        yield bound({parameter.name: display}, f"trace with the length of `{parameter.name}` known, {said}")


def all_defaults(site: Site) -> Iterator[Suggestion]:
    """Fix every parameter that has a plain default; tuples and lists generate code that does not parse."""
    parameter = site.parameter
    if parameter is None:
        return
    literals = {name: _literal(value) for name, value in defaults(parameter.function).items()}
    plain = {name: value[0] for name, value in literals.items() if value}
    if len(plain) > 1:
        yield bound(plain, "trace with all defaults fixed")


def bound(values: dict[str, str], text: str) -> Suggestion:
    items = ", ".join(f"{name!r}: {value}" for name, value in values.items())
    return Suggestion("concrete_args", f"{text}: concrete_args={{{items}}}", concrete_args=f"{{{items}}}")


def _values(site: Site, parameter: Parameter) -> list[str]:
    values = _literal(parameter.default)
    if values in (["True"], ["False"]):
        values = [*values, *({"True", "False"} - set(values))]
    test = site.node
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        for side in (test.left, test.comparators[0]):
            values = [*values, *_literal(side), *_literals_in(side)]
    return list(dict.fromkeys(values))


def _literal(node: ast.expr | None) -> list[str]:
    """The source of a plain constant, as a list of one; an empty list for anything else."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, (bytes, type(...))):
        return [repr(node.value)]
    negative = (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
    )
    return [ast.unparse(node)] if negative and node is not None else []


def _literals_in(node: ast.expr) -> list[str]:
    if not isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return []
    return [text for element in node.elts for text in _literal(element)]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _tested_names(site: Site) -> list[str]:
    """The names in the conditions under which the construct is reached, the innermost first."""
    tests = [node.test for node in site.source.around(site.node) if isinstance(node, (ast.If, ast.IfExp))]
    return list(dict.fromkeys(name.id for test in tests for name in ast.walk(test) if isinstance(name, ast.Name)))


def _keys_of(site: Site) -> list[str]:
    """The keys of a dictionary display or ModuleDict that ``self.NAME[...]`` or a global ``NAME[...]`` looks into."""
    if isinstance(site.node, ast.Call):
        return [repr(name) for name in _modules_of(site)]
    table = site.node.value if isinstance(site.node, ast.Subscript) else None
    if isinstance(table, ast.Attribute):
        scope: ast.AST | None = site.class_of
    elif isinstance(table, ast.Name):
        scope = site.source.tree
    else:
        return []
    wanted = site.text(table)
    for node in ast.walk(scope) if scope is not None else ():
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(site.text(target) == wanted for target in targets):
            displays = [found for found in ast.walk(node) if isinstance(found, ast.Dict)]
            return [text for found in displays[:1] for one in found.keys for text in _literal(one)]
    return []


def _modules_of(site: Site) -> list[str]:
    """The attributes that ``getattr(self, name)`` can find: those that the class sets to what it has made."""
    nodes = ast.walk(site.class_of) if site.class_of is not None else ()
    made = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    targets = [target for node in made for target in node.targets if isinstance(target, ast.Attribute)]
    return list(dict.fromkeys(target.attr for target in targets if site.text(target.value) == "self"))


def _keys_used(parameter: Parameter) -> list[str]:
    """The constant keys by which a parameter is read in its function."""
    found = [
        node.slice.value
        for node in ast.walk(parameter.function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == parameter.name
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    ]
    return list(dict.fromkeys(found))


def _is_variadic(parameter: Parameter) -> bool:
    arguments = parameter.function.args
    return parameter.name in [one.arg for one in (arguments.vararg, arguments.kwarg) if one is not None]


def _is_list(parameter: Parameter) -> bool:
    """Whether a parameter that is iterated over is a list rather than a tensor, by its annotation or its use."""
    if parameter.annotation:
        return is_sequence(parameter)
    attributes = {
        node.attr
        for node in ast.walk(parameter.function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == parameter.name
    }
    return parameter.name.endswith("s") and not attributes
