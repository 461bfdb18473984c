"""Instances that nobody declared: one package, in which each class is found in its own way."""

import sys
import textwrap

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

from fxlint.confirm import ConfirmSettings, confirm  # noqa: E402
from fxlint.predict import predict  # noqa: E402
from fxlint.rules import load_rules  # noqa: E402

HEADER = "import torch\nfrom torch import nn\n\n"
LAYERS = """
class Plain(nn.Module):
    def forward(self, x):
        return x

class Block(nn.Module):
    def __init__(self, key):
        super().__init__()
        self.layer = {"secret": nn.ReLU}[key]()

    def forward(self, x):
        return self.layer(x)

class Base(nn.Module):
    def __init__(self, key):
        super().__init__()
        assert key == "secret", key

    def forward(self, x):
        return x + 1

class Derived(Base):
    def __init__(self):
        super().__init__("secret")

class Head(nn.Module):
    def __init__(self, *layout):
        super().__init__()
        assert layout == (3, "five"), layout

    def forward(self, x):
        return x
"""
MODELS = """
import dataclasses
from .layers import Block

class Net(nn.Module):
    def __init__(self, key):
        super().__init__()
        self.blocks = nn.Sequential(Block(key), Block(key))

    def forward(self, x):
        return self.blocks(x)

def net(pretrained=True):
    if pretrained:
        torch.hub.load_state_dict_from_url("https://example.org/net.pt")
    return Net("secret")

class Attention(nn.Module):
    def __init__(self, dim: int, num_heads: int, norm_layer):
        super().__init__()
        if dim % num_heads:
            raise ValueError("dim must be divisible by num_heads")
        self.norm = norm_layer(dim)

    def forward(self, x):
        return self.norm(x)

@dataclasses.dataclass
class Config:
    width: int = 8

class Configured(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.layer = nn.Linear(config.width, config.width)

    def forward(self, x):
        return self.layer(x)

class Whitened(nn.Module):
    def __init__(self, transformation_matrix, mean_vector):
        super().__init__()
        if transformation_matrix.size(0) != transformation_matrix.size(1):
            raise ValueError("transformation_matrix should be square")
        if mean_vector.size(0) != transformation_matrix.size(0):
            raise ValueError("mean_vector should have the same length as a side of the transformation_matrix")

    def forward(self, x):
        return x

class Stern(nn.Module):
    def __init__(self, password):
        super().__init__()
        raise PermissionError("nobody may")

    def forward(self, x):
        return x

class Flagged(nn.Module):
    def __init__(self, flag=False):
        super().__init__()
        self.flag = flag

    def forward(self, x):
        if self.flag:
            return x / len(x)
        return x
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What confirm made of the package, without any settings of the user's."""
    folder = tmp_path_factory.mktemp("project")
    files = {
        "pkg/__init__.py": "",
        "pkg/layers.py": HEADER + LAYERS,
        "pkg/models.py": HEADER + MODELS,
        "tests/test_layers.py": "from pkg.layers import Head\n\ndef test_head():\n    assert Head(3, 'five')\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    rules = load_rules()
    prediction = predict([str(folder / name) for name in files if name.startswith("pkg/")], rules, (folder,))
    return confirm(prediction, rules, ConfirmSettings(python=sys.executable, jobs=1, roots=(str(folder),)))


def confirmed(outcome, qualname):
    return next(module.confirmed for module in outcome.modules if module.root.qualname == qualname)


@pytest.mark.parametrize(
    ("qualname", "instance"),
    [
        ("Plain", "Plain()"),
        ("Net", "net(pretrained=False)"),  # a builder of the project, and it downloads nothing
        ("Block", "pkg.models.net(pretrained=False).get_submodule('blocks.0')"),  # a part of what was built elsewhere
        ("Head", "Head(3, 'five')"),  # as a test beside the package makes it
        ("Base", "Derived()"),  # a subclass that has its forward from it
        ("Attention", "Attention(dim=32, num_heads=4, norm_layer=torch.nn.BatchNorm2d)"),  # numbers that divide
        ("Whitened", "Whitened(transformation_matrix=torch.eye(3), mean_vector=torch.ones(3))"),  # shapes that fit
        ("Configured", "Configured(config=Config())"),  # the annotation says what builds from its defaults
    ],
)
def test_the_way_to_an_instance(outcome, qualname, instance):
    found = confirmed(outcome, qualname)
    assert found.verdict == "traces", found.reason
    assert found.instance == instance


def test_where_none_is_found_the_reason_is_told(outcome):
    found = confirmed(outcome, "Stern")
    assert found.verdict == "not-run"
    assert "PermissionError: nobody may" in found.reason


def test_a_finding_that_depends_on_the_configuration_is_met_in_the_configuration_that_has_it(outcome):
    (finding,) = outcome.findings
    assert (finding.event, finding.certainty, finding.confirmation.status) == ("len.call", "conditional", "confirmed")


@pytest.mark.parametrize("rest", ["net = Net(3)", "for net in range(3):\n    Net(net + 1)"])
def test_a_file_may_give_its_own_name_to_something_else(project, rest):
    """``net.Net(3)`` is what the search has found; in the file itself ``net`` is no module."""
    made = "class Net(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n\n"
    path = project.write("net.py", f"{made}    def forward(self, x):\n        return x\n\n{rest}\n")
    project.root(path)
    confirmed = project.confirm().modules["Net"]
    assert confirmed.verdict == "traces", confirmed.reason
