"""The abstract interpreter, one construct at a time: what is a Proxy, which way conditions go, what is joined.

Each program is a forward in a class ``Net``; lines marked ``# error`` must have a certain error, ``# maybe`` a
conditional one, and no other line may have any.
"""

import importlib
import re
import textwrap

import pytest
import torch

from fxlint.predict import calls, classes, containers, library, machine, predict
from fxlint.rules import load_rules

RULES = load_rules()
HEADER = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
MARK = re.compile(r"#\s*(error|maybe)\b")


def check(tmp_path, source, verdict, name="Net", **others):
    """Predict the program and compare the marked lines and the verdict of ``name``."""
    for module, code in others.items():
        (tmp_path / f"{module}.py").write_text(HEADER + textwrap.dedent(code))
    path = tmp_path / "model.py"
    text = HEADER + textwrap.dedent(source)
    path.write_text(text)
    prediction = predict([str(path)], RULES, [tmp_path])
    assert not prediction.problems
    report = next(m for m in prediction.modules if m.root.qualname == name)
    wanted = {(number, match[1]) for number, row in enumerate(text.split("\n"), 1) if (match := MARK.search(row))}
    found = {
        (finding.location.line, "error" if finding.certainty == "always" else "maybe")
        for finding in prediction.findings
        if finding.severity == "error" and report.root.id in finding.modules
    }
    assert found == wanted
    assert report.predicted.verdict == verdict, report.predicted.reason
    return report.predicted


def forward(body, init="pass", signature="self, x", extra=""):
    """A module with this forward."""
    blocks = {"init": textwrap.indent(textwrap.dedent(init), " " * 8), "body": textwrap.indent(body, " " * 8)}
    return (
        textwrap.dedent(extra)
        + "\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + f"{blocks['init']}\n\n    def forward({signature}):\n{blocks['body']}\n"
    )


class TestWhatIsAProxy:
    @pytest.mark.parametrize(
        "body",
        [
            "if x.sum() > 0:  # error\n    pass",
            "if x.shape[0] == 1:  # error\n    pass",
            "y = torch.relu(x)\nwhile y.mean() > 0:  # error\n    y = y - 1",
            "y = [x, x]\nif y[0].any():  # error\n    pass",
            "d = {'a': x}\nif d['a'].any():  # error\n    pass",
            "a, b = x.chunk(2)\nreturn a if b else a  # error",
            "for row in x:  # error\n    pass",
            "return sum(x)  # error",
            "return len(x)  # error",
            "return [i for i in range(x.shape[0])]  # error",
            "return int(x)  # error",
            "x[0] = 1  # error",
            "return {1: 2}[x.shape[0]]  # error",
            "return x.view(*x.shape)  # error",
            "return f'{x:.2f}'  # error",
            "first, *rest = x  # error",
            "return max(x.shape[0], 3)  # error",
            "return 1 in x  # error",
            "return 0 < x.dim() < 3  # error",
            "return torch.zeros(x.shape[0], 3)  # error",
            "assert x.dim() == 2  # error",
        ],
    )
    def test_what_needs_its_value_fails(self, tmp_path, body):
        check(tmp_path, forward(body), "fails")

    @pytest.mark.parametrize(
        "body",
        [
            "b, c, h, w = x.shape\nreturn x.reshape(b, c, h * w)",
            "return torch.zeros(x.shape) + torch.zeros((x.shape[0], 3))",
            "return torch.where(x > 0, x, -x)",
            "return x / math.sqrt(x.shape[-1])",
            "return torch.cat([x, x.flip(-1)])",
            "x += 1\nreturn x",
            "return x[: x.shape[0] // 2]",
            "return {'a': x, 'b': (x, [x])}",
            "if isinstance(x, torch.Tensor):\n    return int(x)\nreturn x",
            "if x is None:\n    return len(x)\nreturn x",
            "if not hasattr(x, 'foo'):\n    return len(x)\nreturn x",
            "if torch.jit.is_scripting():\n    return len(x)\nreturn x",
            "for i in range(3):\n    x = x * i\nreturn x",
            "print(x)\nreturn x",
            "y = torch.ones(3)\nif y.sum() > 2:\n    return x\nreturn -x",
        ],
    )
    def test_what_is_recorded_or_decided_does_not(self, tmp_path, body):
        check(tmp_path, forward(body), "traces")

    def test_a_parameter_is_one_and_a_buffer_is_not(self, tmp_path):
        init = "self.weight = nn.Parameter(torch.ones(3))\nself.register_buffer('table', torch.ones(3))"
        check(tmp_path, forward("return x if self.weight.shape[0] > 2 else -x  # error", init), "fails")
        check(tmp_path, forward("return x if self.table.sum() > 2 else -x", init), "traces")

    def test_a_buffer_meets_a_traced_size(self, tmp_path):
        init = "self.register_buffer('table', torch.ones(1, 8))"
        check(tmp_path, forward("return x + self.table[:, : x.shape[1]]  # error", init), "fails")

    def test_a_parameter_without_a_default_is_no_flag_but_fails_all_the_same(self, tmp_path):
        check(tmp_path, forward("if flag:  # error\n    return -x\nreturn x", signature="self, x, flag"), "fails")


class TestConditions:
    def test_the_constructor_decides(self, tmp_path):
        check(tmp_path, forward("if self.loop:\n    return len(x)\nreturn x", "self.loop = False"), "traces")

    @pytest.mark.parametrize("place", ["global", "constructor"])
    def test_environment_variables_are_not_set(self, tmp_path, place):
        extra = "import os\nif 'LOOP' in os.environ:\n    LOOP = int(os.environ['LOOP'])\nelse:\n    LOOP = 0\n"
        init = {"global": "self.loop = LOOP > 0", "constructor": "self.loop = 'LOOP' in os.environ"}[place]
        check(tmp_path, forward("return len(x) if self.loop else x", init, extra=extra), "traces")

    def test_what_none_as_a_default_cannot_do_counts_only_where_the_default_leads(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, dim, head=None, window=None):
                super().__init__()
                self.head = head or dim // 2
                self.window = window
                self.table = nn.Parameter(torch.zeros(2)) if window else None

            def bias(self):
                return self.table.view(self.window[0], -1)

            def forward(self, x):
                x = x.reshape(self.head + 1, -1)
                return x if self.table is None else x + self.bias()
        """
        check(tmp_path, source, "traces")

    def test_an_unknown_attribute_makes_it_depend(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, loop):
                super().__init__()
                self.loop = loop

            def forward(self, x):
                if self.loop:
                    return len(x)  # maybe
                return x
        """
        assert check(tmp_path, source, "depends").depends_on == ("self.loop",)

    def test_a_failure_on_both_sides_is_certain_in_the_verdict(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, loop):
                super().__init__()
                self.loop = loop

            def forward(self, x):
                if self.loop:
                    return len(x)  # maybe
                return int(x)  # maybe
        """
        check(tmp_path, source, "fails")

    def test_a_condition_narrows_what_it_tests(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, down=None):
                super().__init__()
                self.down = nn.Linear(2, 2) if down else None

            def forward(self, x):
                if self.down is not None:
                    x = self.down(x)
                return x
        """
        check(tmp_path, source, "traces")

    def test_a_second_operand_is_only_reached_under_the_first(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, check):
                super().__init__()
                self.check = check

            def forward(self, x):
                if self.check and x.sum() > 0:  # maybe
                    return -x
                return x
        """
        check(tmp_path, source, "depends")

    def test_tuples_are_compared_element_by_element(self, tmp_path):
        body = "b, c = x.shape\nif (b, c) != (1, 2):  # error\n    return -x\nreturn x"
        check(tmp_path, forward(body), "fails")

    def test_what_an_early_return_tells_holds_for_that_way_out_only(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, branches):
                super().__init__()
                self.branches = branches
                self.fuse = self.make()

            def make(self):
                if self.branches == 1:
                    return None
                return nn.Linear(2, 2)

            def forward(self, x):
                if self.branches == 1:
                    return x
                return x * len(x)  # maybe
        """
        check(tmp_path, source, "depends")

    def test_what_has_an_order_is_not_none(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, rate):
                super().__init__()
                self.rate = rate

            def forward(self, x):
                if self.rate > 0:
                    return x if self.rate is not None else len(x)
                return x
        """
        check(tmp_path, source, "traces")

    def test_what_none_cannot_do_fails_where_none_is_the_default(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, rate=None, act=None, names=None):
                super().__init__()
                self.rate, self.act, self.names = rate, act, names

            def forward(self, x):
                keep = 1 - self.rate  # maybe
                if self.act is not None:
                    x = self.act(x)
                if self.names and "x" in self.names:
                    x = -x
                return self.act(x)  # maybe
        """
        check(tmp_path, source, "fails")

    def test_a_class_that_is_compared_with_one(self, tmp_path):
        source = """
        class Plain(nn.Module):
            def __init__(self, width, rate=0.5):
                super().__init__()
                self.rate = rate

            def forward(self, x):
                return x * (1 - self.rate)

        class Narrow(Plain):
            def __init__(self, width, inner, rate=None):
                super().__init__(width, rate)

        class Net(nn.Module):
            def __init__(self, kind=Plain):
                super().__init__()
                assert kind in (Plain, Narrow)
                self.block = kind(4, 0.5) if kind == Plain else kind(4, 2, 0.5)

            def forward(self, x):
                return self.block(x)
        """
        check(tmp_path, source, "traces")

    def test_one_proxy_is_itself(self, tmp_path):
        check(tmp_path, forward("y = x\nif y is x:\n    return y\nreturn len(x)"), "traces")


