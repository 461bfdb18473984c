"""Which expressions are taken for graphs, nodes and graph modules: seen by a mistake that only those can have."""

from __future__ import annotations

import ast

import pytest

from fxlint.transforms.infer import Kinds


@pytest.mark.parametrize(
    "code",
    [
        "def f(node: fx.Node):\n    return node.users == 1",
        "def f(node: torch.fx.Node):\n    return node.users == 1",
        "def f(node: 'fx.Node'):\n    return node.users == 1",
        "def f(node: fx.Node | None):\n    return node.users == 1",
        "from typing import Optional\ndef f(node: Optional[fx.Node]):\n    return node.users == 1",
        "def f(nodes: list[fx.Node]):\n    return [n for n in nodes if n.users == 1]",
        "def f(gm: fx.GraphModule):\n    for n in gm.graph.nodes:\n        n.users == 1",
        "def f(model):\n    gm = fx.symbolic_trace(model)\n    for n in list(gm.graph.nodes):\n        n.users == 1",
        "def f(model):\n    graph = fx.Tracer().trace(model)\n    return [n.users == 1 for n in reversed(graph.nodes)]",
        "def f(gm: fx.GraphModule):\n    for i, n in enumerate(gm.graph.nodes):\n        n.users == 1",
        "def f(gm: fx.GraphModule):\n    _, _, n, _ = gm.graph.nodes\n    n.users == 1",
        "def f(gm: fx.GraphModule):\n    n = next(iter(gm.graph.nodes))\n    n.users == 1",
        "def f(gm: fx.GraphModule):\n    (n,) = gm.graph.find_nodes(op='output')\n    n.users == 1",
        "def f(graph: fx.Graph):\n    n = graph.call_function(torch.relu, ())\n    n.users == 1",
        "def f(node: fx.Node):\n    for n in node.users:\n        n.users == 1",
        "def f(node: fx.Node):\n    return node.all_input_nodes[0].users == 1",
        "import copy\ndef f(gm: fx.GraphModule):\n    for n in copy.deepcopy(gm).graph.nodes:\n        n.users == 1",
        (
            "class I(fx.Interpreter):\n    def run_node(self, n):\n        n.users == 1\n"
            "        return super().run_node(n)"
        ),
        "class T(fx.Transformer):\n    def f(self):\n        return [n.users == 1 for n in self.module.graph.nodes]",
        (
            "class P:\n    def __init__(self, gm: fx.GraphModule):\n        self.gm = gm\n    def f(self):\n"
            "        return [n.users == 1 for n in self.gm.graph.nodes]"
        ),
        (
            "class P:\n    graph: fx.Graph\n    def __init__(self, g: fx.Graph):\n        self.graph = g\n"
            "    def f(self):\n        return [n.users == 1 for n in self.graph.nodes]"
        ),
        (
            "def helper(n):\n    return n.users == 1\ndef f(gm: fx.GraphModule):\n"
            "    return [helper(n) for n in gm.graph.nodes]"
        ),
        "def first(gm: fx.GraphModule) -> fx.Node: ...\ndef f(gm: fx.GraphModule):\n    return first(gm).users == 1",
        "for n in fx.symbolic_trace(nn.ReLU()).graph.nodes:\n    n.users == 1",
        (
            "def f(gm: fx.GraphModule):\n    def inner():\n"
            "        return [n.users == 1 for n in gm.graph.nodes]\n    return inner()"
        ),
        (
            "def f(gm):\n    from torch.fx.graph_module import GraphModule\n    new: GraphModule = gm\n"
            "    return [n.users == 1 for n in new.graph.nodes]"
        ),
    ],
)
def test_a_node_is_known(lint, code):
    assert [finding.code for finding in lint(code)] == ["FX314"]


@pytest.mark.parametrize(
    "code",
    [
        "def f(node):\n    return node.users == 1",
        "class Node: ...\ndef f(node: Node):\n    return node.users == 1",
        "def f(node: fx.Node, other):\n    node = other\n    return node.users == 1",
        "def f(node: fx.Node | str):\n    return node.users == 1",
        (
            "def f(gm: fx.GraphModule, names):\n    for n in gm.graph.nodes:\n        pass\n"
            "    for n in names:\n        n.users == 1"
        ),
        (
            "def helper(n):\n    return n.users == 1\ndef f(gm: fx.GraphModule, m):\n"
            "    return [helper(n) for n in gm.graph.nodes], helper(m)"
        ),
        "def f(gm: fx.GraphModule):\n    return [(lambda n: n.users == 1)(u) for u in gm.graph.nodes]",
    ],
)
def test_what_may_be_something_else_is_not_taken_for_a_node(lint, code):
    assert lint(code) == []


def test_names_are_followed_through_the_linted_files(lint):
    code = (
        "from base import Base, GraphModule\n\n\n"
        "class I(Base):\n    def call_function(self, target, args, kwargs):\n        target\n"
    )
    base = "import torch.fx\nfrom torch.fx import GraphModule\n\n\nclass Base(torch.fx.Interpreter):\n    pass\n"
    assert [finding.code for finding in lint(code, base=base)] == ["FX330"]


def test_a_file_that_cannot_be_parsed_has_no_findings_here(lint):
    assert lint("def f(node: fx.Node:\n    node.users == 1") == []


def test_a_file_without_a_word_about_graphs_is_not_read(lint):
    assert lint("def f(node):\n    node.args[0] = 1\n", head="") == []


def test_a_place_counts_code_points(lint):
    (finding,) = lint("def f(node: fx.Node):\n    return 'ä', node.users == 1\n")
    assert (finding.location.column, finding.location.end_column) == (17, 32)


def test_a_call_is_looked_at_once_however_often_it_is_asked_for(lint, monkeypatch):
    looked: list[ast.Call] = []
    of_call = Kinds._of_call
    monkeypatch.setattr(Kinds, "_of_call", lambda self, node, *rest: looked.append(node) or of_call(self, node, *rest))
    lint("def f(x):\n    return x" + ".foo()" * 200)
    assert len(looked) == len(set(looked)) > 100
