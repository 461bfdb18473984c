"""Patterns: replace_pattern of torch.fx, and the pattern matcher of TorchInductor."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fxlint.transforms.code import Function
from fxlint.transforms.kinds import MAKERS, TRACING, Kind
from fxlint.transforms.view import Event, View, is_number

_REWRITING: Final = frozenset({"replace_pattern", "replace_pattern_with_filters"})
_REGISTERING: Final = (
    "search_fn", "replace_fn", "example_inputs", "trace_fn", "pass_dicts", "extra_check", "scalar_workaround",
)  # fmt: skip
"""The parameters of register_replacement in order; the first five are required."""
_REQUIRED: Final = 5
_HANDLING: Final = frozenset({"register_graph_pattern", "register_lowering_pattern"})
_MATCHER: Final = "torch._inductor.pattern_matcher."
_FACTORIES: Final = frozenset({"empty", "zeros", "ones", "rand", "randn", "tensor", "full"})

_OPERATORS: Final[Mapping[type[ast.AST], str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.MatMult: "matmul",
    ast.Div: "div",
    ast.USub: "neg",
}
_SPELLED: Final = frozenset(
    {*_OPERATORS.values(), "relu", "sigmoid", "tanh", "softmax", "gelu", "sum", "mean", "transpose", "permute"}
)
"""Operations that are written as function, operator or method, each of which traces to a different node."""
_SPELLINGS: Final = {"operator": "an operator", "method": "a method"}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A function or lambda that is traced for its graph. ``node`` stands for it in a report."""

    node: ast.FunctionDef | ast.Lambda
    function: Function | None

    @property
    def parameters(self) -> list[str]:
        return [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]

    @property
    def is_plain(self) -> bool:
        """Whether it takes just these."""
        arguments = self.node.args
        return not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs)

    @property
    def returned(self) -> list[ast.expr]:
        if isinstance(self.node, ast.Lambda):
            return [self.node.body]
        own = self.function.own if self.function is not None else []
        return [node.value for node in own if isinstance(node, ast.Return) and node.value is not None]

    @property
    def body(self) -> list[ast.AST]:
        return (
            list(ast.walk(self.node.body))
            if isinstance(self.node, ast.Lambda)
            else [node for statement in self.node.body for node in ast.walk(statement)]
        )

    @property
    def name(self) -> str:
        return "the lambda" if isinstance(self.node, ast.Lambda) else self.node.name


@dataclass(frozen=True, slots=True)
class Use:
    """A call that takes a pattern and its replacement, where they are known."""

    call: ast.Call
    pattern: Pattern | None
    replacement: Pattern | None
    registers: bool
    arguments: Mapping[str, ast.expr]


def uses(view: View) -> Iterator[Use]:
    """The calls of replace_pattern and register_replacement in a function."""
    if not view.file.has_patterns:
        return
    for call in view.function.calls():
        name = view.qualified(call.func)
        last = name.rpartition(".")[2]
        if any(isinstance(value, ast.Starred) for value in call.args) or None in [word.arg for word in call.keywords]:
            continue
        if name.startswith("torch.fx.") and last in _REWRITING:
            arguments = _arguments(call, ("gm", "pattern", "replacement"))
            first, second = arguments.get("pattern"), arguments.get("replacement")
            yield Use(call, _pattern(view, first), _pattern(view, second), registers=False, arguments=arguments)
        elif name.startswith(_MATCHER) and last == "register_replacement":
            arguments = _arguments(call, _REGISTERING)
            first, second = arguments.get("search_fn"), arguments.get("replace_fn")
            yield Use(call, _pattern(view, first), _pattern(view, second), registers=True, arguments=arguments)


def _arguments(call: ast.Call, names: tuple[str, ...]) -> dict[str, ast.expr]:
    found = dict(zip(names, call.args, strict=False))
    found.update({word.arg: word.value for word in call.keywords if word.arg is not None})
    return found


def _pattern(view: View, node: ast.expr | None) -> Pattern | None:
    if isinstance(node, ast.Lambda):
        return Pattern(node, None)
    if not isinstance(node, ast.Name):
        return None
    function = view.file.function(node.id, view.function)
    if function is not None and isinstance(function.node, ast.FunctionDef):
        return Pattern(function.node, function) if not function.node.decorator_list else None
    value = view.function.only_value(node.id)
    return Pattern(value, None) if isinstance(value, ast.Lambda) else None


def signatures(view: View) -> Iterator[Event]:
    """The replacement does not take what the pattern takes."""
    for use in uses(view):
        if use.pattern is None or use.replacement is None or "exclusive_arg_names" in use.arguments:
            continue
        if not (use.pattern.is_plain and use.replacement.is_plain):
            continue
        taken, wanted = use.replacement.parameters, use.pattern.parameters
        if len(taken) != len(wanted):
            yield Event(
                "pattern.signature", use.replacement.node, text=use.replacement.name, origin=", ".join(wanted),
                callee=use.pattern.name, help=f"give it the parameters of the pattern: {', '.join(wanted)}",
            )  # fmt: skip


