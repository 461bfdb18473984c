"""Which functions are traced: those that the code hands to the tracer."""

import textwrap

import pytest

from fxlint.predict import predict
from fxlint.rules import load_rules

HEAD = "import torch\nfrom torch import fx\n\n\n"
BRANCH = "def pattern(x, y):\n    return x + y if x.sum() > 0 else y\n"


@pytest.fixture
def verdicts(tmp_path):
    def told(text: str) -> dict[str, str]:
        path = tmp_path / "passes.py"
        path.write_text(HEAD + textwrap.dedent(text), encoding="utf-8")
        modules = predict([str(path)], load_rules()).modules
        return {module.root.qualname: module.predicted.verdict for module in modules}

    return told


def test_pattern_and_replacement_are_roots(verdicts):
    assert verdicts(
        f"{BRANCH}\n\ndef replacement(x, y):\n    return torch.add(x, y)\n\n\n"
        "def rewrite(gm):\n    fx.replace_pattern(gm, pattern, replacement=replacement)\n"
    ) == {"pattern": "fails", "replacement": "traces"}


def test_so_are_those_that_are_defined_where_they_are_used(verdicts):
    body = textwrap.indent(BRANCH, "    ")
    text = f"def rewrite(gm):\n{body}\n    fx.replace_pattern(gm, pattern, torch.add)\n"
    assert verdicts(text) == {"rewrite.<locals>.pattern": "fails"}
    assert verdicts(f"class Pass:\n{textwrap.indent(text, '    ')}") == {"Pass.rewrite.<locals>.pattern": "fails"}


def test_a_stub_has_none(tmp_path):
    stub = tmp_path / "net.pyi"
    stub.write_text("from torch import nn\nclass Net(nn.Module):\n    def forward(self, x): ...\n")
    assert predict([str(stub)], load_rules()).modules == ()


def test_not_those_that_need_a_variable_of_the_function_around_them(verdicts):
    inner = "    def pattern(x):\n        return x * k\n"
    assert verdicts(f"def rewrite(gm, k):\n{inner}\n    fx.replace_pattern(gm, pattern, pattern)\n") == {}
