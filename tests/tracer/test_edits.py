"""Edits of source text."""

import pytest

from fxlint.tracer.edits import apply

SOURCE = "def f(x):\n    é = len(x)\n    return é\n"


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([((2, 9, 2, 15), "x.size(0)")], "def f(x):\n    é = x.size(0)\n    return é\n"),
        ([((1, 1, 1, 1), "import torch\n")], "import torch\n" + SOURCE),
        ([((2, 5, 3, 5), "")], "def f(x):\n    return é\n"),
        ([((3, 12, 3, 13), "1"), ((2, 5, 2, 6), "y")], "def f(x):\n    y = len(x)\n    return 1\n"),
        ([((4, 1, 4, 1), "# end\n")], SOURCE + "# end\n"),
        ([((1, 1, 1, 1), "a\n"), ((1, 1, 1, 1), "b\n")], "a\nb\n" + SOURCE),
    ],
)
def test_edits_are_applied(edits, expected):
    assert apply(SOURCE, [(*place, text) for place, text in edits]) == expected
