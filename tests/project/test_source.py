"""Reading sources: text by its own coding, and one clear reason for what is no text."""

import pytest

from fxlint.project.source import UnreadableSource, decode


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
