"""What each family of rewrites makes of the source; the tracer's word on them is in tests/test_rules.py."""

import ast

import pytest
from suggested import net

LENGTH = [
    ("return x / len(x)", "return x / x.size(0)"),
    ("return x.transpose(0, len(x.shape) - 1)", "return x.transpose(0, x.dim() - 1)"),
    ("return x / len(x.size())", "return x / x.dim()"),
    ("return x / len(x + 1)", "return x / (x + 1).size(0)"),
    ("return x / len(x)  # the mean", "return x / x.size(0)  # the mean"),
    ("n = 'é', len(x)\nreturn x, n", "n = 'é', x.size(0)\nreturn x, n"),
]
NUMBER = [
    ("return x[: int(x.shape[0])]", "return x[: x.shape[0]]"),
    ("return x[: int(x.size(0) // 2)]", "return x[: x.size(0) // 2]"),
    ("return x[: int(x.shape[0] / 2)]", "return x[: x.shape[0] // 2]"),
    ("return x[: 2 * int(x.shape[0] / 2)]", "return x[: 2 * (x.shape[0] // 2)]"),
]
SIZES = [
    ("return torch.zeros(x.shape[0], 3)", "return torch.zeros((x.shape[0], 3))"),
    ("return torch.rand(x.size(0), 3, device=x.device)", "return torch.rand((x.size(0), 3), device=x.device)"),
    ("return torch.ones(*x.shape)", "return torch.ones(x.shape)"),
]
STARS = [
    ("return x.view(*x.shape)", "return x.view(x.shape)"),
    ("return x.view(*x.shape[:-1], 2, 4)", "return x.view(x.shape[:-1] + (2, 4))"),
    ("return x.reshape(1, *x.shape)", "return x.reshape((1,) + x.shape)"),
    ("return x.reshape((*x.shape[:-1], 2, 4))", "return x.reshape(x.shape[:-1] + (2, 4))"),
    ("a, *rest = x.shape\nreturn x, a, rest", "a, rest = x.shape[0], x.shape[1:]\nreturn x, a, rest"),
    ("a, *mid, z = x.shape\nreturn a, mid, z", "a, mid, z = x.shape[0], x.shape[1:-1], x.shape[-1]\nreturn a, mid, z"),
]
ASSERTS = [
    ("assert x.dim() == 2\nreturn x", 'torch._assert(x.dim() == 2, "x.dim() == 2")\nreturn x'),
    ('assert x.dim() == 2, "two"\nreturn x', 'torch._assert(x.dim() == 2, "two")\nreturn x'),
    (
        "assert x.dim() in (2, 3)\nreturn x",
        'torch._assert((x.dim() == 2) | (x.dim() == 3), "x.dim() in (2, 3)")\nreturn x',
    ),
    (
        "assert 0 < x.size(0) < 9 and x.any(), 'm'\nreturn x",
        'torch._assert(((0 < x.size(0)) & (x.size(0) < 9)) & x.any(), "m")\nreturn x',
    ),
]
RAISES = [
    ("if x.dim() != 2:\n    raise ValueError('two')\nreturn x", 'torch._assert(x.dim() == 2, "two")\nreturn x'),
    (
        "if x.size(0) > 2 or x.size(1) < 3:\n    raise ValueError(f'bad {x.shape} here')\nreturn x",
        'torch._assert((x.size(0) <= 2) & (x.size(1) >= 3), "bad ... here")\nreturn x',
    ),
]
CHECKS_BEFORE = [
    ("if len(x.shape) != 2:\n    raise ValueError('two')\nreturn x", 'torch._assert(x.dim() == 2, "two")\nreturn x'),
    (
        "if x.dim() != 2:\n    raise ValueError('two')\nelse:\n    # go on\n    x = -x\n    x = x + 1\nreturn x",
        'torch._assert(x.dim() == 2, "two")\n# go on\nx = -x\nx = x + 1\nreturn x',
    ),
]
CHOICES = [
    (
        "if x.sum() > 0:\n    return F.relu(x)\nreturn -x",
        "return torch.where(x.sum() > 0, F.relu(x), -x)",
    ),
    (
        "if x.sum() > 0:\n    return F.relu(x)\nelse:\n    return -x",
        "return torch.where(x.sum() > 0, F.relu(x), -x)",
    ),
    ("if x.sum() > 0:\n    x = -x\nreturn x", "x = torch.where(x.sum() > 0, -x, x)\nreturn x"),
    (
        "if x.sum() > 0:\n    y = -x\nelse:\n    y = x\nreturn y",
        "y = torch.where(x.sum() > 0, -x, x)\nreturn y",
    ),
]
TERNARIES = [("return -x if x.sum() > 0 else x", "return torch.where(x.sum() > 0, -x, x)")]
WRITES = [
    (f"z = x.clone()\n{old}\nreturn z", f"z = x.clone()\n{new}\nreturn z")
    for old, new in (
        ("z[0] = 1", "z = torch.select_scatter(z, torch.full_like(z[0], 1), 0, 0)"),
        ("z[0] = -y", "z = torch.select_scatter(z, -y, 0, 0)"),
        ("z[:, 1:3] = y", "z = torch.slice_scatter(z, y, 1, start=1, end=3)"),
        ("z[..., 0] *= 2", "z = torch.select_scatter(z, z[..., 0] * 2, -1, 0)"),
        ("z[0] *= y + 1", "z = torch.select_scatter(z, z[0] * (y + 1), 0, 0)"),
        ("z[z > 0] = y", "z = torch.where(z > 0, y, z)"),
        ("z[y] = 0", "z = torch.index_put(z, (y,), z.new_tensor(0))"),
    )
]
OPERATORS = [
    ("bool.not", "m = not x.all()\nreturn x, m", "m = torch.logical_not(x.all())\nreturn x, m"),
    ("bool.not", "m = not x.size(0) == 2\nreturn x, m", "m = x.size(0) != 2\nreturn x, m"),
    ("bool.and_or", "m = x.sum() > 0 and x.sum() < 9\nreturn x, m", "m = (x.sum() > 0) & (x.sum() < 9)\nreturn x, m"),
    ("bool.compare", "m = 0 < x.sum() < 1\nreturn x, m", "m = (0 < x.sum()) & (x.sum() < 1)\nreturn x, m"),
    ("bool.in", "m = x.dim() not in (2, 3)\nreturn x, m", "m = (x.dim() != 2) & (x.dim() != 3)\nreturn x, m"),
    ("bool.minmax", "m = any([x.any(), y.any()])\nreturn x, m", "m = x.any() | y.any()\nreturn x, m"),
    ("bool.call", "return x, bool(x.all())", "return x, x.all()"),
]
LIBRARY = [
    ("call.unbound_method", "return torch.Tensor.flatten(x, 1)", "return x.flatten(1)"),
    ("math.recorded", "import math\nreturn x / math.sqrt(x.size(0))", "import math\nreturn x / x.size(0) ** 0.5"),
    ("iter.comprehension", "return [-p for p in x.chunk(2)]", "return [-p for p in [x.chunk(2)[i] for i in range(2)]]"),
    ("output.generator", "return (x * s for s in (1, 2))", "return [x * s for s in (1, 2)]"),
    ("raise.reached", "assert isinstance(x, torch.Tensor)\nreturn x", "return x"),
    ("raise.reached", "if not isinstance(x, torch.Tensor):\n    raise TypeError\nreturn x", "return x"),
    ("format.spec", "print(f'{x.sum():.2f}')\nreturn x", "return x"),
    ("tensor.data", "return torch.tensor(x.shape[0])", "return torch.full((), x.shape[0])"),
    (
        "tensor.data",
        "return x / torch.tensor([x.size(0), 1])",
        "return x / x.new_tensor([x.size(0), 1], dtype=torch.int64)",
    ),
    (
        "tensor.data",
        "h, w = x.shape[-2:]\nreturn torch.tensor([h - 1, w])",
        "h, w = x.shape[-2:]\nreturn x.new_tensor([h - 1, w], dtype=torch.int64)",
    ),
]
TABLE = [
    *(("len.call", *row) for row in LENGTH),
    *(("int.call", *row) for row in NUMBER),
    *(("tensor.sizes" if "(*" not in row[0] else "iter.star", *row) for row in SIZES),
    *(("iter.unpack" if row[0].startswith("a, *") else "iter.star", *row) for row in STARS),
    *(("bool.assert" if " in " not in row[0] and "and" not in row[0] else None, *row) for row in ASSERTS),
    *(("bool.if" if " or " not in row[0] else None, *row) for row in RAISES),
    *(("bool.if", *row) for row in CHECKS_BEFORE),
    *(("bool.if", *row) for row in CHOICES),
    *(("bool.ternary", *row) for row in TERNARIES),
    *(("setitem.augmented" if "*=" in row[0] else "setitem.assign", *row) for row in WRITES),
    *OPERATORS,
    *LIBRARY,
]


