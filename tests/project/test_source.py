"""Reading sources: text by its own coding, and one clear reason for what is no text."""

import pytest

from fxlint.project.source import UnreadableSource, decode, parse, refused


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"x = 1\r\ny = 2\r", "x = 1\ny = 2\n"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "# coding: latin-1\nx = 'é'\n"),
    ],
)
def test_text(raw, text):
    assert decode(raw) == text


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("x = 1".encode("utf-16"), "UTF-16"),
        (b"\x7fELF\0\0", "null bytes"),
        (b"x = '\xff'\n", "could not decode"),
        (b"# coding: no-such-coding\n", "could not decode"),
        (b"# coding: undefined\n", "could not decode"),
        (b"# coding: punycode\nx = '\xff'\n", "could not decode"),
    ],
)
def test_what_is_no_text(raw, reason):
    with pytest.raises(UnreadableSource, match=reason):
        decode(raw)


@pytest.mark.parametrize("text", ["x = " + "(" * 5000 + ")" * 5000, "x = " + "-" * 100_000 + "1", "x = 1\n  y"])
def test_what_python_cannot_parse_has_a_reason(text):
    with pytest.raises(UnreadableSource, match=r"could not parse: \w"):
        parse("a.py", text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = 1\nreturn x\n", 2),
        ("def f(x):\n    nonlocal x\n", 2),
        ("class A:\n    break\n", 2),
        ("def f(x, x): pass\n", 1),
    ],
)
def test_what_can_be_parsed_may_be_refused_by_the_compiler(text, line):
    wrong = refused(parse("a.py", text))
    assert wrong is not None
    assert wrong.message.startswith("could not compile: ")
    assert wrong.line == line


def test_what_is_too_much_for_the_compiler_is_not_refused():
    assert refused(parse("a.py", "x = " + "-" * 900 + "1\n")) is None


def test_what_comments_say_to_fxlint():
    text = "# fxlint: trace\n# fxlint: instance=Net(8)\n# fxlint: inputs = (x,)\n# fxlint: other=1\n"
    found = parse("a.py", text).directives()
    assert found == {1: [("trace", None)], 2: [("instance", "Net(8)")], 3: [("inputs", "(x,)")]}
