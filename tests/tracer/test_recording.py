"""What the recording tracer meets, and that it goes on."""

import sys

import pytest

from fxlint.tracer import explore

pytestmark = pytest.mark.torch

MET = {
    "if": ("bool", "if x.sum() > 0:  # here\n    return x\nreturn -x"),
    "while": ("bool", "while x.sum() > 0:  # here\n    x = x - 1\nreturn x"),
    "ternary": ("bool", "return x if x.dim() == 2 else -x  # here"),
    "assert": ("bool", "assert x.dim() == 2  # here\nreturn x"),
    "not": ("bool", "y = not x.is_cuda  # here\nreturn x"),
    "and": ("bool", "y = x.is_cuda and x.dim()  # here\nreturn x"),
    "chain": ("bool", "y = 0 < x.dim() < 3  # here\nreturn x"),
    "in a tuple": ("bool", "y = x.dim() in (2, 3)  # here\nreturn x"),
    "max": ("bool", "y = max(x.shape[0], 3)  # here\nreturn x"),
    "match": ("bool", "match x.dim():\n    case 2:  # here\n        return x\nreturn -x"),
    "for": ("iter", "for row in x:  # here\n    pass\nreturn x"),
    "comprehension": ("iter", "y = [row for row in x]  # here\nreturn x"),
    "star": ("iter", "return x.view(*x.shape)  # here"),
    "starred target": ("iter", "a, *b = x.shape  # here\nreturn x"),
    "list": ("iter", "y = list(x)  # here\nreturn x"),
    "sum": ("iter", "y = sum(x)  # here\nreturn x"),
    "in a proxy": ("iter", "y = 'mask' in x  # here\nreturn x"),
    "double star": ("kwargs", "y = dict(**x)  # here\nreturn x"),
    "len": ("len", "return x / len(x)  # here"),
    "range": ("index", "y = range(x.shape[0])  # here\nreturn x"),
    "list index": ("index", "y = [1, 2][x.shape[0]]  # here\nreturn x"),
    "list slice": ("index", "y = [1, 2][: x.shape[0]]  # here\nreturn x"),
    "module list": ("index", "return self.layers[x.shape[0]](x)  # here"),
    "list store": ("index", "y = [1]\ny[x.shape[0]] = 2  # here\nreturn x"),
    "int": ("int", "y = int(x.shape[0])  # here\nreturn x"),
    "float": ("float", "y = float(x.shape[0])  # here\nreturn x"),
    "math stored elsewhere": ("float", "return x * self.root(x.shape[0])  # here"),
    "complex": ("complex", "y = complex(x)  # here\nreturn x"),
    "round": ("round", "y = round(x.shape[0] / 2)  # here\nreturn x"),
    "format": ("format", "y = f'{x:.2f}'  # here\nreturn x"),
    "item assignment": ("setitem", "x[0] = 1  # here\nreturn x"),
    "augmented item": ("setitem", "x[0] += 1  # here\nreturn x"),
    "item deletion": ("setitem", "del x[0]  # here\nreturn x"),
    "dictionary": ("key", "y = {1: 2}[x.shape[0]]  # here\nreturn x"),
    "module dictionary": ("key", "return self.heads[x](x)  # here"),
    "separate sizes": ("tensor", "y = torch.zeros(x.shape[0], 3)  # here\nreturn x"),
    "torch.tensor": ("tensor", "y = torch.tensor(x.shape[0])  # here\nreturn x"),
    "torch.Size": ("tensor", "y = torch.Size([x.shape[0]])  # here\nreturn x"),
    "slice of a buffer": ("tensor", "return x + self.table[:, : x.shape[0]]  # here"),
    "method of a buffer": ("tensor", "return x + self.table.expand(x.shape[0], -1)  # here"),
    "unbound method": ("call", "return torch.Tensor.flatten(x)  # here"),
    "scripted function": ("call", "return self.script(x)  # here"),
    "vmap": ("call", "return torch.vmap(lambda y: y)(x)  # here"),
    "a custom object as an argument": ("call", "return torch.relu(x) + torch.add(x, object())  # here"),
    "own raise": ("raise", "raise ValueError('no')  # here"),
    "assert on the type": ("raise", "assert isinstance(x, torch.Tensor)  # here\nreturn x"),
    "attribute of a method": ("raise", "return x.keys.shape  # here"),
    "unregistered": ("module", "return nn.ReLU()(x)  # here"),
    "with": ("context", "with x:  # here\n    return x"),
    "math": ("math", "return x * math.sqrt(x.shape[0])  # here"),
}
MEMBERS = """
self.layers = nn.ModuleList([nn.ReLU()])
self.heads = nn.ModuleDict({'a': nn.ReLU()})
self.register_buffer('table', torch.zeros(3, 3))
self.root = math.sqrt
self.script = torch.jit.script(lambda_free)
"""
HELPER = "def lambda_free(x):\n    return x + 1\n\n"