@pytest.mark.parametrize(("event", "body", "expected"), TABLE, ids=[row[1].replace("\n", "; ") for row in TABLE])
def test_the_first_rewrite(suggested, event, body, expected):
    made = suggested(net(body, "x, y"))
    events = [event] if event else [finding.event for finding in made.prediction.findings]
    rewrites = [text for one in events for text in made.rewrites(one)]
    assert rewrites[0] == net(expected, "x, y")


@pytest.mark.parametrize(
    "body",
    [
        "sizes = [x.size(0), 1]\nreturn torch.tensor(sizes)",
        "sizes = []\nsizes.append(x.size(0))\nreturn torch.tensor(sizes)",
        "return torch.tensor([x.size(d) for d in (0, 1)])",
    ],
)
def test_a_tensor_is_filled_with_a_number_and_not_with_a_list(suggested, body):
    assert not any("torch.full(" in text for text in suggested(net(body)).rewrites("tensor.data"))


@pytest.mark.parametrize(
    "text",
    ["f'{float(x.sum()):.2f}'", "'{:.2f}'.format(float(x.sum()))", "'%.2f' % float(x.sum())"],
    ids=["f_string", "format", "percent"],
)
def test_a_number_that_is_formatted_stays_and_the_text_moves(suggested, text):
    made = suggested(net(f"s = {text}\nreturn x, s")).rewrites("float.call")
    assert len(made) == 1
    assert f"    return {text}" in made[0].replace('"', "'")


