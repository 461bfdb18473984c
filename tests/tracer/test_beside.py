"""A module and its graph side by side: what is found to differ, and on which inputs."""

import pytest

torch = pytest.importorskip("torch")

from fxlint.tracer.beside import beside, modes  # noqa: E402
from fxlint.tracer.instances.building import Candidate  # noqa: E402
from fxlint.tracer.tracing import STOCK  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.fixture
def compared(source):
    def compare(text: str, inputs: str | None = None, silent: tuple[tuple[str], ...] = ()):
        written = source(text)
        candidate = Candidate("Net()", written.build)
        return beside(candidate, {"inputs": inputs, "silent": silent}, written.module, written.user(), STOCK)

    return compare


def net(forward: str, init: str = "pass") -> str:
    return f"""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                {init}

            def forward(self, x, y=None):
                {forward}
        """


def differences(message):
    return {(one["what"], one["mode"], one["said"]) for one in message["differences"]}


def in_both_modes(what: str, said: str = ""):
    return {(what, mode, said) for mode in ("train", "eval")}


class TestDifferences:
    def test_a_graph_that_is_the_module_has_none(self, compared):
        message = compared(net("return F.relu(self.layer(x))", "self.layer = nn.Linear(5, 2)"))
        assert (message["differences"], message["reason"]) == ([], None)
        assert len(message["inputs"]) == 2

    def test_dropout_and_normalisation_follow_the_mode_and_draw_the_same(self, compared):
        layers = "self.layers = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))"
        assert compared(net("return self.layers(x)", layers))["differences"] == []

    def test_outputs(self, compared):
        message = compared(net("return x if y is None else x * 2"), "(torch.ones(2),)")
        assert differences(message) == {*in_both_modes("outputs"), *in_both_modes("gradients", "input 1")}

    def test_each_mode_has_its_own_graph_so_that_nothing_else_is_blamed_for_the_training_flag(self, compared):
        assert compared(net("return x if self.training else x * 2"), "(torch.ones(2),)")["differences"] == []

    def test_a_mode_in_which_it_does_not_trace_is_left_out(self, compared):
        text = net("return range(x) if self.training else x * len(self.__dict__)", "self.more = 0")
        message = compared(text, "(torch.ones(2),)")
        assert (message["differences"], message["reason"]) == ([], None)

    def test_gradients_that_a_context_keeps_out(self, compared):
        body = "\n                    ".join(["with torch.no_grad():", "return x * self.scale"])
        message = compared(net(body, "self.scale = nn.Parameter(torch.ones(3))"), "(torch.ones(2, 3),)")
        assert differences(message) == in_both_modes("gradients", "input 1, scale")

    def test_state_that_a_call_changes_and_what_tracing_leaves_in_the_module(self, compared):
        message = compared(net("self.steps += 1; return x", "self.steps = 0"), "(torch.ones(2),)")
        assert differences(message) == {*in_both_modes("state", "steps"), ("state", None, "steps")}

    def test_a_proxy_that_is_left_in_a_list(self, compared):
        message = compared(net("self.seen.append(x); return x", "self.seen = []"), "(torch.ones(2),)")
        assert ("state", None, "seen") in differences(message)

    def test_inputs_that_a_call_changes_in_place(self, compared):
        message = compared(net("x += 1; return x.sum()"), "(torch.ones(2),)")
        assert differences(message) == in_both_modes("inputs")

    def test_what_only_the_graph_raises(self, compared):
        message = compared(net("return x if y is None else x + y"), "(torch.ones(2),)")
        assert {(what, mode) for what, mode, _ in differences(message)} == {("error", "train"), ("error", "eval")}
        assert all("unsupported operand" in said for _, _, said in differences(message))

    def test_a_function_is_run_like_a_module(self, source):
        written = source("def net(x, y=None):\n    return x if y is None else x + y\n")
        candidate = Candidate("net", lambda: written.module.net, shared=True)
        message = beside(candidate, {"inputs": "(torch.ones(2),)"}, written.module, written.user(), STOCK)
        assert {one["what"] for one in message["differences"]} == {"error"}

    def test_a_module_that_cannot_live_on_the_meta_device(self, compared):
        message = compared(net("return x + self.two", "self.two = torch.tensor(2).item()"), "(torch.ones(2),)")
        assert (message["differences"], message["reason"]) == ([], None)

    def test_what_two_equal_modules_do_differently_is_no_difference(self, compared):
        assert compared(net("return x * id(self)"), "(torch.ones(2),)")["differences"] == []

    def test_constants_that_are_drawn_while_tracing(self, compared):
        assert ("outputs", "eval", "") in differences(compared(net("return x + torch.rand(2)"), "(torch.ones(2),)"))


