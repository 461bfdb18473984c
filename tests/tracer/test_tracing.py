"""The tracer as the project has it, in the process that has its torch."""

import pytest

torch = pytest.importorskip("torch")

from fxlint.tracer.tracing import STOCK, Tracing, told  # noqa: E402

pytestmark = pytest.mark.torch

NOTHING = {
    "leaf_modules": [],
    "autowrap_functions": [],
    "autowrap_modules": [],
    "param_shapes_constant": False,
    "tracer_class": None,
    "optional": [],
}
BRANCH = """
class Inner(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x

def choose(x):
    return x if x.sum() > 0 else -x

LEAVES = {Inner}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)

class Calls(nn.Module):
    def forward(self, x):
        return choose(x)

class Shape(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.weight if self.weight.shape[0] == 4 else x

class Flag(nn.Module):
    def forward(self, x, flag=False, scale=None):
        if flag:
            x = x * 2
        return x if scale is None else x * scale

class MyTracer(torch.fx.Tracer):
    def __init__(self):
        super().__init__(param_shapes_constant=True)

    def is_leaf_module(self, m, name):
        return isinstance(m, Inner)
"""


@pytest.fixture
def code(source):
    return source(BRANCH)


def verdict(code, name, tracing):
    done = tracing.trace(getattr(code.module, name)(), code.user())
    return "traces" if done.error is None else "fails"


def settings(code, **said):
    """The tracing for these settings; ``here`` in a name is the module of the code."""
    named = {
        key: [name.replace("here", code.module.__name__) for name in value] if isinstance(value, list) else value
        for key, value in said.items()
    }
    return told({**NOTHING, **named}, False)


@pytest.mark.parametrize("name", ["here:Inner", "here:LEAVES", "here"])
def test_leaf_modules_by_name_by_registry_and_by_module(code, name):
    tracing, problems = settings(code, leaf_modules=[name])
    assert problems == []
    assert (verdict(code, "Net", STOCK), verdict(code, "Net", tracing)) == ("fails", "traces")


@pytest.mark.parametrize("said", [{"autowrap_functions": ["here:choose"]}, {"autowrap_modules": ["here"]}])
def test_what_is_autowrapped_is_one_node(code, said):
    tracing, problems = settings(code, **said)
    assert problems == []
    assert (verdict(code, "Calls", STOCK), verdict(code, "Calls", tracing)) == ("fails", "traces")


def test_math_stays_autowrapped_beside_other_modules(code):
    tracing, _ = settings(code, autowrap_modules=["here"])
    assert "math" in [module.__name__ for module in tracing.arguments["autowrap_modules"]]


def test_constant_shapes_of_parameters(code):
    tracing, _ = settings(code, param_shapes_constant=True)
    assert (verdict(code, "Shape", STOCK), verdict(code, "Shape", tracing)) == ("fails", "traces")


def test_leaves_that_prediction_cannot_know_are_told(code):
    name = f"{code.module.__name__}:MyTracer"
    told = f"{name} has leaf modules of its own, which prediction knows from leaf-modules only"
    assert settings(code, tracer_class=name)[1] == [told]
    assert settings(code, tracer_class=name, leaf_modules=["here:Inner"])[1] == []
    assert settings(code)[1] == []


def test_a_tracer_class_of_the_project_with_a_leaf_on_top(code):
    tracing, _ = settings(code, tracer_class=f"{code.module.__name__}:MyTracer")
    assert [verdict(code, name, tracing) for name in ("Net", "Shape", "Calls")] == ["traces", "traces", "fails"]
    more = tracing.with_leaf(torch.nn.ReLU)
    assert [verdict(code, name, more) for name in ("Net", "Shape")] == ["traces", "traces"]


def test_what_cannot_be_used_is_told_unless_it_is_optional(code):
    names = ["here:Gone", "nowhere:Net", "here:MyTracer"]
    _, problems = settings(code, leaf_modules=names)
    assert [problem.partition(":")[2].partition("'")[0] for problem in problems] == ["Gone", "Net", "MyTracer"]
    assert settings(code, leaf_modules=["nowhere:Net"], optional=["nowhere:Net"])[1] == []


def test_bound_arguments_and_those_of_the_class_before_their_defaults(code):
    assert verdict(code, "Flag", STOCK) == "fails"
    tracing = Tracing(bind_defaults=True)
    assert verdict(code, "Flag", tracing) == "traces"
    flag = code.module.Flag()
    assert tracing.bound(flag) == {"flag": False, "scale": None}
    assert tracing.with_concrete_args({"flag": True}).bound(flag) == {"flag": True, "scale": None}
    assert STOCK.bound(flag) is None


def test_the_recording_goes_by_the_project_s_tracer(code):
    def families(name, tracing):
        recording, _ = code.record(f"{name}()", tracing=tracing)
        return [event.family for event in recording.events]

    mine, _ = settings(code, tracer_class=f"{code.module.__name__}:MyTracer")
    leaves, _ = settings(code, leaf_modules=["here:Inner"])
    assert families("Net", STOCK) == ["bool"]
    assert [families("Net", tracing) for tracing in (mine, leaves)] == [[], []]
    assert families("Flag", Tracing(bind_defaults=True)) == []