@pytest.mark.parametrize(
    "number",
    ["x.shape[0] / (4 / 2)", "x.shape[0] // 2.0", "x.shape[0] / self.m", "x.shape[0] / n", "x.shape[0] * 0.5 / 2"],
)
def test_the_conversion_stays_where_a_part_of_the_quotient_may_be_a_float(suggested, number):
    rewrites = suggested(net(f"return x[: int({number})]", "x, n: float", init="self.m = 2")).rewrites("int.call")
    assert rewrites
    assert all(f"int({number.replace('self.m', 'm')})" in text for text in rewrites)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("'two'", '"two"'),
        ("""'it is "two"'""", """'it is "two"'"""),
        (r"'a\\b'", r"'a\\b'"),
        ("f'got {x.shape}'", '"got ..."'),
        ("f'{x.dim()!r} and {x.shape} dims'", '"... and ... dims"'),
        ("f\"the '{x}' is\"", "\"the '...' is\""),
        ("'got ' + str(x.shape)", '"got ..."'),
        ("'got {} of {{}} {x:>3}'.format(x.shape, x=x)", '"got ... of {} ..."'),
        ("'%d %% of %.2f' % (x.dim(), x.sum())", '"... % of ..."'),
        ("x.shape", '"x.dim() == 2"'),
        ("f'{x}'", '"x.dim() == 2"'),
    ],
)
class TestMessages:
    """A message is a plain string: the values in it would be those of Proxies."""

    def test_of_an_assert(self, suggested, message, said):
        made = suggested(net(f"assert x.dim() == 2, {message}\nreturn x"))
        assert made.rewrites("bool.assert")[0] == net(f"torch._assert(x.dim() == 2, {said})\nreturn x")

    def test_of_an_exception(self, suggested, message, said):
        made = suggested(net(f"if x.dim() != 2:\n    raise ValueError({message})\nreturn x"))
        assert made.rewrites("bool.if")[0] == net(f"torch._assert(x.dim() == 2, {said})\nreturn x")

    def test_of_a_check(self, suggested, message, said):
        made = suggested(net(f"torch._check(x.dim() == 2, lambda: {message})\nreturn x"))
        assert made.rewrites("call.torch")[0] == net(f"torch._assert(x.dim() == 2, {said})\nreturn x")


