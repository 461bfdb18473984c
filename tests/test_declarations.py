"""Slips in declarations are told, one line each."""

import pytest

from fxlint.declarations import slips
from fxlint.findings import Root


@pytest.fixture
def told(tmp_path):
    """The slips in a file net.py of this text, with class ``Net`` a root, and in a configuration."""

    def tell(text="", instances=None, declared=(), inputs=None):
        path = tmp_path / "net.py"
        path.write_text(text, encoding="utf-8")
        root = Root(str(path), "Net", 1, "class", tuple(declared), inputs)
        problems = slips([root], [str(path)], {"instances": instances or {}}, "fxlint.toml", (tmp_path,))
        assert {problem.stage for problem in problems} <= {"confirm"}
        return [(problem.path.rpartition("/")[2], problem.line, problem.message) for problem in problems]

    return tell


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("instnace=Net(4)", "says nothing to fxlint; did you mean `instance`?"),
        ("trce", "says nothing to fxlint; did you mean `trace`?"),
        (
            "skip",
            (
                "says nothing to fxlint; known are `instance=...`, `inputs=...`, `trace`, `ignore[...]` and "
                "`ignore-file[...]`"
            ),
        ),
        ("ignore FX120", "is not understood; write `ignore` alone, or `ignore[CODE]` and then a reason"),
        ("ignore-file[]", "is not understood; write `ignore-file` alone, or `ignore-file[CODE]` and then a reason"),
        ("input=(x,)", "says nothing to fxlint; did you mean `inputs`?"),
        ("inputs=(x,", "is no expression: '(' was never closed"),
        ("inputs (x,)", "is not understood; write `inputs=` and a tuple of example inputs"),
        ("inputs=(y,)", "stands beside no module class with a forward"),
        ("instance=Net(4", "is no expression: '(' was never closed"),
        ("instance Net(4)", "is not understood; write `instance=` and an expression that makes one"),
        ("instance=", "is not understood; write `instance=` and an expression that makes one"),
        ("trace=f", "is not understood: nothing may follow `trace`"),
        ("instance=Net(5)", "stands beside no module class with a forward"),
    ],
)
def test_a_comment(told, comment, message):
    text = f"class Net:\n    pass  # fxlint: {comment}\n"
    assert told(text) == [("net.py", 2, f"`# fxlint: {comment}` {message}")]


def test_comments_that_are_right_and_text_that_is_no_comment(told):
    text = '"""Say `# fxlint: instnace=Net(1)`."""\nclass Net:  # fxlint: instance=Net(4)\n    pass\n# fxlint: trace\n'
    text += "# fxlint: inputs=(x,)"
    assert told(text, declared=["Net(4)"], inputs="(x,)") == []


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("net:Nett", "names no module class: there is no Nett with a forward in that file; did you mean Net?"),
        ("net.py::Other", "names no module class: there is no Other with a forward in that file"),
        ("away.net:Net", "names no file: there is no module away.net"),
        ("away/net.py::Net", "names no file: there is no file away/net.py"),
    ],
)
def test_a_key_of_the_configuration(told, key, message):
    assert told(instances={key: ("Net(4)",)}) == [("fxlint.toml", None, f"instances: '{key}' {message}")]


def test_keys_that_are_right_and_of_files_that_are_not_linted_this_time(told, tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "other.py").touch()
    keys = ("net:Net", "net.py::Net", "pack.other:Thing", "pack/other.py::Thing")
    assert told(instances=dict.fromkeys(keys, ("Net(4)",))) == []


def test_an_expression_of_the_configuration(told):
    (problem,) = told(instances={"net:Net": ("Net(4)", "Net(")})
    assert problem == ("fxlint.toml", None, "instances: 'net:Net': `Net(` is no expression: '(' was never closed")
