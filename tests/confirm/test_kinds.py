"""From a place to what a finding says about it."""

import textwrap

import pytest

from fxlint.confirm.kinds import kind_of, kind_of_root
from fxlint.confirm.traces import Met, Place
from fxlint.findings import Failure

CASES = {
    # statement: (family, what the instruction spans, event, text)
    "if x.sum() > 0: pass": ("bool", "x.sum() > 0", "bool.if", "x.sum() > 0"),
    "while x: pass": ("bool", "while x: pass", "bool.while", "x"),
    "y = a if x.any() else b": ("bool", "x.any()", "bool.ternary", "x.any()"),
    "assert x.dim() == 2": ("bool", "x.dim() == 2", "bool.assert", "x.dim() == 2"),
    "y = not x.any()": ("bool", "x.any()", "bool.not", "x.any()"),
    "y = x.any() and z": ("bool", "x.any()", "bool.and_or", "x.any()"),
    "y = 0 < x < 3": ("bool", "0 < x < 3", "bool.compare", "0 < x < 3"),
    "y = x.dim() in (2, 3)": ("bool", "x.dim() in (2, 3)", "bool.in", "x.dim() in (2, 3)"),
    "y = max(x, 3)": ("bool", "max(x, 3)", "bool.minmax", "max(x, 3)"),
    "y = check(x)": ("bool", "check(x)", "bool.call", "check(x)"),
    "if flag: pass": ("bool", "flag", "bool.flag", "flag"),
    "if mode == 'a': pass": ("bool", "mode == 'a'", "bool.flag", "mode == 'a'"),
    "y = [t for t in x]": ("iter", "[t for t in x]", "iter.comprehension", "x"),
    "y = f(*x.shape)": ("iter", "f(*x.shape)", "iter.star", "x.shape"),
    "y = [*x]": ("iter", "[*x]", "iter.star", "[*x]"),
    "a, *b = x": ("iter", "a, *b", "iter.unpack", "a, *b"),
    "y = enumerate(x)": ("iter", "enumerate(x)", "iter.call", "x"),
    "y = k in x": ("iter", "k in x", "iter.in", "k in x"),
    "y = len(x)": ("len", "len(x)", "len.call", "len(x)"),
    "y = range(x.size(0))": ("index", "range(x.size(0))", "index.range", "x.size(0)"),
    "y = z[x.size(0)]": ("index", "z[x.size(0)]", "index.subscript", "x.size(0)"),
    "y = z[:x.size(0)]": ("index", "z[:x.size(0)]", "index.slice", ":x.size(0)"),
    "y = math.sqrt(x)": ("float", "math.sqrt(x)", "float.math", "x"),
    "y = float(x)": ("float", "float(x)", "float.call", "x"),
    "y = torch.zeros(n, 3)": ("tensor", "torch.zeros(n, 3)", "tensor.sizes", "n, 3"),
    "y = torch.tensor(x)": ("tensor", "torch.tensor(x)", "tensor.data", "x"),
    "y = self.buf[:, :n]": ("tensor", "self.buf[:, :n]", "tensor.constant", "self.buf[:, :n]"),
    "y = self.buf.expand(n)": ("tensor", "self.buf.expand(n)", "tensor.constant", "self.buf.expand(n)"),
    "y = np.quantile(x)": ("call", "np.quantile(x)", "call.numpy", "x"),
    "y = torch.vmap(f)(x)": ("call", "torch.vmap(f)(x)", "call.foreign", "x"),
    "y = torch.vmap(f)": ("call", "torch.vmap(f)", "call.higher_order", "f"),
    "y = torch.Tensor.flatten(x)": ("call", "torch.Tensor.flatten(x)", "call.unbound_method", "x"),
    "y = torch.stack(x)": ("call", "torch.stack(x)", "call.torch", "x"),
    "y = super().forward(x)": ("bool", "super().forward(x)", "root.library", "super().forward(x)"),
    "x[0] = 1": ("setitem", "x[0]", "setitem.assign", "x[0] = 1"),
    "x[0] += 1": ("setitem", "x[0]", "setitem.augmented", "x[0] += 1"),
    "y = {1: 2}[x]": ("key", "{1: 2}[x]", "key.lookup", "{1: 2}[x]"),
    "raise ValueError": ("raise", "raise ValueError", "raise.reached", "raise ValueError"),
}