def test_the_text_says_what_is_replaced_by_what(suggested):
    one = suggested(net("return x / len(x)")).of("len.call", "rewrite")[0]
    assert one.text == "take the size instead: replace `len(x)` by `x.size(0)`"


def test_a_check_of_types_in_a_helper_stays_where_the_helper_can_be_wrapped(suggested):
    helper = "\n\ndef check(x):\n    if not isinstance(x, torch.Tensor):\n        raise TypeError\n    return x\n"
    made = suggested(net("return check(x)") + helper)
    assert [one.kind for one in made.of("raise.reached")] == ["wrap", "rewrite"]


class TestMode:
    BODY = "if {} and torch.isnan(x).any():\n    raise ValueError('nan')\nreturn x"

    @pytest.mark.parametrize(("guard", "call"), [("self.training", "eval()"), ("not self.training", "train()")])
    @pytest.mark.parametrize(
        ("event", "body"),
        [("bool.if", BODY), ("len.call", "if {}:\n    x = x / len(x)\nreturn x")],
    )
    def test_what_stands_under_a_mode_is_avoided_by_tracing_in_the_other(self, suggested, guard, call, event, body):
        (one,) = suggested(net(body.format(guard))).of(event, "config")
        assert one.is_advice
        assert f"`module.{call}` before the trace" in one.text

    def test_the_other_side_of_a_mode_is_the_other_mode(self, suggested):
        made = suggested(net("if self.training:\n    return x\nelse:\n    return x / len(x)"))
        (one,) = made.of("len.call", "config")
        assert "`module.train()` before the trace" in one.text

    def test_the_check_asks_for_the_mode_while_tracing(self, suggested):
        (text,) = suggested(net(self.BODY.format("self.training"))).rewrites("bool.if")
        condition = "(not self.training) | torch.logical_not(torch.isnan(x).any())"
        assert text == net(f'torch._assert({condition}, "nan")\nreturn x')

    def test_without_a_mode_there_is_no_such_advice(self, suggested):
        assert suggested(net("return x / len(x)")).of("len.call", "config") == []


class TestMemory:
    """A new tensor takes the place of a write only where nothing else can see the write."""

    @pytest.mark.parametrize(
        "body",
        [
            "z = x\nz[0] = 0\nreturn x + z",
            *(
                f"z = {view}\nz[0] = 0\nreturn x + z.sum()"
                for view in (
                    "x.detach()", "x.view(-1)", "x[1]", "x.transpose(0, 1)", "x.reshape(-1)", "x.expand(4, 4)", "x.T",
                    "x.narrow(0, 0, 1)", "x.chunk(2)[0]", "x.unbind(0)[0]", "x.contiguous()", "self.fc(x)", "x.data",
                    "torch.squeeze(x)", "F.dropout(x)", "x.add(1, out=y)",
                )
            ),
            "z = x.view(-1)\nz += 1\nz[0] = 0\nreturn x",
            "if self.training:\n    z = x * 2\nelse:\n    z = x\nz[0] = 0\nreturn x + z",
            "z, y = x.chunk(2)\nz[0] = 0\nreturn x + y",
            "x[0] = 0\nreturn x",
            "if y.dim() is 2:\n    x = x.clone()\nx[0] = 0\nreturn x",
            "z = x.clone()\nw = z.view(-1)\nz[0] = 0\nreturn w",
            "z = x.clone()\nkept = [z]\nz[0] = 0\nreturn kept",
            "z = x.clone()\nkept = []\nfor i in (0, 1):\n    z[0] = i\n    kept.append(z)\nreturn kept",
            "z = x.clone()\nfor i in (0, 1):\n    z[0] = i\n    z = x[i]\nreturn z",
        ],
    )  # fmt: skip
    def test_where_it_is_shared_the_write_moves_and_the_advice_says_why(self, suggested, body):
        made = suggested(net(body, "x, y", "self.fc = nn.Linear(2, 2)"))
        rewrites = made.rewrites("setitem.assign")
        assert rewrites
        assert all("@torch.fx.wrap" in text for text in rewrites)
        assert "a new tensor in its place would not be" in made.of("setitem.assign")[-1].text

    @pytest.mark.parametrize(
        "body",
        [
            "z = x * 2\nz[0] = 0\nreturn x + z",
            "z = torch.zeros_like(x)\nz[0] = 0\nreturn z",
            "z = x.new_zeros(x.shape)\nz[0] = 0\nreturn z",
            "x = x.clone()\nx[0] = 0\nreturn x.view(-1)",
            "z = x.view(-1)\nz = z + 1\nz[0] = 0\nreturn z",
            "z = x.clone()\nmean, n = z.view(-1).mean(), z.size(0)\nz[0] = 0\nreturn z, mean, n",
            "z = x.clone()\nz += 1\nz[0] = 0\nreturn z",
            "with torch.no_grad():\n    z = x * 2\nz[0] = 0\nreturn z",
            "if self.training:\n    z = x * 2\nelse:\n    z = x.clone()\nz[0] = 0\nreturn z",
        ],
    )
    def test_where_it_is_not_the_new_tensor_is_built(self, suggested, body):
        assert "torch.select_scatter(" in suggested(net(body)).rewrites("setitem.assign")[0]

    def test_a_key_is_no_index(self, suggested):
        made = suggested(net("z = x.clone()\nz['a'] = 1\nreturn z"))
        assert not any("scatter" in text for text in made.rewrites("setitem.assign"))


