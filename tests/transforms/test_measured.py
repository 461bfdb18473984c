"""What docs/transforms.md says was measured, where it is the reason for having no rule."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
fx = pytest.importorskip("torch.fx")
pytestmark = pytest.mark.torch


def chain(x):
    return torch.relu(torch.neg(torch.tanh(x)))


def test_erasing_the_current_node_its_neighbours_or_both_visits_each_remaining_node_once():
    for erased in (("neg",), ("tanh", "relu"), ("tanh", "neg", "relu")):
        graph = fx.Tracer().trace(chain)
        for node in graph.nodes:
            node.args = ()
        visited = []
        for node in graph.nodes:
            visited.append(node.name)
            if node.name == "neg":
                for other in list(graph.nodes):
                    if other.name in erased:
                        graph.erase_node(other)
        after = ["output"] if "relu" in erased else ["relu", "output"]
        assert visited == ["x", "tanh", "neg", *after]


def once(x):
    return torch.relu(x)


def twice(x):
    return torch.relu(torch.relu(x))


def test_a_pattern_that_matches_its_replacement_is_replaced_once_in_a_call():
    gm = fx.symbolic_trace(chain)
    assert len(fx.replace_pattern(gm, once, twice)) == 1
    assert [node.target for node in gm.graph.nodes].count(torch.relu) == 2


def register(passes, **settings):
    from torch._inductor.pattern_matcher import fwd_only, register_replacement

    register_replacement(lambda x: x.neg().neg(), lambda x: x, [torch.empty(4)], fwd_only, passes, **settings)


def test_registering_a_pattern_twice_is_refused():
    from torch._inductor.pattern_matcher import PatternMatcherPass

    passes = PatternMatcherPass()
    register(passes)
    with pytest.raises(RuntimeError, match="Duplicate pattern"):
        register(passes)


@pytest.mark.parametrize("names", [("nobody",), "nobody"])
def test_exclusive_names_of_no_argument_are_accepted(names):
    from torch._inductor.pattern_matcher import PatternMatcherPass

    passes = PatternMatcherPass()
    register(passes, exclusive_arg_names=names)
    assert len(passes.patterns) > 0
