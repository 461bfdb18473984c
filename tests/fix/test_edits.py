"""What every edit keeps: a file that parses, the comments, and the form of what it does not touch."""

import ast

import pytest
from suggested import HEAD, net

from fxlint.findings import Location
from fxlint.fix.source import Source
from fxlint.project.source import parse

ODD = {
    "a semicolon before": "n = 2; y = len(x); return y * n",
    "a semicolon after": "assert x.dim() == 2; return x",
    "a body on the line of its if": "if x.sum() > 0: return -x\nreturn x",
    "an else on its line": "if x.dim() != 2:\n    raise ValueError\nelse: x = -x; x = x + 1\nreturn x",
    "a backslash": "y = x + \\\n    len(x) + \\\n    int(x.size(0) / 2)\nreturn y",
    "a chain over lines": "return len((x\n    .relu()\n    .tanh()))",
    "operands over lines": "assert (x.dim() == 2\n    and x.sum() > 0\n    ), 'no'\nreturn x",
    "a nested function": "def inner(z):\n    if z.sum() > 0:\n        z = -z\n    return z\nreturn inner(x)",
    "letters of two bytes": "é, ü = 'é', len(x)  # ä\nreturn x, é, ü",
    "a form feed": "y = x\n\x0c\nif x.sum() > 0:\n    y = -y\nreturn y",
    "a loop with an else": "for p in x:\n    y = p\nelse:\n    y = x\nreturn y",
    "a try": "try:\n    y = len(x)\nexcept ValueError:\n    y = int(x.size(0) * 0.5)\nfinally:\n    z = x\nreturn y, z",
    "an elif": "if self.training:\n    x = -x\nelif x.dim() != 2:\n    raise ValueError('two')\nreturn x",
    "a match": "match x.dim():\n    case 2 if x.sum() > len(x):\n        return -x\n    case _:\n        return x",
    "an f-string": "print(f'{len(x)} {int(x.size(0) / 2):>3} {x.sum():.2f}')\nreturn x",
    "a lambda": "f = lambda z: len(z) + int(z.size(0) / 2)\nreturn f(x)",
    "a generator as the only argument": "return any(p for p in x.chunk(2))",
    "a decorator below": "if x.sum() > 0:\n    @staticmethod\n    def f():\n        pass\n    x = -x\nreturn x",
    "a line that is not indented": "if x.sum() > 0:\n    x = (x +\n1)\n# here\n    x = -x\nreturn x",
    "a definition after else": "if x.dim() != 2:\n    raise ValueError\nelse:\n    def f():\n        return 2",
    "text over lines": "if x.dim() != 2:\n    raise ValueError('''two\nor more''')\nreturn x",
}


@pytest.mark.parametrize("tabs", [False, True])
@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_the_edited_file_parses(suggested, body, tabs):
    text = net(body, init="self.n = 2")
    made = suggested(text.replace("    ", "\t") if tabs else text)
    rewrites = [one for finding in made.prediction.findings for one in finding.suggestions if one.edits]
    for one in rewrites:
        ast.parse(made.edited(one))


@pytest.mark.parametrize(
    ("event", "old", "new"),
    [
        (
            "bool.assert",
            "assert (  # ranks\n    x.dim() == 2  # two\n)\nreturn x",
            '# ranks\n# two\ntorch._assert(x.dim() == 2, "x.dim() == 2")\nreturn x',
        ),
        (
            "bool.if",
            "if x.dim() != 2:  # ranks\n    # of two\n    raise ValueError('two')  # only\nreturn x",
            '# ranks\n# of two\ntorch._assert(x.dim() == 2, "two")  # only\nreturn x',
        ),
        (
            "bool.if",
            "if x.sum() > 0:\n    # turn\n    x = -x  # noqa: X1\nreturn x",
            "# turn\nx = torch.where(x.sum() > 0, -x, x)  # noqa: X1\nreturn x",
        ),
        ("len.call", "y = x / len(  # rows\n    x\n)\nreturn y", "# rows\ny = x / x.size(0)\nreturn y"),
        ("format.spec", "print(f'{x.sum():.2f}')  # a # b\nreturn x", "# a # b\nreturn x"),
        ("len.call", "y = '# no comment', len(x)\nreturn x, y", "y = '# no comment', x.size(0)\nreturn x, y"),
    ],
)
def test_comments_in_what_is_replaced_go_above_it(suggested, event, old, new):
    assert suggested(net(old)).rewrites(event)[0] == net(new)