class TestConstantTensors:
    INIT = "self.register_buffer('table', torch.zeros(1, 9, 4))"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("self.table[:, : x.size(1)]", "torch.narrow(self.table, 1, 0, x.size(1))"),
            ("self.table[0 : x.size(1)]", "torch.narrow(self.table, 0, 0, x.size(1))"),
            ("self.table[:, x.size(0) : x.size(0) + 2]", "torch.narrow(self.table, 1, x.size(0), 2)"),
            ("self.table[x.size(0) : x.size(1)]", "torch.narrow(self.table, 0, x.size(0), x.size(1) - x.size(0))"),
            ("self.table.expand(x.size(0), -1, -1)", "self.table.expand((x.size(0), -1, -1))"),
        ],
    )
    def test_a_part_and_an_expansion(self, suggested, old, new):
        made = suggested(net(f"return x + {old}", init=self.INIT))
        assert made.rewrites("tensor.constant")[0] == net(f"return x + {new}", init=self.INIT)

    def test_a_step_has_no_narrow(self, suggested):
        made = suggested(net("return x + self.table[:, : x.size(1) : 2]", init=self.INIT))
        assert not any("narrow" in text for text in made.rewrites("tensor.constant"))


class TestModules:
    def test_a_module_made_in_forward_moves_to_a_new_init(self, suggested):
        (text,) = suggested(net("return nn.ReLU()(x)")).rewrites("module.unregistered")
        assert text == net("return self.relu(x)", init="self.relu = nn.ReLU()")

    def test_it_goes_to_the_end_of_an_init_that_is_there(self, suggested):
        (text,) = suggested(net("return nn.ReLU()(x)", init="self.relu = 1")).rewrites("module.unregistered")
        assert text == net("return self.relu_2(x)", init="self.relu = 1\nself.relu_2 = nn.ReLU()")

    def test_a_module_made_of_an_input_stays(self, suggested):
        assert suggested(net("return nn.Softmax(d)(x)", "x, d=1")).rewrites("module.unregistered") == []

    @pytest.mark.parametrize(
        ("init", "loop", "container"),
        [
            ("self.parts = [nn.Linear(4, 4), nn.ReLU()]", "self.parts", "nn.ModuleList"),
            ("self.parts = {'a': nn.ReLU()}", "self.parts.values()", "nn.ModuleDict"),
        ],
    )
    def test_a_plain_container(self, suggested, init, loop, container):
        body = f"for part in {loop}:\n    x = part(x)\nreturn x"
        name, _, display = init.partition(" = ")
        (text,) = dict.fromkeys(suggested(net(body, init=init)).rewrites("module.unregistered"))
        assert text == net(body, init=f"{name} = {container}({display})")

    def test_a_slice_of_a_sequential(self, suggested):
        init = "self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())"
        (text,) = suggested(net("return self.body[:1](x)", init=init)).rewrites("module.unregistered")
        assert text == net("for layer in self.body[:1]:\n    x = layer(x)\nreturn x", init=init)


