"""Comments that silence findings."""

from pathlib import Path

import pytest

from fxlint.config import Config
from fxlint.findings import Confirmation, Finding, Location
from fxlint.rewrite import changed, fix_of
from fxlint.rules import load_rules
from fxlint.selection import selection
from fxlint.suppression import Silenced, silenced, with_noqa

RULES = load_rules()


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def finding(line: int, code: str = "FX120", end_line: int | None = None, status: str = "unconfirmed") -> Finding:
    place = Location("a.py", line, 1, end_line or line, 2)
    rule = RULES.by_code(code)
    confirmation = Confirmation(status)
    return Finding(code, rule.name, "error", place, "m", rule.events[0], confirmation=confirmation)


def silence(text: str, *findings: Finding, traced: bool = True, **config: object) -> Silenced:
    Path("a.py").write_text(text, encoding="utf-8")
    return silenced(findings, ["a.py"], selection(Config(Path(), **config), RULES), RULES, traced=traced)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# NOQA: fx120",
        "#noqa:FX120",
        "# noqa: FX101, FX120",
        "# noqa: E501 FX120",
        "# noqa: FX120 because",
        "# noqa: FX12",
        "# type: ignore  # noqa: FX120",
        "# fxlint: ignore",
        "# fxlint: ignore[FX120]",
        "# fxlint: ignore[FX101, len-of-traced] it is a list",
        "# fxlint: ignore-file[FX120]",
    ],
)
def test_a_comment_at_the_end_of_the_line_silences_what_is_found_there(comment):
    result = silence(f"len(x)  {comment}\n", finding(1))
    assert result.suppressed == 1
    assert "FX120" not in {left.code for left in result.findings}


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: FX101",
        "# noqa: E501",
        "# noqa: whatever it is",
        "# noqas",
        "# fxlint: ignore[FX101]",
        "# fxlint: ignore FX120",
        "'# noqa'",
    ],
)
def test_other_comments_and_strings_do_not(comment):
    assert silence(f"len(x),  {comment}\n", finding(1)).suppressed == 0


CALL = """\
f(  {first}
    len(x),  {middle}
    {own}
    len(y),
)  {last}
len(z)
"""


def call(**comments: str) -> str:
    return CALL.format(**{"first": "", "middle": "", "own": "", "last": "", **comments})


@pytest.mark.parametrize(
    ("comments", "lines"),
    [
        ({"first": "# noqa"}, [2, 4]),
        ({"last": "# noqa"}, [2, 4]),
        ({"middle": "# noqa"}, [2]),
        ({"own": "# fxlint: ignore"}, [4]),
        ({"own": "# noqa"}, []),
    ],
)
def test_in_a_statement_of_several_lines_its_ends_speak_for_all_of_it_and_the_others_for_themselves(comments, lines):
    left = silence(call(**comments), *(finding(number) for number in (2, 4, 6))).findings
    assert [number for number in (2, 4, 6) if number not in {one.location.line for one in left}] == lines


def test_a_finding_of_several_lines_is_silenced_on_any_of_them():
    assert silence(call(middle="# noqa"), finding(1, end_line=5)).suppressed == 1


@pytest.mark.parametrize("between", ["", "\n", "# a remark\n"])
def test_a_comment_on_a_line_of_its_own_speaks_of_the_next_statement(between):
    text = f"# fxlint: ignore[FX120] why\n{between}f(\n  len(x),\n)\nlen(y)\n"
    start = 2 + between.count("\n")
    result = silence(text, finding(start + 1), finding(start + 3))
    assert [one.location.line for one in result.findings] == [start + 3]


def test_a_comment_for_the_file_may_stand_anywhere_in_it():
    assert silence("len(x)\n\n# fxlint: ignore-file[FX1]\n", finding(1), finding(1, "FX301")).suppressed == 1


@pytest.mark.parametrize(
    ("comment", "text"),
    [
        ("# noqa: FX120", "# noqa: FX120"),
        ("# noqa: FX120, E501", "FX120"),
        ("# fxlint: ignore", "# fxlint: ignore"),
        ("# fxlint: ignore[FX120, FX101]", "# fxlint: ignore[FX120, FX101]"),
        ("# fxlint: ignore[len-of-traced] why", "# fxlint: ignore[len-of-traced] why"),
    ],
)
def test_a_comment_that_silences_nothing_is_a_finding(comment, text):
    (unused,) = silence(f"x = 1  {comment}\n").findings
    assert (unused.code, unused.message) == ("FX001", f"`{text}` suppresses no finding")
    assert (unused.location.line, unused.location.column) == (1, 8)