class TestNames:
    def test_a_variable_that_only_the_branches_assign_that_a_proxy_does_not_take(self, tmp_path):
        body = "if isinstance(x, list):\n    y = x[0]\nelif isinstance(x, torch.Tensor):\n    y = x\nreturn y  # error"
        check(tmp_path, forward(body), "fails")

    def test_one_that_some_path_assigns(self, tmp_path):
        body = "for i in range(2):\n    y = x\nif self.training:\n    z = y\nreturn y + z"
        check(tmp_path, forward(body), "traces")

    def test_an_extension_of_the_package_that_was_not_compiled(self, tmp_path):
        (tmp_path / "net").mkdir()
        (tmp_path / "net" / "__init__.py").write_text("")
        source = HEADER + textwrap.dedent(
            """
            try:
                from . import kernels
            except ImportError:
                pass

            class Net(nn.Module):
                def forward(self, x):
                    return kernels.run(x)
            """
        )
        path = tmp_path / "net" / "model.py"
        path.write_text(source)
        prediction = predict([str(path)], RULES, [tmp_path])
        assert [(finding.event, finding.certainty) for finding in prediction.findings] == [("raise.name", "always")]

    @pytest.mark.parametrize(
        ("test", "verdict"), [("if context is not None", "depends"), ("if hasattr(self, 'cond')", "traces")]
    )
    def test_an_attribute_that_only_one_configuration_has(self, tmp_path, test, verdict):
        source = f"""
        class Net(nn.Module):
            def __init__(self, width):
                super().__init__()
                if width > 0:
                    self.cond = nn.Linear(width, width)

            def forward(self, x, context=None):
                {test}:
                    x = x + self.cond(x) {"# maybe" if verdict == "depends" else ""}
                return x
        """
        check(tmp_path, source, verdict)

    @pytest.mark.parametrize(
        ("width", "body", "verdict"),
        [
            ("0", "return self.cond(x)  # error", "fails"),
            ("2", "return self.cond(x)", "traces"),
            ("0", "return self.cond(x) if hasattr(self, 'cond') else x", "traces"),
            ("0", "return self.late(x)", "traces"),
        ],
    )
    def test_one_that_only_constructors_set_and_have_not(self, tmp_path, width, body, verdict):
        source = f"""
        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                if width > 0:
                    self.cond = self.late = nn.Linear(width, width)

            def prepare(self):
                self.late = nn.Identity()

            def forward(self, x):
                {body}

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block({width})

            def forward(self, x):
                return self.block(x)
        """
        check(tmp_path, source, verdict)

    def test_one_that_a_loop_asks_for_may_be_there_whenever_the_loop_runs(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.depth = depth
                if depth > 1:
                    self.up = nn.Upsample(2)
                self.scale = 1
                if depth > 2:
                    self.scale = 2

            def forward(self, x):
                for _ in range(self.depth - 1):
                    x = self.up(x)
                return x * self.scale
        """
        check(tmp_path, source, "traces")

    @pytest.mark.parametrize(
        "found",
        [
            "globals()[name]",
            "globals().get(name)",
            "vars(sys.modules[__name__])[name]",
            "getattr(sys.modules[__name__], name)",
        ],
    )
    def test_a_class_that_is_looked_up_by_its_name(self, tmp_path, found):
        source = f"""
        import sys

        class Gate(nn.Module):
            def forward(self, x):
                return x if x.any() else -x  # error

        def get(name):
            if callable(name):
                return name
            if isinstance(name, str):
                return {found}
            raise ValueError(name)

        class Net(nn.Module):
            def __init__(self, gate="Gate"):
                super().__init__()
                self.gate = get(gate)()

            def forward(self, x):
                return self.gate(x)
        """
        check(tmp_path, source, "fails")


class TestNumpy:
    @pytest.mark.parametrize(
        ("body", "verdict"),
        [
            ("return np.sqrt(2.0) * x  # error", "fails"),
            ("return 1 / np.sqrt(self.width) * x  # error", "fails"),
            ("return np.sqrt(2.0) > x  # error", "fails"),
            ("return x * np.sqrt(2.0)", "traces"),
            ("return float(np.sqrt(2.0)) * x", "traces"),
        ],
    )
    def test_on_the_left_of_a_proxy_it_wants_an_array(self, tmp_path, body, verdict):
        source = forward(body, init="self.width = width", extra="import numpy as np").replace(
            "(self):", "(self, width):"
        )
        check(tmp_path, source, verdict)


class TestRaises:
    def test_a_raise_behind_what_a_proxy_answers_is_reached(self, tmp_path):
        body = "if not isinstance(x, torch.Tensor):\n    raise TypeError('tensor wanted')  # error\nreturn x"
        check(tmp_path, forward(body), "fails")

    def test_a_raise_under_a_configuration_refuses_it(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode

            def forward(self, x):
                if self.mode not in ("a", "b"):
                    raise ValueError(self.mode)
                return len(x)  # error
        """
        check(tmp_path, source, "fails")

    @pytest.mark.parametrize(
        "body",
        [
            "assert not (exists(mask) and self.causal)  # maybe",
            "assert not (exists(mask) ^ self.causal)  # maybe",
            "assert exists(mask) == self.causal  # maybe",
            "if mask is not None and self.causal:\n    raise ValueError('mask')  # maybe",
            "if self.causal:\n    if mask is not None:\n        raise ValueError('mask')  # maybe",
            "if self.causal:\n    need_tensor(mask)\n",
        ],
    )
    def test_one_that_a_given_input_leads_to_is_no_refusal(self, tmp_path, body):
        source = f"""
        def exists(value):
            return value is not None

        def need_tensor(value):
            if not isinstance(value, torch.Tensor):
                raise TypeError("no tensor"){"  # maybe" if "need_tensor" in body else ""}

        class Net(nn.Module):
            def __init__(self, causal):
                super().__init__()
                self.causal = causal

            def forward(self, x, mask=None):
{textwrap.indent(body, " " * 16)}
                return x
        """
        check(tmp_path, source, "depends")

    @pytest.mark.parametrize(("raises", "verdict"), [("not isinstance", "depends"), ("isinstance", "traces")])
    def test_one_that_only_a_parameter_leads_to(self, tmp_path, raises, verdict):
        source = f"""
        def need(value):
            if {raises}(value, torch.Tensor):
                raise TypeError("value"){"  # maybe" if verdict == "depends" else ""}
            return value

        class Net(nn.Module):
            def __init__(self, learn):
                super().__init__()
                if learn:
                    self.scale = nn.Parameter(torch.ones(1))
                else:
                    self.register_buffer("scale", torch.ones(1))

            def forward(self, x):
                return x * need(self.scale)
        """
        check(tmp_path, source, verdict)

    def test_one_that_has_nothing_to_do_with_the_input_is(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, mode):
                super().__init__()
                self.mode = mode

            def forward(self, x, mask=None):
                if mask is not None:
                    if self.mode == "add":
                        return x + mask
                    raise ValueError(self.mode)
                return x
        """
        check(tmp_path, source, "traces")

    def test_an_abstract_forward_is_unknown(self, tmp_path):
        assert check(tmp_path, forward("raise NotImplementedError"), "unknown").reason == "forward is abstract"

    def test_a_handler_swallows_the_failure(self, tmp_path):
        body = "try:\n    n = int(x.shape[0])\nexcept TypeError:\n    n = 1\nreturn x * n"
        check(tmp_path, forward(body), "traces")

    def test_a_handler_of_another_type_does_not(self, tmp_path):
        body = "try:\n    n = int(x.shape[0])  # error\nexcept KeyError:\n    n = 1\nreturn x * n"
        check(tmp_path, forward(body), "fails")


class TestLoops:
    def test_module_lists_are_walked(self, tmp_path):
        init = "self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])"
        check(tmp_path, forward("for layer in self.layers:\n    x = layer(x)\nreturn x", init), "traces")

    def test_what_changes_from_one_pass_to_the_next_is_seen(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, layers):
                super().__init__()
                self.layers = layers

            def forward(self, x):
                last = None
                for layer in self.layers:
                    if last is not None and last.sum() > 0:  # maybe
                        x = -x
                    last = x * 2
                return x
        """
        check(tmp_path, source, "depends")

    def test_a_list_that_is_filled_in_a_loop_of_unknown_length(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, layers):
                super().__init__()
                self.layers = layers

            def forward(self, x):
                outs = []
                for _ in self.layers:
                    outs.append(x)
                return outs[3] + torch.cat(outs)
        """
        check(tmp_path, source, "traces")

    def test_the_constructors_star_arguments_may_be_none_at_all(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, *layers):
                super().__init__()
                self.layers = layers

            def forward(self, x):
                for layer in self.layers:
                    x = x * len(x)  # maybe
                return [int(x) for layer in self.layers]  # maybe
        """
        check(tmp_path, source, "depends")

    def test_an_empty_default_does_not_say_how_often_a_loop_runs(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, widths=()):
                super().__init__()
                self.layers = nn.ModuleList([Layer() for _ in widths])

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x


        class Layer(nn.Module):
            def forward(self, x):
                return x * len(x)  # error
        """
        check(tmp_path, source, "fails")

    def test_modules_that_are_added_under_names_that_are_not_known(self, tmp_path):
        source = """
        class Net(nn.ModuleDict):
            def __init__(self, count):
                super().__init__()
                for i in range(count):
                    self.add_module("layer%d" % i, Layer())

            def forward(self, x):
                for name, layer in self.items():
                    x = layer(x)
                return x


        class Layer(nn.Module):
            def forward(self, x):
                return x * len(x)  # error
        """
        check(tmp_path, source, "fails")

    @pytest.mark.parametrize("widths", ["1, 2, 3, 4, 5, 6, 7", "1, 2, 3, 4, 5, 6, 7, 8, 9"])
    def test_many_blocks_of_few_classes(self, tmp_path, widths):
        source = f"""
        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.width = width

            def forward(self, x):
                return x * self.width

        class Attend(Block):
            def forward(self, x):
                return x.view(*x.shape)  # error

        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                blocks = []
                for _ in range(depth):
                    for width in ({widths}):
                        blocks.append(Block(width))
                    blocks.append(Attend(8))
                self.blocks = nn.ModuleList(blocks)

            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        """
        check(tmp_path, source, "fails")

    def test_a_module_list_is_extended_in_place(self, tmp_path):
        source = """
        class Gate(nn.Module):
            def forward(self, x):
                return x if x.any() else -x  # error

        class Net(nn.Module):
            def __init__(self, rates):
                super().__init__()
                self.gates = nn.ModuleList()
                for rate in rates:
                    self.gates += [Gate()]

            def forward(self, x):
                for gate in self.gates:
                    x = gate(x)
                return x
        """
        check(tmp_path, source, "fails")

    @pytest.mark.parametrize("asked", ["_modules.values()", "children()"])
    def test_the_children_of_a_container_and_of_a_module(self, tmp_path, asked):
        source = f"""
        class Gate(nn.Module):
            def forward(self, x):
                return x if x.any() else -x  # error

        class Pair(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Linear(2, 2), Gate()

            def forward(self, x):
                for layer in self.{asked}:
                    x = layer(x)
                return x

        class Net(nn.Sequential):
            def __init__(self, count):
                super().__init__()
                for number in range(count):
                    self.add_module("layer%d" % number, Pair())

            def forward(self, x):
                for layer in self.{asked}:
                    x = layer(x)
                return x
        """
        check(tmp_path, source, "fails")

    def test_a_container_that_is_left_empty_is_filled_by_those_who_use_it(self, tmp_path):
        source = """
        class Net(nn.Sequential):
            def forward(self, x):
                for layer in self._modules.values():
                    x = layer(x)
                    if x.any():  # maybe
                        break
                return x

            def __init__(self, axis):
                super().__init__()
                self.axis = axis
        """
        check(tmp_path, source, "depends")

    def test_a_list_of_unknown_length_is_searched(self, tmp_path):
        body = "return self.sizes.index(x.shape[0])  # error"
        check(
            tmp_path,
            forward(body, init="self.sizes = [2 * size for size in sizes]").replace("(self):", "(self, sizes):"),
            "fails",
        )

    def test_break_and_continue(self, tmp_path):
        body = "for i in range(4):\n    if i == 2:\n        break\n    if i:\n        continue\n    x = x + 1\nreturn x"
        check(tmp_path, forward(body), "traces")


class TestCalls:
    def test_helpers_methods_and_closures(self, tmp_path):
        extra = """
        def count(y):
            return len(y)  # error
        """
        check(tmp_path, forward("return (lambda z: count(z))(x)", extra=extra), "fails")

    def test_a_helper_in_another_file_is_reported_at_its_call(self, tmp_path):
        source = "from helper import count\n" + forward("return x / count(x)  # error")
        check(tmp_path, source, "fails", helper="def count(y):\n    return len(y)\n")

    def test_math_by_name_in_the_file_of_forward_and_in_a_helpers(self, tmp_path):
        check(tmp_path, "from math import sqrt\n" + forward("return x / sqrt(x.shape[0])"), "traces")
        helper = "from math import sqrt\n\n\ndef scale(y):\n    return y / sqrt(y.shape[0])\n"
        check(tmp_path, "from helper import scale\n" + forward("return scale(x)  # error"), "fails", helper=helper)

    def test_inherited_forwards_and_super(self, tmp_path):
        source = """
        class Base(nn.Module):
            def forward(self, x):
                return self.tail(x)

            def tail(self, x):
                return x


        class Net(Base):
            def tail(self, x):
                return super().tail(x)[int(x)]  # error
        """
        check(tmp_path, source, "fails")
        check(tmp_path, source, "fails", name="Net")

    def test_submodules_are_followed_and_leaves_are_not(self, tmp_path):
        source = """
        class Inner(nn.Module):
            def forward(self, x):
                return len(x)  # error


        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(nn.LSTM(2, 2), Inner())

            def forward(self, x):
                return self.inner(x)
        """
        check(tmp_path, source, "fails")

    def test_a_layer_given_as_an_argument_is_taken_to_return_a_proxy(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, layer):
                super().__init__()
                self.layer = layer

            def forward(self, x):
                for part in self.layer(x):  # maybe
                    x = x + part
                return x
        """
        check(tmp_path, source, "depends")

    @pytest.mark.parametrize(
        "made",
        [
            "nn.ModuleDict({k: nn.Linear(c, 4) for k, c in names.items()})",
            "nn.ModuleDict([(k, nn.Linear(4, 4)) for k in names])",
        ],
    )
    def test_modules_in_containers_of_unknown_content_are_registered(self, tmp_path, made):
        source = f"""
        class Net(nn.Module):
            def __init__(self, names):
                super().__init__()
                self.convs = {made}

            def forward(self, x):
                for conv in self.convs.values():
                    x = conv(x)
                return x
        """
        check(tmp_path, source, "traces")

    def test_a_layer_that_is_known_or_given(self, tmp_path):
        source = """
        class Fold(nn.Module):
            def forward(self, x):
                return x.view(*x.shape)  # error

        class Net(nn.Sequential):
            def __init__(self, first=None, last=None):
                super().__init__()
                if first == "fold":
                    self.add_module("fold", Fold())
                else:
                    self.add_module("first", first)
                if last is not None:
                    self.add_module("last", last)
        """
        check(tmp_path, source, "fails")

    def test_modules_that_are_not_registered(self, tmp_path):
        check(tmp_path, forward("return nn.ReLU()(x)  # error"), "fails")
        init = "self.heads = {'a': nn.Linear(2, 2)}"
        check(tmp_path, forward("return self.heads['a'](x)  # error", init), "fails")

    def test_wrapped_functions_are_leaves(self, tmp_path):
        extra = """
        @torch.fx.wrap
        def count(y):
            return len(y)
        """
        check(tmp_path, forward("return x / count(x)", extra=extra), "traces")
        check(tmp_path, "torch.fx.wrap('len')\n" + forward("return x / len(x)"), "traces")

    def test_recursion_without_an_end_is_not_followed(self, tmp_path):
        extra = """
        def down(y, n):
            return down(y, n - 1)
        """
        check(tmp_path, forward("return down(x, 3)", extra=extra), "unknown")

    def test_recursion_is_followed_to_its_end(self, tmp_path):
        extra = """
        def down(y, n):
            if n == 0:
                return len(y)  # error
            return down(y, n - 1)
        """
        check(tmp_path, forward("return down(x, 10)", extra=extra), "fails")

    def test_a_layer_or_a_function_that_makes_one(self, tmp_path):
        source = """
        from inspect import isclass, isfunction

        def made(layer):
            if isfunction(layer) or isclass(layer):
                return layer(4)
            assert isinstance(layer, nn.Module)
            return layer

        class Net(nn.Module):
            def __init__(self, norm=lambda width: nn.BatchNorm1d(width)):
                super().__init__()
                self.norm = made(norm)
                self.scale = made(nn.LayerNorm)

            def forward(self, x):
                x = self.scale(self.norm(x))
                return x if x.any() else -x  # error
        """
        check(tmp_path, source, "fails")

    def test_keywords_that_are_passed_on(self, tmp_path):
        extra = """
        def inner(y, *, scale=1, **rest):
            return y * scale


        def outer(*args, **kwargs):
            return inner(*args, **kwargs)
        """
        check(tmp_path, forward("return outer(x, scale=2, mode='a')", extra=extra), "traces")

    def test_arguments_that_do_not_fit(self, tmp_path):
        extra = """
        def inner(y):
            return y
        """
        check(tmp_path, forward("return inner(x, 2)  # error", extra=extra), "fails")


class TestLayersGivenInTheSameFile:
    """An argument without a default is probably what the class's own file gives: certain for no root but the layer."""

    LAYERS = """
    class Attend(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.dim = dim

        def forward(self, x):
            return x.view(*x.shape)  # error

    class Scale(nn.Module):
        def forward(self, x):
            return x * 2

    class Net(nn.Module):
        def __init__(self, dim, fn):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            self.fn = fn

        def forward(self, x):
            return self.fn(self.norm(x))

    class Fold(nn.Module):
        def __init__(self, *fns):
            super().__init__()
            self.fns = nn.ModuleList(fns)

        def forward(self, x):
            for fn in self.fns:
                x = fn(x)
            return x

    def build(dim):
        attend = Attend(dim)
        return {given}
    """

    @pytest.mark.parametrize(
        "given", ["Net(dim, Attend(dim))", "[Net(dim, fn=Scale()), Net(dim, fn=Attend(dim))]", "Net(dim, attend)"]
    )
    def test_one_that_fails(self, tmp_path, given):
        assert "self.fn" in check(tmp_path, self.LAYERS.replace("{given}", given), "depends").depends_on

    def test_one_of_a_list(self, tmp_path):
        check(tmp_path, self.LAYERS.replace("{given}", "Fold(Scale(), Attend(dim))"), "depends", name="Fold")

    @pytest.mark.parametrize(
        ("name", "made"), [("Fold", "Fold(*layers)"), ("Row", "Row(*layers)"), ("List", "List(nn.ModuleList(layers))")]
    )
    def test_lists_of_layers(self, tmp_path, name, made):
        source = """
        class Row(nn.Sequential):
            def forward(self, x):
                for layer in self:
                    x = layer(x)
                return x

        class List(nn.Module):
            def __init__(self, layers):
                super().__init__()
                self.layers = layers

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        def row(depth):
            layers = [Scale()]
            for _ in range(depth):
                layers.append(Attend(4))
            return {made}
        """
        layers = textwrap.dedent(self.LAYERS.replace("{given}", "None"))
        check(tmp_path, layers + textwrap.dedent(source).replace("{made}", made), "depends", name=name)

    @pytest.mark.parametrize("given", ["Net(dim, Scale())", "Net(*dim)", "Net(dim, build)"])
    def test_one_that_traces_and_none(self, tmp_path, given):
        source = self.LAYERS.replace("{given}", given).replace("  # error", "")
        check(tmp_path, source, "traces")


def test_a_search_that_finds_no_tensor_ends_in_stop_iteration(tmp_path):
    source = """
    import functools

    def on_the_device_of_a_tensor(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            found = {search}
            return function(*args, **kwargs)
        return inner

    class Net(nn.Module):
        @on_the_device_of_a_tensor
        def forward(self, x):
            return x
    """
    search = "arg for arg in (*args, *kwargs.values()) if torch.is_tensor(arg)"
    check(tmp_path, source.replace("{search}", f"next({search})  # error"), "fails")
    check(tmp_path, source.replace("{search}", f"next(({search}), None)"), "traces")


def test_a_static_method_that_another_class_lends(tmp_path):
    source = """
    class Old:
        @staticmethod
        def sizes(x):
            return len(x)  # error

    class Base(nn.Module):
        def __init_subclass__(cls):
            cls.sizes = staticmethod(Old.sizes)

    class Net(Base):
        def forward(self, x):
            return self.sizes(x)
    """
    check(tmp_path, source, "fails")


def test_a_variadic_forward_that_calls_an_abstract_one_fails_before(tmp_path):
    source = """
    class Base(nn.Module):
        def forward(self, *args, **kwargs):
            return super().forward(*args, **kwargs)  # error

    class Net(Base):
        pass
    """
    check(tmp_path, source, "fails")


class TestDecorators:
    WRAPS = """
    import functools


    def noted(function):
        @functools.wraps(function)
        def wrapper(self, *args, **kwargs):
            return function(self, *args, **kwargs)

        return wrapper
    """

    def decorated(self, signature):
        return (
            textwrap.dedent(self.WRAPS)
            + f"\n\nclass Net(nn.Module):\n    @noted\n    def forward({signature}):\n        return x\n"
        )

    def test_a_wrapper_around_plain_parameters_traces(self, tmp_path):
        check(tmp_path, self.decorated("self, x, y=None"), "traces")

    def test_one_around_keywords_fails(self, tmp_path):
        source = self.decorated("self, x, **kwargs").replace(
            "return function(self, *args, **kwargs)", "return function(self, *args, **kwargs)  # error"
        )
        check(tmp_path, source, "fails")

    def test_one_with_too_few_names_fails_at_the_head(self, tmp_path):
        source = self.decorated("self, x, y, z, **kwargs").replace("z, **kwargs):", "z, **kwargs):  # error")
        check(tmp_path, source, "fails")

    def test_the_head_is_in_the_file_of_forward(self, tmp_path):
        source = "from helper import noted\n" + self.decorated("self, x, y, z, **kwargs").replace(
            textwrap.dedent(self.WRAPS), ""
        ).replace("z, **kwargs):", "z, **kwargs):  # error")
        check(tmp_path, source, "fails", helper=self.WRAPS)

    def test_no_grad_hides_keywords_too(self, tmp_path):
        source = """
        class Net(nn.Module):
            @torch.no_grad()
            def forward(self, x, **kwargs):  # error
                return x
        """
        check(tmp_path, source, "fails")


def test_a_raise_after_the_configurations_that_return_is_no_failure(tmp_path):
    body = "if self.mode == 'cat':\n    return x\nraise NotImplementedError(self.mode)"
    check(tmp_path, forward(body, "self.mode = open('mode').read()"), "traces")


def test_a_constructor_that_its_decorator_calls_in_a_way_that_is_not_seen(tmp_path):
    source = """
    import functools
    import validation

    def validated(init):
        @functools.wraps(init)
        def wrapper(self, *args, **kwargs):
            return validation.apply(init, self, args, kwargs)
        return wrapper

    class Net(nn.Module):
        @validated
        def __init__(self, widths):
            super().__init__()
            self.layers = [nn.Linear(width, width) for width in widths]

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)  # error
            return x
    """
    check(tmp_path, source, "fails")


class TestWhatReplacesForward:
    def test_a_base_that_wraps_the_forward_of_its_subclasses(self, tmp_path):
        source = """
        import functools

        class Layer(nn.Module):
            checkpointing = False

            def __init_subclass__(cls, **kwargs):
                super().__init_subclass__(**kwargs)
                forward = cls.forward

                @functools.wraps(forward)
                def checkpointed(self, *args, **kwargs):
                    if self.checkpointing and self.training:
                        return self.run(forward, *args)
                    return forward(self, *args, **kwargs)  # error

                cls.forward = checkpointed

        class Net(Layer):
            def forward(self, x, **kwargs):
                return x * 2
        """
        check(tmp_path, source, "fails")

    def test_a_base_that_copies_the_forward_for_its_subclasses(self, tmp_path):
        extra = """
        from types import FunctionType

        class Base(nn.Module):
            def __init_subclass__(cls):
                forward = cls.forward
                cls.forward = FunctionType(forward.__code__.replace(co_name=cls.__name__), forward.__globals__)

            def forward(self, x):
                return len(x)  # error

        class Net(Base):
            pass
        """
        check(tmp_path, extra, "fails")

    def test_a_class_decorator(self, tmp_path):
        source = """
        import functools

        def checked(cls):
            original = cls.forward

            @functools.wraps(original)
            def forward(self, *args, **kwargs):
                if args[0].sum() > 0:  # error
                    return original(self, *args, **kwargs)
                return args[0]

            if not hasattr(cls, "scale"):
                cls.scale = lambda self, x: x + 1
            cls.forward = forward
            return cls

        @checked
        class Net(nn.Module):
            def scale(self, x):
                return x * 2

            def forward(self, x):
                return self.scale(x)
        """
        check(tmp_path, source, "fails")

    def test_a_class_decorator_that_takes_long_leaves_the_class(self, tmp_path):
        source = """
        def documented(cls):
            for word in range(10_000):
                cls.__doc__ = str(word) + str(cls.__doc__)
            return cls

        @documented
        class Base(nn.Module):
            pass

        class Net(Base):
            def forward(self, x):
                if x:  # error
                    return x
                return x
        """
        check(tmp_path, source, "fails")

    def test_a_wrapper_that_asks_for_the_names_of_the_function(self, tmp_path):
        source = """
        import functools

        def filled(function):
            @functools.wraps(function)
            def wrapper(self, *args, **kwargs):
                if "scale" in function.__code__.co_varnames:
                    kwargs["scale"] = 2.0
                return function(self, *args, **kwargs)  # error

            return wrapper

        class Net(nn.Module):
            @filled
            def forward(self, x, scale=None):
                return x * scale
        """
        check(tmp_path, source, "fails")


class TestRegistries:
    REGISTRY = """
        class Registry(collections.abc.MutableMapping):
            _shared = {"plain": plain, "branching": branching}

            def __init__(self):
                self._own = {}

            def __getitem__(self, name):
                if name in self._own:
                    return self._own[name]
                return self._shared[name]

            def __setitem__(self, name, value):
                self._own[name] = value

            def __delitem__(self, name):
                del self._own[name]

            def __iter__(self):
                return iter({**self._shared, **self._own})

            def __len__(self):
                return len(self._shared)

        REGISTRY = Registry()
        """

    FUNCTIONS = """
        def plain(x):
            return x

        def branching(x):
            if x.device.type in ("cpu", "mps"):  # error
                return x
            return x * 2
        """

    def program(self, net, mark):
        parts = ["import collections.abc\n", self.FUNCTIONS.replace("# error", mark), self.REGISTRY, net]
        return "".join(textwrap.dedent(part) for part in parts)

    def test_a_known_name_is_looked_up_through_the_mixin_methods(self, tmp_path):
        net = forward('return REGISTRY.get("branching", plain)(x)')
        check(tmp_path, self.program(net, "# error"), "fails")

    def test_a_name_from_the_configuration_may_be_any_entry(self, tmp_path):
        net = forward("return REGISTRY.get(self.name, plain)(x)", "self.name = open('name').read()")
        check(tmp_path, self.program(net, "# maybe"), "depends")

    def test_one_that_decorators_fill(self, tmp_path):
        source = """
        import enum

        class Name(str, enum.Enum):
            PLAIN = "plain"
            BRANCHING = "branching"

        class Registry:
            _known = {}
            _active = Name("branching")

            @classmethod
            def register(cls, name):
                def decorator(function):
                    cls._known[name] = function
                    return function

                return decorator

            @classmethod
            def active(cls):
                return cls._active, cls._known[cls._active]

        @Registry.register(Name.PLAIN)
        def plain(x):
            return x

        @Registry.register(Name.BRANCHING)
        def branching(x):
            return x if x.ndim == 2 else x * 2  # error

        class Net(nn.Module):
            def forward(self, x):
                _, function = Registry.active()
                return function(x)
        """
        check(tmp_path, source, "fails")


class TestEnumerations:
    LOOK_UP = """
        import enum

        class Mode(str, enum.Enum):
            PLAIN = "plain"
            FOLD = "fold"

        def look_up(option, supported):
            if isinstance(supported, enum.EnumMeta):
                if isinstance(option, str) and option in {item.value for item in supported}:
                    return supported(option)
                if isinstance(option, enum.Enum) and option in supported:
                    return option
            raise ValueError(option)
        """

    @pytest.mark.parametrize("mode", ["'plain'", "Mode.PLAIN", "Mode('plain')"])
    def test_members_are_told_apart(self, tmp_path, mode):
        body = "if self.mode == Mode.FOLD or self.mode is Mode.FOLD or self.mode == 'fold':\n    x = len(x)\nreturn x"
        check(tmp_path, forward(body, f"self.mode = look_up({mode}, Mode)", extra=self.LOOK_UP), "traces")
        body = "if self.mode == Mode.PLAIN:\n    return len(x)  # error\nreturn x"
        check(tmp_path, forward(body, f"self.mode = look_up({mode}, Mode)", extra=self.LOOK_UP), "fails")


class TestRegistriesInObjects:
    FACTORY = """
        from collections import namedtuple
        from collections.abc import Hashable

        Part = namedtuple("Part", ("text", "value"))

        class Factory:
            def __init__(self):
                self.parts = {}

            def add(self, name, value):
                self.parts[name.upper()] = Part("", value)
                return value

            def named(self, name):
                return lambda function: self.add(name, function)

            def __getitem__(self, name):
                if not isinstance(name, Hashable):
                    raise TypeError(name)
                if name in self.parts:
                    return self.parts[name].value
                raise ValueError(name)

        class Fold(nn.Module):
            def forward(self, x):
                return x.view(*x.shape)  # error

        FACTORY = Factory()

        @FACTORY.named("conv")
        def conv():
            return nn.Conv2d(3, 3, 1)

        FACTORY.add("fold", Fold)
        """

    @pytest.mark.parametrize(("name", "verdict"), [("FOLD", "fails"), ("CONV", "traces")])
    def test_calls_and_decorators_fill_it(self, tmp_path, name, verdict):
        net = forward("return self.layer(x)", f"self.layer = FACTORY['{name}']()")
        source = textwrap.dedent(self.FACTORY) + net
        check(tmp_path, source if verdict == "fails" else source.replace("  # error", ""), verdict)

    def test_a_constructor_that_seems_to_refuse_everything_has_built_the_object_all_the_same(self, tmp_path):
        net = forward("return len(self.layer(x))  # maybe", "self.layer = FACTORY['MISSING']()")
        check(tmp_path, (textwrap.dedent(self.FACTORY) + net).replace("  # error", ""), "depends")


class TestPackagesThatDispatchByType:
    """What other packages do with a tensor, read from their source: a Proxy is none of the types they know."""

    BACKENDS = """
    known = {}
    loaded = {}

    class Backend:
        def takes(self, tensor):
            raise NotImplementedError

    class ForTorch(Backend):
        def takes(self, tensor):
            return isinstance(tensor, torch.Tensor)

    class ForNumpy(Backend):
        def __init__(self):
            import numpy
            self.np = numpy

        def takes(self, tensor):
            return isinstance(tensor, self.np.ndarray)

    def backend_of(tensor):
        found = known.get(type(tensor), None)
        if found is not None:
            return found
        for backend in loaded.values():
            if backend.takes(tensor):
                known[type(tensor)] = backend
                return backend
        raise RuntimeError(f"no backend for {type(tensor)}")

    def flat(tensor):
        return backend_of(tensor).flat(tensor)
    """

    def test_none_of_the_classes_takes_a_proxy(self, tmp_path):
        source = forward("return flat(x)  # error", extra="from backends import flat")
        check(tmp_path, source, "fails", backends=self.BACKENDS)

    def test_a_handler_of_that_type_catches_it(self, tmp_path):
        body = "try:\n    return flat(x)\nexcept RuntimeError:\n    return x.flatten()"
        check(tmp_path, forward(body, extra="from backends import flat"), "traces", backends=self.BACKENDS)

    def test_what_it_would_do_afterwards_is_of_no_use(self, tmp_path):
        source = "from helper import count\n" + forward("return x / count(x)  # error")
        helper = "def count(y):\n    n = len(y)\n    if n > 3:\n        raise ValueError(n)\n    return int(n)\n"
        check(tmp_path, source, "fails", helper=helper)
        (finding,) = predict([str(tmp_path / "model.py")], RULES, [tmp_path]).findings
        assert finding.event == "len.call"

    def test_a_table_that_takes_long_to_make_is_one_all_the_same(self, tmp_path):
        plans = """
        from typing import Dict

        def plans() -> Dict[int, str]:
            result = {}
            for i in range(60):
                for j in range(60):
                    result[i] = f"{i}-{j}"
            return result

        class Plan(nn.Module):
            def __init__(self):
                super().__init__()
                self.plans = plans()
                self.late = True

            def forward(self, x):
                return self.plans[x.ndim] if self.late else x
        """
        source = forward("return self.plan(x)  # error", "self.plan = Plan()", extra="from plan import Plan")
        check(tmp_path, source, "fails", plan=plans)


def test_a_module_imported_by_name_is_looked_into(tmp_path):
    extra = """
    import importlib

    def optional(name, attribute):
        try:
            return getattr(importlib.import_module(name), attribute), True
        except ImportError:
            return None, False

    shorten, found = optional("helper", "shorten")
    """
    source = forward("return shorten(x)  # error", extra=extra)
    check(tmp_path, source, "fails", helper="def shorten(x):\n    return x[: len(x) - 1]\n")


def test_a_size_of_the_input_against_one_of_a_parameter_is_a_question_about_the_input(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(
        HEADER + forward("if self.p.shape[0] == x.shape[0]:\n    pass", "self.p = nn.Parameter(torch.ones(2))")
    )
    (finding,) = predict([str(path)], RULES).findings
    assert (finding.event, finding.provenance[0].text) == ("bool.if", "x (input)")


def test_a_root_after_one_that_took_all_steps_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "MAX_STEPS", 2_000)
    long = "for i in range(60):\n    for j in range(60):\n        x = x + i\nreturn x"
    short = forward("return len(x)  # error", extra="class Base(nn.Module): pass")
    short = short.replace("Net(nn.Module)", "Net(Base)")
    check(tmp_path, forward(long).replace("Net", "Long") + short, "fails")
    verdicts = [m.predicted.verdict for m in predict([str(tmp_path / "model.py")], RULES).modules]
    assert verdicts == ["unknown", "fails"]


@pytest.mark.parametrize("doubles", ["s = [*s, *s]", "s.extend(s)", "s += s", "s = s + s", "s[0:0] = s"])
def test_of_very_many_items_the_last_are_not_told_apart_for_lists_may_double_in_a_loop(tmp_path, monkeypatch, doubles):
    body = f"s = [1, 2]\n{doubles}\nreturn x if s[3] == 2 else len(x){{}}"
    check(tmp_path, forward(body.format("")), "traces")
    monkeypatch.setattr(containers, "MOST_ITEMS", 2)
    check(tmp_path, forward(body.format("  # maybe")), "depends")


def test_a_branch_far_down_a_chain_tells_the_conditions_nearest_to_it_and_counts_the_others(tmp_path):
    path = tmp_path / "model.py"
    branches = "".join(f"elif self.mode == {n}:\n    x = x + len(x)\n" for n in range(100))
    init = "self.mode = torch.cuda.device_count()"
    path.write_text(HEADER + forward(branches.removeprefix("el") + "return x", init))
    last = predict([str(path)], RULES).findings[-1]
    assert last.depends_on[-2:] == ("not (self.mode == 98)", "self.mode == 99")
    assert len(last.depends_on) + last.more_conditions == 100
    assert len(last.depends_on) < 20


SETTINGS = """
def settings(net):
    table = {}
    for i in range(60):
        for j in range(60):
            table[i] = i * j
    return table
"""


def test_work_that_makes_no_module_does_not_use_up_the_budget_of_the_root(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "MAX_STEPS", 10_000)
    check(tmp_path, forward("return len(x)  # error", "self.settings = settings(self)", extra=SETTINGS), "fails")


def test_what_takes_many_steps_is_given_up_once_for_all_roots(tmp_path, monkeypatch):
    runs = []
    run = calls.run_function
    monkeypatch.setattr(calls, "run_function", lambda vm, f, *rest: runs.append(f.name) or run(vm, f, *rest))
    net = forward("return x", "self.settings = settings(self)")
    check(tmp_path, SETTINGS + net + net.replace("Net", "Other"), "traces")
    assert runs.count("settings") == 1


def test_a_function_that_makes_modules_is_followed_whatever_their_constructors_take(tmp_path):
    extra = """
    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            for i in range(60):
                for j in range(60):
                    self.size = i * j * width

        def forward(self, x):
            return len(x)  # error

    def build(depth):
        return nn.Sequential(*(Block(width) for width in range(depth)))
    """
    check(tmp_path, forward("return self.blocks(x)", "self.blocks = build(4)", extra=extra), "fails")


def test_a_failure_that_all_paths_meet_is_certain_whatever_the_rest_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "MAX_STEPS", 2_000)
    long = "n = len(x)  # error\nfor i in range(60):\n    for j in range(60):\n        x = x + i\nreturn x"
    check(tmp_path, forward(long), "fails")


def test_what_is_not_known_does_not_matter_where_the_default_does_not_come(tmp_path):
    source = """
    import torch.distributed as dist

    class Net(nn.Module):
        def __init__(self, gather=False):
            super().__init__()
            self.gather = gather

        def forward(self, x):
            if self.gather:
                x = dist.all_reduce(x)
            return len(x)  # error
    """
    check(tmp_path, source, "fails")
    check(tmp_path, source.replace("len(x)  # error", "x"), "traces")
    check(tmp_path, source.replace("len(x)  # error", "x").replace("False", "True"), "unknown")


def test_the_default_layer_fails_first(tmp_path):
    source = """
    class Plain(nn.Module):
        def forward(self, x):
            return x * 2

    class Fold(nn.Module):
        def forward(self, x):
            return x.view(*x.shape)  # error

    class Net(nn.Module):
        def __init__(self, kind="plain"):
            super().__init__()
            if kind == "fold":
                self.layer = Fold()
            else:
                self.layer = Plain()

        def forward(self, x):
            return len(self.layer(x))  # error
    """
    first = check(tmp_path, source, "fails").first
    assert source.split("\n")[first.line - 1 - HEADER.count("\n")].strip().startswith("return len")


def test_a_raise_because_of_what_a_proxy_answers_fails_in_the_configurations_that_get_there(tmp_path):
    check(
        tmp_path,
        """
        def check(x):
            if not isinstance(x, torch.Tensor):
                raise TypeError(type(x))  # maybe

        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.embedding = nn.Linear(2, 3) if config.classes else None
                self.resize = config.resize

            def forward(self, x, labels=None):
                if self.embedding is None and labels is not None:
                    raise ValueError("labels")  # maybe
                if self.resize:
                    check(x)
                return x
        """,
        "depends",
    )


def test_a_raise_that_a_configuration_alone_leads_to_refuses_that_configuration(tmp_path):
    check(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.mode = config.mode

            def forward(self, x, y=None):
                if y is not None:
                    if self.mode == "add":
                        x = x + y
                    else:
                        raise ValueError(self.mode)
                return x
        """,
        "traces",
    )


def test_what_a_dataclass_of_another_file_does_once_it_is_filled_stands_at_the_call_that_makes_it(tmp_path):
    check(
        tmp_path,
        """
        from outputs import Output

        class Net(nn.Module):
            def forward(self, x):
                return Output(x)  # error
        """,
        "fails",
        outputs="""
        from dataclasses import dataclass

        # The class stands further down than the last line of the file that uses it:
        #
        #
        #
        #
        #
        #
        @dataclass
        class Output:
            values: torch.Tensor

            def __post_init__(self):
                self.number = len(self.values)
        """,
    )


def test_a_dataclass_has_its_own_init_whatever_it_inherits(tmp_path):
    check(
        tmp_path,
        """
        from collections import OrderedDict
        from dataclasses import dataclass, fields

        class Output(OrderedDict):
            def __init__(self, *args, **kwargs):
                raise TypeError("not a dataclass")

            def __post_init__(self):
                for field in fields(self):
                    value = getattr(self, field.name)
                    if value is not None:
                        self[field.name] = value

            def __getitem__(self, key):
                return tuple(super().__getitem__(k) for k in self.keys())[key]

        @dataclass
        class Pair(Output):
            first: torch.Tensor | None = None
            second: torch.Tensor | None = None

        class Net(nn.Module):
            def forward(self, x):
                pair = Pair(second=x)
                if pair.first is not None:
                    return len(x)
                if pair[0].sum() > 0:  # error
                    return x
                return pair.second
        """,
        "fails",
    )


def test_objects_of_classes_that_derive_from_list_and_dict_have_contents(tmp_path):
    check(
        tmp_path,
        """
        class Bag(list):
            pass

        class Table(dict):
            def __init__(self, **entries):
                super().__init__(entries)
                super().__setattr__("size", len(self))

        class Net(nn.Module):
            def forward(self, x):
                table, bag = Table(a=x), Bag()
                bag.append(x)
                if table.size == 1 and len(bag) == 1 and "b" not in table:
                    bool(table["a"])  # error
                for y in bag:
                    len(y)  # error
                return x
        """,
        "fails",
    )


def test_of_a_list_of_unknown_length_without_its_first_elements_nothing_may_be_left(tmp_path):
    check(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(depth)])

            def forward(self, x):
                for index, block in enumerate(self.blocks[1:]):
                    x = block(x)
                    len(x)  # maybe
                return x
        """,
        "depends",
    )


def test_of_several_possible_values_those_without_the_attribute_are_not_meant(tmp_path):
    check(
        tmp_path,
        """
        class Net(nn.Module):
            def features(self, x, everything):
                found = [x]
                if everything:  # error
                    return found
                return found[-1]

            def forward(self, x, everything: bool = False):
                found = self.features(x, everything)
                return found.reshape(found.shape[0], -1)
        """,
        "fails",
    )


def test_calls_that_differ_in_what_may_be_left_of_a_list_are_told_apart(tmp_path):
    check(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self, depth):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Linear(2, 2) for _ in range(depth)])

            def run(self, blocks, x):
                for block in blocks:
                    x = block(x)
                    len(x)  # error
                return x

            def forward(self, x):
                blocks = list(self.blocks)
                self.run(blocks[1:], x)
                return self.run(blocks, x)
        """,
        "fails",
    )


def test_of_several_possible_layers_those_whose_signature_does_not_fit_are_not_meant(tmp_path):
    check(
        tmp_path,
        """
        class Plain(nn.Module):
            def forward(self, x):
                return x

        class Timed(nn.Module):
            def forward(self, x, time):
                len(time)  # error
                return x

        class Net(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.norm = Timed() if config.timed else Plain()
                self.timed = config.timed

            def forward(self, x, time):
                return self.norm(x, time) if self.timed else self.norm(x)
        """,
        "depends",
    )


def test_the_layer_of_the_default_configuration_is_meant_even_where_its_signature_does_not_fit(tmp_path):
    check(
        tmp_path,
        """
        class Plain(nn.Module):
            def forward(self, x):
                return x

        class Timed(nn.Module):
            def forward(self, x, time):
                return x + time

        class Net(nn.Module):
            def __init__(self, timed=False):
                super().__init__()
                if timed:
                    self.norm = Timed()
                else:
                    self.norm = Plain()

            def forward(self, x, time=None):
                if time is None:
                    return self.norm(x)
                return self.norm(x, time)  # maybe
        """,
        "depends",
    )


def test_what_takes_the_place_of_an_argument_that_is_not_given_is_the_default(tmp_path):
    check(
        tmp_path,
        """
        class Plain:
            def __call__(self, x):
                return x

        class Net(nn.Module):
            def __init__(self, processor=None):
                super().__init__()
                self.processor = processor or Plain()

            def forward(self, x, time=None):
                if time is None:
                    return self.processor(x)
                return self.processor(x, time=time)  # maybe
        """,
        "fails",
    )


def test_the_methods_of_a_default_string_give_what_is_probable(tmp_path):
    predicted = check(
        tmp_path,
        """
        class Sized(nn.Module):
            def forward(self, x):
                return x * len(x)  # error

        class Other(nn.Module):
            def forward(self, x):
                return x * int(x)  # error

        class Net(nn.Module):
            def __init__(self, kind="sized"):
                super().__init__()
                self.layer = Other() if kind.startswith("my_") else Sized()

            def forward(self, x):
                return self.layer(x)
        """,
        "fails",
    )
    assert predicted.first.line == 8


def test_membership_of_a_proxy_in_what_is_not_known_depends_on_what_that_is(tmp_path):
    check(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self, config, sizes=(2, 4)):
                super().__init__()
                self.scales = config.scales
                self.sizes = sizes

            def forward(self, x, size):
                assert size in self.sizes  # maybe
                if size not in self.scales:  # maybe
                    x = x * 2
                return x
        """,
        "fails",
    )