@pytest.fixture
def net(source):
    def make(body):
        import textwrap

        members = textwrap.indent(MEMBERS.strip(), " " * 8)
        rows = textwrap.indent(body, " " * 8)
        return source(
            f"{HELPER}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{members}\n\n"
            f"    def forward(self, x):\n{rows}\n"
        )

    return make


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("family", "body"), MET.values(), ids=MET)
def test_family_and_line(net, family, body):
    made = net(body)
    assert made.events()[0] == (family, made.line("here"))
    if family != "math":
        assert made.stock().error is not None


QUIET = {
    "unpacking": "a, b = x.shape\nreturn x.view(a, b)",
    "slices by a size": "return x[: x.shape[0]]",
    "sizes as one tuple": "return torch.zeros((x.shape[0], 3)) + torch.zeros(x.shape) + torch.arange(x.size(1))",
    "sizes given to a method": "return x.new_zeros(x.shape[0], 3).expand(x.size(0), -1)",
    "a loop over modules": "for layer in self.layers:\n    x = layer(x)\nreturn x",
    "text": "y = f'{x} {x!r}' + str(x)\nreturn x",
    "reads": "return x.item() + x.tolist() + abs(x) + x.numpy()",
    "type tests": "return x if isinstance(x, torch.Tensor) or torch.is_tensor(x) else -x",
    "attributes": "return x if hasattr(x, 'anything') and callable(x) else -x",
    "get with a default": "return x + {1: 2}.get(x.shape[0], 3)",
    "library functions": "return F.pad(F.interpolate(x, size=x.shape[0]), [0, x.shape[1]])",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_what_traces_meets_nothing(net, body):
    made = net(body)
    assert made.stock().error is None
    assert made.events() == []


def test_one_recording_meets_all_failures_of_a_forward(net):
    made = net(
        """\
n = len(x)  # len
z = torch.zeros(x.shape[0], 3)  # tensor
y = self.layers[x.shape[0]](x)  # index
for i in range(x.shape[0]):  # range
    y = y + i
k = {1: 2}[x.shape[0]]  # key
v = [int(s) for s in x.shape]  # int
if x.sum() > 0:  # if
    y[0] = 1  # setitem
else:
    y = y + float(x.shape[0])  # float
assert isinstance(x, torch.Tensor)  # raise
h = torch.Tensor.flatten(x)  # call
return {1, 2}"""
    )
    lines = {line for _, line in made.events()}
    marks = ("len", "tensor", "index", "range", "key", "int", "if", "setitem", "float", "call")
    assert {made.line(mark) for mark in marks} <= lines
    assert ("output", None) in made.events()


def test_both_sides_of_every_condition_are_traced(net):
    made = net(
        """\
if x.sum() > 0:
    if x.dim() == 2:
        y = int(x)  # a
    else:
        y = int(x)  # b
else:
    y = int(x)  # c
return x"""
    )
    assert {("int", made.line(mark)) for mark in "abc"} <= set(made.events())


@pytest.mark.parametrize("number", ["len(x.shape)", "int(x)", "round(x / 2)", "float(x)"])
def test_a_number_that_cannot_be_had_decides_nothing(net, number):
    made = net(f"n = {number}\nif n > 2:\n    y = complex(x)  # a\nelse:\n    y = complex(x)  # b\nreturn x")
    assert {("complex", made.line(mark)) for mark in "ab"} <= set(made.events())


def test_an_output_is_told_with_what_went_before_it(net):
    recording, _ = net("n = len(x)\nreturn {n}").record()
    assert [(event.family, event.answers) for event in recording.events] == [("len", 0), ("output", 1)]


def test_a_condition_that_holds_for_ever_ends(net):
    made = net("while True:\n    if x.sum() > 0:  # here\n        continue\nreturn x")
    recording, _ = made.record()
    assert [(event.family, made.innermost(event)) for event in recording.events] == [("bool", made.line("here"))]


def test_the_number_of_runs_is_bounded(net):
    made = net("\n".join(f"if x[{n}] > 0:\n    x = x + {n}" for n in range(40)) + "\nreturn x")
    recording, _ = made.record(max_runs=5, goals=[("elsewhere.py", 1, 1)])
    assert (recording.runs, recording.complete) == (5, False)


def test_an_iteration_is_as_long_as_its_unpacking_wants(net):
    made = net("a, b, c, d = [s for s in x.shape]  # first\nreturn int(a)  # second")
    assert made.events() == [("iter", made.line("first")), ("int", made.line("second"))]


def test_a_raise_after_a_stand_in_is_no_event(net):
    made = net("if x.dim() != 3:  # here\n    raise ValueError('3 wanted')\nreturn x")
    assert made.events() == [("bool", made.line("here"))]


def test_what_comes_after_a_check_that_a_stand_in_fails_is_met(net):
    """The list that stands in for the shape is too short, whatever is answered: the run goes on after the check."""
    made = net("sizes = [s for s in x.shape]  # first\nassert len(sizes) == 7, sizes\nreturn int(x)  # second")
    recording, _ = made.record()
    told = [(event.family, made.innermost(event), event.collateral) for event in recording.events]
    assert told[0] == ("iter", made.line("first"), False)
    assert ("int", made.line("second"), True) in told  # it proves what was predicted there, and nothing new


def test_names_have_values_after_a_statement_that_a_stand_in_fails(source):
    """Past its raise, ``sizes`` returns None, which cannot be unpacked."""
    made = source("""
        def sizes(x):
            if isinstance(x, str):
                return 1, 2
            raise TypeError("no text")

        class Net(nn.Module):
            def forward(self, x):
                height, width = sizes(x)
                return int(width)  # here
    """)
    recording, _ = made.record()
    told = [(event.family, made.innermost(event), event.collateral) for event in recording.events]
    assert ("int", made.line("here"), True) in told


def test_submodules_in_which_nothing_is_met_are_traced_once(source):
    made = source("""
        class Inner(nn.Module):
            calls = 0

            def forward(self, x):
                Inner.calls += 1
                return x * 2

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                x = self.inner(x)
                if x.sum() > 0:  # first
                    return x
                return int(x)  # second
    """)
    assert made.events() == [("bool", made.line("first")), ("int", made.line("second"))]
    assert made.module.Inner.calls == 1


def test_submodules_that_keep_what_they_are_given_are_traced_again(source):
    made = source("""
        class Inner(nn.Module):
            def forward(self, x):
                self.kept = x
                return x * 2

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                x = self.inner(x)
                if x.sum() > 0:  # first
                    return x
                return int(self.inner.kept)  # second
    """)
    assert made.events() == [("bool", made.line("first")), ("int", made.line("second"))]


@pytest.mark.parametrize(
    "check",
    [
        "if not isinstance(x, torch.Tensor):\n    raise TypeError('no tensor')  # check",
        "assert isinstance(x, torch.Tensor) and x.dim() == 2  # check",
        "if isinstance(x, torch.Tensor):\n    return x\nraise TypeError('no tensor')  # check",
    ],
)
def test_a_raise_that_depends_on_the_type_is_met_after_a_stand_in_too(net, check):
    made = net(f"n = len(x)\n{check}")
    recording, _ = made.record()
    told = [(event.family, made.innermost(event), event.collateral) for event in recording.events]
    assert ("raise", made.line("check"), False) in told


def test_a_recording_ends_soon_after_it_has_met_what_it_looks_for(net):
    made = net("\n".join(f"if x[{n}] > 0:\n    x = x + {n}" for n in range(40)) + "\nreturn int(x)  # goal")
    some = made.record(goals=[(made.path, made.line("goal"), made.line("goal"))])[0].runs
    more = made.record(goals=[("elsewhere.py", 1, 1)])[0].runs
    assert some < more


def test_of_dear_runs_fewer_are_made_in_vain(net, monkeypatch):
    text = "\n".join(f"if x[{n}] > 0:\n    x = x + {n}" for n in range(40)) + "\nreturn x"
    many = net(text).record(goals=[("elsewhere.py", 1, 1)])[0].runs
    monkeypatch.setattr(explore, "IDLE_SECONDS", 0)
    few = net(text).record(goals=[("elsewhere.py", 1, 1)])[0]
    assert (few.runs < many, few.complete) == (True, False)


def test_a_run_that_only_finds_what_to_guard_next_is_no_idle_one(net):
    calls = "\n".join(f"x = x + [1, 2, 3][x.size({n})]" for n in range(explore.QUIET + 2))
    first, made = (net(f"{calls}\nreturn {{len(x)}}  # last") for _ in range(2))
    met = [event for event in first.record()[0].events if event.family == "index"]
    known = [("index", (made.path, *event.frames[-1].place[1:])) for event in met]
    recording, _ = made.record(known=known)
    assert len(met) > explore.QUIET
    assert ("len", made.line("last")) in [(event.family, made.innermost(event)) for event in recording.events]


def test_a_branch_with_what_is_looked_for_goes_first(net):
    conditions = "\n".join(f"if x[{n}] > 0:\n    x = x + {n}" for n in range(40))
    made = net(f"{conditions}\nif x.sum() > 9:\n    x = int(x)  # goal\nreturn x")
    goal = (made.path, made.line("goal"), made.line("goal"))
    recording, _ = made.record(goals=[goal], max_runs=6)
    assert "int" in [event.family for event in recording.events]


def test_the_place_of_an_expression_over_several_lines_is_its_whole(net):
    made = net("n = len(x)\nraise ValueError(\n    'no',\n)")
    recording, _ = made.record()
    ((line, end_line),) = {event.frames[-1].place[1::2] for event in recording.events if event.family == "raise"}
    assert end_line == line + 2


def test_a_check_of_the_library_is_one_event(net):
    made = net("return nn.BatchNorm2d.forward(self.layers[0], x)  # here")
    assert {line for _, line in made.events()} == {made.line("here")}


def test_decisions_and_answers_before(net):
    made = net("n = len(x)\nif x.sum() > 0:\n    n = 1\nk = int(x)\nreturn x")
    recording, _ = made.record()
    assert [(event.family, event.decisions, event.answers) for event in recording.events] == [
        ("len", 0, 0),
        ("bool", 0, 1),
        ("int", 1, 2),
    ]


def test_where_the_value_came_from(net):
    made = net("y = torch.relu(x).shape[0] * 2\nreturn int(y)")
    recording, _ = made.record()
    assert [event.origin for event in recording.events] == ["x"]


def test_where_it_came_from_is_known_past_a_stand_in(net):
    recording, _ = net("n = len(x) + 1\nreturn int(n)").record()
    assert [event.origin for event in recording.events] == ["x", "x"]


def test_a_parameter_is_traced_too(forward):
    members = "self.weight = nn.Parameter(torch.ones(3))"
    net = forward("return x if self.weight.shape[0] > 2 else -x", members=members)
    recording, _ = net.record()
    assert [(event.family, event.origin) for event in recording.events] == [("bool", "self.weight")]


def test_the_whole_stack_is_told(source):
    net = source(
        """
        def helper(x):
            return int(x)  # inner

        class Net(nn.Module):
            def forward(self, x):
                return helper(x)  # outer
        """
    )
    recording, _ = net.record()
    (event,) = recording.events
    assert [frame.line for frame in event.frames] == [net.line("outer"), net.line("inner")]
    assert event.error[0] == "TypeError"


def test_an_unlinted_helper_of_the_same_folder_is_looked_into(source, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "beside_it.py").write_text("def check(x):\n    n = len(x)\n    return float(x) + n\n")
    net = source(
        """
        from beside_it import check

        class Net(nn.Module):
            def forward(self, x):
                return check(x)  # here
        """
    )
    assert net.events() == [("len", net.line("here")), ("float", net.line("here"))]


@pytest.mark.parametrize("check", ["float(x)", "x if x.dim() else -x"])
def test_what_an_unlinted_helper_meets_is_met_at_every_call_of_it(source, tmp_path, monkeypatch, check):
    """What stands in for it the first time does not keep the second call from failing."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "called_twice", raising=False)
    (tmp_path / "called_twice.py").write_text(f"def check(x):\n    return {check}\n")
    net = source(
        """
        from called_twice import check

        class Net(nn.Module):
            def forward(self, x):
                y = check(x)  # first
                return y + check(x)  # second
        """
    )
    assert [line for _, line in net.events()] == [net.line("first"), net.line("second")]


def test_closures_comprehensions_and_super_are_guarded_too(source):
    net = source(
        """
        class Base(nn.Module):
            def forward(self, x):
                return [float(x) for _ in range(2)]  # base

        class Net(Base):
            def forward(self, x):
                y = int(x)  # first
                read = lambda p: int(p) + y  # second
                read(x)
                z = super().forward(x)
                return complex(x)  # last
        """
    )
    assert [net.line(mark) for mark in ("first", "second", "base", "last")] == [line for _, line in net.events()]


def test_a_decorated_forward_is_traced_past_its_decorator(source):
    net = source(
        """
        def decorate(function):
            @functools.wraps(function)
            def wrapper(self, *args, **kwargs):
                return function(self, *args, **kwargs)
            return wrapper

        class Net(nn.Module):
            @decorate
            def forward(self, x, *, y=None, **others):
                return int(x)  # here
        """
    )
    assert net.stock().error.frames == ()
    (signature, number) = net.events()
    assert (signature, number[0]) == (("signature", None), "int")
    if sys.version_info >= (3, 11):  # before, torch.fx gives its copy of the function wrong lines
        assert number[1] == net.line("here")


def test_a_generator_runs(source):
    net = source(
        """
        class Net(nn.Module):
            def forward(self, x):
                yield int(x)  # here
        """
    )
    assert net.events() == [("output", None), ("int", net.line("here"))]


def test_an_exception_that_the_traced_code_catches(net):
    made = net("try:\n    y = int(x)  # here\nexcept TypeError:\n    y = 1\nreturn x")
    recording, _ = made.record()
    assert recording.events == []
    assert [(one.family, one.frame.line, one.type) for one in recording.caught] == [
        ("int", made.line("here"), "TypeError")
    ]


def test_the_users_module_is_left_alone(source):
    net = source(
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.seen = []

            def forward(self, x):
                self.seen.append(x)
                return int(x)

        shared = Net()
        """
    )
    net.record("shared")
    assert net.module.shared.seen == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="instructions have no columns before Python 3.11")
class TestExecuted:
    def texts(self, made):
        _, executed = made.record()
        rows = made.text.splitlines()
        return {
            rows[frame.line - 1][frame.column - 1 : frame.end_column - 1]
            for frame in executed
            if frame.line == frame.end_line
        }

    def test_what_ran(self, net):
        assert "x + 1" in self.texts(net("return x + 1"))

    def test_a_part_of_a_line_that_did_not_run(self, net):
        texts = self.texts(net("return self.training is None and x.sum() > 0 or x"))
        assert "self.training" in texts
        assert "x.sum() > 0" not in texts

    def test_only_watched_lines_are_told(self, net):
        from fxlint.tracer.executed import Executed
        from fxlint.tracer.explore import record

        made = net("y = x + 1\nreturn y * 2  # watched")
        line = made.line("watched")
        executed = Executed({made.path: [(line, line)]})
        record(made.build, made.user(), executed, 20)
        assert {frame.line for frame in executed.frames()} == {line}
