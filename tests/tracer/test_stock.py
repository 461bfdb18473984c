"""The stock verdict, on the constructs whose outcome was measured."""

import sys

import pytest

pytestmark = pytest.mark.torch

TRACES = {
    "plain unpacking": "b, c = x.shape\nreturn x * b",
    "math through its module": "return x * math.sqrt(x.shape[-1])",
    "math by its name, in the file of the root": "return x * sqrt(x.shape[-1])",
    "sizes as one tuple": "return torch.zeros((x.shape[0], 3))",
    "arange of a size": "return torch.arange(x.shape[0])",
    "isinstance": "return x if isinstance(x, torch.Tensor) else -x",
    "is None": "return x if x is None else -x",
    "format without a spec": "return x if f'{x}' else -x",
    "an except that swallows": "try:\n    if x > 0:\n        x = -x\nexcept Exception:\n    pass\nreturn x",
    "a dictionary": "return {'x': x}",
    "random numbers": "return x + torch.rand(3)",
}


@pytest.mark.parametrize("body", TRACES.values(), ids=TRACES)
def test_traces(forward, body):
    done = forward(body).stock()
    assert done.error is None
    assert done.nodes == len(done.graph.splitlines()) - 1
    assert done.graph.startswith("graph():")


FAILS = {
    "if": ("if x.sum() > 0:  # here\n    return x\nreturn -x", "TraceError"),
    "for": ("for row in x:  # here\n    pass\nreturn x", "TraceError"),
    "len": ("return x / len(x)  # here", "RuntimeError"),
    "range": ("for i in range(x.shape[0]):  # here\n    pass\nreturn x", "TypeError"),
    "item assignment": ("x[0] = 1  # here\nreturn x", "TypeError"),
    "separate sizes": ("return torch.zeros(x.shape[0], 3)  # here", "TypeError"),
    "dictionary": ("return {1: 2}[x.shape[0]]  # here", "KeyError"),
    "higher order": ("return torch.vmap(lambda y: y)(x)  # here", "ValueError"),
    "own raise": ("raise ValueError('no')  # here", "ValueError"),
    "exit": ("raise SystemExit(3)  # here", "SystemExit"),
    "module built in forward": ("return nn.ReLU()(x)  # here", "NameError"),
    "inside torch": ("torch._check(x.shape[0])  # here\nreturn x", "TypeError"),
}


@pytest.mark.parametrize(("body", "kind"), FAILS.values(), ids=FAILS)
def test_every_exception_is_a_failure_at_the_innermost_line(forward, body, kind):
    net = forward(body)
    error = net.stock().error
    assert error.type == kind
    assert error.frames[-1].line == net.line("here")
    assert error.frames[-1].function == "forward"


def test_a_value_that_a_graph_cannot_hold_fails_without_a_frame(forward):
    error = forward("return {1, 2}").stock().error
    assert (error.type, error.frames) == ("NotImplementedError", ())


def test_a_graph_whose_code_does_not_compile_fails(source):
    net = source("def scale(x, factors=(1, 2)):\n    return x * factors[0]\n")
    error = net.stock("scale", concrete_args={"factors": (1, 2)}).error
    assert error.type == "SyntaxError"
    assert error.message.startswith("invalid syntax")


def test_concrete_args(forward):
    net = forward("return x if flag else -x", arguments="x, flag=True")
    assert net.stock().error.type == "TraceError"
    assert "call_function[target=operator.eq]" in net.stock(concrete_args={"flag": True}).graph


def test_all_frames_of_the_user_outermost_first(source):
    net = source(
        """
        def helper(x):
            return int(x.shape[0])  # inner

        class Net(nn.Module):
            def forward(self, x):
                return nn.Identity()(helper(x))  # outer
        """
    )
    frames = net.stock().error.frames
    assert [(frame.function, frame.line) for frame in frames] == [
        ("forward", net.line("outer")),
        ("helper", net.line("inner")),
    ]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="instructions have no columns before Python 3.11")
def test_columns_count_code_points(forward):
    net = forward("é = 'ü'; return x / len(x)  # here")
    frame = net.stock().error.frames[-1]
    row = net.text.splitlines()[frame.line - 1]
    assert row[frame.column - 1 : frame.end_column - 1] == "len(x)"


def test_an_exception_that_cannot_be_printed(source):
    net = source(
        """
        class Bad(Exception):
            def __str__(self):
                raise RuntimeError

        class Net(nn.Module):
            def forward(self, x):
                raise Bad
        """
    )
    assert net.stock().error.message == "(no message: its __str__ raised RuntimeError)"