class TestMoved:
    """Code that stays as it is becomes a function that torch.fx.wrap makes a node."""

    def test_an_expression(self, suggested):
        text = suggested(net("n = int(x.shape[0] * self.ratio)\nreturn x[:n]", init="self.ratio = 0.5"))
        moved = text.rewrites("int.call")[-1]
        assert "@torch.fx.wrap\ndef compute_n(x, ratio):\n    return int(x.shape[0] * ratio)\n\n\nclass Net" in moved
        assert "n = compute_n(x, self.ratio)" in moved
        assert "from torch import nn\nimport torch.fx\n" in moved

    def test_a_loop(self, suggested):
        made = suggested(net("while x.shape[0] > 4:\n    x = x[::2]  # half\nreturn x"))
        (moved,) = made.rewrites("bool.while")
        assert "def compute_x(x):\n    while x.shape[0] > 4:\n        x = x[::2]  # half\n    return x\n" in moved
        assert moved.endswith("def forward(self, x):\n        x = compute_x(x)\n        return x\n")

    def test_a_branch_that_returns_takes_the_rest_along(self, suggested):
        made = suggested(net("y = x + 1\nif x.dim() == 2:\n    return y\nreturn x * y"))
        (moved,) = made.rewrites("bool.if")
        assert "def compute_rest(x, y):\n    if x.dim() == 2:\n        return y\n    return x * y\n" in moved
        assert moved.endswith("y = x + 1\n        return compute_rest(x, y)\n")

    @pytest.mark.parametrize(
        "body",
        [
            "if x.dim() == 2:\n    x = self.fc(x)\nreturn x",
            "if x.dim() == 2:\n    x = self.scale(x)\nreturn x",
            "if x.dim() == 2:\n    self.last = x\n    x = -x\nreturn x",
            "for i in (1, 2):\n    if x.dim() == i:\n        break\nreturn x",
            "if x.dim() == 2:\n    y = x\nreturn y",
        ],
    )
    def test_code_that_needs_the_module_or_its_surroundings_stays(self, suggested, body):
        made = suggested(net(body, init="self.fc = nn.Linear(2, 2)") + "\n    def scale(self, x):\n        return x\n")
        assert not any("compute_" in text for text in made.rewrites("bool.if"))

    @pytest.mark.parametrize(
        "change",
        [
            "seen.append(x)",
            "seen[-1].extend([x])",
            "seen.setdefault(1, []).append(x)",
            "x = x + seen.pop()",
            "seen[0] = x",
            "seen[0] += x",
            "seen.total = x",
            "del seen[0]",
            "fill(x, seen)",
            "last = seen[-1]\n    last.append(x)",
            "for one in seen:\n        one.append(x)",
            "self.seen[0] = x",
        ],
    )
    @pytest.mark.parametrize("owner", ["while x.sum() > 9", "if x.sum() > 9"])
    def test_code_that_changes_what_it_is_given_stays_for_a_node_would_change_a_copy(self, suggested, owner, change):
        made = suggested(net(f"seen = make()\n{owner}:\n    x = x * 2\n    {change}\nreturn x, seen"))
        events = {finding.event for finding in made.prediction.findings} & {"bool.if", "bool.while"}
        assert events
        assert not any("compute_" in text for event in events for text in made.rewrites(event))

    def test_what_it_makes_itself_it_may_change_and_tensors_in_place(self, suggested):
        body = "while x.sum() > 9:\n    parts = []\n    parts.append(x)\n    x.mul_(2)\n    x = parts[0]\nreturn x"
        assert "x = compute_x(x)" in suggested(net(body)).rewrites("bool.while")[0]

    def test_what_nobody_reads_afterwards_is_not_given_back(self, suggested):
        body = "for k in (1, 2):\n    x = x + k\nwhile x.sum() > 9:\n    k = 2\n    x = x * k\nreturn x"
        assert "        x = compute_x(x, k)\n" in suggested(net(body)).rewrites("bool.while")[0]

    def test_what_the_next_round_of_a_loop_reads_is(self, suggested):
        body = "k = 1\nfor i in (1, 2):\n    x = x + k\n    if x.sum() > 9:\n        k = 2\nreturn x"
        assert "        k = compute_k(x, k)\n" in suggested(net(body)).rewrites("bool.if")[-1]

    def test_a_target_of_an_assignment_stays(self, suggested):
        made = suggested(net("sizes = [1, 2]\nsizes[x.dim()] = 3\nreturn x, sizes"))
        assert made.of("index.subscript")
        assert made.rewrites("index.subscript") == []

    def test_two_findings_do_not_take_the_same_name(self, suggested):
        made = suggested(net("return x[int(x.size(0) * 0.5) : int(x.size(0) * 0.9)]"))
        names = [text.partition("@torch.fx.wrap\ndef ")[2].partition("(")[0] for text in made.rewrites("int.call")]
        assert names == ["compute_int", "compute_int_2"]


