"""`concrete_args={...}`: parameters whose value is known before the trace."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.parameters import Parameter
from fxlint.fix.plain import is_plain_annotation
from fxlint.fix.site import Site
from fxlint.project.tree import walk

PH = "torch.fx.PH"
"""What stands for a placeholder inside a structure of ``concrete_args``."""
MAX_TESTS = 20
"""Conditions around a construct that are looked at."""


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
    annotation = parameter.source.facts(parameter.function).annotations.get(parameter.name)
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
    if function is None or (site.is_called and function.name != "forward"):  # of a helper, they are no inputs
        return
    optional = [name for name, value in site.source.facts(function).defaults.items() if _is_none(value)]
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
    keys = parameter.keys
    if keys:
        tested = node.left.value if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant) else None
        without = [one for one in keys if one != tested]
        choices: list[list[object]] = [[*without], [*without, tested]] if tested is not None else [[*keys]]
        for chosen in choices:
            items = ", ".join(f"{one!r}: {PH}" for one in chosen)
            yield bound({parameter.name: f"{{{items}}}"}, f"trace with the keys of `{parameter.name}` known")
    elif site.event == "kwargs.unpack" and not parameter.is_variadic:
        text = f"trace with the keys of `{parameter.name}` known: concrete_args={{'{parameter.name}': {{...: {PH}}}}}"
        yield Suggestion("concrete_args", text)
    elif site.event.startswith(("iter.", "len.")) and not parameter.is_variadic and parameter.is_list:
        length = parameter.length
        said = f"here {length}" if length is not None else "here 2 as an example, which you adapt"
        items = ", ".join([PH] * (2 if length is None else length))
        display = (f"({items},)" if length == 1 else f"({items})") if parameter.is_tuple else f"[{items}]"
        yield bound({parameter.name: display}, f"trace with the length of `{parameter.name}` known, {said}")


def all_defaults(site: Site) -> Iterator[Suggestion]:
    """Fix every parameter that has a plain default; tuples and lists generate code that does not parse."""
    parameter = site.parameter
    if parameter is None:
        return
    defaults = parameter.source.facts(parameter.function).defaults
    literals = {name: _literal(value) for name, value in defaults.items()}
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
    tests = (node.test for node in site.source.around(site.node) if isinstance(node, (ast.If, ast.IfExp)))
    nearest = itertools.islice(tests, MAX_TESTS)
    return list(dict.fromkeys(name.id for test in nearest for name in walk(test) if isinstance(name, ast.Name)))


def _keys_of(site: Site) -> list[str]:
    """The keys of a dictionary display or ModuleDict that ``self.NAME[...]`` or a global ``NAME[...]`` looks into."""
    if isinstance(site.node, ast.Call):
        return [repr(name) for name in _modules_of(site)]
    table = site.node.value if isinstance(site.node, ast.Subscript) else None
    scope = site.class_of if isinstance(table, ast.Attribute) else site.source.tree
    if scope is None or not isinstance(table, (ast.Attribute, ast.Name)):
        return []
    for node in site.source.class_facts(scope).assigned.get(site.text(table), ()):
        displays = [found for found in walk(node) if isinstance(found, ast.Dict)]
        return [text for found in displays[:1] for one in found.keys for text in _literal(one)]
    return []


def _modules_of(site: Site) -> list[str]:
    """The attributes that ``getattr(self, name)`` can find: those that the class sets to what it has made."""
    assigned = site.source.class_facts(site.class_of).assigned if site.class_of is not None else {}
    return [
        target.removeprefix("self.")
        for target, found in assigned.items()
        if target.startswith("self.")
        and target.removeprefix("self.").isidentifier()
        and any(isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) for node in found)
    ]
