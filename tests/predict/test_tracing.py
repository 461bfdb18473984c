"""The tracer as the project has it: its leaf modules, what it autowraps, and the arguments that are bound."""

import textwrap

import pytest

from fxlint.predict import predict
from fxlint.rules import load_rules
from fxlint.tracing import PRESETS, TracerSettings, Tracing

HEADER = "import torch\nfrom torch import nn\nfrom torch.fx import PH\n"
BRANCH = """
    class Inner(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x)
"""
REGISTRY = """
leaves = set()

def leaf(cls):
    leaves.add(cls)
    return cls
"""
HELPER = """
    def choose(x):
        return x if x.sum() > 0 else -x
"""
CALLS_HELPER = """
    class Net(nn.Module):
        def forward(self, x):
            return {}(x)
"""
FLAG = """
    class Net(nn.Module):
        def forward(self, x, flag=False, scale=None):
            if flag:
                x = x * 2
            return x if scale is None else x * scale
"""


@pytest.fixture
def verdict(tmp_path):
    def of(source, tracing, name="Net", **others):
        for module, code in others.items():
            path = tmp_path / f"{module.replace('_package', '/__init__')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(HEADER + textwrap.dedent(code))
        path = tmp_path / "model.py"
        path.write_text(HEADER + textwrap.dedent(source))
        if isinstance(tracing, TracerSettings):
            tracing = Tracing(tracing)
        prediction = predict([str(path)], load_rules(), [tmp_path], tracing=tracing)
        assert not prediction.problems
        return next(m.predicted.verdict for m in prediction.modules if m.root.qualname == name)

    return of


class TestLeafModules:
    def test_a_named_class_is_not_entered(self, verdict):
        assert verdict(BRANCH, TracerSettings()) == "fails"
        assert verdict(BRANCH, TracerSettings(leaf_modules=("model:Inner",))) == "traces"

    def test_the_root_is_never_a_leaf(self, verdict):
        assert verdict(BRANCH, TracerSettings(leaf_modules=("model:Inner",)), "Inner") == "fails"

    def test_subclasses_of_a_named_class_are_leaves_too(self, verdict):
        source = (
            BRANCH.replace("self.inner = Inner()", "self.inner = Own()")
            + """
    class Own(Inner):
        pass
        """
        )
        assert verdict(source, TracerSettings(leaf_modules=("model:Inner",))) == "traces"

    def test_a_module_stands_for_all_classes_that_it_holds(self, verdict):
        parts = {"lib_package": "from ops import Inner\n", "ops": BRANCH}
        source = BRANCH.replace("class Inner(nn.Module):", "class Other(nn.Module):")
        source = "from ops import Inner\n" + textwrap.dedent(source)
        assert verdict(source, TracerSettings(leaf_modules=("lib",)), **parts) == "traces"
        assert verdict(source, TracerSettings(leaf_modules=("elsewhere",)), **parts) == "fails"

    @pytest.mark.parametrize("how", ["decorator", "call", "display"])
    def test_a_registry_stands_for_what_is_registered(self, verdict, how):
        registry = REGISTRY
        source = "from registry import leaf\n" + textwrap.dedent(BRANCH)
        if how == "decorator":
            source = source.replace("class Inner", "@leaf\nclass Inner")
        elif how == "call":
            source += "\nleaf(Inner)\n"
        else:
            registry = "from model import Inner\nleaves = {Inner}\ndef leaf(cls):\n    pass\n"
        told = TracerSettings(leaf_modules=("registry:leaves",))
        assert verdict(source, told, registry=registry) == "traces"

    def test_what_another_decorator_marks_is_no_leaf(self, verdict):
        registry = REGISTRY + "\ndef mark(cls):\n    return cls\n"
        source = "from registry import mark\n" + textwrap.dedent(BRANCH).replace("class Inner", "@mark\nclass Inner")
        assert verdict(source, TracerSettings(leaf_modules=("registry:leaves",)), registry=registry) == "fails"

    def test_a_name_that_is_nowhere_changes_nothing(self, verdict):
        assert verdict(BRANCH, TracerSettings(leaf_modules=("nowhere:Inner", "model:Gone"))) == "fails"