def test_a_proxy_is_not_found_in_the_names_of_a_dictionary_that_is_the_default(tmp_path):
    check(
        tmp_path,
        """
        class Net(nn.Module):
            def __init__(self, names={"a": 1}):
                super().__init__()
                self.names = names

            def forward(self, x, name):
                return x * 2 if name in self.names else x
        """,
        "traces",
    )


@pytest.mark.parametrize("name", library.RETURN_THEIR_MODULE)
def test_functions_that_change_a_module_return_it(name):
    path, _, attribute = name.rpartition(".")
    function = getattr(importlib.import_module(path), attribute)
    module = torch.nn.Linear(2, 2)
    if "remove" in attribute:
        getattr(torch.nn.utils, attribute.removeprefix("remove_"))(module)
    more = ("weight", torch.nn.Identity()) if attribute == "register_parametrization" else ()
    assert function(module, *more) is module


def test_a_module_with_normed_weights_stays_what_it_is(tmp_path):
    check(
        tmp_path,
        """
        from torch.nn.utils import weight_norm

        class Length(nn.Linear):
            def forward(self, x):
                return len(x)  # error

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(*[weight_norm(nn.Linear(2, 2)), weight_norm(Length(2, 2))])

            def forward(self, x):
                return self.body(x)
        """,
        "fails",
    )


