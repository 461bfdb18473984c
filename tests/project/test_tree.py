"""Syntax trees: what is worked out about a node is worked out once."""

import ast

from fxlint.project.tree import kept, walk


def test_a_function_of_the_syntax_is_run_once_for_each_node():
    asked = []

    @kept
    def names(node):
        asked.append(node)
        return [part.id for part in walk(node) if isinstance(part, ast.Name)]

    first, second = ast.parse("a + b; c").body
    assert [names(first), names(first), names(second)] == [["a", "b"], ["a", "b"], ["c"]]
    assert asked == [first, second]


def test_nothing_is_a_result_too_and_functions_do_not_share_theirs():
    asked = []

    @kept
    def one(node):
        asked.append(node)

    @kept
    def other(node):
        return 2

    tree = ast.parse("")
    assert (one(tree), one(tree), other(tree)) == (None, None, 2)
    assert asked == [tree]