class TestChanges:
    """What a graph has missed may show only when the module is changed."""

    @pytest.mark.parametrize(
        ("event", "forward", "said"),
        [
            ("silent.buffer", "return x * 2 if self.mean.sum() > 0 else x", "with other values in the buffers"),
            ("silent.computed", "return x - self.mean.view(1, 3)", "with other values in the buffers"),
            ("silent.device", "return x.to(next(self.parameters()).dtype)", "after double()"),
            ("silent.buffer", "return x * 2 if self.mean.sum() < -9 else x", "with other values in the buffers"),
            ("silent.unused", "y = x * 2; y.add_(1); return y", "after dead code elimination"),
            ("silent.constant", "self.mean.add_(x[0]); return x - self.mean", "after dead code elimination"),
        ],
    )
    def test_outputs_differ_after_the_change_that_the_event_asks_for(self, compared, event, forward, said):
        init = "self.register_buffer('mean', torch.zeros(3)); self.scale = nn.Parameter(torch.ones(3))"
        text, inputs = net(forward, init), "(torch.ones(2, 3),)"
        assert differences(compared(text, inputs)) == set()
        assert ("outputs", "eval", said) in differences(compared(text, inputs, ((event,),)))

    def test_the_state_of_the_module_may_differ_only_after_a_change(self, compared):
        text = net("self.mean.mul_(0.5); return x", "self.register_buffer('mean', torch.zeros(3))")
        said = "with other values in the buffers"
        assert ("state", "eval", said) in differences(compared(text, "(torch.ones(3),)", (("silent.state",),)))

    def test_what_the_graph_reads_when_it_runs_makes_no_difference(self, compared):
        text = net("return x - self.mean", "self.register_buffer('mean', torch.zeros(3))")
        assert differences(compared(text, "(torch.ones(2, 3),)", (("silent.computed",),))) == set()


class TestInputs:
    @pytest.mark.parametrize(
        ("layer", "inputs"),
        [
            ("nn.Linear(5, 2)", ["(2, 5)", "(3, 5)"]),
            ("nn.Conv2d(5, 2, 3)", ["(2, 5, 16, 16)", "(3, 5, 32, 32)"]),
            ("nn.Conv1d(5, 2, 3)", ["(2, 5, 16)", "(3, 5, 32)"]),
            ("nn.Conv3d(5, 2, 3)", ["(2, 5, 16, 16, 16)", "(3, 5, 32, 32, 32)"]),
            ("nn.Embedding(7, 3)", ["(2, 16)", "(3, 32)"]),
            ("nn.BatchNorm3d(5)", ["(2, 5, 16, 16, 16)", "(3, 5, 32, 32, 32)"]),
            ("nn.LayerNorm(5)", ["(2, 5)", "(3, 5)"]),
        ],
    )
    def test_they_are_what_the_first_layer_accepts(self, compared, layer, inputs):
        assert compared(net("return self.layer(x * 1)", f"self.layer = {layer}"))["inputs"] == inputs

    def test_of_several_shapes_that_one_is_taken_which_the_module_accepts(self, compared):
        body = "return self.layer(x).permute(0, 2, 1)"
        assert compared(net(body, "self.layer = nn.Linear(5, 2)"))["inputs"] == ["(2, 16, 5)", "(3, 32, 5)"]

    def test_images_are_made_as_large_as_the_module_needs_them(self, compared):
        layers = "self.layers = nn.Sequential(nn.Conv2d(3, 4, 7, stride=4), nn.MaxPool2d(8))"
        assert compared(net("return self.layers(x)", layers))["inputs"][0] == "(2, 3, 64, 64)"

    def test_declared_ones_are_used_with_a_larger_batch_and_without_what_is_optional(self, compared):
        message = compared(net("return x if y is None else x + y"), "(torch.ones(2, 3), torch.ones(2, 3))")
        assert message["inputs"] == ["[(2, 3), (2, 3)]", "[(3, 3), (3, 3)]", "(2, 3)"]

    def test_declared_ones_that_cannot_be_used_are_named(self, compared):
        message = compared(net("return self.layer(x)", "self.layer = nn.Linear(5, 2)"), "(torch.ones(3),)")
        assert message["reason"] == "it cannot be run on (torch.ones(3),)"

    def test_one_size_is_enough_of_a_slow_module(self, compared, monkeypatch):
        monkeypatch.setattr("fxlint.tracer.beside.SLOW_SECONDS", 0)
        assert compared(net("return self.layer(x)", "self.layer = nn.Linear(5, 2)"))["inputs"] == ["(2, 5)"]

    def test_nothing_is_compared_where_nothing_is_accepted(self, compared):
        message = compared(net("return x.reshape(7, 11, 13)"))
        assert message == {"inputs": [], "differences": [], "reason": "no inputs were found that it takes"}


class TestModes:
    def difference(self, source, forward, init="pass"):
        written = source(net(forward, init))
        return modes(written.build, STOCK, written.user())["difference"]

    def test_graphs_that_do_not_depend_on_the_mode_are_equal(self, source):
        assert self.difference(source, "return x if self.training else x") is None
        assert self.difference(source, "return self.drop(x)", "self.drop = nn.Dropout()") is None

    def test_the_first_node_that_is_different_is_told_for_both(self, source):
        said = self.difference(source, "return x if self.training else x * 2")
        assert said.startswith("`return x` in train mode, `%mul = call_function[target=operator.mul]")

    def test_a_trace_that_fails_in_one_mode_is_a_difference(self, source):
        said = self.difference(source, "return range(x) if self.training else x")
        assert said.startswith("`TypeError: 'Proxy' object cannot be interpreted as an integer` in train mode")
