"""From a prediction to proofs, through a real worker."""

from pathlib import Path

import pytest

from fxlint.findings import Edit, Location, Suggestion
from fxlint.tracing import TracerSettings, Tracing

pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class TestTheFirstInputs:
    """The six that the project started with."""

    def test_linear_then_relu(self, project):
        path = project.write(
            "net.py",
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.linear = nn.Linear(4, 8)

                def forward(self, x):
                    return torch.relu(self.linear(x))
            """,
        )
        project.root(path)
        outcome = project.confirm()
        confirmed = outcome.modules["Net"]
        assert (confirmed.verdict, confirmed.instance, confirmed.graph.nodes) == ("traces", "Net()", 4)
        rows = confirmed.graph.text.splitlines()
        assert ["placeholder" in rows[1], "call_module[target=linear]" in rows[2], "torch.relu" in rows[3]] == [
            True
        ] * 3
        assert outcome.findings == ()

    def test_a_parameter_and_clamp(self, project):
        path = project.write(
            "net.py",
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.param = nn.Parameter(torch.rand(3, 4))
                    self.linear = nn.Linear(4, 5)

                def forward(self, x):
                    return self.linear(x + self.param).clamp(min=0.0, max=1.0)
            """,
        )
        project.root(path)
        text = project.confirm().modules["Net"].graph.text
        assert all(word in text for word in ("placeholder", "get_attr", "operator.add", "call_module", "clamp"))

    def test_a_branch_on_a_value(self, project):
        path = project.write(
            "net.py",
            """
            class Net(nn.Module):
                def forward(self, x):
                    if x.sum() > 0:
                        return torch.relu(x)
                    else:
                        return torch.neg(x)
            """,
        )
        root = project.root(path)
        project.finding(root, "x.sum() > 0", "bool.if")
        outcome = project.confirm()
        (finding,) = outcome.findings
        assert finding.confirmation.status == "confirmed"
        assert finding.confirmation.error.type == "TraceError"
        assert (outcome.modules["Net"].verdict, outcome.modules["Net"].error.line) == ("fails", 6)

    def test_sqrt_of_len(self, project):
        path = project.write(
            "norm.py",
            "def normalize(x):\n    return x / sqrt(len(x))\n",
            header="import torch.fx\nfrom math import sqrt\n\n",
        )
        root = project.root(path, "normalize", kind="function")
        place = Location(path, 3, 1, 3, 1)
        wrap = Suggestion("wrap", "wrap len", edits=(Edit(place, 'torch.fx.wrap("len")\n'),), wrap="len")
        project.finding(root, "len(x)", "len.call", suggestions=[wrap])
        outcome = project.confirm()
        (finding,) = [finding for finding in outcome.findings if finding.event == "len.call"]
        assert finding.confirmation.status == "confirmed"
        assert finding.confirmation.error.message.startswith("'len' is not supported in symbolic tracing by default")
        (suggestion,) = finding.suggestions
        assert suggestion.checked.verdict == "traces"
        assert "builtins.len" in suggestion.checked.graph.text
        assert "math.sqrt" in suggestion.checked.graph.text

    def test_a_flag_of_the_constructor(self, project):
        path = project.write(
            "net.py",
            """
            class Net(nn.Module):
                def __init__(self, do_activation=True):
                    super().__init__()
                    self.do_activation = do_activation

                def forward(self, x):
                    if self.do_activation:
                        x = torch.relu(x)
                    return x
            """,
        )
        project.root(path)
        outcome = project.confirm()
        assert (outcome.modules["Net"].verdict, outcome.findings) == ("traces", ())

    def test_a_flag_of_forward(self, project):
        path = project.write(
            "net.py",
            """
            class Net(nn.Module):
                def forward(self, x, do_activation=False):
                    if do_activation:
                        x = torch.relu(x)
                    return x
            """,
        )
        root = project.root(path)
        bind = Suggestion("concrete_args", "bind it", concrete_args='{"do_activation": True}')
        project.finding(root, "do_activation", "bool.flag", suggestions=[bind])
        project.findings[0] = project.findings[0].__class__(
            **{**as_dict(project.findings[0]), "location": Location(path, 6, 12, 6, 25)}
        )
        outcome = project.confirm(inputs={f"{path}::Net": "(torch.randn(3),)"})
        (finding,) = outcome.findings
        assert finding.confirmation.status == "confirmed"
        (suggestion,) = finding.suggestions
        assert (suggestion.checked.verdict, suggestion.checked.equal_outputs, suggestion.safe) == ("traces", True, True)
        assert "torch.relu" in suggestion.checked.graph.text

    @pytest.mark.parametrize(
        ("inputs", "reason"),
        [
            ("(torch.randn(3), 1, 2, 3)", "TypeError: Net.forward() takes"),
            ("(nowhere,)", "NameError: name 'nowhere' is not defined"),
            ("torch.randn(3)", "torch.randn(3) is a Tensor, not a tuple"),
        ],
    )
    def test_inputs_that_cannot_be_used_are_told_and_cost_the_comparison_only(self, project, inputs, reason):
        text = "class Net(nn.Module):\n    def forward(self, x):\n        return x / len(x)\n"
        root = project.root(project.write("net.py", text), inputs=inputs)
        wrap = Suggestion("wrap", "wrap it", (Edit(Location(root.path, 1, 1, 1, 1), ""),), wrap="len")
        project.finding(root, "len(x)", "len.call", suggestions=[wrap])
        outcome = project.confirm()
        check = outcome.findings[0].suggestions[0].checked
        assert (check.verdict, check.equal_outputs) == ("traces", None)
        (problem,) = outcome.problems
        assert (problem.path, problem.line, problem.stage) == (root.path, root.line, "confirm")
        assert problem.message.startswith(f"inputs of Net not used: {reason}")


