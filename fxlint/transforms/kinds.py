"""What an expression can be in code around graphs, and which names, attributes and methods of torch.fx give what."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Kind(Enum):
    """The value of an expression. ``NODES`` is the live list of a graph, ``LIST`` any other sequence of nodes."""

    MODULE = "GraphModule"
    GRAPH = "Graph"
    NODE = "Node"
    NODES = "the nodes of a graph"
    LIST = "nodes"
    SET = "a set"
    USERS = "the users of a node"
    ARGS = "the arguments of a node"
    KWARGS = "the keyword arguments of a node"
    META = "the meta of a node"
    TARGET = "the target of a node"
    OP = "the op of a node"
    INTERPRETER = "Interpreter"
    TRANSFORMER = "Transformer"
    TRACER = "Tracer"
    PASS = "PatternMatcherPass"


CLASSES: Final = {
    "GraphModule": Kind.MODULE,
    "_LazyGraphModule": Kind.MODULE,
    "Graph": Kind.GRAPH,
    "Node": Kind.NODE,
    "Interpreter": Kind.INTERPRETER,
    "ShapeProp": Kind.INTERPRETER,
    "FakeTensorProp": Kind.INTERPRETER,
    "Transformer": Kind.TRANSFORMER,
    "Tracer": Kind.TRACER,
    "PatternMatcherPass": Kind.PASS,
}
"""By the last part of the name; the whole one starts with one of ``HOMES``."""

HOMES: Final = ("torch.fx.", "torch._inductor.pattern_matcher.")

TRACING: Final = frozenset({"torch.fx.symbolic_trace", "torch.fx._symbolic_trace.symbolic_trace"})
"""Functions that return the GraphModule of the stock tracer."""

MAKERS: Final = frozenset({"torch.fx.experimental.proxy_tensor.make_fx"})
"""Functions that return a function that returns a GraphModule."""

COPIES: Final = frozenset({"copy.copy", "copy.deepcopy"})

ATTRIBUTES: Final = {
    (Kind.MODULE, "graph"): Kind.GRAPH,
    (Kind.GRAPH, "nodes"): Kind.NODES,
    (Kind.GRAPH, "owning_module"): Kind.MODULE,
    (Kind.NODE, "graph"): Kind.GRAPH,
    (Kind.NODE, "users"): Kind.USERS,
    (Kind.NODE, "args"): Kind.ARGS,
    (Kind.NODE, "kwargs"): Kind.KWARGS,
    (Kind.NODE, "all_input_nodes"): Kind.LIST,
    (Kind.NODE, "next"): Kind.NODE,
    (Kind.NODE, "prev"): Kind.NODE,
    (Kind.NODE, "meta"): Kind.META,
    (Kind.NODE, "target"): Kind.TARGET,
    (Kind.NODE, "op"): Kind.OP,
    (Kind.INTERPRETER, "module"): Kind.MODULE,
    (Kind.INTERPRETER, "graph"): Kind.GRAPH,
    (Kind.TRANSFORMER, "module"): Kind.MODULE,
    (Kind.TRANSFORMER, "graph"): Kind.GRAPH,
    (Kind.TRANSFORMER, "new_graph"): Kind.GRAPH,
}

CALLS: Final = frozenset({"call_function", "call_module", "call_method", "get_attr", "create_node"})
"""Methods of a Graph that make a node which has to stand before its users."""

CREATIONS: Final = CALLS | {"placeholder", "output", "node_copy"}

METHODS: Final = {
    **{(Kind.GRAPH, name): Kind.NODE for name in CREATIONS},
    (Kind.GRAPH, "output_node"): Kind.NODE,
    (Kind.GRAPH, "find_nodes"): Kind.LIST,
    (Kind.TRACER, "trace"): Kind.GRAPH,
    (Kind.TRANSFORMER, "transform"): Kind.MODULE,
    (Kind.USERS, "keys"): Kind.LIST,
}

ITERABLE: Final = frozenset({Kind.NODES, Kind.LIST, Kind.USERS})
"""What gives nodes when it is iterated."""

OPS: Final = ("placeholder", "get_attr", "call_function", "call_module", "call_method", "output")

INSERTIONS: Final = frozenset({"inserting_before", "inserting_after"})
