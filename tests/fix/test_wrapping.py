"""Where torch.fx.wrap has to stand, and of what."""

from pathlib import Path

import pytest
from suggested import net

NORMALIZE = "from math import sqrt\n\n\ndef normalize(x):\n    return x / sqrt(len(x))\n"
NET = "from torch import nn\n\nfrom helper import normalize\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n"


def test_a_builtin_in_the_file_that_calls_it(suggested):
    made = suggested(net("return x / len(x)"))
    (wrap,) = made.of("len.call", "wrap")
    assert wrap.wrap == "len"
    (edit,) = wrap.edits
    assert (Path(edit.location.path).name, edit.location.line) == ("net.py", 4)
    head = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
    assert made.edited(wrap).startswith(f'{head}import torch.fx\n\ntorch.fx.wrap("len")\n\n\nclass Net')


def test_torch_fx_is_imported_once(suggested):
    made = suggested("import torch.fx\n" + net("return x / len(x)"))
    (wrap,) = made.of("len.call", "wrap")
    assert made.edited(wrap).count("import torch.fx\n") == 1


def test_the_place_is_after_a_docstring_and_the_imports_in_a_try(suggested):
    head = '"""Nets."""\n\ntry:\n    import numpy\nexcept ImportError:\n    numpy = None\n\n'
    (wrap,) = suggested(head + net("return x / len(x)")).of("len.call", "wrap")
    assert wrap.edits[0].location.line == 11


class TestAHelperInAnotherFile:
    def test_what_the_stock_tracer_wraps_for_the_file_of_forward_only_is_wrapped_too(self, suggested):
        made = suggested(NET + "        return normalize(x)\n", helper=NORMALIZE)
        first, second = made.of("len.call", "wrap")
        assert first.wrap == "len, sqrt"
        assert 'torch.fx.wrap("len")\ntorch.fx.wrap("sqrt")\n' in made.edited(first, "helper.py")
        assert "line 2" in first.text
        assert (second.wrap, Path(second.edits[0].location.path).name) == ("normalize", "net.py")

    def test_in_the_file_of_forward_len_is_enough(self, suggested):
        made = suggested(NORMALIZE.replace("(x):", "(x):  # fxlint: trace"))
        assert [one.wrap for one in made.of("len.call", "wrap")] == ["len"]

    def test_the_helper_is_wrapped_in_the_file_that_calls_it_by_name(self, suggested):
        text = NET.replace("normalize", "normalize as norm") + "        return norm(x)\n"
        wraps = suggested(text, helper=NORMALIZE).of("len.call", "wrap")
        assert [(one.wrap, Path(one.edits[0].location.path).name) for one in wraps] == [
            ("len, sqrt", "helper.py"),
            ("norm", "net.py"),
        ]

    def test_a_dotted_name_cannot_be_wrapped(self, suggested):
        text = NET.replace("from helper import normalize", "import helper") + "        return helper.normalize(x)\n"
        assert [one.wrap for one in suggested(text, helper=NORMALIZE).of("len.call", "wrap")] == ["len, sqrt"]


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("import numpy as np\n", "return np.quantile(x.numpy(), 0.5)"),
        ("", "return self.scale(x)"),
    ],
)
def test_neither_a_dotted_name_nor_a_method_is_wrapped(suggested, head, body):
    method = "\n    def scale(self, x):\n        return x[: int(x.size(0) * 0.5)]\n"
    made = suggested(head + net(body) + method)
    said = [one for finding in made.prediction.findings for one in finding.suggestions]
    assert said
    assert not any(one.kind == "wrap" for one in said)


def test_a_numpy_function_imported_by_name(suggested):
    made = suggested("from numpy import quantile\n" + net("return quantile(x.numpy(), 0.5)"))
    assert [one.wrap for one in made.of("call.numpy", "wrap")] == ["quantile"]


def test_a_scripted_function_is_not_wrapped_but_moved_into_one_that_is(suggested):
    script = "\n\n@torch.jit.script\ndef bump(x: torch.Tensor):\n    return x * 2\n"
    made = suggested("import torch\n" + script + net("return bump(x)"))
    assert made.of("call.foreign", "wrap") == []
    assert "@torch.fx.wrap\ndef compute_bump(x):\n    return bump(x)\n" in made.rewrites("call.foreign")[0]


def test_a_class_such_as_int_is_not_wrapped_for_files_ask_isinstance_of_it(suggested):
    assert suggested(net("return x[: int(x.size(0) * 0.5)]")).of("int.call", "wrap") == []


@pytest.mark.parametrize(("made", "wraps"), [("[]", False), ("{}", False), ("torch.empty_like(x)", True)])
def test_a_helper_that_fills_a_container_of_its_caller_is_not_wrapped(suggested, made, wraps):
    helper = "def fill(x, out):\n    for i in range(x.shape[0]):\n        out[i] = x[i]\n\n\n"
    text = net(f"out = {made}\nfill(x, out)\nreturn out").replace("class Net", f"{helper}class Net")
    assert bool(suggested(text).of("index.range", "wrap")) == wraps