def unused(view: View) -> Iterator[Event]:
    """A parameter of a pattern is not used in it."""
    for use in uses(view):
        if use.pattern is None or not use.pattern.is_plain:
            continue
        read = {node.id for node in use.pattern.body if isinstance(node, ast.Name)}
        for name in use.pattern.parameters:
            if name not in read:
                yield Event(
                    "pattern.unused", use.pattern.node, text=use.pattern.name, origin=name,
                    help=f"take `{name}` out of the pattern and of its replacement",
                )  # fmt: skip


def spellings(view: View) -> Iterator[Event]:
    """A pattern writes an operation in a way in which no model of this file writes it."""
    for use in uses(view):
        if use.registers or use.pattern is None:
            continue
        written = _operations(view.elsewhere(use.pattern.function or view.function), use.pattern.body)
        for function in view.file.functions:
            if function.name != "forward" or function.owner is None or not written:
                continue
            model = _operations(view.elsewhere(function), function.own)
            if not written.keys() <= model.keys() or _is_met(view, written):
                continue
            for name, (spelling, node) in written.items():
                if model[name][0] != spelling:
                    yield Event(
                        "pattern.spelling", node, text=view.text(node), origin=view.text(model[name][1]),
                        callee=_SPELLINGS.get(model[name][0], f"`{model[name][0]}`"),
                        help="write the pattern as the model is written, or rewrite once for each spelling",
                    )  # fmt: skip
                    break
            break


def _is_met(view: View, written: Mapping[str, tuple[str, ast.AST]]) -> bool:
    """Whether any model of the file is written like the pattern."""
    for function in view.file.functions:
        if function.name == "forward" and function.owner is not None:
            model = _operations(view.elsewhere(function), function.own)
            if all(name in model and model[name][0] == spelling for name, (spelling, _) in written.items()):
                return True
    return False


def _operations(view: View, nodes: list[ast.AST]) -> dict[str, tuple[str, ast.AST]]:
    """For each operation (how it is written, where): ``torch.add``, an operator, a method."""
    found: dict[str, tuple[str, ast.AST]] = {}
    for node in nodes:
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and type(node.op) in _OPERATORS:
            found.setdefault(_OPERATORS[type(node.op)], ("operator", node))
        elif isinstance(node, ast.Call):
            name = view.qualified(node.func)
            last = (name or (node.func.attr if isinstance(node.func, ast.Attribute) else "")).rpartition(".")[2]
            if last in _SPELLED:
                found.setdefault(last, (name if name.startswith("torch.") else "method", node))
    return found


def numbers(view: View) -> Iterator[Event]:
    """A number is burned into a pattern, and the code of this file that has its form has another one."""
    for use in uses(view):
        if use.pattern is None or "scalar_workaround" in use.arguments or "ignore_literals" in use.arguments:
            continue
        for returned in use.pattern.returned:
            literals = _literals(returned)
            if not literals:
                continue
            form = _form(returned)
            others: list[ast.expr] = [
                node
                for function in view.file.functions
                if not _is_part_of(function, use)
                for node in function.own
                if isinstance(node, type(returned)) and _form(node) == form
            ]
            if not others or any(_values(node) == _values(returned) for node in others):
                continue
            yield Event(
                "pattern.number", returned, text=view.text(returned), origin=view.text(others[0]),
                callee=str(literals[0].value), help=_number_help(use),
            )  # fmt: skip


def _is_part_of(function: Function, use: Use) -> bool:
    patterns = [pattern for pattern in (use.pattern, use.replacement) if pattern is not None]
    return function.node in [pattern.node for pattern in patterns]


def _number_help(use: Use) -> str:
    if use.registers:
        return "make the number a parameter, and give its example in `scalar_workaround`"
    return "make the number a parameter of the pattern and of the replacement"


def _literals(node: ast.AST) -> list[ast.Constant]:
    """The numbers that are operands of arithmetic."""
    return [
        side
        for inner in ast.walk(node)
        if isinstance(inner, ast.BinOp)
        for side in (inner.left, inner.right)
        if isinstance(side, ast.Constant) and is_number(side)
    ]


def _values(node: ast.AST) -> list[object]:
    return [literal.value for literal in _literals(node)]