def as_dict(finding):
    return {name: getattr(finding, name) for name in finding.__dataclass_fields__}


def test_confirmed_refuted_unreached_and_unconfirmed(project):
    path = project.write(
        "net.py",
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.on = False
                self.layers = [1]

            def forward(self, x):
                n = len(self.layers)
                if x.sum() > 0:
                    n = float(x)
                if self.on:
                    n = int(x)
                return x * n

        class Other(nn.Module):
            def __init__(self, width):
                raise ValueError("made by nobody")

            def forward(self, x):
                return complex(x)
        """,
    )
    net, other = project.root(path), project.root(path, "Other")
    project.finding(net, "len(self.layers)", "len.call")
    project.finding(net, "x.sum() > 0", "bool.if")
    project.finding(net, "float(x)", "float.call")
    project.finding(net, "int(x)", "int.call")
    project.finding(other, "complex(x)", "complex.call")
    outcome = project.confirm()
    assert outcome.statuses() == [
        ("len.call", "refuted"),
        ("bool.if", "confirmed"),
        ("float.call", "confirmed"),
        ("int.call", "unreached"),
        ("complex.call", "unconfirmed"),
    ]
    assert outcome.findings[-1].confirmation.reason == outcome.modules["Other"].reason
    assert outcome.modules["Other"].reason.startswith("its constructor needs width (")
    assert "raised ValueError: made by nobody (net.py:20)" in outcome.modules["Other"].reason
    assert outcome.modules["Other"].reason.endswith("; declare one with `# fxlint: instance=Other(width=...)`")


def test_what_nobody_predicted_is_a_finding(project):
    path = project.write(
        "net.py",
        """
        class Net(nn.Module):
            def forward(self, x):
                y = torch.zeros(x.shape[0], 3)
                while x.sum() > 0:
                    x = x - 1
                return x[int(y)]
        """,
    )
    root = project.root(path)
    outcome = project.confirm()
    assert [(finding.code, finding.event, finding.location.line) for finding in outcome.findings] == [
        ("FX140", "tensor.sizes", 6),
        ("FX101", "bool.while", 7),
        ("FX122", "int.call", 9),
    ]
    first = outcome.findings[0]
    assert first.modules == (root.id,)
    assert first.confirmation.status == "confirmed"
    assert first.message.startswith("a tensor is constructed with `x.shape[0], 3`, and the numbers come from `x`")


def test_a_failure_in_a_helper_of_another_file_belongs_to_it(project):
    project.write("pkg/__init__.py", "", header="")
    helper = project.write("pkg/helper.py", "def scale(x):\n    return x / len(x)\n")
    net = project.write(
        "pkg/net.py",
        """
        from .helper import scale

        class Net(nn.Module):
            def forward(self, x):
                return scale(x)
        """,
    )
    root = project.root(net)
    project.finding(root, "len(x)", "len.call", path=helper)
    outcome = project.confirm()
    assert outcome.statuses() == [("len.call", "confirmed")]
    assert outcome.modules["Net"].error.path == helper


def test_a_file_that_is_not_linted_is_told_at_the_call(project):
    project.write("helper.py", "def scale(x):\n    return x / len(x)\n")
    net = project.write(
        "net.py",
        """
        from helper import scale

        class Net(nn.Module):
            def forward(self, x):
                return scale(x)
        """,
    )
    project.root(net)
    outcome = project.confirm()
    (finding,) = outcome.findings
    assert (finding.location.path, finding.location.line) == (net, 8)
    assert outcome.modules["Net"].error.path == net
    with_helper = project.confirm(files=(str(project.folder / "helper.py"), net))
    assert with_helper.modules["Net"].error.path == str(project.folder / "helper.py")


def test_one_traced_module_is_enough(project):
    path = project.write(
        "net.py",
        """
        def helper(x):
            return x / len(x)

        class Needs(nn.Module):
            def __init__(self, width):
                super().__init__()

            def forward(self, x):
                return helper(x)

        class Net(nn.Module):
            def forward(self, x):
                return helper(x)
        """,
    )
    needs, net = project.root(path, "Needs"), project.root(path)
    project.finding(net, "len(x)", "len.call", roots=[needs, net])
    assert project.confirm().statuses() == [("len.call", "confirmed")]


def test_a_swallowed_failure_is_confirmed_and_adds_nothing(project):
    path = project.write(
        "net.py",
        """
        class Net(nn.Module):
            def forward(self, x):
                try:
                    n = int(x)
                except TypeError:
                    n = 1
                return x * n
        """,
    )
    root = project.root(path)
    project.finding(root, "int(x)", "int.call")
    outcome = project.confirm()
    assert outcome.modules["Net"].verdict == "traces"
    (finding,) = outcome.findings
    assert finding.confirmation.status == "confirmed"
    assert "catches the exception" in finding.confirmation.reason


def test_a_failure_without_a_frame(project):
    path = project.write(
        "net.py",
        """
        class Net(nn.Module):
            def forward(self, x):
                return {1, 2}
        """,
    )
    project.root(path)
    (finding,) = project.confirm().findings
    assert (finding.event, finding.location.line) == ("output.type", 4)


def test_instances_from_the_settings(project):
    text = """
    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self, x):
            return x
    """
    path = project.write("net.py", text)
    project.root(path)
    for key in ("net:Net", "net.py::Net", f"{path}::Net"):
        confirmed = project.confirm(instances={key: ("Net(3)",)}).modules["Net"]
        assert (confirmed.verdict, confirmed.instance) == ("traces", "Net(3)")


def test_a_rewrite_is_checked_with_its_edits(project):
    path = project.write(
        "net.py",
        """
        class Net(nn.Module):
            def forward(self, x):
                return x / len(x)
        """,
    )
    root = project.root(path)
    place = Location(path, 6, 20, 6, 26)
    rewrite = Suggestion("rewrite", "ask for the size", edits=(Edit(place, "x.size(0)"),))
    project.finding(root, "len(x)", "len.call", suggestions=[rewrite])
    outcome = project.confirm(inputs={"net:Net": "(torch.randn(3),)"})
    ((suggestion,),) = [finding.suggestions for finding in outcome.findings]
    assert (suggestion.checked.verdict, suggestion.safe) == ("traces", True)
    assert Path(path).read_text(encoding="utf-8").count("len(x)") == 1


def test_no_modules_start_no_worker(project):
    assert project.confirm(python="/nowhere/python").prediction.problems == ()


class TestOnlyWhatWasMetAtItsPlace:
    def test_the_body_of_a_loop_that_the_tracer_never_enters(self, project):
        path = project.write(
            "net.py",
            """
            class Net(nn.Module):
                def __init__(self, names={"a": 4}):
                    super().__init__()
                    self.convs = nn.ModuleDict({key: nn.Linear(size, 4) for key, size in names.items()})

                def forward(self, feats):
                    out = [feats]
                    for name, feat in feats.items():
                        if name in self.convs:
                            out.append(self.convs[name](feat))
                    return out[0]
            """,
        )
        root = project.root(path)
        project.finding(root, "feats.items()", "iter.for")
        project.finding(root, "self.convs[name]", "key.lookup")
        outcome = project.confirm()
        assert outcome.statuses() == [("iter.for", "confirmed"), ("key.lookup", "unreached")]
        assert outcome.findings[1].confirmation.error is None

    def test_a_call_whose_argument_is_rejected_before_it(self, project):
        path = project.write(
            "net.py",
            """
            import numpy as np

            def encode(position, scale):
                out = torch.zeros(4, 4)
                out[:, 0::2] = np.sin(position * scale)
                return out

            class Net(nn.Module):
                def forward(self, x):
                    return x + encode(x, np.arange(2.0))
            """,
        )
        root = project.root(path)
        project.finding(root, "np.sin(position * scale)", "call.numpy")
        outcome = project.confirm()
        sine, product = outcome.findings
        assert sine.confirmation.reason == "only after stand-ins for what fails before"
        assert sine.confirmation.error.type == "ValueError"
        assert (product.location.column, product.confirmation.reason) == (27, "not predicted")
        assert product.confirmation.error == outcome.modules["Net"].error


class TestInstancesOfAnotherClass:
    TEXT = """
    class Other(nn.Module):
        def forward(self, x):
            return x

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self, x):
            return len(x)

    class Wide(Net):
        pass
    """

    def test_it_is_refused_and_that_is_told(self, project):
        path = project.write("net.py", self.TEXT)
        root = project.root(path, instances=["Other()"])
        project.finding(root, "len(x)", "len.call")
        outcome = project.confirm()
        assert outcome.modules["Net"].verdict == "not-run"
        assert outcome.findings[0].confirmation.reason == "Other() makes an instance of Other, not of Net"
        (problem,) = outcome.problems
        assert (problem.path, problem.line, problem.stage) == (path, root.line, "confirm")
        assert problem.message == "instance of Net not used: Other() makes an instance of Other, not of Net"

    def test_what_the_configuration_declares_is_told_at_its_key(self, project):
        project.root(project.write("net.py", self.TEXT))
        outcome = project.confirm(instances={"net:Net": ("Other()",)}, config="fxlint.toml")
        (problem,) = outcome.problems
        assert (problem.path, problem.line, problem.stage) == ("fxlint.toml", None, "confirm")
        assert problem.message == "instances: 'net:Net' not used: Other() makes an instance of Other, not of Net"

    def test_a_subclass_will_do_and_the_others_are_traced(self, project):
        project.root(project.write("net.py", self.TEXT), instances=["Other()", "Wide(4)"])
        outcome = project.confirm()
        assert (outcome.modules["Net"].verdict, outcome.modules["Net"].instance) == ("fails", "Wide(4)")
        assert len(outcome.problems) == 1


def test_relative_imports_in_a_package_without_init_start_at_the_root(project):
    project.write("space/nets/helper.py", "WIDTH = 4\n")
    net = "class Net(nn.Module):\n    def forward(self, x):\n        return x * WIDTH\n"
    project.root(project.write("space/nets/net.py", "from .helper import WIDTH\n" + net))
    outcome = project.confirm()
    assert outcome.modules["Net"].verdict == "traces"
    assert outcome.problems == ()


class TestTheProjectsTracer:
    """Both halves go by the same settings; see tests/tracer/test_tracing.py for each of them."""

    def net(self, project):
        path = project.write(
            "net.py",
            """
            class Inner(nn.Module):
                def forward(self, x, flag=False):
                    return x if flag else -x

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner = Inner()

                def forward(self, x):
                    return self.inner(x, x)
            """,
        )
        project.root(path)
        project.root(path, "Inner")
        return project

    def verdicts(self, project, tracing):
        outcome = self.net(project).confirm(tracing=tracing)
        return [outcome.modules[name].verdict for name in ("Net", "Inner")], outcome

    def test_a_leaf_is_not_entered(self, project):
        verdicts, outcome = self.verdicts(project, Tracing(TracerSettings(leaf_modules=("net:Inner",))))
        assert verdicts == ["traces", "fails"]
        assert "call_module" in outcome.modules["Net"].graph.text

    def test_concrete_args_of_a_class(self, project):
        verdicts, _ = self.verdicts(project, Tracing(concrete_args={"net:Inner": "{'flag': True}"}))
        assert verdicts == ["fails", "traces"]

    def test_a_name_that_means_nothing_is_told_once_and_the_rest_holds(self, project):
        settings = TracerSettings(leaf_modules=("net:Inner", "net:Gone"))
        verdicts, outcome = self.verdicts(project, Tracing(settings))
        assert verdicts == ["traces", "fails"]
        (problem,) = outcome.problems
        assert problem.message.startswith("tracer: 'net:Gone' not used: AttributeError")

    def test_without_the_tracer_s_class_nothing_of_the_file_is_traced(self, project):
        verdicts, outcome = self.verdicts(project, Tracing(TracerSettings(tracer_class="net:Gone")))
        assert verdicts == ["not-run", "not-run"]
        assert "the tracer net:Gone cannot be imported" in outcome.modules["Net"].reason

    def test_concrete_args_that_cannot_be_used_are_told_at_their_key(self, project):
        tracing = Tracing(concrete_args={"net:Inner": "[1]"})
        verdicts, outcome = self.verdicts(project, tracing)
        assert verdicts == ["fails", "fails"]
        assert [problem.message for problem in outcome.problems] == [
            "concrete-args: 'net:Inner' not used: concrete_args must be a dict, [1] is a list"
        ]
