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
        "y = nn.init.zeros_(torch.empty(3)); return x * y",
        "d = {}; d['x'] = x; d['n'] = 0; d['n'] += 1; return d['x']",
        "t = torch.ones(3); t[0] = 2; t.requires_grad = False; return x * t",
        "return x.float() if getattr(x, 'dtype', None) is not None else x",
        "return x if 3 in {1, 2} else x * 2",
        "torch.add(x, 1); return x",
        "a, b = (x * 2).chunk(2); a += 1; return a + b",
    ],
    ids=[
        "list_of_its_own",
        "computed_value_is_none",
        "fresh_constant",
        "constant_by_nature",
        "result_used",
        "constant_initialisation",
        "dictionary_of_its_own",
        "constant_changed_before_its_use",
        "attribute_of_every_tensor",
        "constant_looked_up",
        "result_that_is_not_needed",
        "half_of_nothing_else",
    ],
)
def test_what_is_right_has_no_warning(warnings, line):
    assert warnings(f"def forward(self, x):\n    {line}\n") == []


def test_an_input_whose_default_is_no_none_is_not_none(warnings):
    body = "    return x if y is None else x + y\n"
    assert warnings(f"def forward(self, x, y=1):\n{body}") == []
    assert warnings(f"def forward(self, x, y=None):\n{body}") == ["silent.none"]


class TestState:
    """What forward does to the module without a traced value matters where later calls would go on from it."""

    @pytest.mark.parametrize(
        "line",
        [
            "if 3 not in self.known: self.known[3] = torch.arange(3)",
            "if self.made is None: self.made = torch.arange(3)",
            "self.mode = 'a'",
            "self.made = None",
            "self.act.requires_grad_(False)",
            "self.table = self.table.to(torch.float64).contiguous()",
        ],
        ids=["kept_for_later", "made_once", "the_same_again", "forgotten", "parameters", "converted"],
    )
    def test_not_what_every_call_does_alike(self, warnings, line):
        assert "silent.state" not in warnings(self.module(line))

    @pytest.mark.parametrize(
        "line",
        [
            "self.steps = self.steps + 1",
            "self.mode = 'b'",
            "self.calls.append(1)",
            "self.known['n'] += 1",
            "self.table[0] = 1",
            "self.table.data = self.table * 2",
            "self.act.eval()",
        ],
    )
    def test_what_later_calls_go_on_from(self, warnings, line):
        assert "silent.state" in warnings(self.module(line))

    def test_a_global_counter(self, warnings):
        assert warnings("def forward(self, x):\n    global HEAD\n    HEAD += 1\n    return x\n") == ["silent.state"]

    @staticmethod
    def module(line: str) -> str:
        return textwrap.dedent(
            f"""
            def __init__(self):
                super().__init__()
                self.known, self.calls, self.made, self.mode, self.steps = {{"n": 0}}, [], None, "a", 0
                self.act = nn.ReLU()
                self.register_buffer("table", torch.zeros(3))

            def forward(self, x):
                {line}
                return x
            """
        )


@pytest.mark.parametrize(
    ("body", "event"),
    [
        ("with torch.random.fork_rng():\n        return x + torch.rand_like(x)", "silent.context"),
        ("torch.manual_seed(0)\n    return x + torch.rand_like(x)", "silent.context"),
        ("return x + torch.empty(3).uniform_(0, 1)", "silent.random"),
        ("return x + nn.init.normal_(torch.empty(3))", "silent.random"),
        ("return x * 2 if type(x) in {torch.Tensor} else x", "silent.isinstance"),
        ("return x * 2 if x.dtype in {torch.float32} else x", "silent.key"),
        ("return {repr(x.shape): x}", "silent.text"),
    ],
)
def test_other_spellings_of_a_mistake(warnings, body, event):
    assert warnings(f"def forward(self, x):\n    {body}\n") == [event]


def test_what_a_context_suppresses_is_no_failure(warnings):
    head = "def forward(self, x):\n    from contextlib import suppress\n    "
    body = head + "with suppress({}):\n        x = x * int(x.shape[0])\n    return x\n"
    assert warnings(body.format("KeyError, TypeError")) == ["silent.swallowed"]
    assert warnings(body.format("KeyError")) == []  # it fails


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
