"""The measured table: what it says, and that the installed torch still says the same."""

from __future__ import annotations

import importlib
import json
import random
import sys
from operator import attrgetter
from pathlib import Path

import pytest

from fxlint.predict import calltable
from fxlint.predict.calltable import call, operation

MEASURE = Path(__file__).parents[2] / "measure"
SAMPLE = 60


# ---------------------------------------------------------------------------------------------- what it says


@pytest.mark.parametrize(
    ("name", "traced", "contains", "positional", "result", "event"),
    [
        ("torch.zeros", [0], [], 1, "node", None),
        ("torch.zeros", [], [0], 1, "node", None),
        ("torch.zeros", [0], [], 2, "fails", "tensor.sizes"),
        ("torch.zeros", [1], [], 2, "node", None),
        ("torch.zeros", ["device"], [], 2, "node", None),
        ("torch.arange", [0], [], 1, "node", None),
        ("torch.full", [1], [], 2, "node", None),
        ("torch.zeros_like", [0], [], 1, "node", None),
        ("torch.tensor", [0], [], 1, "fails", "tensor.data"),
        ("torch.tensor", [], [0], 1, "fails", "tensor.data"),
        ("torch.tensor", ["device"], [], 1, "node", None),
        ("torch.from_numpy", [0], [], 1, "fails", "tensor.data"),
        ("torch.functional.split", [0], [], 2, "node", None),
        ("torch.nn.functional.interpolate", [0, "size"], [], 1, "node", None),
        ("torch.nn.functional.max_pool2d", [0], [], 2, "node", None),
        ("torch.Tensor.flatten", [0], [], 1, "fails", "call.unbound_method"),
        ("torch.vmap()", [0], [], 1, "fails", "call.higher_order"),
        ("torch._check", [0], [], 1, "fails", "call.torch"),
        ("torch.einsum", [1, 2], [], 3, "node", None),
        ("torch.einsum", [], [1], 2, "node", None),
        ("torch.jit.isinstance", [0], [], 2, "fails", "bool.call"),
        ("builtins.len", [0], [], 1, "fails", "len.call"),
        ("builtins.range", [0], [], 1, "fails", "index.range"),
        ("builtins.int", [0], [], 1, "fails", "int.call"),
        ("builtins.float", [0], [], 1, "fails", "float.call"),
        ("builtins.round", [0], [], 1, "fails", "round.call"),
        ("builtins.max", [0], [], 2, "fails", "bool.minmax"),
        ("builtins.max", [], [0], 1, "fails", "bool.minmax"),
        ("builtins.max", [0], [], 1, "fails", "iter.call"),
        ("builtins.list", [0], [], 1, "fails", "iter.call"),
        ("builtins.enumerate", [0], [], 1, "fails", "iter.call"),
        ("builtins.abs", [0], [], 1, "node", None),
        ("builtins.sum", [], [0], 1, "node", None),
        ("math.sqrt", [0], [], 1, "node", None),
        ("numpy.array", [0], [], 1, "fails", "call.numpy"),
    ],
)
def test_the_place_of_a_proxy_decides(
    name: str, traced: list[int | str], contains: list[int | str], positional: int, result: str, event: str | None
) -> None:
    outcome = call(name, traced, contains, positional=positional)
    assert (outcome.result, outcome.event) == (result, event)


def test_a_math_function_bound_before_tracing_is_not_recorded() -> None:
    outcome = call("math.sqrt", [0], patched=False)
    assert (outcome.result, outcome.event, outcome.exception) == ("fails", "float.math", "TypeError")


def test_a_real_tensor_meets_separate_traced_sizes() -> None:
    first = call("torch.Tensor.expand", [0], constant_self=True, positional=2)
    assert (first.result, first.event) == ("fails", "tensor.constant")
    assert first.message == "expand() takes 1 positional argument but 2 were given"
    assert call("torch.Tensor.expand", [1], constant_self=True, positional=2).result == "node"
    assert call("torch.Tensor.expand", [], [0], constant_self=True).result == "node"


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("torch.is_tensor", False),
        ("builtins.isinstance", False),
        ("builtins.hasattr", True),
        ("builtins.callable", True),
    ],
)
def test_questions_about_a_proxy_are_answered_at_once(name: str, constant: bool) -> None:
    outcome = call(name, [0])
    assert (outcome.result, outcome.value, outcome.constant) == ("value", "bool", constant)