def test_torch_is_imported_where_the_edit_needs_it(suggested):
    text = net("assert x.dim() == 2\nreturn x").partition("\n\n\n")[2].replace("nn.Module", "Module")
    (new,) = suggested("from torch.nn import Module\n\n\n" + text).rewrites("bool.assert")
    assert new.startswith("from torch.nn import Module\nimport torch\n")


@pytest.mark.parametrize(
    "condition",
    [
        "x.dim() == 2",
        "x.shape[0] > 1",
        "x.is_cuda",
        "x.dtype == torch.half",
        "x.is_contiguous()",
        "x.is_floating_point()",
        "x.stride(0) == 1",
        "torch.equal(x, x)",
        "torch.is_nonzero(x)",
        "x.sum().item() > 0",
        "n > 3",
        "mode == 'a'",
        "late",
    ],
)
class TestConditionsOnPlainValues:
    PARAMETERS = "x, n: int, mode: 'str', late: bool | None"

    @pytest.mark.parametrize("body", ["if {}:\n    return -x\nreturn x", "return -x if {} else x"])
    def test_they_get_no_where_but_a_function_for_the_branch(self, suggested, condition, body):
        made = suggested(net(body.format(condition), self.PARAMETERS))
        rewrites = made.rewrites("bool.if" if body.startswith("if") else "bool.ternary")
        assert not any("torch.where" in text for text in rewrites)
        assert any("@torch.fx.wrap" in text for text in rewrites)

    def test_they_are_negated_without_a_function_of_tensors(self, suggested, condition):
        made = suggested(net(f"if {condition}:\n    raise ValueError('no')\nreturn x", self.PARAMETERS))
        (text,) = made.rewrites("bool.if")
        assert "torch._assert(" in text
        assert "logical_not" not in text


def test_a_plain_value_kept_under_a_name_gets_no_where_either(suggested):
    made = suggested(net("total = x.sum().item()\nreturn -x if total > 0 else x"))
    assert not any("torch.where" in text for text in made.rewrites("bool.ternary"))


@pytest.mark.parametrize("condition", ["n < x.sum()", "(x / x.size(0)).sum() > 0", "torch.any(x)"])
def test_a_tensor_beside_a_plain_value_is_a_condition_for_where(suggested, condition):
    made = suggested(net(f"return -x if {condition} else x", "x, n: int"))
    assert f"torch.where({condition}, -x, x)" in made.rewrites("bool.ternary")[0]


@pytest.mark.parametrize("side", ["None", "(x, x)", "[x]", "'no'"])
def test_sides_that_are_no_values_get_no_where(suggested, side):
    made = suggested(net(f"return x if x.sum() > 0 else {side}"))
    assert made.of("bool.ternary")
    assert not any("torch.where" in text for text in made.rewrites("bool.ternary"))


def test_a_body_that_may_return_before_it_raises_is_no_check(suggested):
    made = suggested(net("if x.dim() != 2:\n    if self.training:\n        return x\n    raise ValueError\nreturn -x"))
    assert not any("torch._assert" in text for text in made.rewrites("bool.if"))


def test_elif_is_left_to_its_if(suggested):
    body = "if x.sum() > 0:\n    x = -x\nelif x.sum() < 9:\n    x = x + 1\nreturn x"
    for text in suggested(net(body)).rewrites("bool.if"):
        ast.parse(text)


def test_nothing_suggests_cond(suggested):
    made = suggested(net("if x.sum() > 0:\n    x = -x\nreturn x if x.sum() > 0 else -x"))
    said = [one for finding in made.prediction.findings for one in finding.suggestions]
    assert said
    assert not any("torch.cond" in text for one in said for text in (one.text, *(edit.text for edit in one.edits)))
