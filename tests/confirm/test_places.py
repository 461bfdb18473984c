"""Whether an instruction is the one that a finding is about."""

import pytest

from fxlint.confirm.places import is_about
from fxlint.confirm.traces import Place
from fxlint.findings import Location


def span(source, text):
    """(line, column, end line, end column) of the only ``text`` in the source."""
    assert source.count(text) == 1
    start, end = source.index(text), source.index(text) + len(text)

    def position(offset):
        before = source[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    return (*position(start), *position(end))


def about(source, said, ran):
    return is_about(Location("net.py", *span(source, said)), Place("net.py", *span(source, ran)), source)


LOOP = "for key, value in feats.items():\n    if key in self.convs:\n        out.append(self.convs[key](value))"


@pytest.mark.parametrize(
    ("source", "said", "ran"),
    [
        ("f(x)", "f(x)", "f(x)"),
        ("y = [a + 1 for a in x]", "[a + 1 for a in x]", "[a + 1 for a in x]"),
        ("y = [a + 1 for a in rows]", "rows", "[a + 1 for a in rows]"),
        (LOOP, "feats.items()", LOOP),
        ("if flag:\n    y = x", "flag", "if flag:\n    y = x"),
        ("if not (a > 0 and\n        b > 0):\n    y = x", "b > 0", "if not (a > 0 and\n        b > 0):\n    y = x"),
        ("with x.device:\n    y = x", "x.device", "with x.device:\n    y = x"),
        ("y = not x.all()", "x.all()", "not x.all()"),
        ("y = f'{x.sum():.2f} m'", "{x.sum():.2f}", "f'{x.sum():.2f} m'"),
        ("x[0] += y", "x[0] += y", "x[0]"),
        ("x[0] = f(y)", "x[0] = f(y)", "x[0]"),
        ("y = table[n]", "n", "table[n]"),
        ("y = (x\n     .tolist())", "x\n     .tolist()", "tolist()"),
    ],
)
def test_it_is(source, said, ran):
    assert about(source, said, ran)


@pytest.mark.parametrize(
    ("source", "said", "ran"),
    [
        (LOOP, "self.convs[key]", LOOP),
        (LOOP, "key in self.convs", LOOP),
        ("out[:, 0::2] = np.sin(a * b)", "np.sin(a * b)", "a * b"),
        ("out[:, 0::2] = np.sin(a * b)", "a * b", "np.sin(a * b)"),
        ("out[:, 0::2] = np.sin(a * b)", "out[:, 0::2] = np.sin(a * b)", "a * b"),
        ("y = int(x) + len(z)", "int(x)", "len(z)"),
        ("if x.sum() > 0:\n    y = len(x)", "len(x)", "if x.sum() > 0:\n    y = len(x)"),
        ("y = [table[k] for k in x]", "table[k]", "[table[k] for k in x]"),
        ("y = range(num or 3)", "range(num or 3)", "num or 3"),
        ("y = range(num or 3)", "range(num or 3)", "num"),
        ("y = range(num or 3)", "num", "range(num or 3)"),
        ("y = len(a if flag else b)", "len(a if flag else b)", "a if flag else b"),
    ],
)
def test_it_is_not(source, said, ran):
    assert not about(source, said, ran)


def test_before_columns_the_lines_have_to_do():
    location = Location("net.py", 2, 5, 3, 9)
    assert is_about(location, Place("net.py", 3), "")
    assert not is_about(location, Place("net.py", 4), "")