def test_what_stands_beside_an_import_that_fails_is_not_bound(tmp_path):
    source = """
    try:
        import not_installed_anywhere
        FAST = True
        Base = not_installed_anywhere.Base
    except Exception:
        FAST = False
        Base = nn.Module


    class Net(Base):
        def forward(self, x):
            return x if FAST else x * len(x)  # error
    """
    check(tmp_path, source, "fails")


def test_a_module_is_not_moved_to_where_a_proxy_says(tmp_path):
    init = "self.lin = nn.Linear(2, 2)"
    check(tmp_path, forward("return self.lin.to(x.device)(x)  # error", init), "fails")


def test_no_files_give_an_empty_prediction():
    assert predict([], RULES, jobs=2).modules == ()


def test_columns_count_code_points(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(HEADER + forward('label = "äöü"; n = len(x)\nreturn x'), encoding="utf-8")
    (finding,) = predict([str(path)], RULES).findings
    assert finding.location.column == len('        label = "äöü"; n = ') + 1


def test_provenance_leads_from_the_input_to_the_construct(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(HEADER + forward("n = x.shape[0]\nreturn [i for i in range(n)]"))
    (finding,) = predict([str(path)], RULES).findings
    assert [step.text for step in finding.provenance] == ["x (input)", "x.shape", "x.shape[0]"]


def test_a_construct_in_a_file_that_is_not_linted_is_the_last_step(tmp_path):
    (tmp_path / "helper.py").write_text("def count(y):\n    return len(y)\n")
    path = tmp_path / "model.py"
    path.write_text("from helper import count\n" + HEADER + forward("return x / count(x)"))
    (finding,) = predict([str(path)], RULES, [tmp_path]).findings
    assert finding.location.path == str(path)
    last = finding.provenance[-1]
    assert (last.location.path, last.location.line, last.text) == (str(tmp_path / "helper.py"), 2, "len(y)")


def test_several_processes_say_the_same_as_one(tmp_path):
    for number in range(3):
        (tmp_path / f"part{number}.py").write_text(HEADER + forward("return len(x)") + "#" * 400_000)
    paths = sorted(str(path) for path in tmp_path.glob("*.py"))
    assert predict(paths, RULES, jobs=2) == predict(paths, RULES)


def test_what_is_said_of_a_file_does_not_depend_on_the_files_before_it(tmp_path):
    (tmp_path / "layers.py").write_text("def pad(x):\n    return int(x.shape[0])\n")
    for name in ("bn", "norm"):
        lines = f"class Net(nn.Module):\n    def __init__(self, {name}):\n        super().__init__()\n"
        lines += f"        self.{name} = {name}\n    def forward(self, x):\n        return pad(self.{name}(x))\n"
        (tmp_path / f"{name}.py").write_text("from layers import pad\n" + HEADER + lines)
    first, second = str(tmp_path / "bn.py"), str(tmp_path / "norm.py")
    together = predict([first, second], RULES, [tmp_path])
    assert together.modules[1:] == predict([second], RULES, [tmp_path]).modules
    assert together.findings[1:] == predict([second], RULES, [tmp_path]).findings


def test_comments_declare_instances_and_inputs_for_what_they_stand_at(tmp_path):
    source = """
    # fxlint: instance=Net(8)
    # fxlint: instance=Net(9)
    class Net(nn.Module):  # fxlint: inputs=(torch.randn(2, 8),)
        def __init__(self, n):
            super().__init__()

        def forward(self, x):
            return x

    # fxlint: trace
    # fxlint: inputs=(torch.randn(3),)
    def double(x):
        return 2 * x
    """
    path = tmp_path / "model.py"
    path.write_text(HEADER + textwrap.dedent(source))
    net, double = (module.root for module in predict([str(path)], RULES).modules)
    assert (net.instances, net.inputs) == (("Net(8)", "Net(9)"), "(torch.randn(2, 8),)")
    assert (double.qualname, double.instances, double.inputs) == ("double", (), "(torch.randn(3),)")


class TestSummariesOfCalls:
    """A call is not interpreted again where it sees what an equal one has seen; the result must not show it."""

    @pytest.mark.parametrize(
        "body",
        [
            "self.pick(x)\nself.mode = 'branch'\nself.pick(x)",
            "self.pick(x)\nself.modes.append('branch')\nself.pick(x)",
            "self.pick(x)\nself.inner.modes.append('branch')\nself.pick(x)",
            "if x is None:\n    self.mode = 'branch'\nself.mode = self.mode or 'branch'\nself.pick(x)",
        ],
    )
    def test_what_was_written_since_an_equal_call_is_seen(self, tmp_path, body):
        extra = """
            class Inner:
                def __init__(self):
                    self.modes = []

            class Base(nn.Module):
                def pick(self, x):
                    if self.mode == 'branch' or 'branch' in self.modes or 'branch' in self.inner.modes:
                        assert x.sum() > 0  # error
                    return x
            """
        init = "self.mode = None\nself.modes = ['none']\nself.inner = Inner()\nself.inner.modes = ['none']"
        source = forward(body, init, extra=extra).replace("class Net(nn.Module)", "class Net(Base)")
        check(tmp_path, source, "fails")

    def test_a_variable_of_the_function_around_is_read_anew(self, tmp_path):
        body = (
            "on = False\n"
            "def inner(y):\n    if on:\n        assert y.sum() > 0  # error\n    return y\n"
            "x = inner(x)\non = True\nreturn inner(x)"
        )
        check(tmp_path, forward(body), "fails")

    @pytest.mark.parametrize(
        "helper",
        [
            "def helper(net, x, **given):\n    given.setdefault('p', 1)\n    return x\n",
            "def helper(net, x, **given):\n    return x if net.down is None else net.down(x)\n",
        ],
        ids=["changes what stars have made for it alone", "asks about an attribute"],
    )
    def test_a_helper_that_changes_nothing_of_its_caller_is_run_once(self, tmp_path, monkeypatch, helper):
        runs = []
        run = calls.run_function
        monkeypatch.setattr(calls, "run_function", lambda vm, f, *rest: runs.append(f.name) or run(vm, f, *rest))
        init = "self.down = nn.Linear(8, 8) if torch.cuda.is_available() else None"
        check(tmp_path, forward("helper(self, x)\nreturn helper(self, x)", init, extra=helper), "traces")
        assert runs.count("helper") == 1

    @pytest.mark.parametrize(
        ("helper", "times"),
        [
            ("def helper(x):\n    return x * 2\n", 1),
            ("def helper(x):\n    if DEBUG:\n        raise ValueError\n    return x * 2\n", 2),
        ],
        ids=["throws nothing", "throws"],
    )
    def test_a_try_statement_matters_to_a_helper_that_throws(self, tmp_path, monkeypatch, helper, times):
        runs = []
        run = calls.run_function
        monkeypatch.setattr(calls, "run_function", lambda vm, f, *rest: runs.append(f.name) or run(vm, f, *rest))
        body = "y = helper(x)\ntry:\n    y = helper(x)\nexcept ValueError:\n    y = None\nreturn y"
        extra = f"import os\nDEBUG = os.cpu_count()\n{helper}"
        check(tmp_path, forward(body, extra=extra), "traces")
        assert runs.count("helper") == times

    def test_layers_that_a_helper_makes_are_objects_of_their_own(self, tmp_path):
        extra = "def layer(width):\n    return nn.Linear(width, width)\n"
        init = "self.one = layer(8)\nself.two = layer(8)\nself.one.wide = True\nself.two.wide = False"
        check(tmp_path, forward("if self.two.wide:\n    assert x.sum() > 0\nreturn x", init, extra=extra), "traces")


def test_classes_that_derive_from_each_other_in_a_long_row_take_no_comparisons(tmp_path, monkeypatch):
    compared = []
    same = classes._is_same
    monkeypatch.setattr(classes, "_is_same", lambda one, other: compared.append(one) or same(one, other))
    row = "\n".join(f"class Net{n + 1}(Net{n}): pass" for n in range(50))
    check(tmp_path, forward("return x") + f"\nNet0 = Net\n{row}\n", "traces")
    assert not compared


class TestMethodsThatATorchForwardCalls:
    """A subclass of a module of torch is no leaf: tracing goes through torch's forward and what it brings."""

    NORM = """
        class Norm(nn.modules.batchnorm._BatchNorm):
            def _check_input_dim(self, input):
                {check}
        """

    def test_what_the_subclass_brings_is_traced(self, tmp_path):
        extra = self.NORM.format(check="assert input.dim() in (2, 3)  # error")
        source = forward("return self.norm(x)", init="self.norm = Norm(8)", extra=extra)
        check(tmp_path, source, "fails")
        check(tmp_path, source, "fails", name="Norm")

    def test_it_takes_the_place_of_the_one_that_fails(self, tmp_path):
        source = self.NORM.format(check="pass")
        check(tmp_path, source, "traces", name="Norm")
        check(tmp_path, source.replace("_check_input_dim", "_check"), "traces", name="Norm")
        check(tmp_path, "class Norm(nn.BatchNorm2d):  # error\n    pass\n", "fails", name="Norm")
        check(tmp_path, "class Norm(nn.BatchNorm2d):\n    _check_input_dim = print\n", "traces", name="Norm")

    def test_it_is_given_what_torch_gives(self, tmp_path):
        source = """
            class Net(nn.Conv2d):
                def _conv_forward(self, input, weight, bias):
                    if weight.sum() > 0:  # error
                        weight = -weight
                    return super()._conv_forward(input, weight, bias)
            """
        check(tmp_path, source, "fails")

    def test_a_method_of_torch_does_with_proxies_what_was_measured(self, tmp_path):
        source = """
            class Net(nn.Conv2d):
                def forward(self, x):
                    y = self._conv_forward(x, self.weight / 2, self.bias)
                    return -y if y.sum() > 0 else y  # error
            """
        check(tmp_path, source, "fails")
        source = """
            class Net(nn.BatchNorm2d):
                def forward(self, x):
                    self._check_input_dim(x)  # error
                    return x
            """
        check(tmp_path, source, "fails")


class TestArgumentsThatANodeCannotHold:
    @pytest.mark.parametrize(
        "body",
        [
            "return torch.add(x, np.array([1, 2]))  # error",
            "return x.reshape(np.cumsum([1, 2]))  # error",
            "return x * np.array([1, 2])  # error",
            "return self.layer(nn.ReLU)  # error",
            "return self.layer(nn.ReLU())  # error",
            "return self.layer(Config())  # error",
            "return x.apply_(lambda y: y)  # error",
        ],
    )
    def test_arrays_classes_functions_and_objects(self, tmp_path, body):
        extra = "import numpy as np\nclass Config:\n    pass\n"
        check(tmp_path, forward(body, "self.layer = nn.Linear(2, 2)", extra=extra), "fails")

    @pytest.mark.parametrize(
        "body",
        [
            "return x * np.sqrt(2)",
            "return x.to(torch.float32)",
            "return torch.sum(x, dim=[0, 1])",
            "return self.layer(Kind.WIDE)",
        ],
    )
    def test_numbers_and_members_of_enumerations(self, tmp_path, body):
        extra = "import enum\nimport numpy as np\nclass Kind(enum.Enum):\n    WIDE = 1\n"
        check(tmp_path, forward(body, "self.layer = nn.Linear(2, 2)", extra=extra), "traces")

    def test_one_in_one_case_of_two(self, tmp_path):
        init = "self.activation = activation\nself.layer = nn.Linear(2, 2)"
        source = forward("return self.layer(self.activation(x))  # maybe", init)
        check(tmp_path, source.replace("(self):", "(self, activation=nn.ReLU):"), "fails")


class TestTheTextOfAProxy:
    """``str(x)`` is the name of a Proxy in the graph while tracing runs, and no name of anything else."""

    @pytest.mark.parametrize(
        "body",
        [
            "return torch.zeros(3, device=torch.device(str(x.device)))  # error",
            "return torch.zeros(3, device=torch.device(f'{x.device}'))  # error",
            "return getattr(self, f'layer{x.shape[0]}')(x)  # error",
            "return getattr(torch, str(x.dtype))  # error",
            "return {'cuda': x}[str(x.device)]  # error",
            "if str(x.dtype) not in ('torch.float16', 'torch.float32'):\n    raise ValueError  # error",
        ],
    )
    def test_it_names_nothing(self, tmp_path, body):
        check(tmp_path, forward(body, init="self.layer1 = nn.Linear(2, 2)"), "fails")

    @pytest.mark.parametrize(
        "body",
        [
            "if 'cuda' in str(x.device):\n    return x if x.sum() > 0 else -x\nreturn x",
            "print(f'{x.shape}', str(x))\nreturn x",
            "return getattr(self, f'layer{x.shape[0]}', None) or x",
            "return torch.zeros(3, device=torch.device(x.device))",
        ],
    )
    def test_it_is_a_text_like_others(self, tmp_path, body):
        check(tmp_path, forward(body), "traces")


def test_a_function_that_torch_makes_of_another_one_calls_it(tmp_path):
    body = "return torch.amp.custom_fwd(self.choose, device_type='cpu')(x)"
    source = forward(body) + "\n    def choose(self, x):\n        return x if x.sum() > 0 else -x  # error\n"
    check(tmp_path, source, "fails")
    check(tmp_path, forward("return torch.vmap(lambda y: y)(x)  # error"), "fails")


def test_all_functions_of_a_dispatch_table_are_looked_at(tmp_path):
    plain = "".join(f"def f{number}(x):\n    return x + {number}\n" for number in range(9))
    extra = plain + "def choose(x):\n    return x if x.sum() > 0 else -x  # maybe\n"
    extra += f"TABLE = {{{', '.join(f'{n}: f{n}' for n in range(9))}, 9: choose}}\n"
    extra += "LAYERS = {'a': nn.ReLU}\n"
    init = "self.steps = []\nfor name in names:\n"
    init += "    self.steps.append(partial(TABLE[name]) if name in TABLE else LAYERS.get(name, missing)())"
    source = forward("for step in self.steps:\n    x = step(x)\nreturn x", init, extra=extra)
    source = "from functools import partial\n" + source.replace("(self):", "(self, names, missing):")
    check(tmp_path, source, "depends")


def test_an_object_that_is_asked_for_an_index_is_probably_a_list(tmp_path):
    source = forward("return x * self.sizes.index(x.shape[0])  # maybe", init="self.sizes = sizes")
    assert check(tmp_path, source.replace("(self):", "(self, sizes):"), "depends").first


def test_layers_that_are_given_in_other_files(tmp_path):
    (tmp_path / "parts.py").write_text(
        HEADER
        + textwrap.dedent(
            """
            class Chain(nn.Module):
                def __init__(self, blocks):
                    super().__init__()
                    self.blocks = blocks

                def forward(self, x):
                    for block in self.blocks:
                        x = block(x)
                    return x
            """
        )
    )
    model = """
        from parts import Chain

        class Choice(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        def build():
            blocks = [nn.ReLU()]
            blocks.append(Choice())
            return Chain(blocks=nn.ModuleList(blocks))

        def build_another():
            return Chain(blocks=nn.ModuleList([nn.ReLU()]))
        """
    (tmp_path / "model.py").write_text(HEADER + textwrap.dedent(model))
    paths = [str(tmp_path / "parts.py"), str(tmp_path / "model.py")]
    prediction = predict(paths, RULES, [tmp_path])
    chain = next(module for module in prediction.modules if module.root.qualname == "Chain")
    (found,) = [finding for finding in prediction.findings if chain.root.id in finding.modules]
    assert (chain.predicted.verdict, found.location.path) == ("depends", paths[1])


def test_a_filter_asks_for_the_truth_of_each_of_several_possible_lists(tmp_path):
    body = "if self.training:\n    y = (x, 1)\nelse:\n    y = (x,)\nreturn list(filter(lambda p: p, y))  # maybe"
    check(tmp_path, forward(body), "fails")


def test_containers_that_are_filled_by_those_who_make_them_are_objects_of_their_own(tmp_path):
    extra = """
        class Chain(nn.Sequential):
            def __init__(self):
                super().__init__()

        class Branch(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x
        """
    init = "self.one = Chain()\nself.one.add_module('a', nn.ReLU())\n"
    init += "self.two = Chain()\nself.two.add_module('b', Branch())"
    source = forward("return self.one(x)", init, extra=extra)
    (tmp_path / "model.py").write_text(HEADER + source)
    modules = predict([str(tmp_path / "model.py")], RULES, [tmp_path]).modules
    assert {m.root.qualname: m.predicted.verdict for m in modules}["Net"] == "traces"


def test_a_linted_file_in_a_package_without_init_is_one_module_under_all_its_names(tmp_path):
    folder = tmp_path / "space" / "nets"
    folder.mkdir(parents=True)
    helper, net = folder / "helper.py", folder / "net.py"
    helper.write_text("def size(x):\n    return len(x)\n")
    imports = HEADER + "from space.nets.helper import size\nfrom .helper import size as same\n"
    net.write_text(f"{imports}class Net(nn.Module):\n    def forward(self, x):\n        return size(x), same(x)\n")
    (finding,) = predict([str(helper), str(net)], RULES, [tmp_path]).findings
    assert (finding.location.path, finding.location.line) == (str(helper), 2)


def test_a_file_that_is_gone_by_now_is_a_problem_and_the_rest_is_predicted(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(HEADER + "class Net(nn.Module):\n    def forward(self, x):\n        return x\n")
    prediction = predict([str(tmp_path / "gone.py"), str(path)], RULES)
    assert [problem.message for problem in prediction.problems] == ["could not read: No such file or directory"]
    assert [module.predicted.verdict for module in prediction.modules] == ["traces"]


class TestOptionsThatTheCodeGives:
    """Where a verdict is left to options of the constructor, it is decided by their defaults and what calls give."""

    LAYERS = """
    class Net(nn.Module):
        def __init__(self, width, padding=""):
            super().__init__()
            self.padding = padding

        def forward(self, x):
            return x[: len(x)] if self.padding == "same" else x  # maybe

    class Outer(nn.Module):
        def __init__(self, mode="", flag=False, **options):
            super().__init__()
            self.net = {made}

        def forward(self, x):
            return x
    """

    @pytest.mark.parametrize(
        "made",
        [
            "nn.Identity()",
            "Net(2)",
            "Net(4, '')",
            "Net(2, padding=mode)",
            "Net(2, **options)",
            "Net(2, 'valid')",
            "Net(2, padding='full' if flag else 'valid')",
            "Net(2, padding=mode), Outer(**read())",
            "nn.Conv2d(2, 2, 3, padding='same')",
        ],
    )
    def test_where_all_that_is_given_decides_alike(self, tmp_path, made):
        predicted = check(tmp_path, self.LAYERS.replace("{made}", made), "traces")
        assert predicted.depends_on == ('self.padding == "same"',)
        assert predicted.first is None

    @pytest.mark.parametrize(
        "made",
        [
            "Net(2, 'same')",
            "Net(2, padding='same' if flag else '')",
            "Net(2, padding=options.get('padding'))",
            "Net(2, **dict(options))",
            "Net(*options.values())",
            "Net(2, padding=read())",
            "make(Net, padding='same')",
            "make(Net, dict(padding='same'))",
            "Net(2, padding=mode), Outer('same')",
        ],
    )
    def test_where_a_call_gives_what_decides_otherwise_or_is_not_known(self, tmp_path, made):
        check(tmp_path, self.LAYERS.replace("{made}", made), "depends")

    @pytest.mark.parametrize(("given", "verdict"), [("", "fails"), (", check=None", "depends")])
    def test_a_default_that_fails(self, tmp_path, given, verdict):
        source = f"""
        def ask(x):
            return x.sum() > 0

        class Net(nn.Module):
            def __init__(self, width, check=ask):
                super().__init__()
                self.check = check

            def forward(self, x):
                if self.check is not None and self.check(x):  # maybe
                    x = -x
                return x

        net = Net(2{given})
        """
        check(tmp_path, source, verdict)

    @pytest.mark.parametrize(
        ("other", "verdict"),
        [
            ("from model import Net\nnet = Net(2, mode='same')", "depends"),
            ("from model import Net\nnet = Net(2)", "traces"),
            ("class Net: pass\nnet = Net(2, mode='same')", "traces"),
        ],
    )
    def test_calls_in_other_files(self, tmp_path, other, verdict):
        source = """
        class Net(nn.Module):
            def __init__(self, width, mode=""):
                super().__init__()
                self.mode = mode

            def forward(self, x):
                return x[: len(x)] if self.mode == "same" else x  # maybe
        """
        (tmp_path / "model.py").write_text(HEADER + textwrap.dedent(source))
        (tmp_path / "other.py").write_text(HEADER + other)
        paths = [str(tmp_path / name) for name in ("model.py", "other.py")]
        modules = predict(paths, RULES, [tmp_path]).modules
        assert [module.predicted.verdict for module in modules if module.root.path == paths[0]] == [verdict]

    def test_none_is_not_computed_with_where_calls_give_numbers(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, width, size=None, mode=""):
                super().__init__()
                self.size, self.mode = size, mode

            def forward(self, x):
                return x[: len(x)] if self.mode == "same" else x * int(self.size**0.5)  # maybe

        net = Net(2, 1024)
        """
        check(tmp_path, source, "traces")

    def test_a_new_module_is_in_training_mode(self, tmp_path):
        source = """
        def drop(x, training):
            return x[: len(x)] if training else x  # maybe

        class Net(nn.Module):
            def forward(self, x):
                return drop(x, self.training)
        """
        assert check(tmp_path, source, "fails").depends_on == ("training",)

    def test_a_flag_may_be_set_either_way(self, tmp_path):
        source = """
        class Net(nn.Module):
            def __init__(self, pool=False):
                super().__init__()
                self.pool = pool

            def forward(self, x):
                return x[: len(x)] if self.pool else x  # maybe

        net = Net()
        """
        check(tmp_path, source, "depends")

    def test_no_process_group_has_been_set_up(self, tmp_path):
        source = """
        import torch.distributed as dist

        def world_size():
            return dist.get_world_size() if dist.is_initialized() else 1

        class Net(nn.Module):
            def __init__(self, gather=False):
                super().__init__()
                self.gather = gather

            def forward(self, x):
                return x[: len(x)] if self.gather and world_size() > 1 else x  # maybe
        """
        check(tmp_path, source, "traces")


def test_a_layer_after_those_that_a_loop_puts_into_a_dictionary_is_not_run_before_them(tmp_path):
    source = """
    from collections import OrderedDict

    class Pair(nn.Module):
        def forward(self, x):
            x = torch.cat(x, dim=1) if isinstance(x, tuple) else x
            return x, x

    class Joined(nn.Module):
        def forward(self, x):
            return torch.cat(x, dim=1) if isinstance(x, tuple) else x

    class Net(nn.Module):
        def __init__(self, count):
            super().__init__()
            layers = OrderedDict(stem=Pair())
            for i in range(count):
                layers[f"pair_{i}"] = Pair()
            layers["last"] = Joined()
            self.layers = nn.Sequential(layers)

        def forward(self, x):
            return F.avg_pool2d(self.layers(x), kernel_size=2)
    """
    check(tmp_path, source, "traces")


class TestLayersInLists:
    """A list that is filled holds all layers that are put into it, under the condition that guards them."""

    SOURCE = """
    class Gate(nn.Module):
        def forward(self, x):
            return x if x.any() else -x  # {mark}

    class Net(nn.Module):
        def __init__(self, depth, gated, bottleneck):
            super().__init__()
            layers = [nn.Conv2d(3, 3, 1)]
            {fill}
            self.layers = nn.{kind}

        def forward(self, x):
            {run}
            return x
    """
    RUNS = (
        ("Sequential(*layers)", "x = self.layers(x)"),
        ("ModuleList(layers)", "for layer in self.layers: x = layer(x)"),
        ("ModuleList(layers)", "for i, layer in enumerate(self.layers): x = layer(x)"),
        ("ModuleList(layers)", "x = sum([layer(x) for layer in self.layers])"),
        ("Sequential(nn.ReLU(), *layers)", "x = self.layers(x)"),
    )

    @pytest.mark.parametrize(("kind", "run"), RUNS)
    @pytest.mark.parametrize(
        "fill",
        [
            "for _ in range(depth): layers += [nn.ReLU(), Gate()]",
            "for _ in range(depth): layers.append(nn.ReLU()); layers.append(Gate())",
            "for _ in range(depth): layers.append(nn.ReLU())\n            layers.append(Gate())",
            "for _ in range(depth): layers.append(nn.ReLU())\n            layers.extend([Gate(), nn.ReLU()])",
        ],
    )
    def test_those_that_are_there(self, tmp_path, kind, run, fill):
        check(tmp_path, self.SOURCE.format(mark="error", fill=fill, kind=kind, run=run), "fails")

    @pytest.mark.parametrize(("kind", "run"), RUNS)
    @pytest.mark.parametrize(
        ("fill", "condition"),
        [
            ("if gated: layers.append(Gate())", "gated"),
            ("if gated: layers.append(Gate())\n            layers.append(nn.ReLU())", "gated"),
            ("for i in range(depth):\n                if i % 2: layers.append(Gate())", "i % 2"),
        ],
    )
    def test_those_that_a_condition_guards(self, tmp_path, kind, run, fill, condition):
        source = self.SOURCE.format(mark="error", fill=fill, kind=kind, run=run)
        path = tmp_path / "model.py"
        path.write_text(HEADER + textwrap.dedent(source))
        net = next(m for m in predict([str(path)], RULES, [tmp_path]).modules if m.root.qualname == "Net")
        assert (net.predicted.verdict, net.predicted.depends_on) == ("depends", (condition,))


class TestAnArgumentThatRescuesACall:
    """``torch.tensor(n)`` needs a number, but with a traced device the call is one node."""

    def test_what_was_stored_under_a_traced_key_may_be_traced(self, tmp_path):
        body = """\
named = {}
named[x.dtype] = x
image = named['image']  # error
return torch.tensor(x.shape[0], device=image.device)"""
        check(tmp_path, forward(body), "fails")

    def test_one_that_is_no_proxy_does_not(self, tmp_path):
        body = "return torch.tensor(x.shape[0], device=self.where)  # error"
        check(tmp_path, forward(body, "self.where = 'cpu'"), "fails")


class TestWhatPythonItselfDecides:
    """Identity, keys, laziness and operators of the left operand: what never comes to ask a Proxy for its truth."""

    @pytest.mark.parametrize(
        "body",
        [
            "l = [x, x + 1]\nreturn x * l.index(x)",
            "l = [x, x + 1]\nl.remove(x)\nif len(l) != 1:\n    len(x)\nreturn l[0]",
            "return x if x in [x, x + 1] else len(x)",
            "return sorted([x, x + 1], key=lambda t: 0)[0]",
            "return max([x, x + 1], key=lambda t: 1)",
            "l = [x, x + 1]\nl.sort(key=id)\nreturn l[0]",
        ],
    )
    def test_what_is_found_by_identity_or_ordered_by_keys_is_not_compared(self, tmp_path, body):
        check(tmp_path, forward(body), "traces")

    @pytest.mark.parametrize(
        "body",
        [
            "l = [x, x + 1]\ny = l[1]\nreturn x * l.index(y)  # error",
            "l = [x, x + 1]\ny = l[1]\nl.remove(y)  # error\nreturn y",
            "y = x + 1\nreturn x if x in [y, x] else y  # error",
            "return x * [x, x + 1].count(x)  # error",
            "return sorted([x, x + 1], key=lambda t: t)[0]  # error",
        ],
    )
    def test_what_stands_before_it_is_compared(self, tmp_path, body):
        check(tmp_path, forward(body), "fails")

    def test_the_function_that_gives_keys_is_called(self, tmp_path):
        check(tmp_path, forward("seen = []\nsorted([x], key=lambda v: seen.append(v) or 0)\nreturn seen[0]"), "traces")

    def test_a_generator_that_nobody_asks_does_not_run(self, tmp_path):
        generator = "def parts(x):\n    yield len(x){}\n"
        check(tmp_path, forward("parts(x)\nreturn x", extra=generator.format("")), "traces")
        check(tmp_path, forward("list(parts(x))\nreturn x", extra=generator.format("  # error")), "fails")

    def test_a_list_extended_in_place_by_a_proxy_is_a_proxy(self, tmp_path):
        check(tmp_path, forward("l = [1]\nl += x\nreturn l"), "traces")

    def test_the_left_operand_compares(self, tmp_path):
        box = "class Box:\n    def __eq__(self, other):\n        return True\n"
        check(tmp_path, forward("if Box() == x:\n    return x\nlen(x)", extra=box), "traces")

    @pytest.mark.parametrize("default", [0, 1])
    def test_a_list_that_is_multiplied_by_nothing_is_empty(self, tmp_path, default):
        source = f"""
class Net(nn.Module):
    def __init__(self, n={default}):
        super().__init__()
        self.layers = [nn.Linear(1, 1)] * n

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)  # {"error" if default else "maybe"}
        return x
"""
        check(tmp_path, source, "fails" if default else "traces")


class TestOtherWaysOutOfTry:
    def test_the_error_of_the_tracer_is_caught_by_its_own_name(self, tmp_path):
        check(tmp_path, forward("try:\n    bool(x)\nexcept torch.fx.proxy.TraceError:\n    pass\nreturn x"), "traces")

    @pytest.mark.parametrize("leave", ["raise KeyError('k')", "return x"])
    def test_a_finally_that_leaves_forgets_what_was_raised(self, tmp_path, leave):
        body = f"try:\n    try:\n        len(x)\n    finally:\n        {leave}\nexcept KeyError:\n    return x"
        check(tmp_path, forward(body), "traces")

    def test_one_that_goes_on_does_not(self, tmp_path):
        check(tmp_path, forward("try:\n    len(x)  # error\nfinally:\n    x = x + 1\nreturn x"), "fails")


def test_what_happens_in_a_file_that_is_not_linted_is_told_at_every_call(tmp_path):
    sign = "def sign(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"
    body = "y = sign(x)  # error\nreturn y + sign(x)  # error"
    check(tmp_path, f"from helper import sign\n{forward(body)}", "fails", helper=sign)


class TestContainersThatOtherCodeChanges:
    """What code that is not interpreted gets hold of may hold anything from there on."""

    @pytest.mark.parametrize(
        "body",
        [
            "r = [1]\nheapq.heappush(r, (0, x.shape))\nif r[0][0]:\n    return len(x)\nreturn x",
            "r = []\nbisect.insort(r, 3)\nreturn x + r[0]",
            "r = {}\nexec('y = 1', r)\nreturn x + r['y']",
            "r = {}\nt = threading.Thread(target=r.__setitem__, args=('y', 1))\nt.start()\nreturn x + r['y']",
            "r = []\ndef work():\n    r.append(1)\npool.submit(work).result()\nreturn x + r[0]",
            "r = []\npool.submit(functools.partial(r.append, 1)).result()\nreturn x + r[0]",
        ],
    )
    def test_what_it_holds_is_no_reason_for_an_error(self, tmp_path, body):
        extra = "import bisect, functools, heapq, threading\nfrom concurrent import futures\npool = futures.Executor()"
        path = tmp_path / "model.py"
        path.write_text(HEADER + forward(body, extra=extra))
        findings = predict([str(path)], RULES, [tmp_path]).findings
        assert not [finding for finding in findings if finding.certainty == "always" and finding.severity == "error"]

    def test_a_layer_that_is_not_known_may_append(self, tmp_path):
        body = "r = []\nx = self.layer(x, r)\nreturn x + r[0]"
        check(tmp_path, forward(body, "self.layer = layer", extra="").replace("(self):", "(self, layer):"), "traces")

    def test_before_that_it_holds_what_was_put_there(self, tmp_path):
        body = "r = [x]\nif r[0].sum() > 0:  # error\n    pass\nself.layer(r)\nif r[0].sum() > 0:  # maybe\n    pass"
        check(tmp_path, forward(body, "self.layer = layer").replace("(self):", "(self, layer):"), "fails")

    def test_torch_leaves_lists_as_they_are(self, tmp_path):
        body = "r = [x, x]\ny = torch.cat(r)\nif r[0].sum() > 0:  # error\n    pass\nreturn y"
        check(tmp_path, forward(body), "fails")

    @pytest.mark.parametrize(
        "change", ["operator.setitem(r, 'y', x)", "dict.update(r, y=x)", "dict.__setitem__(r, 'y', x)"]
    )
    def test_functions_that_stand_for_methods_and_operators_do_what_these_do(self, tmp_path, change):
        body = f"r = {{}}\n{change}\nif r['y'].sum() > 0:  # error\n    pass"
        check(tmp_path, forward(body, extra="import operator"), "fails")

    def test_a_slice_of_a_list_is_assigned(self, tmp_path):
        body = "r = [1]\nr[0:0] = [x]\nif r[1] == 1:\n    return r[0]\nreturn len(x)"
        check(tmp_path, forward(body), "traces")

    def test_a_dictionary_with_an_answer_for_missing_keys(self, tmp_path):
        extra = "class Found(dict):\n    def __missing__(self, key):\n        return 3\n"
        check(tmp_path, forward("return x + Found()['b']", extra=extra), "traces")

    def test_a_global_that_forward_sets(self, tmp_path):
        body = "global DONE\nDONE = True\nif DONE:\n    return x\nreturn len(x)"
        check(tmp_path, forward(body, extra="DONE = False"), "traces")


class TestWhatFunctionsGivenAwayAssign:
    """A function that code which is not interpreted gets may have been called: what it assigns is not known then."""

    START = "t = threading.Thread(target=work)\nt.start()\nt.join()\nreturn x if {test} else len(x)"

    def certain(self, tmp_path, body, init="", extra=""):
        path = tmp_path / "model.py"
        path.write_text(HEADER + forward(body, init, extra="import contextlib, re, threading\n" + extra))
        prediction = predict([str(path)], RULES, [tmp_path])
        assert not prediction.problems
        return [
            finding for finding in prediction.findings if finding.certainty == "always" and finding.severity == "error"
        ]

    @pytest.mark.parametrize(
        ("define", "test"),
        [
            ("n = 0\ndef work():\n    nonlocal n\n    n = 2", "n == 2"),
            ("n = 0\ndef inner():\n    nonlocal n\n    n = 2\ndef work():\n    inner()", "n == 2"),
            ("def work():\n    global N\n    N = 2", "N == 2"),
            ("def work():\n    self.n = 2", "self.n == 2"),
            ("def work():\n    self.kept.append(1)", "self.kept"),
            ("def work():\n    setattr(self, 'n', 2)", "self.n == 2"),
            ("def work():\n    Count.n += 2", "Count.n == 2"),
            ("count = Count()\ncount.m = 0\nwork = count.work", "count.m == 2"),
            ("count = Count()\ncount.m = 0\nwork = lambda: count.work()", "count.m == 2"),
            ("count = Count()\ncount.m = 0\nwork = count", "count.m == 2"),
        ],
    )
    def test_it_is_no_reason_for_an_error(self, tmp_path, define, test):
        extra = "N = 0\nclass Count:\n    n = 0\n    def work(self):\n        self.m = 2\n    __call__ = work\n"
        init = "self.n = 0\nself.kept = []"
        assert not self.certain(tmp_path, f"{define}\n{self.START.format(test=test)}", init, extra)

    @pytest.mark.parametrize(
        "call",
        [
            "re.sub('a', lambda m: setattr(self, 'seen', 1) or '', 'a')",
            "torch.utils._pytree.tree_map(work, [1])",
            "with contextlib.ExitStack() as stack:\n    stack.callback(work)",
        ],
    )
    def test_whoever_calls_it(self, tmp_path, call):
        body = f"def work(v=None):\n    self.seen = 1\n{call}\nreturn x if self.seen else len(x)"
        assert not self.certain(tmp_path, body, "self.seen = None")

    @pytest.mark.parametrize(
        "use", ["f'{kept}'", "str(kept)", "{kept: 1}", "kept in [1, 2]", "f'{1:{kept.log.append(1) or 3}}'"]
    )
    def test_python_calls_special_methods_itself(self, tmp_path, use):
        work = "        self.log.append(1)\n        return {}\n"
        extra = "class Kept:\n    def __init__(self):\n        self.log = []\n"
        for name, result in (("format", "''"), ("str", "''"), ("hash", "1"), ("eq", "False")):
            extra += f"    def __{name}__(self, *other):\n{work.format(result)}"
        assert not self.certain(tmp_path, f"kept = Kept()\n{use}\nreturn x if kept.log else len(x)", extra=extra)

    @pytest.mark.parametrize("define", ["def work():\n    n = 2", "def work():\n    return self.n + self.m"])
    def test_what_it_does_not_assign_is_as_it_was(self, tmp_path, define):
        body = f"n = 0\n{define}\n{self.START.format(test='n == 2 or self.n == 2')}"
        assert self.certain(tmp_path, body, "self.n = 0\nself.m = 1")


class TestOtherWaysToAssign:
    """Globals and attributes that are set through dictionaries and methods."""

    @pytest.mark.parametrize(
        "change",
        [
            "globals()['FLAG'] = True",
            "globals().update(FLAG=True)",
            "globals().update({'FLAG': True})",
            "globals().__setitem__('FLAG', True)",
            "sys.modules[__name__].FLAG = True",
        ],
    )
    def test_of_a_global(self, tmp_path, change):
        extra = "import sys\nFLAG = False\ndef flag():\n    return FLAG"
        check(tmp_path, forward(f"{change}\nreturn x if FLAG and flag() else len(x)", extra=extra), "traces")

    @pytest.mark.parametrize(
        "change",
        [
            "a.__dict__['n'] = 2",
            "vars(a).update(n=2)",
            "kept = a.__dict__\nkept['n'] = 2",
            "object.__setattr__(a, 'n', 2)",
            "a.__setattr__('n', 2)",
            "Plain.__setattr__(a, 'n', 2)",
            "del a.n\na.n = 1 if hasattr(a, 'n') else 2",
            "delattr(a, 'n')\na.n = 1 if hasattr(a, 'n') else 2",
            "a.__dict__.pop('n')\na.n = 1 if hasattr(a, 'n') else 2",
            "self.__dict__['n'] = 2\na.n = self.n",
            "nn.Module.__setattr__(self, 'n', 2)\na.n = self.n",
        ],
    )
    def test_of_an_attribute(self, tmp_path, change):
        body = f"a = Plain()\na.n = 1\n{change}\nreturn x if a.n == 2 else len(x)"
        check(tmp_path, forward(body, "self.n = 1", extra="class Plain:\n    pass"), "traces")

    def test_in_one_branch_only(self, tmp_path):
        body = "a = Plain()\na.n = 1\nif self.wide:\n    a.__dict__['n'] = 2\n"
        body += "return x if a.n == 2 else len(x)  # maybe"
        source = forward(body, "self.wide = wide", extra="class Plain:\n    pass")
        check(tmp_path, source.replace("(self):", "(self, wide):"), "depends")

    def test_that_is_taken_away_again_where_it_was_set(self, tmp_path):
        init = "if wide:\n    self.kept = nn.Linear(4, 4)\n    self.lin = self.kept\n    del self.kept\n"
        init += "else:\n    self.lin = nn.Linear(4, 4)"
        check(tmp_path, forward("return self.lin(x)", init).replace("(self):", "(self, wide):"), "traces")

    def test_of_a_variable_of_the_function_around_every_time(self, tmp_path):
        body = "def work():\n    nonlocal n\n    n = True\nn = False\nwork()\nn = False\nwork()\n"
        check(tmp_path, forward(body + "return x if n else len(x)"), "traces")


class TestIterators:
    """An iterator has what it was not yet asked for; what other iterators may have asked it for is not known."""

    @pytest.mark.parametrize(
        "body",
        [
            "it = iter([1, 2, 3])\nnext(it)\nreturn x if list(it) == [2, 3] else len(x)",
            "kept = [1, 2]\nit = iter(kept)\nnext(it)\nreturn x if kept == [1, 2] else len(x)",
            "it = iter([1, 2, 3])\nfor a in it:\n    break\nreturn x if list(it) == [2, 3] else len(x)",
            "it, n = iter([1, 2, 3, 4]), 0\nfor a in it:\n    next(it)\n    n += 1\nreturn x if n == 2 else len(x)",
            "it = (a for a in range(3))\nlist(it)\nfor a in it:\n    len(x)\nreturn x",
            "it = zip([1], [2])\nfirst = [*it]\nreturn x if first and not list(it) else len(x)",
            "it, n = range(2), 0\nfor a in it:\n    n += 1\nfor a in it:\n    n += 1\nreturn x if n == 4 else len(x)",
            "count = Count()\nnext(count)\nreturn x if count.n == 1 else len(x)",
            "it = iter([self.lin, self.lin])\nfor lin in it:\n    x = lin(x)\nreturn x if not list(it) else len(x)",
        ],
    )
    def test_they_have_what_is_left(self, tmp_path, body):
        extra = "class Count:\n    n = 0\n    def __next__(self):\n        self.n += 1\n        return self.n"
        check(tmp_path, forward(body, "self.lin = nn.Linear(4, 4)", extra=extra), "traces")

    @pytest.mark.parametrize(
        "body",
        [
            "it = iter([1, 2, 3, 4])\nreturn x if list(zip(it, it)) == [(1, 2), (3, 4)] else len(x)  # maybe",
            "it = iter([1, 2, 3])\nnext(enumerate(it))\nreturn x if next(it) == 2 else len(x)  # maybe",
            "it = iter([1, 2, 3])\n2 in it\nreturn x if next(it) == 3 else len(x)  # maybe",
        ],
    )
    def test_what_others_may_have_asked_for(self, tmp_path, body):
        check(tmp_path, forward(body), "depends")


class TestFunctionsOfTheModuleOperator:
    @pytest.mark.parametrize(
        "body",
        [
            "return operator.add(x, 1)",
            "return operator.neg(operator.le(1, x))",
            "return operator.getitem(x, 0)",
            "if operator.is_(x, None):\n    return len(x)",
            "operator.not_(x)  # error",
            "operator.index(x)  # error",
            "operator.contains(x, 1)  # error",
            "if operator.gt(x.sum(), 0):  # error\n    pass",
        ],
    )
    def test_they_are_the_operators(self, tmp_path, body):
        check(tmp_path, forward(body, extra="import operator"), "fails" if "# error" in body else "traces")


class TestMethodsThatAreNotThereYet:
    def test_one_whose_absence_is_caught(self, tmp_path):
        body = "try:\n    return self.own(x)\nexcept NotImplementedError:\n    return x"
        check(tmp_path, forward(body) + "\n    def own(self, x):\n        raise NotImplementedError\n", "traces")


class TestBuffersThatAreNoneByDefault:
    """What register_buffer is given is a tensor or None, as the constructor's parameter is."""

    SOURCE = """
        class Net(nn.Module):
            def __init__(self, std=None):
                super().__init__()
                self.register_buffer("std", std)

            def forward(self, x):
                BODY
        """

    def test_a_traced_operand_takes_it(self, tmp_path):
        check(tmp_path, self.SOURCE.replace("BODY", "return x * self.std"), "traces")

    def test_a_condition_that_rules_it_out(self, tmp_path):
        check(tmp_path, self.SOURCE.replace("BODY", "return x if self.std is None else x / (self.std + 1)"), "traces")

    def test_what_a_condition_leads_to_where_one_is_given(self, tmp_path):
        body = "return x if self.std is None else x * int(x.sum())  # maybe"
        check(tmp_path, self.SOURCE.replace("BODY", body), "traces")

    def test_one_that_must_be_given(self, tmp_path):
        source = self.SOURCE.replace("std=None", "std").replace("BODY", "return x / (self.std + 1)")
        check(tmp_path, source, "traces")


class TestLayersThatCallsGiveInsteadOfNone:
    """What is None by default may be the layer, or the class of one, that the linted code gives."""

    SOURCE = """
    class Merge(nn.Module):
        def forward(self, x):
            return x[0] if x.ndim == 3 else x  # error

    class Block(nn.Module):
        def __init__(self, down=None):
            super().__init__()
            self.down = {down}

        def forward(self, x):
            x = -x
            return x if self.down is None else self.down(x)

    class Outer(nn.Module):
        def __init__(self, last):
            super().__init__()
            self.merge = Merge()
            {calls}

        def forward(self, x):
            return x
    """

    @pytest.mark.parametrize(
        ("down", "calls"),
        [
            ("down", "self.block = Block(down=Merge())"),
            ("down", "self.block = Block(self.merge)"),
            ("down", "self.block = Block(Merge() if last else None)"),
            ("None if down is None else down()", "self.block = Block(None if last else Merge)"),
            (
                "down() if down is not None else None",
                "self.blocks = [Block(**options) for options in [dict(down=Merge)]]",
            ),
            ("down() if down is not None else None", "self.block = Block(**{'down': Merge if last else None})"),
        ],
    )
    def test_they_are_looked_at(self, tmp_path, down, calls):
        check(tmp_path, self.SOURCE.format(down=down, calls=calls), "depends", name="Block")

    @pytest.mark.parametrize("calls", ["pass", "self.block = Block()", "self.block = Block(last)", "self.down = Merge"])
    def test_where_there_are_none(self, tmp_path, calls):
        source = self.SOURCE.format(down="down", calls=calls)
        (tmp_path / "model.py").write_text(HEADER + textwrap.dedent(source))
        modules = predict([str(tmp_path / "model.py")], RULES, [tmp_path]).modules
        assert next(m for m in modules if m.root.qualname == "Block").predicted.verdict == "traces"


class TestForwardHooks:
    """Those of a module that is no leaf run in its call, while tracing too."""

    CHILD = """
    class Child(nn.Module):
        def forward(self, x, y=None):
            return x + 1

    class Other(nn.Module):
        def forward(self, x):
            return x

    def fails(module, args, output=None):
        if args[0].sum() > 0:  # {0}
            return None

    def keeps(seen):
        def hook(module, args, output):
            seen["child"] = output
        return hook
    """

    def check(self, tmp_path, init, body, verdict, mark="", signature="(self):"):
        init = "self.child = Child()\nself.seen = {}\n" + init
        source = textwrap.dedent(self.CHILD.format(mark)) + forward(body, init).replace("(self):", signature)
        check(tmp_path, source, verdict)

    @pytest.mark.parametrize("kind", ["register_forward_pre_hook", "register_forward_hook"])
    def test_what_they_do_is_traced(self, tmp_path, kind):
        self.check(tmp_path, f"self.child.{kind}(fails)", "return self.child(x)", "fails", "error")

    @pytest.mark.parametrize(
        "init",
        [
            "self.child.register_forward_hook(lambda module, args, output: 3)",
            "self.child.register_forward_pre_hook(lambda module, args: 2)",
            "self.child.register_forward_pre_hook(lambda module, args: (2,))",
            "self.child.register_forward_pre_hook(lambda module, args, named: ((2,), {}), with_kwargs=True)",
            "self.child = nn.Sequential(Other())\nself.child[0].register_forward_hook(lambda module, args, output: 3)",
        ],
    )
    def test_what_they_return_takes_the_place(self, tmp_path, init):
        self.check(tmp_path, init, "if self.child(x) == 3:\n    return x\nreturn len(x)", "traces")

    def test_where_they_return_none_all_stays_as_it_is(self, tmp_path):
        body = "if self.child(x) == 3:  # error\n    pass"
        self.check(tmp_path, "self.child.register_forward_hook(keeps(self.seen))", body, "fails")

    def test_what_they_keep_is_there_afterwards(self, tmp_path):
        body = "self.child(x)\nif self.seen['child'].sum() > 0:  # error\n    pass"
        self.check(tmp_path, "self.child.register_forward_hook(keeps(self.seen))", body, "fails")

    def test_what_is_removed_runs_no_more(self, tmp_path):
        body = "handle = self.child.register_forward_hook(fails)\nhandle.remove()\nreturn self.child(x)"
        self.check(tmp_path, "", body, "traces")

    def test_another_object_of_the_class_has_none(self, tmp_path):
        init = "self.other = Child()\nself.child.register_forward_hook(fails)"
        self.check(tmp_path, init, "return self.other(x)", "traces")

    @pytest.mark.parametrize("init", ["self.own = nn.ReLU()", "self.own = self"])
    def test_those_of_leaves_and_of_the_root_do_not_run(self, tmp_path, init):
        init += "\nself.own.register_forward_hook(fails)"
        body = "return self.own(x)" if "ReLU" in init else "return x"
        self.check(tmp_path, init, body, "traces")

    def test_one_that_is_there_under_a_condition(self, tmp_path):
        init = "if debug:\n    self.child.register_forward_hook(fails)"
        self.check(tmp_path, init, "return self.child(x)", "depends", "maybe", "(self, debug):")

    def test_one_that_is_not_known_may_return_anything(self, tmp_path):
        body = "if self.child(x) == 3:  # maybe\n    pass"
        self.check(tmp_path, "self.child.register_forward_hook(hook)", body, "depends", signature="(self, hook):")


class TestTheModeThatIsSet:
    """``eval()`` and ``train()`` set the flag of a module and of all that it contains."""

    @pytest.mark.parametrize("way", ["self.eval()", "self.train(False)", "self.train(mode=0)"])
    def test_in_forward(self, tmp_path, way):
        check(tmp_path, forward(f"{way}\nif self.training:\n    return len(x)\nreturn x"), "traces")
        check(tmp_path, forward(f"{way}\nif not self.training:\n    len(x)  # error\nreturn x"), "fails")

    @pytest.mark.parametrize("init", ["self.child = Child()", "self.child = nn.Sequential(nn.ReLU(), Child())"])
    def test_of_what_it_contains(self, tmp_path, init):
        child = "class Child(nn.Module):\n    def forward(self, x):\n        return len(x) if self.training else x\n"
        check(tmp_path, forward("self.eval()\nreturn self.child(x)", init, extra=child), "traces")

    def test_in_the_constructor_it_is_the_mode_at_first(self, tmp_path):
        body = "if self.training:\n    return len(x)  # maybe\nreturn x"
        check(tmp_path, forward(body, "self.eval()"), "traces")

    @pytest.mark.parametrize(("debug", "verdict"), [("debug", "depends"), ("debug=False", "fails")])
    def test_under_a_condition(self, tmp_path, debug, verdict):
        source = forward("if self.training:\n    return len(x)  # maybe\nreturn x", "if debug:\n    self.eval()")
        check(tmp_path, source.replace("(self):", f"(self, {debug}):"), verdict)

    def test_what_is_given_is_not_known(self, tmp_path):
        body = "self.train(self.mode)\nif self.training:\n    return len(x)  # maybe\nreturn x"
        check(tmp_path, forward(body, "self.mode = mode").replace("(self):", "(self, mode):"), "depends")

    def test_one_of_two_that_are_built_alike(self, tmp_path):
        extra = """
        class Child(nn.Module):
            def forward(self, x):
                return x if self.training else len(x)  # maybe
        """
        init = "self.child = Child()\nself.other = Child()"
        check(tmp_path, forward("self.other.eval()\nreturn self.child(x)", init, extra=extra), "depends")


class TestListsThatAreSorted:
    @pytest.mark.parametrize(
        "change",
        [
            "r = [3, 1, 2]\nr.sort()",
            "r = [1, 3]\nr.sort(reverse=True)\nr.reverse()",
            "r = [3, 1]\nr.sort(key=lambda v: v)",
            "r = [2, 1]\nr.sort(key=lambda v: (0, -v), reverse=True)",
            "r = [2, 1]\nlist.sort(r)",
            "self.r.sort()\nr = self.r",
            "r = sorted([3, 1])",
        ],
    )
    def test_what_is_known_is_in_the_order_that_python_gives_it(self, tmp_path, change):
        body = f"{change}\nif r[0] != 1:\n    return len(x)\nreturn len(x)  # error"
        check(tmp_path, forward(body, "self.r = [3, 1]"), "fails")

    def test_elements_are_in_the_order_of_their_keys(self, tmp_path):
        body = "r = [(2, x), (1, None)]\nr.sort(key=lambda pair: pair[0])\nreturn x if r[0][1] is None else len(x)"
        check(tmp_path, forward(body), "traces")

    def test_the_order_of_what_is_not_known_is_not_known(self, tmp_path):
        body = "r = [3, torch.cuda.device_count()]\nr.sort()\nreturn x if r[0] == 1 else len(x)  # maybe"
        check(tmp_path, forward(body), "depends")


class TestMethodsThatChangeContainers:
    @pytest.mark.parametrize(
        "change",
        [
            "r = [1]\nr.__setitem__(0, 2)\nr.__iadd__([3])",
            "r = [1, 2, 3]\nr.__delitem__(0)",
            "r = [1, 2, 3]\ndel r[0]",
            "q = r = [2]\nq *= 2\nr[1] = 3",
            "r = [2]\nr[slice(1, None)] = [3]",
            "r = [0, 2, 3]\nr = operator.getitem(r, slice(1, 3))",
            "q = r = {}\nq |= {0: 2}\nr.__ior__({1: 3})",
            "r = {0: 2, 1: 4}\nr.popitem()\nr.setdefault(1, 3)",
            "r = collections.OrderedDict({1: 4, 0: 2})\nr.popitem(last=False)\nr.setdefault(1, 3)",
            "r = [1]\ncollections.deque.append(r, 2)\ndel r[0]\nr.append(3)",
            "r = Texts([2])\nlist.append(r, 3)",
            "r = Named()\nr[0] = 1\nr[1] = 2",
        ],
    )
    def test_do_what_python_does(self, tmp_path, change):
        extra = "import collections, operator\nclass Texts(list): pass\nclass Named(dict):\n"
        extra += "    def __setitem__(self, key, value): dict.__setitem__(self, key, value + 1)\n"
        body = f"{change}\nif r[0] != 2 or r[1] != 3:\n    return len(x)\nreturn len(x)  # error"
        check(tmp_path, forward(body, extra=extra), "fails")

    def test_an_entry_is_moved_to_the_end(self, tmp_path):
        body = "r = collections.OrderedDict(a=1, b=2, c=3)\nr.move_to_end('a')\nr.move_to_end('c', last=False)\n"
        body += "return x if list(r) == ['c', 'b', 'a'] else len(x)"
        check(tmp_path, forward(body, extra="import collections"), "traces")

    def test_what_is_taken_out_is_the_last_entry(self, tmp_path):
        check(tmp_path, forward("key, value = {'a': x}.popitem()\nreturn value if key == 'a' else len(x)"), "traces")

    @pytest.mark.parametrize("change", ["r.rotate(1)", "r.__reversed__()\nr.__init__([2])", "r.frobnicate()"])
    def test_after_one_that_is_not_followed_it_may_hold_anything(self, tmp_path, change):
        body = f"r = collections.deque([1, 2])\n{change}\nreturn x if r[0] == 2 else len(x)  # maybe"
        check(tmp_path, forward(body, extra="import collections"), "depends")

    def test_what_only_reads_it_leaves_it_as_it_is(self, tmp_path):
        body = "r = [1, 2]\nr.__repr__()\nr.__contains__(1)\nreturn x if r[0] == 1 else len(x)"
        check(tmp_path, forward(body), "traces")

    def test_methods_of_every_module_leave_a_list_of_layers_as_it_is(self, tmp_path):
        init = "self.layers = nn.ModuleList([nn.ReLU()])\nself.layers.half().to('cpu')"
        check(tmp_path, forward("x = self.layers[0](x)\nreturn len(x)  # error", init), "fails")


class TestSearchesInLists:
    @pytest.mark.parametrize(
        "body",
        [
            "return x * [1, x].index(1)",
            "r = [1, x]\nr.remove(1)\nreturn r[0] if len(r) == 1 else len(x)",
            "r = [None, x]\nlist.remove(r, None)\nreturn r[0] + 1",
            "return x if 1 in (0, 1, x) else len(x)",
            "return x if [2, 1, x].index(1) == 1 else len(x)",
            "r = [self.other, self.layer]\nr.remove(self.layer)\nreturn r[0](x) if len(r) == 1 else len(x)",
        ],
    )
    def test_stop_at_the_first_that_is_equal(self, tmp_path, body):
        check(tmp_path, forward(body, "self.layer = nn.Tanh()\nself.other = nn.ReLU()"), "traces")

    @pytest.mark.parametrize(
        "body",
        [
            "return x * [1, x].index(2)  # error",
            "return x * [1, x].count(1)  # error",
            "return x if 2 in [1, x] else x  # error",
            "return x * [torch.cuda.device_count(), x].index(2)  # maybe",
            "return x if 2 in [torch.cuda.device_count(), x] else x  # maybe",
        ],
    )
    def test_compare_what_stands_before_it(self, tmp_path, body):
        check(tmp_path, forward(body), "depends" if "maybe" in body else "fails")


class TestMethodsThatPythonCalls:
    @pytest.mark.parametrize(
        "body",
        [
            "with Told():\n    pass\nreturn x if told == [1, 2] else len(x)",
            "with Told(), Told():\n    told.append(0)\nreturn x if told == [1, 1, 0, 2, 2] else len(x)",
            "def run():\n    with Told():\n        return 5\nrun()\nreturn x if told == [1, 2] else len(x)",
            "copy.copy(Told())\ncopy.deepcopy(Told())\nreturn x if told == [3, 4] else len(x)",
            "functools.lru_cache(None)(lambda: told.append(5))()\nreturn x if told == [5] else len(x)",
            "functools.cache(lambda: told.append(5))()\nreturn x if told == [5] else len(x)",
        ],
    )
    def test_are_run(self, tmp_path, body):
        told = """
            told = []
            class Told:
                def __enter__(self): told.append(1)
                def __exit__(self, *what): told.append(2)
                def __copy__(self): told.append(3)
                def __deepcopy__(self, memo): told.append(4)
        """
        check(tmp_path, forward(textwrap.dedent(told) + body, extra="import copy, functools"), "traces")

    def test_what_the_function_that_a_module_applies_changes_is_not_known(self, tmp_path):
        body = "told = []\nself.apply(lambda module: told.append(module))\nreturn x if told else len(x)  # maybe"
        check(tmp_path, forward(body), "depends")


class TestMembersOfEnumerations:
    @pytest.mark.parametrize(
        "test",
        ["E.B.value == 2", "E['A'] is E.A", "E(1) is E.A", "E['A'] is not E.B", "F['B'].value == 'b'"],
    )
    def test_are_found_by_name_and_by_value(self, tmp_path, test):
        extra = "from enum import Enum, auto\nclass E(Enum):\n    A = auto()\n    B = auto()\n"
        extra += "class F(Enum):\n    A = 7\n    B = 'b'\n"
        check(tmp_path, forward(f"return x if {test} else len(x)", extra=extra), "traces")

    def test_automatic_values_after_others_are_not_known(self, tmp_path):
        extra = "from enum import Enum, auto\nclass E(Enum):\n    A = 7\n    B = auto()\n"
        check(tmp_path, forward("return x if E.B.value == 8 else len(x)  # maybe", extra=extra), "depends")
