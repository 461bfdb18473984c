"""Where the rules FX2xx have nothing to tell. What they tell is in the examples of the rules."""

import textwrap

import pytest

from fxlint.predict import predict
from fxlint.rules import load_rules

HEAD = "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"


@pytest.fixture
def warnings(tmp_path):
    def told(body: str) -> list[str]:
        path = tmp_path / "net.py"
        path.write_text(HEAD + textwrap.indent(textwrap.dedent(body), "    "), encoding="utf-8")
        return [one.event for one in predict([str(path)], load_rules()).findings if one.severity == "warning"]

    return told


@pytest.mark.parametrize(
    "line",
    [
        "seen = []; seen.append(x); return seen[0]",
        "return x if x.relu() is None else x * 2",
        "return torch.empty(3).fill_(2) * x",
        "return x * torch.ones(3)",
        "x = x.add_(1); return x",
    ],
    ids=["list_of_its_own", "computed_value_is_none", "fresh_constant", "constant_by_nature", "result_used"],
)
def test_what_is_right_has_no_warning(warnings, line):
    assert warnings(f"def forward(self, x):\n    {line}\n") == []


def test_what_fails_for_certain_has_no_graph_that_could_be_wrong(warnings):
    body = "def forward(self, x, y=None):\n    if y is None:\n        y = x\n"
    assert warnings(f"{body}    return range(x.shape[0])\n") == []
    assert warnings(f"{body}    return x + y\n") == ["silent.none"]


def test_a_constructor_of_another_kind_is_no_method_that_gets_lost(warnings):
    body = "def forward(self, x):\n    return x\n\n@classmethod\ndef made(cls):\n    return cls()\n"
    assert warnings(body) == []
    assert warnings(body.replace("@classmethod\n", "").replace("cls", "self")) == ["silent.method"]
