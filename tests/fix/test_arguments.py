"""Parameters that are fixed for the trace."""

import ast

import pytest
from suggested import net


def bound(suggested, event: str, text: str) -> list[dict]:
    """The dictionaries that are suggested, with the name of the placeholder object for itself."""
    exprs = [one.concrete_args for one in suggested(text).of(event, "concrete_args") if one.concrete_args]
    return [ast.literal_eval(expr.replace("torch.fx.PH", "'PH'")) for expr in exprs]


@pytest.mark.parametrize(
    ("parameters", "test", "values"),
    [
        ("x, flag=False", "flag", [False, True]),
        ("x, flag=True", "not flag", [True, False]),
        ("x, mode='a'", "mode == 'b'", ["a", "b"]),
        ("x, *, steps=3", "steps", [3]),
        ("x, shift=-1", "shift", [-1]),
    ],
)
def test_a_flag_is_fixed_at_its_default_and_at_what_it_is_compared_with(suggested, parameters, test, values):
    made = suggested(net(f"if {test}:\n    return -x\nreturn x", parameters))
    exprs = [one.concrete_args for one in made.of("bool.flag")]
    (name,) = ast.literal_eval(exprs[0])
    assert [ast.literal_eval(expr)[name] for expr in exprs] == values


def test_a_mode_among_several(suggested):
    text = net("return x if mode in ('b', 'c') else -x", "x, mode='a'")
    assert bound(suggested, "bool.in", text) == [{"mode": "a"}, {"mode": "b"}, {"mode": "c"}]


def test_a_flag_of_a_value_that_nobody_can_write_down_is_left_to_choose(suggested):
    made = suggested(net("if dims:\n    return -x\nreturn x", "x, dims=(1, 2)"))
    (only,) = made.of("bool.flag")
    assert only.is_advice
    assert "choose the value" in only.text


def test_several_defaults_are_fixed_together_as_well(suggested):
    text = net("if a:\n    return -x\nif b:\n    return x * 2\nreturn x", "x, a=False, b='no', c=(1,)")
    assert bound(suggested, "bool.flag", text)[-1] == {"a": False, "b": "no"}


def test_a_number_with_a_default_that_counts_a_loop(suggested):
    text = net("for _ in range(steps):\n    x = -x\nreturn x", "x, steps=4")
    assert bound(suggested, "index.range", text) == [{"steps": 4}]


@pytest.mark.parametrize(
    ("parameter", "test", "values"),
    [("n: int", "n == 3", [3]), ("mode: str", "mode in ('a', 'b')", ["a", "b"]), ("up: bool", "up", [True, False])],
)
def test_an_annotated_parameter_without_a_default_is_fixed_at_what_it_is_compared_with(
    suggested, parameter, test, values
):
    name = parameter.partition(":")[0]
    made = suggested(net(f"if {test}:\n    return -x\nreturn x", f"x, {parameter}"))
    exprs = [one.concrete_args for event in ("bool.if", "bool.in") for one in made.of(event, "concrete_args")]
    assert [ast.literal_eval(expr) for expr in exprs] == [{name: value} for value in values]


def test_the_value_of_an_annotated_number_is_left_to_choose(suggested):
    (only,) = suggested(net("return -x if n > 3 else x", "x, n: int")).of("bool.ternary", "concrete_args")
    assert only.is_advice
    assert "choose the value" in only.text


@pytest.mark.parametrize("test", ["self.w.shape[1] == x.shape[1]", "x.size(1) < self.w.size(1)", "n == x.size(1)"])
def test_shapes_of_parameters_that_meet_traced_sizes_are_a_branch_like_any_other(suggested, test):
    made = suggested(
        net(f"n = self.w.shape[1]\nif {test}:\n    x = -x\nreturn x", init="self.w = nn.Parameter(torch.ones(1, 2))")
    )
    assert made.of("bool.param_shape") == []
    assert made.of("bool.if", "config") == []
    assert any("@torch.fx.wrap" in text for text in made.rewrites("bool.if"))


class TestKeys:
    HEADS = "self.heads = nn.ModuleDict({'cls': nn.Linear(4, 2), 'reg': nn.Linear(4, 1)})"

    def test_one_graph_per_key_of_the_table(self, suggested):
        text = net("return self.heads[task](x)", "x, task", self.HEADS)
        assert bound(suggested, "key.lookup", text) == [{"task": "cls"}, {"task": "reg"}]

    def test_the_default_comes_first(self, suggested):
        text = net("return self.heads[task](x)", "x, task='reg'", self.HEADS)
        assert bound(suggested, "key.lookup", text) == [{"task": "reg"}, {"task": "cls"}]

    def test_names_of_attributes(self, suggested):
        text = net("return getattr(self, task)(x)", "x, task", "self.cls = nn.Linear(4, 2)\nself.width = 4")
        assert bound(suggested, "key.lookup", text) == [{"task": "cls"}]

    def test_a_key_that_is_computed_is_no_argument(self, suggested):
        made = suggested(net("return self.heads[x.dim()](x)", init=self.HEADS))
        assert made.of("key.lookup", "concrete_args") == []


