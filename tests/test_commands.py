"""``fxlint trace`` and ``fxlint instances``: one trace in full, and what there is to trace."""

import json
import sys
from pathlib import Path

import pytest

from fxlint.cli import main
from fxlint.confirm.shown import Node, Shown
from fxlint.findings import Root
from fxlint.report.graph import CannotDrawError, svg

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

MODEL = """\
import torch
from torch import nn


def double(x):
    return x * 2


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(width, 8)

    def forward(self, x, flag=False):
        x = self.linear(x)
        if flag:
            x = double(x)
        return torch.split(x, 3, dim=1)


class Odd(nn.Module):
    def __init__(self, thing, *, size, n=3):
        super().__init__()
        if thing.secret != "xyzzy":
            raise ValueError("no")

    def forward(self, x):
        return x
"""


@pytest.fixture
def fxlint(tmp_path, monkeypatch, capfd):
    """Run fxlint in a folder with pkg/net.py: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    Path("pkg").mkdir()
    Path("pkg/__init__.py").touch()
    Path("pkg/net.py").write_text(MODEL)
    Path("fxlint.toml").write_text(f"python = '{sys.executable}'\n")

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        return (stopped.value.code, *capfd.readouterr())

    return run


class TestTrace:
    def test_the_error_that_stops_it(self, fxlint):
        code, out, said = fxlint("trace", "pkg.net:Net")
        assert (code, out) == (1, "")
        assert said == (
            "Net fails, from Net(): TraceError: symbolically traced variables cannot be used as inputs to "
            "control flow (pkg/net.py:16:9)\n"
        )

    def test_the_cell_of_a_notebook_in_which_it_stops(self, fxlint):
        cells = [{"cell_type": "code", "source": text} for text in ("x = 1", MODEL)]
        Path("nb.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}))
        assert fxlint("trace", "nb.ipynb::Net")[2].endswith("(nb.ipynb:cell 2:16:9)\n")

    def test_a_helper_of_another_file_is_seen_from_the_working_directory(self, fxlint):
        Path("pkg/helper.py").write_text("def scale(x):\n    return x * 2\n")
        Path("pkg/user.py").write_text(
            "from torch import nn\nfrom .helper import scale\n\n\nclass Net(nn.Module):\n"
            "    def forward(self, x):\n        return scale(x)\n"
        )
        assert "  # pkg/helper.py:2\n" in fxlint("trace", "pkg.user:Net")[1]

    @pytest.mark.parametrize(("name", "given"), [("pkg.net:Net", "flag=True"), ("pkg/net.py::Net", "{'flag': True}")])
    def test_the_graph_with_the_line_that_made_each_node(self, fxlint, name, given):
        code, out, said = fxlint("trace", name, "--concrete-args", given)
        assert (code, said) == (0, "Net traces: 8 nodes, from Net()\n")
        (multiplied,) = [row for row in out.splitlines() if "operator.mul" in row]
        assert multiplied.endswith("  # pkg/net.py:6")

    def test_shapes_and_dtypes_on_example_inputs(self, fxlint):
        common = ("trace", "pkg.net:Net", "--concrete-args", "flag=True", "--inputs", "(torch.ones(2, 4),)")
        _, out, _ = fxlint(*common, "--format", "json")
        nodes = {node["name"]: node for node in json.loads(out)["nodes"]}
        assert nodes["linear"]["tensors"] == [{"shape": [2, 8], "dtype": "float32"}]
        assert [tensor["shape"] for tensor in nodes["split"]["tensors"]] == [[2, 3], [2, 3], [2, 2]]
        assert (nodes["mul"]["path"], nodes["mul"]["line"], nodes["mul"]["inputs"]) == ("pkg/net.py", 6, ["linear"])
        _, out, _ = fxlint(*common, "--format", "tabular")
        (row,) = [row for row in out.splitlines() if row.startswith("call_module")]
        assert row.split()[-2:] == ["8]", "pkg/net.py:15"]

    def test_inputs_that_do_not_fit_cost_the_shapes_only(self, fxlint):
        code, out, said = fxlint("trace", "pkg.net:Net", "--concrete-args", "flag=True", "--inputs", "(torch.ones(3),)")
        assert (code, "operator.mul" in out) == (0, True)
        assert said.startswith("warning: no shapes: RuntimeError: mat1 and mat2 shapes cannot be multiplied")

    def test_the_generated_code(self, fxlint):
        _, out, _ = fxlint("trace", "pkg.net:double", "--format", "code")
        assert "def forward(self, x):" in out

    def test_the_instance_and_the_tracer_of_the_configuration(self, fxlint):
        more = "[instances]\n'pkg.net:Net' = 'Net(width=7)'\n[tracer]\nbind-defaults = true\n"
        Path("fxlint.toml").write_text(Path("fxlint.toml").read_text() + more)
        assert fxlint("trace", "pkg.net:Net")[2] == "Net traces: 7 nodes, from Net(width=7)\n"

    def test_a_parameter_that_does_not_exist(self, fxlint):
        _, _, said = fxlint("trace", "pkg.net:Net", "--concrete-args", "flagg=True")
        assert "not used: forward has no parameter flagg" in said.splitlines()[0]

    def test_what_cannot_be_built_says_why(self, fxlint):
        code, _, said = fxlint("trace", "pkg.net:Odd")
        assert (code, said.count("\n")) == (2, 1)
        assert said.startswith("error: Odd was not traced: ")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("pkg.net:Nett", "pkg/net.py has no module class or function Nett; did you mean 'Net'?"),
            ("pkg.nett:Net", "there is no module pkg.nett"),
            ("Net", "'Net' is no name; write package.module:Class or path.py::Class"),
            ("", "'' is no name; write package.module:Class or path.py::Class"),
            ("pkg.net:", "'pkg.net:' is no name; write package.module:Class or path.py::Class"),
            ("gone.py::Net", "gone.py"),
        ],
    )
    def test_a_name_that_means_nothing_is_one_line(self, fxlint, name, said):
        code, _, error = fxlint("trace", name)
        assert (code, error.count("\n")) == (2, 1)
        assert said in error

    def test_svg_without_graphviz_says_what_is_missing(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "graphviz", None)
        with pytest.raises(CannotDrawError, match=r"^svg needs the package graphviz: pip install 'fxlint\[svg\]'$"):
            svg(Shown(Root("net.py", "Net", 1, "class"), "Net()"))

    def test_svg_has_every_node(self):
        pytest.importorskip("graphviz")
        nodes = (Node("x", "placeholder", "x", "", "", (), ""), Node("y", "call_function", "f<T>", "", "", ("x",), ""))
        try:
            drawn = svg(Shown(Root("net.py", "Net", 1, "class"), "Net()", nodes))
        except CannotDrawError:
            pytest.skip("Graphviz is not installed")
        assert "x: placeholder" in drawn
        assert "f&lt;T&gt;" in drawn


class TestInstances:
    def test_what_was_found_and_lines_for_what_was_not(self, fxlint):
        code, out, said = fxlint("instances", "pkg")
        found, _, rest = out.partition("\n\n")
        assert found == "pkg/net.py:9: Net: no arguments: pkg.net.Net()"
        heading, line = rest.splitlines()
        assert heading == "[tool.fxlint.instances]"
        assert line.startswith('"pkg.net:Odd" = "Odd(thing=..., size=...)"  # ')
        assert (code, said) == (1, "1 of 2 classes have an instance\n")

    def test_its_lines_are_a_configuration(self, fxlint):
        _, out, _ = fxlint("instances", "pkg")
        lines = out.partition("[tool.fxlint.instances]\n")[2]
        Path("fxlint.toml").write_text(Path("fxlint.toml").read_text() + "[instances]\n" + lines)
        code, out, _ = fxlint("instances", "pkg")
        assert (code, out.splitlines()[1]) == (0, "pkg/net.py:21: Odd: declared: Odd(thing=..., size=...)")

    def test_a_file_that_cannot_be_imported_is_named(self, fxlint):
        Path("pkg/bad.py").write_text("import gone\n" + MODEL)
        said = fxlint("instances", "pkg")[2]
        assert said.splitlines()[0] == (
            "warning: pkg/bad.py: importing it raised ModuleNotFoundError: No module named 'gone' (bad.py:1)"
        )

    def test_the_others_are_found_where_one_takes_the_process_down(self, fxlint):
        Path("pkg/bad.py").write_text("import os\nos._exit(3)\n" + MODEL)
        _, out, said = fxlint("instances", "pkg")
        assert said.splitlines()[0].startswith("warning: pkg/bad.py: importing it called os._exit(3)")
        assert "pkg/net.py:9: Net: no arguments: pkg.net.Net()" in out

    def test_a_path_that_does_not_exist(self, fxlint):
        code, _, said = fxlint("instances", "gone")
        assert (code, said.splitlines()[0]) == (2, "error: gone: no such file or folder")

    def test_classes_of_a_notebook_are_told_by_cell(self, fxlint):
        code = ["from torch import nn", MODEL.partition("\n\n\n")[2]]
        cells = [{"cell_type": "code", "source": source} for source in code]
        Path("nb.ipynb").write_text(json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}))
        code, out, said = fxlint("instances", "nb.ipynb")
        assert out.startswith("nb.ipynb:cell 2:")
        assert '"nb.ipynb::Odd" = "Odd(thing=..., size=...)"' in out
        assert (code, said.splitlines()[-1]) == (1, "1 of 2 classes have an instance")

    def test_each_configuration_has_its_own_lines(self, fxlint):
        Path("other").mkdir()
        Path("other/net.py").write_text(MODEL)
        Path("other/fxlint.toml").write_text("[instances]\n'net.py::Odd' = 'Odd(1, 2)'")
        code, out, said = fxlint("instances", ".")
        assert "other/net.py:21: Odd: declared: Odd(1, 2)\n" in out
        assert f"[tool.fxlint.instances]  # {Path('fxlint.toml').absolute()}\n" in out
        assert (code, said) == (1, "3 of 4 classes have an instance\n")