def at(statement, spanned, family, origin=None, error=None):
    source = f"def forward(self, x, n, flag=True, mode='a'):\n    é = 'ü'; {statement}\n"
    row = source.splitlines()[1]
    column = row.rindex(spanned) + 1
    met = Met(family, None, origin=origin, error=error)
    return kind_of(met, Place("net.py", 2, column, 2, column + len(spanned)), source), row


@pytest.mark.parametrize(
    ("statement", "family", "spanned", "event", "text"),
    [(statement, *rest) for statement, rest in CASES.items() if not statement.startswith(("if", "while", "assert"))],
)
def test_expressions(statement, family, spanned, event, text):
    kind, _ = at(statement, spanned, family)
    assert (kind.event, kind.text) == (event, text)


@pytest.mark.parametrize(
    ("statement", "family", "spanned", "event", "text"),
    [(statement, *rest) for statement, rest in CASES.items() if statement.startswith(("if", "while", "assert"))],
)
def test_statements(statement, family, spanned, event, text):
    source = f"def forward(self, x, n, flag=True, mode='a'):\n    {statement}\n"
    column = 5 + statement.index(spanned)
    origin = statement.split()[1].rstrip(":")
    kind = kind_of(Met(family, None, origin=origin), Place("net.py", 2, column, 2, column + len(spanned)), source)
    assert (kind.event, kind.text) == (event, text)


def test_the_place_counts_code_points():
    kind, row = at("y = len(x)", "len(x)", "len")
    assert row[kind.location.column - 1 : kind.location.end_column - 1] == "len(x)"


def test_an_attribute_error():
    kind, _ = at("y = x.keys.shape", "x.keys.shape", "raise", error=Failure("AttributeError", "no"))
    assert kind.event == "raise.attribute"


def test_a_name_error():
    kind, _ = at("return y", "y", "raise", error=Failure("UnboundLocalError", "no"))
    assert kind.event == "raise.name"


def test_without_columns_the_line_is_told():
    source = "def forward(self, x):\n    return len(x)  \n"
    kind = kind_of(Met("len", None), Place("net.py", 2), source)
    assert (kind.event, kind.text) == ("len.call", "return len(x)")
    assert (kind.location.column, kind.location.end_column) == (5, 18)


def test_a_family_that_no_rule_speaks_of():
    assert kind_of(Met("nonsense", None), Place("net.py", 1, 1, 1, 2), "x\n") is None


ROOT = textwrap.dedent(
    """\
    class Net(nn.Module):
        @decorate
        def forward(self, x):
            return x

    class Plain(nn.BatchNorm2d):
        pass
    """
)


@pytest.mark.parametrize(
    ("family", "line", "message", "event"),
    [
        ("output", 1, "argument of type: <class 'set'>", "output.type"),
        ("output", 1, "argument of type: <class 'generator'>", "output.generator"),
        ("signature", 1, "", "signature.decorated"),
        ("signature", 6, "", "signature.variadic"),
        ("bool", 6, "", "root.library"),
        ("wrap", 1, "", "wrap.misuse"),
        ("root", 1, "'Net' object has no attribute '_modules'", "root.uninitialised"),
    ],
)
def test_where_no_line_was_running_the_head_of_the_root_is_told(family, line, message, event):
    kind = kind_of_root(Met(family, None, error=Failure("Error", message)), "net.py", line, ROOT)
    assert (kind.event, kind.location.line) == (event, line)