@pytest.mark.parametrize(
    "name", ["torch.jit.is_scripting", "torch.jit.is_tracing", "torch._C._is_tracing", "torch.compiler.is_compiling"]
)
def test_predicates_of_the_mode_are_false_while_tracing(name: str) -> None:
    outcome = call(name, [])
    assert outcome.constant is False
    assert not outcome.varies


def test_a_predicate_of_the_machine_varies() -> None:
    assert call("torch.cuda.is_available", []).varies


def test_lazy_results_say_how_using_them_fails() -> None:
    outcome = call("builtins.filter", [], [1])
    assert (outcome.result, outcome.value, outcome.event) == ("value", "iterator", "bool.call")
    assert call("itertools.chain", [0]).event == "iter.call"


@pytest.mark.parametrize(
    ("operands", "result", "event"),
    [
        (("getitem", "tensor", "traced"), "node", None),
        (("getitem", "tensor", "slice*"), "fails", "tensor.constant"),
        (("getitem", "tensor", "tuple_slice*"), "fails", "tensor.constant"),
        (("getitem", "list", "traced"), "fails", "index.call"),
        (("getitem", "list", "slice*"), "fails", "index.call"),
        (("getitem", "dict", "traced"), "fails", "key.lookup"),
        (("getitem", "traced", "slice*"), "node", None),
        (("contains", "traced", "int"), "fails", "iter.call"),
        (("contains", "list", "traced"), "fails", "bool.call"),
        (("setitem", "traced", "int", "int"), "fails", "setitem.assign"),
        (("delitem", "traced", "int"), "fails", "setitem.delete"),
        (("eq", "traced", "tuple"), "node", None),
        (("add", "int", "traced"), "node", None),
        (("is_", "traced", "none"), "value", None),
        (("format", "traced", "str"), "fails", "format.spec"),
    ],
)
def test_operators_go_by_the_kinds_of_their_operands(operands: tuple[str, ...], result: str, event: str | None) -> None:
    outcome = operation(*operands)
    assert (outcome.result, outcome.event) == (result, event)


def test_what_nobody_measured_is_unknown() -> None:
    assert call("somewhere.else", [0]) == calltable.UNKNOWN
    assert operation("add", "traced", "no such kind") == calltable.UNKNOWN


OPERATORS = """
    aten.add aten.add.Tensor aten.mm.default aten.sum.dim_IntList aten.view.default prims.sin prims.sin.default
    quantized.relu6
""".split()


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_all_libraries_and_their_overloads_are_recorded(name: str) -> None:
    assert call(f"torch.ops.{name}", [0]) == calltable.NODE
    assert call("torch.ops.higher_order.cond", [0]) == calltable.UNKNOWN


@pytest.mark.torch
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("inside", [False, True])
def test_the_tracer_records_operators(name: str, inside: bool) -> None:
    torch = pytest.importorskip("torch")
    graph = torch.fx.symbolic_trace(lambda x: attrgetter(name)(torch.ops)([x] if inside else x)).graph
    assert [node.op for node in graph.nodes] == ["placeholder", "call_function", "output"]


def test_names_are_found_by_any_public_path() -> None:
    assert calltable.canonical("torch.nn.modules.linear.Linear") == "torch.nn.Linear"
    assert calltable.canonical("torch.functional.split") == "torch.split"
    assert calltable.canonical("torch.nn.functional.relu") == "torch.nn.functional.relu"
    assert calltable.canonical("torch.no_such_name") is None


def test_kinds_of_names() -> None:
    assert calltable.kind("torch.float32") == "constant"
    assert calltable.kind("torch.nn.Linear") == "class"
    assert calltable.kind("torch.utils.checkpoint") == "module"
    assert calltable.kind("torch.Tensor.view") == "function"


def test_bases_lead_to_module() -> None:
    assert calltable.bases("torch.nn.modules.conv.Conv2d") == ("torch.nn.modules.conv._ConvNd", "torch.nn.Module")


def test_a_proxy_is_iterable_and_callable_but_no_tensor() -> None:
    assert calltable.instance_of("collections.abc.Iterable") is True
    assert calltable.instance_of("torch.Tensor") is False
    assert calltable.proxy_attribute("keys") == "function"
    assert calltable.proxy_attribute("shape") is None


