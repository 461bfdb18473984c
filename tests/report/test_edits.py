"""What an edit does is said in whole lines of code."""

from collections.abc import Callable

import pytest

from fxlint.findings import Edit, Location
from fxlint.report.edits import changes
from fxlint.report.sources import Sources

TEXT = (
    "import torch\n\n\ndef f(x):\n    y = len(x), len(x)\n    if y:\n        y = (x +\n            1)\n    return y\n"
)
Said = Callable[..., list[tuple[str, list[str]]]]


@pytest.fixture
def said(tmp_path) -> Said:
    path = str(tmp_path / "a.py")
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")

    def said(*edits: tuple[int, int, int, int, str]) -> list[tuple[str, list[str]]]:
        made = [Edit(Location(path, *place), text) for *place, text in edits]
        return [(action, rows) for _, action, rows in changes(made, Sources())]

    return said


@pytest.mark.parametrize(
    ("edit", "action", "rows"),
    [
        ((5, 9, 5, 15, "x.size(0)"), "replace line 5 by", ["    y = x.size(0), len(x)"]),
        ((5, 5, 5, 23, "a = 1\n    b = 2"), "replace line 5 by", ["    a = 1", "    b = 2"]),
        ((6, 5, 8, 15, "y = g(x)"), "replace lines 6-8 by", ["    y = g(x)"]),
        ((7, 14, 8, 14, "2"), "replace lines 7-8 by", ["        y = (2)"]),
        ((5, 1, 6, 1, ""), "delete line 5", []),
        ((5, 1, 9, 1, ""), "delete lines 5-8", []),
        ((2, 1, 2, 1, "import a\n"), "insert above line 2", ["import a"]),
        ((4, 1, 4, 1, "def g():\n    pass\n\n\n"), "insert above line 4", ["def g():", "    pass"]),
        ((9, 13, 9, 13, "\ng()\n"), "insert below line 9", ["g()"]),
    ],
)
def test_an_edit(said, edit, action, rows):
    assert said(edit) == [(action, rows)]


def test_edits_that_share_a_line_are_one_change(said):
    both = said((5, 9, 5, 15, "a"), (5, 17, 5, 23, "b"))
    assert both == [("replace line 5 by", ["    y = a, b"])]


def test_lines_put_above_a_line_that_changes_are_told_apart(said):
    two = said((5, 1, 5, 1, "    # sizes\n"), (5, 5, 5, 23, "y = 1"))
    assert two == [("insert above line 5", ["    # sizes"]), ("replace line 5 by", ["    y = 1"])]


def test_where_the_file_is_gone_the_new_code_is_told():
    edit = Edit(Location("gone.py", 3, 5, 4, 9), "a\nb")
    assert list(changes([edit], Sources())) == [("gone.py", "replace a part of lines 3-4 by", ["a", "b"])]


def test_of_a_line_of_pages_only_what_is_new_is_told(tmp_path):
    (tmp_path / "a.py").write_text(f"y = [{'len(x), ' * 99}]\n", encoding="utf-8")
    edit = Edit(Location(str(tmp_path / "a.py"), 1, 6, 1, 12), "x.size(0)")
    assert [change[1:] for change in changes([edit], Sources())] == [("replace a part of line 1 by", ["x.size(0)"])]
