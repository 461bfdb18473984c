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


def test_an_input_whose_default_is_no_none_is_not_none(warnings):
    body = "    return x if y is None else x + y\n"
    assert warnings(f"def forward(self, x, y=1):\n{body}") == []
    assert warnings(f"def forward(self, x, y=None):\n{body}") == ["silent.none"]


def test_a_handler_that_raises_again_swallows_nothing(warnings):
    body = "def forward(self, x):\n    try:\n        n = int(x.size(0))\n    except Exception:\n        "
    assert warnings(f"{body}n = 1\n    return x * n\n") == ["silent.swallowed"]
    assert warnings(f"{body}self.n = 1\n        raise\n    return x * n\n") == []


def test_what_fails_for_certain_has_no_graph_that_could_be_wrong(warnings):
    body = "def forward(self, x, y=None):\n    if y is None:\n        y = x\n"
    assert warnings(f"{body}    return range(x.shape[0])\n") == []
    assert warnings(f"{body}    return x + y\n") == ["silent.none"]


def test_a_constructor_of_another_kind_is_no_method_that_gets_lost(warnings):
    body = "def forward(self, x):\n    return x\n\n@classmethod\ndef made(cls):\n    return cls()\n"
    assert warnings(body) == []
    assert warnings(body.replace("@classmethod\n", "").replace("cls", "self")) == ["silent.method"]


class TestSharedMemory:
    """An augmented assignment to a tensor matters where somebody else holds the tensor."""

    @pytest.mark.parametrize(
        "body",
        [
            "y = x.relu(); y += 1; return y",
            "y = x.relu(); z = y; z += 1; return z",
            "y = x.relu(); z = y; y = y * 2; z += 1; y = 0; return z",
            "y = x.relu()[0]; y += 1; return y",
            "n = x.shape[0]; n += 1; return x * n",
            "n = x.size(0); m = n; n += 1; return x * n * m",
            "y = x * 2; row = y[0] * 1; row += 1; return y + row",
        ],
    )
    def test_not_to_a_result_that_nobody_else_reads(self, warnings, body):
        assert warnings(f"def forward(self, x):\n    {body}\n") == []

    @pytest.mark.parametrize(
        "body",
        [
            "x += 1; return x",
            "y = x.view(-1); y += 1; return y",
            "y = x.relu(); z = y.flatten(); z += 1; return y",
            "y = x.relu(); both = [y]; y += 1; return both[0]",
            "y = x.relu(); z = y; y *= 2; z += 1; return z",
        ],
    )
    def test_to_an_input_and_to_what_is_read_again(self, warnings, body):
        assert warnings(f"def forward(self, x):\n    {body}\n") == ["silent.alias"]

    def test_a_number_among_the_inputs_is_no_tensor(self, warnings):
        assert warnings("def forward(self, x, n: int = 1):\n    n += 1\n    return x * n\n") == []


class TestBuffers:
    HOLDING = "def __init__(self):\n    super().__init__()\n    self.register_buffer('mean', torch.zeros(3))\n\n"

    @pytest.mark.parametrize(
        ("line", "event"),
        [
            ("return x - self.mean", None),
            ("return x * self.mean.shape[0]", None),
            ("self.mean.to(x.device); return x", None),
            ("return x - self.mean[None]", "silent.computed"),
            ("return x - (self.mean + 1)", "silent.computed"),
            ("return x - torch.sqrt(self.mean)", "silent.computed"),
            ("return x if self.mean.sum() > 0 else -x", "silent.buffer"),
            ("return x * self.mean.sum().item()", "silent.buffer"),
            ("return [x * m for m in self.mean]", "silent.buffer"),
        ],
    )
    def test_what_the_graph_does_not_read_again(self, warnings, line, event):
        told = warnings(f"{self.HOLDING}def forward(self, x):\n    {line}\n")
        assert (event in told) if event else (told == [])
