"""Loops over what is traced: no graph has them, so the count has to be known or the loop has to go."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fxlint.findings import Suggestion
from fxlint.fix.site import Site
from fxlint.project.tree import walk


def unrolled(site: Site) -> Iterator[Suggestion]:
    """The parts of ``x.chunk(2)`` one by one: the count is in the source."""
    for node in walk(site.node):
        count = _count(node)
        if isinstance(node, ast.Call) and count is not None:
            parts = f"[{site.text(node)}[i] for i in range({count})]"
            yield site.rewrite(f"take the {count} parts by their numbers", site.source.replace(node, parts))
            return


def counted(site: Site) -> Iterator[Suggestion]:
    """What to do about a loop whose count nobody knows before the graph runs."""
    if site.event == "index.range":
        yield site.advice(
            "work on the whole tensor, with `torch.arange` for the numbers, or loop over what the module owns"
        )
    else:
        yield site.advice(
            "work on the whole tensor, or loop over something whose length is known, such as a ModuleList"
        )


def by_number(site: Site) -> Iterator[Suggestion]:
    yield site.advice("pass the items by their numbers, `x[0], x[1]`: how many there are has to be in the source")


def _count(node: ast.AST) -> int | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "chunk":
        return None
    of_torch = isinstance(node.func.value, ast.Name) and node.func.value.id == "torch"
    given = node.args[1:2] if of_torch else node.args[:1]
    first = given[0] if given else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, int) else None