def _form(node: ast.AST) -> str:
    """An expression without its numbers, and with its names numbered in order of appearance."""
    names: dict[str, str] = {}

    class Blank(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return ast.Name(names.setdefault(name.id, f"v{len(names)}"), ast.Load())

        def visit_Constant(self, constant: ast.Constant) -> ast.AST:
            return ast.Constant("#") if is_number(constant) else constant

    return ast.dump(Blank().visit(ast.parse(ast.unparse(node), mode="eval").body))


def mutations(view: View) -> Iterator[Event]:
    """A pattern changes a tensor in place."""
    for use in uses(view):
        if use.pattern is None or isinstance(use.pattern.node, ast.Lambda):
            continue
        parameters = set(use.pattern.parameters)
        for node in use.pattern.body:
            if _is_in_place(node, parameters, only_dropped=not use.registers):
                yield Event(
                    "pattern.mutates", node, text=view.text(node), origin=use.pattern.name,
                    help="write the pattern with operations that return a new tensor",
                )  # fmt: skip
                break


def _is_in_place(node: ast.AST, parameters: set[str], *, only_dropped: bool) -> bool:
    """Whether a node of a pattern writes; ``only_dropped``: and nobody reads what the call returns."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        name = node.value.func.attr
        return name.endswith("_") and not name.endswith("__")
    if only_dropped:
        return False
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id in parameters
    if isinstance(node, ast.Assign):
        subscripts = [target for target in node.targets if isinstance(target, ast.Subscript)]
        return any(isinstance(target.value, ast.Name) and target.value.id in parameters for target in subscripts)
    return False


def outputs(view: View) -> Iterator[Event]:
    """A pattern returns what cannot be matched, or another number of values than its replacement."""
    for use in uses(view):
        if use.registers or use.pattern is None or len(use.pattern.returned) != 1:
            continue
        returned = use.pattern.returned[0]
        if isinstance(returned, (ast.Dict, ast.DictComp)):
            yield _output(view, returned, use.pattern, "a dictionary", "return a tuple")
        elif isinstance(returned, ast.Name) and _is_input(use.pattern, returned.id):
            yield _output(view, returned, use.pattern, "its own input", "let the pattern compute something")
        elif use.replacement is not None and len(use.replacement.returned) == 1:
            many, given = _count(returned), _count(use.replacement.returned[0])
            if many and given and many != given and max(many, given) > 1:
                yield _output(
                    view, use.replacement.returned[0], use.replacement,
                    f"{given} value{'s' * (given > 1)}, the pattern {many}", "return as many values, in the same order",
                )  # fmt: skip


def _output(view: View, node: ast.AST, pattern: Pattern, what: str, advice: str) -> Event:
    return Event("pattern.output", node, text=view.text(node), origin=pattern.name, callee=what, help=advice)


def _is_input(pattern: Pattern, name: str) -> bool:
    """Whether a name is a parameter that is never given another value."""
    stored = {node.id for node in pattern.body if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return name in pattern.parameters and name not in stored


def _count(node: ast.expr) -> int:
    """How many values an expression returns; 0 where that is not certain."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return 0 if any(isinstance(item, ast.Starred) for item in node.elts) else len(node.elts)
    return 1 if isinstance(node, (ast.BinOp, ast.UnaryOp)) else 0


def inputs(view: View) -> Iterator[Event]:
    """The example inputs of a registration are no sequence, or too few."""
    for use in uses(view):
        given = use.arguments.get("example_inputs") if use.registers else None
        if given is None:
            continue
        value = given
        if isinstance(value, ast.Name):
            value = view.function.only_value(value.id) or value
        problem = _no_sequence(view, value) or _too_few(use, value)
        if problem:
            yield Event(
                "pattern.inputs", use.call, text=view.text(given), origin=problem,
                help="pass a list or a tuple with one example for each parameter of the search function, in order",
            )  # fmt: skip
        elif twice := _same_twice(view, value):
            yield Event(
                "pattern.same_input", use.call, text=view.text(given),
                origin=f"one tensor for several parameters, `{twice}`", help="make each example by a call of its own",
            )  # fmt: skip


def _no_sequence(view: View, value: ast.expr) -> str:
    if isinstance(value, (ast.Dict, ast.DictComp)):
        return "a dictionary"
    if isinstance(value, (ast.Set, ast.SetComp)):
        return "a set"
    if isinstance(value, ast.GeneratorExp):
        return "a generator"
    return "a tensor" if _is_tensor(view, value) else ""


def _same_twice(view: View, value: ast.expr) -> str:
    """The source of a tensor that is given for more than one parameter."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        repeated = value.left if isinstance(value.left, (ast.List, ast.Tuple)) else value.right
        tensors = [item for item in getattr(repeated, "elts", []) if _is_tensor(view, item)]
        return view.text(tensors[0]) if tensors else ""
    names = [item.id for item in getattr(value, "elts", []) if isinstance(item, ast.Name) and _is_tensor(view, item)]
    return next((name for name in names if names.count(name) > 1), "")


def _is_tensor(view: View, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        node = view.function.only_value(node.id) or node
    name = view.qualified(node.func) if isinstance(node, ast.Call) else ""
    return name.startswith("torch.") and name.removeprefix("torch.") in _FACTORIES


def _too_few(use: Use, value: ast.expr) -> str:
    if not isinstance(value, (ast.List, ast.Tuple)) or use.pattern is None or not use.pattern.is_plain:
        return ""
    if any(isinstance(item, ast.Starred) for item in value.elts):
        return ""
    workaround = use.arguments.get("scalar_workaround")
    if workaround is not None and not isinstance(workaround, ast.Dict):
        return ""
    wanted = len(use.pattern.parameters) - len(use.pattern.node.args.defaults)
    wanted -= len(workaround.keys) if isinstance(workaround, ast.Dict) else 0
    return f"{len(value.elts)} for {wanted} parameters" if len(value.elts) < wanted else ""


def tracing(view: View) -> Iterator[Event]:
    """A registration without a function that traces for the matcher."""
    for use in uses(view):
        if not use.registers:
            continue
        missing = [name for name in _REGISTERING[:_REQUIRED] if name not in use.arguments]
        given = use.arguments.get("trace_fn")
        wrong = given is not None and (
            view.kind(given) is Kind.PASS or (view.qualified(given) or "?") in TRACING | MAKERS
        )
        if missing or wrong:
            yield Event(
                "pattern.trace", use.call if given is None else given,
                text=view.text(use.call.func), origin=view.text(given) if given is not None else "nothing",
                help="pass `fwd_only`, or `joint_fwd_bwd` for patterns of training, as the fourth argument",
            )  # fmt: skip


def handlers(view: View) -> Iterator[Event]:
    """A handler of a graph pattern does not take the match and what the pattern captures."""
    if not view.file.has_patterns:
        return
    for function in view.file.functions:
        node = function.node
        if function.outer is not view.function or not isinstance(node, ast.FunctionDef) or function.owner is not None:
            continue
        pattern = _handled_pattern(view, node)
        if pattern is None:
            continue
        problem = _handler_problem(view, node, pattern)
        if problem:
            yield Event(
                "pattern.handler", node, text=node.name, origin=problem,
                help="take the match first, then each `KeywordArg` by its name",
            )  # fmt: skip


def _handled_pattern(view: View, node: ast.FunctionDef) -> ast.expr | None:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and decorator.args:
            name = view.qualified(decorator.func)
            if name.startswith(_MATCHER) and name.rpartition(".")[2] in _HANDLING:
                return decorator.args[0]
    return None


_PLAIN_PATTERNS: Final = frozenset({"CallFunction", "CallMethod", "KeywordArg", "Arg", "Ignored"})
"""Of these each ``Arg()`` captures one value; others may repeat it."""


def _handler_problem(view: View, node: ast.FunctionDef, pattern: ast.expr) -> str:
    parts = [one for one in ast.walk(pattern) if isinstance(one, ast.Call)]
    calls = [(view.qualified(one.func).rpartition(".")[2], one) for one in parts]
    captured = [
        str(call.args[0].value)
        for name, call in calls
        if name == "KeywordArg" and call.args and isinstance(call.args[0], ast.Constant)
    ]
    by_position = sum(name == "Arg" for name, _ in calls) if {name for name, _ in calls} <= _PLAIN_PATTERNS else 0
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    if not names:
        return "" if node.args.vararg else "takes no match"
    if names[0] in captured:
        return f"its first parameter, which gets the match, is called `{names[0]}` like a captured argument"
    taken = {*names, *(argument.arg for argument in node.args.kwonlyargs)}
    lost = [name for name in captured if name not in taken]
    if lost and node.args.kwarg is None:
        return f"has no parameter `{lost[0]}`"
    if len(names) <= by_position and node.args.vararg is None:
        return f"takes no more than {len(names)}, and gets the match and the values of {by_position} `Arg()`"
    return ""


def checks(view: View) -> Iterator[Event]:
    """An extra_check never says yes, for it returns nothing."""
    for call in view.function.calls():
        given = next((word.value for word in call.keywords if word.arg == "extra_check"), None)
        if given is None or not view.qualified(call.func).startswith(_MATCHER):
            continue
        pattern = _pattern(view, given)
        if pattern is None or pattern.function is None or pattern.returned:
            continue
        if any(isinstance(node, (ast.Yield, ast.Raise)) for node in pattern.function.own):
            continue
        yield Event(
            "pattern.check", pattern.node, text=pattern.name, origin=view.text(call.func),
            help="return True where the match is to be replaced, else False",
        )  # fmt: skip


CHECKS = (signatures, unused, spellings, numbers, mutations, outputs, inputs, tracing, handlers, checks)