def test_a_definition_that_moves_keeps_its_body(suggested):
    made = suggested(
        net("if x.dim() != 2:\n    raise ValueError\nelse:\n    @f\n    def f():\n        return 2\nreturn x")
    )
    expected = net('torch._assert(x.dim() == 2, "x.dim() == 2")\n@f\ndef f():\n    return 2\nreturn x')
    assert made.rewrites("bool.if")[0] == expected


def test_where_there_is_no_room_above_the_edit_is_not_offered(suggested):
    body = "if self.training:\n    x = -x\nelif x.sum() > len(  # rows\n    x\n):\n    x = x + 1\nreturn x"
    made = suggested(net(body))
    assert made.of("len.call")
    assert not any("size(0)" in text for text in made.rewrites("len.call"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y = len(x) ** 2", "y = x.size(0) ** 2"),
        ("y = int(x.size(0) / 2) ** 2", "y = (x.size(0) // 2) ** 2"),
        ("y = -int(x.size(0) / 2)", "y = -(x.size(0) // 2)"),
        ("y = int(x.size(0) / 2) + 1", "y = x.size(0) // 2 + 1"),
        ("y = 7 // int(x.size(0) / 2)", "y = 7 // (x.size(0) // 2)"),
        ("y = [int((x.size(0) + 1) / 2)]", "y = [(x.size(0) + 1) // 2]"),
        ("y = int(x.size(0) / 2) if self.training else 0", "y = x.size(0) // 2 if self.training else 0"),
    ],
)
def test_parentheses_stand_where_the_operators_ask_for_them(suggested, old, new):
    made = suggested(net(f"{old}\nreturn x, y"))
    event = "len.call" if "len" in old else "int.call"
    assert made.rewrites(event)[0] == net(f"{new}\nreturn x, y")


def test_arguments_keep_their_lines(suggested):
    made = suggested(net("return torch.zeros(\n    x.size(0), 3,\n    device=x.device,\n)"))
    (text, *_) = made.rewrites("tensor.sizes")
    assert text == net("return torch.zeros(\n    (x.size(0), 3),\n    device=x.device,\n)")


def test_arguments_in_parentheses_of_their_own(suggested):
    made = suggested(net("return torch.zeros((x.size(0)), (3))"))
    assert made.rewrites("tensor.sizes")[0] == net("return torch.zeros((x.size(0), 3))")


def test_a_long_block_stays_where_it_is(suggested):
    lines = "".join(f"    x = x + {number}\n" for number in range(400))
    made = suggested(net(f"if x.dim() == 2:\n{lines}return x"))
    assert made.of("bool.if")
    assert made.rewrites("bool.if") == []


def test_a_node_is_found_by_its_place_wherever_it_stands():
    text = f"{HEAD}    a = 1; b = (2,\n    3)\n\n    @property\n    def é(self): return 'ü', len(self)\n"
    source = Source(parse("a.py", text))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call | ast.Tuple | ast.FunctionDef):
            found = source.at(source.file.location(node))
            assert found is node
    assert source.at(Location("a.py", 1, 2, 1, 4)) is None
    assert source.at(Location("a.py", 99, 1, 99, 2)) is None


def test_a_file_is_read_once_and_only_where_something_was_found(tmp_path):
    from suggested import RULES

    from fxlint.fix import with_suggestions
    from fxlint.predict import predict

    for name, body in (("bad", "return x / len(x), int(x.size(0) / 2)"), ("good", "return x")):
        (tmp_path / f"{name}.py").write_text(net(body))
    read: list[str] = []

    def text(path: str) -> str:
        read.append(path)
        return (tmp_path / path).read_text()

    paths = [str(tmp_path / "bad.py"), str(tmp_path / "good.py")]
    made = with_suggestions(predict(paths, RULES, (tmp_path,)), text)
    assert len(made.findings) > 1
    assert read == paths[:1]
