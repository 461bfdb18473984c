"""The lines of the linted files."""

from fxlint.report.sources import Sources


def test_lines_are_counted_as_python_counts_them(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"a\r\nb\rc\x0cc\nd")
    assert Sources().lines(str(path)) == ("a", "b", "c\x0cc", "d")


def test_a_byte_order_mark_is_no_column_and_a_coding_comment_counts(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert Sources().line(str(path), 1) == "x = 1"
    path.write_bytes("# coding: latin-1\nx = 'ü'\n".encode("latin-1"))
    assert Sources().line(str(path), 2) == "x = 'ü'"


def test_a_line_that_is_not_there_is_none(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("x\n")
    sources = Sources()
    assert [sources.line(str(path), number) for number in (0, 1, 2, 3)] == [None, "x", "", None]


def test_a_file_that_is_gone_or_unreadable_has_no_lines(tmp_path):
    binary = tmp_path / "a.py"
    binary.write_bytes(b"\0\xff")
    sources = Sources()
    assert sources.lines(str(binary)) == ()
    assert sources.lines(str(tmp_path / "gone.py")) == ()
    assert sources.lines("nul\0.py") == ()


def test_a_file_is_read_once(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("x\n")
    sources = Sources()
    assert sources.line(str(path), 1) == "x"
    path.unlink()
    assert sources.line(str(path), 1) == "x"