class TestAutowrap:
    def test_a_named_function_is_one_node(self, verdict):
        source = textwrap.dedent(HELPER) + textwrap.dedent(CALLS_HELPER).format("choose")
        assert verdict(source, TracerSettings()) == "fails"
        assert verdict(source, TracerSettings(autowrap_functions=("model:choose",))) == "traces"

    def test_a_call_in_a_module_without_a_forward_is_not_patched(self, verdict):
        helper = textwrap.dedent(HELPER) + "\ndef around(x):\n    return choose(x)\n"
        source = "from helper import around\n" + textwrap.dedent(CALLS_HELPER).format("around")
        assert verdict(source, TracerSettings(autowrap_functions=("helper:choose",)), helper=helper) == "fails"
        assert verdict(source, TracerSettings(autowrap_functions=("helper:around",)), helper=helper) == "traces"

    def test_functions_of_a_named_module_are_wrapped_wherever_the_module_is_asked_for_them(self, verdict):
        source = "import helper\n" + textwrap.dedent(CALLS_HELPER).format("helper.choose")
        assert verdict(source, TracerSettings(autowrap_functions=("helper:choose",)), helper=HELPER) == "fails"
        assert verdict(source, TracerSettings(autowrap_modules=("helper",)), helper=HELPER) == "traces"


class TestConstantShapesOfParameters:
    SOURCE = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(4))

            def forward(self, x):
                if {}:
                    return x * self.weight
                return x
    """

    @pytest.mark.parametrize("condition", ["self.weight.shape[0] == 4", "self.weight.dim() > 1", "self.weight.ndim"])
    def test_a_condition_on_them_is_none_of_the_tracer_s_business(self, verdict, condition):
        source = self.SOURCE.format(condition)
        assert verdict(source, TracerSettings()) == "fails"
        assert verdict(source, TracerSettings(param_shapes_constant=True)) == "traces"

    @pytest.mark.parametrize("condition", ["(self.weight * 2).shape[0] == 4", "self.weight.sum() > 0"])
    def test_values_and_what_is_computed_stay_traced(self, verdict, condition):
        assert verdict(self.SOURCE.format(condition), TracerSettings(param_shapes_constant=True)) == "fails"


class TestBoundArguments:
    def test_without_any_the_flag_is_a_proxy(self, verdict):
        assert verdict(FLAG, Tracing()) == "fails"

    @pytest.mark.parametrize("given", ["{'flag': True}", "{'flag': False, 'scale': None}", "dict(flag=1)"])
    def test_concrete_args_of_the_class(self, verdict, given):
        assert verdict(FLAG, Tracing(concrete_args={"model:Net": given})) == "traces"

    def test_concrete_args_of_another_class_or_parameter(self, verdict):
        assert verdict(FLAG, Tracing(concrete_args={"model:Other": "{'flag': True}"})) == "fails"
        assert verdict(FLAG, Tracing(concrete_args={"model:Net": "{'scale': None}"})) == "fails"

    def test_a_placeholder_is_a_proxy_all_the_same(self, verdict):
        assert verdict(FLAG, Tracing(concrete_args={"model:Net": "{'flag': PH}"})) == "fails"

    def test_all_defaults(self, verdict):
        assert verdict(FLAG, Tracing(bind_defaults=True)) == "traces"
        assert verdict(FLAG, Tracing(bind_defaults=True, concrete_args={"model:Net": "{'flag': PH}"})) == "fails"


def test_a_preset_adds_to_what_is_set_and_names_only_what_may_be_missing():
    both = TracerSettings(leaf_modules=("a:B",)).with_preset("torchvision")
    assert both.leaf_modules == ("a:B", *PRESETS["torchvision"].leaf_modules)
    assert "a:B" not in both.optional
    assert set(PRESETS["torchvision"].autowrap_modules) <= both.optional
