"""Changing files of the user."""

import os
from pathlib import Path

import pytest

from fxlint.findings import Check, Edit, Finding, Location, Suggestion
from fxlint.rewrite import RefusedEdit, applied, fixes, replace_file


def edit(line: int, column: int, end_column: int, text: str, end_line: int | None = None) -> Edit:
    return Edit(Location("a.py", line, column, end_line or line, end_column), text)


def test_edits_are_applied_together_by_line_and_code_point():
    source = "größe = 1; b = 2\nc = 3\n".encode()
    edits = [edit(1, 9, 10, "10"), edit(2, 1, 1, "# c\n"), edit(1, 16, 17, "20")]
    assert applied(source, edits).decode() == "größe = 10; b = 20\n# c\nc = 3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\r\nb = 2\r\n", b"# x\r\na = 1\r\nb = 2\r\n"),
        (b"\xef\xbb\xbfa = 1\n", b"\xef\xbb\xbf# x\na = 1\n"),
        (b"# coding: latin-1\na = '\xe4'", b"# x\n# coding: latin-1\na = '\xe4'"),
    ],
)
def test_line_ends_and_encoding_stay(before, after):
    assert applied(before, [edit(1, 1, 1, "# x\n")]) == after


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([edit(1, 1, 4, "x"), edit(1, 3, 6, "y")], "the edits overlap"),
        ([edit(7, 1, 2, "x")], "the file is not the one that was linted"),
        ([edit(1, 5, 6, "(")], "the result would not be Python"),
    ],
)
def test_edits_that_would_spoil_the_file_are_refused(edits, reason):
    with pytest.raises(RefusedEdit, match=reason):
        applied(b"a = 1\n", edits)


def finding(*suggestions: Suggestion, line: int = 1) -> Finding:
    return Finding("FX101", "r", "error", Location("a.py", line, 1, line, 2), "m", "e.e", suggestions=suggestions)


def suggestion(line: int, *, safe: bool = True, **more: object) -> Suggestion:
    return Suggestion("rewrite", "t", (edit(line, 1, 2, "x"),), safe=safe, **more)


def applied_by_fix(*findings: Finding, unsafe: bool = False) -> list[Suggestion]:
    return [suggestion for _, suggestion in fixes(findings, unsafe=unsafe)]


def test_the_first_suggestion_that_is_safe_is_applied():
    unchecked, safe = suggestion(1, safe=False), suggestion(1)
    assert applied_by_fix(finding(unchecked, safe)) == [safe]
    assert applied_by_fix(finding(unchecked), unsafe=True) == []
    traced = suggestion(1, safe=False, checked=Check("traces"))
    assert applied_by_fix(finding(traced, safe), unsafe=True) == [safe]


def test_what_traces_and_was_not_compared_is_for_those_who_ask_for_it():
    traced = suggestion(1, safe=False, checked=Check("traces"))
    assert applied_by_fix(finding(traced)) == []
    assert applied_by_fix(finding(traced), unsafe=True) == [traced]


def test_what_was_compared_and_gives_something_else_is_for_nobody():
    differs = suggestion(1, safe=False, checked=Check("traces", equal_outputs=False))
    second = suggestion(1, safe=False, checked=Check("traces"))
    assert applied_by_fix(finding(differs), unsafe=True) == []
    assert applied_by_fix(finding(differs, second), unsafe=True) == [second]


def test_what_needs_more_than_an_edit_is_not_applied():
    more = finding(suggestion(1, concrete_args="{}")), finding(Suggestion("leaf", "t"))
    assert applied_by_fix(*more, unsafe=True) == []


def test_suggestions_that_share_a_line_wait_for_the_next_round():
    first, second, third = suggestion(1), suggestion(1), suggestion(2)
    assert applied_by_fix(finding(first), finding(second), finding(third)) == [first, third]


def test_a_file_is_replaced_as_a_whole_with_its_permissions_through_a_link(tmp_path):
    real, link = tmp_path / "real.py", tmp_path / "link.py"
    real.write_bytes(b"old")
    real.chmod(0o750)
    link.symlink_to(real)
    replace_file(str(link), b"new")
    assert (real.read_bytes(), link.is_symlink(), real.stat().st_mode & 0o777) == (b"new", True, 0o750)
    assert sorted(tmp_path.iterdir()) == [link, real]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_stays(tmp_path):
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    os.chown(file, 1234, 4321)
    replace_file(str(file), b"new")
    assert (file.stat().st_uid, file.stat().st_gid, file.read_bytes()) == (1234, 4321, b"new")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes that have a name are a matter of Unix")
def test_what_is_no_regular_file_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    replace_file(str(pipe), b"new")
    assert (os.read(reader, 9), pipe.is_fifo()) == (b"new", True)
    os.close(reader)


def test_the_error_names_the_file_that_cannot_be_written(tmp_path):
    with pytest.raises(OSError, match="No such file") as caught:
        replace_file(str(tmp_path / "gone" / "a.py"), b"new")
    assert caught.value.filename == str(tmp_path / "gone" / "a.py")


def test_a_file_that_cannot_be_replaced_stays_as_it_is_and_nothing_lies_about(tmp_path, monkeypatch):
    file = tmp_path / "a.py"
    file.write_bytes(b"old")

    def fails(*_):
        raise OSError("no room")

    monkeypatch.setattr("os.replace", fails)
    with pytest.raises(OSError, match="no room"):
        replace_file(str(file), b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]
    assert Path(file).read_bytes() == b"old"


@pytest.mark.parametrize(
    "spoil", [lambda path: path.chmod(0o444), lambda path: path.with_name("b.py").hardlink_to(path)]
)
def test_a_file_that_is_read_only_or_has_other_names_is_not_replaced(tmp_path, spoil):
    file = tmp_path / "a.py"
    file.write_bytes(b"old")
    spoil(file)
    with pytest.raises(PermissionError):
        replace_file(str(file), b"new")
    assert file.read_bytes() == b"old"
