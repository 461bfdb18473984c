"""What looks like a mistake and is none: idioms of real passes, each near a rule."""

from __future__ import annotations

import pytest

SILENT = {
    "the caller recompiles": """
        def change(model):
            gm = fx.symbolic_trace(model)
            for node in gm.graph.nodes:
                node.target = torch.tanh
            return gm

        def run(model):
            gm = change(model)
            gm.recompile()
            return gm
        """,
    "a module that was given is returned for the caller to recompile": """
        def change(gm: fx.GraphModule):
            for node in gm.graph.nodes:
                node.target = torch.tanh
            return gm
        """,
    "a helper may recompile": """
        def change(model, finish):
            gm = fx.symbolic_trace(model)
            gm.graph.eliminate_dead_code()
            finish(gm)
            return gm
        """,
    "recompiled in the loop": """
        def change(model):
            gm = fx.symbolic_trace(model)
            for node in gm.graph.nodes:
                gm.recompile()
                node.target = torch.tanh
            return gm
        """,
    "a node is made by a helper inside the caller's insertion point": """
        def relu(graph: fx.Graph, node: fx.Node):
            return graph.call_function(torch.relu, (node,))

        def change(gm: fx.GraphModule):
            for node in list(gm.graph.nodes):
                with gm.graph.inserting_after(node):
                    new = relu(gm.graph, node)
                node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
        """,
    "an insertion point without with stays set": """
        def change(gm: fx.GraphModule):
            for node in list(gm.graph.nodes):
                gm.graph.inserting_after(node)
                new = gm.graph.call_function(torch.relu, (node,))
                node.replace_all_uses_with(new, delete_user_cb=lambda user: user is not new)
        """,
    "a node is moved after it was made": """
        def change(gm: fx.GraphModule):
            for node in list(gm.graph.nodes):
                with gm.graph.inserting_before(node):
                    new = gm.graph.call_function(torch.relu, (node,))
                node.append(new)
        """,
    "a counter ends the loop": """
        def change(gm: fx.GraphModule):
            seen = set()
            for node in gm.graph.nodes:
                if node.target is torch.relu and node not in seen:
                    with gm.graph.inserting_after(node):
                        seen.add(gm.graph.call_function(torch.relu, (node,)))
        """,
    "erased where nobody uses it": """
        def change(gm: fx.GraphModule):
            for node in reversed(gm.graph.nodes):
                if node.op == "call_function" and node.target is torch.relu and not node.users:
                    gm.graph.erase_node(node)
        """,
    "erased after its users were given something else": """
        def change(gm: fx.GraphModule):
            for node in gm.graph.nodes:
                if node.op == "call_function" and node.target is torch.relu:
                    for user in list(gm.graph.nodes):
                        user.args = tuple(node.args[0] if arg is node else arg for arg in user.args)
                    gm.graph.erase_node(node)
        """,
    "a call for its effect is erased": """
        def change(gm: fx.GraphModule):
            for node in gm.graph.nodes:
                if node.op == "call_function" and node.target == torch.ops.aten._assert_async.msg:
                    gm.graph.erase_node(node)
        """,
    "two kinds of target in one test": """
        def f(gm: fx.GraphModule):
            calls = ("call_function", "call_method")
            return [n for n in gm.graph.nodes if n.op in calls and n.target in ("relu", torch.relu)]
        """,
    "the op that makes sense of the target is asked afterwards": """
        def f(gm: fx.GraphModule):
            return [n for n in gm.graph.nodes if n.target == torch.relu and n.op == "call_function"]
        """,
    "the name of a target where it has one": """
        def f(gm: fx.GraphModule):
            return [n.target.__name__ for n in gm.graph.nodes if hasattr(n.target, "__name__")]
        """,
    "nodes chosen before": """
        def f(gm: fx.GraphModule):
            calls = [n for n in gm.graph.nodes if n.op == "call_function"]
            return [n.target.__name__ for n in calls]
        """,
    "the op is left after a continue": """
        def f(gm: fx.GraphModule):
            for node in gm.graph.nodes:
                if node.op != "call_module":
                    continue
                gm.get_submodule(node.target)
        """,
    "a helper for nodes whose arguments are constants": """
        def constant(node: fx.Node):
            return node.target(*node.args, **node.kwargs)
        """,
    "flat names of a module that was not traced here": """
        def f(split: fx.GraphModule):
            return [getattr(split, n.target) for n in split.graph.nodes if n.op == "call_module"]
        """,
    "dots are looked for": """
        def f(model):
            gm = fx.symbolic_trace(model)
            for n in gm.graph.nodes:
                if n.op == "call_module" and "." not in n.target:
                    getattr(gm, n.target)
        """,
    "a copy of the arguments is changed": """
        def f(node: fx.Node):
            args = list(node.args)
            args[0] = 1
            node.args = tuple(args)
            node.meta["seen"] = True
        """,
    "an abstract method": """
        class Base(fx.Interpreter):
            def call_function(self, target, args, kwargs):
                raise NotImplementedError
            def call_module(self, target, args, kwargs):
                ...
        """,
    "the interpreter's signature with more": """
        class Base(fx.Interpreter):
            def run_node(self, n, *extra, **options):
                return super().run_node(n)
            def call_function(self, *call):
                return super().call_function(*call)
        """,
    "a tracer that goes into everything": """
        class Flat(fx.Tracer):
            def is_leaf_module(self, m, qualname):
                return False
        class ByModule(fx.Tracer):
            def is_leaf_module(self, m, qualname):
                return m.__module__.startswith("torch.nn") and not isinstance(m, nn.Sequential)
        """,
    "a formula with its numbers": """
        def pattern(x):
            return x * 0.5 * (torch.erf(x * 0.7071) + 1.0)
        def replacement(x):
            return nn.functional.gelu(x)
        def f(gm: fx.GraphModule):
            return fx.replace_pattern(gm, pattern, replacement)
        """,
    "each spelling has its pattern": """
        class Net(nn.Module):
            def forward(self, x, y):
                return x + y
        def function(x, y):
            return torch.add(x, y)
        def operator_(x, y):
            return x + y
        def replacement(x, y):
            return torch.sub(x, y)
        class Other(nn.Module):
            def forward(self, x, y):
                return torch.add(x, y)
        def f(gm: fx.GraphModule):
            fx.replace_pattern(gm, function, replacement)
            fx.replace_pattern(gm, operator_, replacement)
        """,
}


@pytest.mark.parametrize("code", SILENT.values(), ids=[name.replace(" ", "-") for name in SILENT])
def test_nothing_is_found(lint, code):
    assert [(finding.code, finding.location.line) for finding in lint(code)] == []