def test_inputs_that_exclude_each_other_are_left_out_one_at_a_time(suggested):
    text = net("if a is not None and b is not None:\n    raise ValueError\nreturn a", "a=None, b=None")
    assert bound(suggested, "raise.reached", text) == [{"b": None}, {"a": None}, {"a": None, "b": None}]


def test_the_optional_parameters_of_a_helper_are_no_inputs(suggested):
    helper = (
        "\n\ndef both(a, b=None):\n    if a is not None and b is None:\n        return a + 1\n    raise ValueError\n"
    )
    made = suggested(net("return both(a, a)", "a=None") + helper)
    assert made.of("raise.reached")
    assert made.of("raise.reached", "concrete_args") == []


class TestStructure:
    @pytest.mark.parametrize(
        ("event", "body", "structures"),
        [
            (
                "iter.in",
                "x = batch['x']\nif 'mask' in batch:\n    x = x * batch['mask']\nreturn x",
                [{"x": "PH"}, {"x": "PH", "mask": "PH"}],
            ),
            ("kwargs.unpack", "return {**batch, 'y': -batch['x']}", [{"x": "PH"}]),
        ],
    )
    def test_a_dictionary_has_the_keys_that_forward_reads(self, suggested, event, body, structures):
        assert bound(suggested, event, net(body, "batch")) == [{"batch": one} for one in structures]

    @pytest.mark.parametrize("parameter", ["maps", "x: list[torch.Tensor]"])
    def test_a_list_has_placeholders(self, suggested, parameter):
        name = parameter.partition(":")[0]
        text = net(f"y = 0\nfor part in {name}:\n    y = y + part\nreturn y", parameter)
        assert bound(suggested, "iter.for", text) == [{name: ["PH", "PH"]}]

    LAYERS = "self.layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.ELU()])"

    @pytest.mark.parametrize(
        ("before", "parameter", "length"),
        [
            ("assert len(maps) == 3", "maps", 3),
            ("assert 3 == len(maps) and maps", "maps: list[torch.Tensor]", 3),
            ("if len(maps) != 1:\n    raise ValueError", "maps", 1),
            ("if len(maps) != len(self.layers):\n    raise ValueError", "maps", 3),
            ("pairs = zip(self.layers, maps)", "maps", 3),
            ("pairs = zip(self.four, maps)", "maps", 4),
            ("a, b, c = maps", "maps", 3),
        ],
    )
    def test_its_length_is_the_one_that_the_source_tells(self, suggested, before, parameter, length):
        init = f"{self.LAYERS}\nself.four = nn.ModuleList([nn.ReLU() for _ in range(4)])"
        text = net(f"{before}\ny = 0\nfor part in maps:\n    y = y + part\nreturn y", parameter, init)
        assert bound(suggested, "iter.for", text)[0] == {"maps": ["PH"] * length}

    @pytest.mark.parametrize("init", ["self.layers.append(nn.ReLU())", "self.layers = nn.ModuleList()"])
    @pytest.mark.parametrize("before", ["pairs = zip(self.layers, maps)", "n = 1 if len(maps) == 3 else 2"])
    def test_else_two_is_an_example_and_said_to_be_one(self, suggested, init, before):
        made = suggested(net(f"{before}\nreturn [-part for part in maps]", "maps", f"{self.LAYERS}\n{init}"))
        (one,) = made.of("iter.comprehension", "concrete_args")
        assert one.concrete_args == "{'maps': [torch.fx.PH, torch.fx.PH]}"
        assert "here 2 as an example" in one.text

    @pytest.mark.parametrize(
        ("annotation", "structure"),
        [("tuple[torch.Tensor, ...]", ("PH", "PH")), ("Optional[Tuple[int, int, int]]", ("PH", "PH", "PH"))],
    )
    def test_a_tuple_is_given_as_a_tuple(self, suggested, annotation, structure):
        text = net("return [-part for part in maps]", f"maps: '{annotation}'")
        assert bound(suggested, "iter.comprehension", text) == [{"maps": structure}]

    @pytest.mark.parametrize("annotation", ["list[torch.Tensor]", "List", "typing.Tuple[int, int]", "Sequence | None"])
    def test_the_length_of_a_list_is_no_size(self, suggested, annotation):
        made = suggested(net("return x / len(y)", f"x, y: '{annotation}'"))
        assert made.of("len.call", "concrete_args")
        assert not any("size(0)" in text for text in made.rewrites("len.call"))

    @pytest.mark.parametrize("parameter", ["x", "maps: torch.Tensor"])
    def test_a_tensor_has_not(self, suggested, parameter):
        name = parameter.partition(":")[0]
        text = net(f"y = 0\nfor part in {name}:\n    y = y + part\nreturn y", parameter)
        assert bound(suggested, "iter.for", text) == []