def test_facts_of_a_module_class() -> None:
    facts = calltable.module_class("torch.nn.modules.linear.Linear")
    assert facts is not None
    assert facts.leaf
    assert facts.required == 1
    assert facts.attributes["in_features"].follows
    assert facts.attributes["bias"].kind == "parameter"
    assert ("bias=False", "none") in facts.attributes["bias"].otherwise
    assert facts.traces["super.eval"] == calltable.NODE


def test_a_library_module_whose_own_forward_fails() -> None:
    facts = calltable.module_class("torch.nn.MultiheadAttention")
    assert facts is not None
    assert facts.traces["root.eval"].result == "fails"


def test_one_that_small_tensors_fit_only_with_other_sizes_than_by_default() -> None:
    facts = calltable.module_class("torch.nn.Transformer")
    assert facts is not None
    assert facts.traces["super.train"].result == "fails"


def test_the_methods_of_a_library_module() -> None:
    facts = calltable.module_class("torch.nn.Conv2d")
    assert facts is not None
    assert facts.methods["_conv_forward"] == calltable.NODE
    assert calltable.module_class("torch.ao.nn.quantized.FloatFunctional").methods["cat"] == calltable.NODE
    assert facts.calls["_conv_forward"] == calltable.InnerCall(("*", ".weight", ".bias"), calltable.NODE)


def test_a_release_that_was_not_measured_is_answered_by_its_neighbour() -> None:
    known = calltable.releases()
    assert calltable.nearest(None) == known[0]
    assert calltable.nearest(known[-1] + "+cpu") == known[-1]
    assert calltable.nearest("99.0.0") == known[0]
    assert calltable.nearest("1.0.0") == known[-1]


def test_every_entry_refers_to_an_outcome() -> None:
    data = json.loads((calltable.DATA / "calls.json").read_text(encoding="utf-8"))
    assert data["outcomes"][0] == ["node", None, None, None, None, None]
    for release in calltable.releases():
        for name in data["calls"]:
            variants = calltable._variants(name, release)
            numbers = [n for v in variants for n in (*v.single.values(), *v.keyword.values(), *v.pairs.values())]
            assert all(data["outcomes"][number] is not None for number in numbers), name


# ---------------------------------------------------------------------------------------------- that torch agrees


@pytest.fixture(scope="module")
def measuring() -> object:
    """The measuring script, for the release of torch that is installed."""
    torch = pytest.importorskip("torch")
    release = torch.__version__.partition("+")[0]
    if release not in calltable.releases():
        pytest.skip(f"torch {release} was not measured")
    sys.path.insert(0, str(MEASURE))
    try:
        yield importlib.import_module("calls"), release
    finally:
        sys.path.remove(str(MEASURE))


def _sample(calls: object, release: str) -> list[str]:
    data = json.loads((calltable.DATA / "calls.json").read_text(encoding="utf-8"))
    names = [n for n in calls.callables() if n in data["calls"] and calltable._variants(n, release)]
    return random.Random(release).sample(sorted(names), SAMPLE)


def _told(name: str, release: str, place: int | str, how: str) -> calltable.Outcome:
    base, _, mode = name.partition("@")
    places = {"t": [place], "c": []}[how], {"t": [], "c": [place]}[how]
    return call(base, *places, constant_self=mode == "const", patched=mode != "unpatched", release=release)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("marker", ["Traced", "Size"])
def test_the_installed_torch_agrees(measuring: tuple, marker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once with a placeholder in the place of an argument, once with ``placeholder.shape[0]``."""
    calls, release = measuring
    monkeypatch.setattr(calls, "Traced", getattr(calls.probe, marker))
    names = _sample(calls, release)
    measured = calls.in_forks(calls.rows, names, 2)
    assert len(measured) == SAMPLE
    disagreements = []
    for name, rows in measured.items():
        expected: dict[tuple[int | str, str], set[tuple[str, str | None, str | None]]] = {}
        for row in rows:
            for item, outcome in row["single"].items():
                parameter = row["params"][int(item[:-1])]
                place = parameter.lstrip("=") if parameter.startswith("=") else int(item[:-1])
                expected.setdefault((place, item[-1]), set()).add((outcome[0], outcome[1], outcome[2]))
        for (place, how), outcomes in expected.items():
            told = _told(name, release, place, how)
            agreed = (told.result, told.event, told.exception) in outcomes
            if not agreed and not (len(outcomes) > 1 and told.result == "unknown"):
                disagreements.append((name, place, how, told, outcomes))
    assert disagreements == []
