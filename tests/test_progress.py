"""The bar of a run."""

import io

from fxlint.progress import bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown_on(stream):
    with bar(stream) as progress:
        progress(3, 7)
    return stream.getvalue()


def test_on_a_terminal_it_tells_how_many_modules_are_traced(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    assert "3/7" in shown_on(Terminal())


def test_there_is_none_elsewhere():
    assert shown_on(io.StringIO()) == ""
    with bar(None) as progress:
        progress(3, 7)