def test_a_word_for_nothing_is_told_of_beside_one_that_is_used():
    (unused,) = silence("len(x)  # noqa: FX101, FX120\n", finding(1)).findings
    assert unused.message == "`FX101` suppresses no finding"


@pytest.mark.parametrize("comment", ["# noqa", "# noqa: E501", "# noqa: F401,B008"])
def test_what_speaks_to_other_linters_is_left_alone(comment):
    assert silence(f"x = 1  {comment}\n") == Silenced(())


@pytest.mark.parametrize("comment", ["# noqa: FX101", "# noqa: FX1", "# fxlint: ignore"])
def test_a_comment_for_rules_that_were_off_is_not_called_unused(comment):
    assert silence(f"x = 1  {comment}\n", ignore=("FX101",)) == Silenced(())


def test_a_comment_on_what_the_tracer_refuted_is_used_for_a_static_run_finds_it():
    assert silence("len(x)  # noqa: FX120\n", finding(1, status="refuted")) == Silenced((), 1)


def test_while_nothing_is_traced_it_is_an_info_for_the_tracer_finds_more():
    assert [one.severity for one in silence("x = 1  # noqa: FX120\n").findings] == ["warning"]
    assert [one.severity for one in silence("x = 1  # noqa: FX120\n", traced=False).findings] == ["info"]


@pytest.mark.parametrize(
    ("row", "without"),
    [
        ("x = 1  # noqa: FX120", "x = 1"),
        ("x = 1  # noqa: FX120, E501", "x = 1  # noqa: E501"),
        ("x = 1  # noqa: E501,FX120 why", "x = 1  # noqa: E501 why"),
        ("x = 1  # noqa: FX120  # type: ignore", "x = 1  # type: ignore"),
        ("x = 1  # type: ignore  # noqa: FX120", "x = 1  # type: ignore"),
        ("größe = 1  # fxlint: ignore[FX120] why", "größe = 1"),
    ],
)
def test_what_is_unused_can_be_removed(row, without):
    (unused,) = silence(f"{row}\ny = 2\n").findings
    assert changed(unused.suggestions[0].edits)["a.py"].decode() == f"{without}\ny = 2\n"


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# fxlint: ignore[FX12O]", "there is no rule 'FX12O'; did you mean 'FX120'?"),
        ("# fxlint: ignore[len-of-trace]", "there is no rule 'len-of-trace'; did you mean 'len-of-traced'?"),
        ("# noqa: FX999", "there is no rule 'FX999'; `fxlint rules` lists them"),
    ],
)
def test_a_word_that_means_no_rule_is_told_and_left_to_its_author(comment, said):
    (unused,) = silence(f"x = 1  {comment}\n").findings
    assert unused.message == f"`{comment}` suppresses no finding; {said}"
    assert fix_of(unused, unsafe=False) is None


def test_a_line_that_holds_nothing_else_goes_as_a_whole():
    (unused,) = silence("if x:\n    # fxlint: ignore[FX120]\n    y = 2\n").findings
    assert changed(unused.suggestions[0].edits)["a.py"] == b"if x:\n    y = 2\n"


def test_comments_are_added_where_they_silence_what_is_found():
    text = call(first="# a remark") + "len(a)  # noqa: E501\nlen(b)  # fxlint: ignore[FX1]\n"
    findings = [finding(2), finding(4, "FX101"), finding(6), finding(7)]
    silence(text, *findings)
    after = changed(with_noqa(findings))["a.py"].decode()
    assert after.splitlines()[4:7] == [
        ")  # noqa: FX101, FX120",
        "len(z)  # noqa: FX120",
        "len(a)  # noqa: E501, FX120",
    ]
    assert silence(after, *findings).suppressed == 4


@pytest.mark.parametrize(
    ("row", "then"),
    [
        ("assert x  # noqa: FX120", "assert x  # noqa: FX102 later"),
        ("assert x  # noqa: FX120, E501", "assert x  # noqa: E501, FX102 later"),
        ("assert x  # noqa: E501 long", "assert x  # noqa: E501, FX102 long"),
        ("assert x  # noqa: E501", "assert x  # noqa: E501, FX102 later"),
    ],
)
def test_codes_that_silence_nothing_make_room_for_those_that_are_added(row, then):
    found = finding(1, "FX102")
    unused = silence(f"{row}\n", found).findings
    after = changed(with_noqa(unused, "later"))["a.py"].decode()
    assert after == f"{then}\n"
    assert silence(after, found) == Silenced((), 1)


def test_a_comment_that_silences_nothing_is_not_silenced():
    assert with_noqa(silence("x = 1  # noqa: FX120\n").findings) == ()
