"""The pages of the rules, and the commands that print them."""

import json
import re

import pytest

from fxlint import pages
from fxlint.cli import main
from fxlint.rules import load_rules

RULES = load_rules()


@pytest.fixture
def fxlint(capsys):
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


@pytest.mark.parametrize("rule", list(RULES), ids=lambda rule: rule.code)
def test_a_page_holds_all_that_the_rule_says(rule):
    page = pages.markdown(rule)
    assert page.startswith(f"# {rule.name} ({rule.code})\n")
    assert all(text in page for text in (rule.summary, rule.why, rule.tracer, rule.fix))
    assert all(f"```python\n{example.code}```" in page for example in (*rule.bad, *rule.good))


@pytest.mark.parametrize("word", ["FX201", "none-check"])
def test_a_rule_is_shown_by_its_code_or_name(fxlint, word):
    code, out, _ = fxlint("rule", word)
    assert code == 0
    assert "none-check (FX201)" in out
    assert "concrete_args" in out


def test_the_markdown_of_a_rule_is_its_page(fxlint):
    assert fxlint("rule", "FX201", "--output-format", "markdown")[1] == pages.markdown(RULES.by_code("FX201"))


def test_the_pages_of_all_rules_are_printed_together(fxlint):
    out = fxlint("rule", "--all")[1]
    assert all(f"{rule.name} ({rule.code})" in out for rule in RULES)
    assert fxlint("rule")[0] == fxlint("rule", "FX201", "--all")[0] == 2


def test_a_rule_that_is_not_there_is_one_error_with_the_nearest(fxlint):
    code, out, err = fxlint("rule", "none-chek")
    assert (code, out) == (2, "")
    assert "there is no rule 'none-chek'" in err
    assert "none-check" in err


def test_all_rules_are_listed(fxlint):
    code, out, _ = fxlint("rules")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [rule.code for rule in RULES]
    assert "FX218 text-of-traced (off): " in out


def test_programs_get_the_list_as_json(fxlint):
    listed = json.loads(fxlint("rules", "--output-format", "json")[1])
    assert [(one["code"], one["default"]) for one in listed] == [(rule.code, rule.default) for rule in RULES]


def test_the_documentation_gets_the_list_as_a_table(fxlint):
    rows = fxlint("rules", "--output-format", "markdown")[1].splitlines()
    assert len(rows) == len(RULES) + 2


@pytest.mark.parametrize(
    ("word", "meant"),
    [("fx101", "FX101"), ("FX101-data-dependent-branch", "FX101"), ("branch", "data-dependent-branch")],
)
def test_what_a_word_is_part_of_or_has_as_a_part_is_meant(fxlint, word, meant):
    assert fxlint("rule", word)[2] == f"error: there is no rule '{word}'; did you mean '{meant}'?\n"


@pytest.mark.parametrize("word", ["FX199", "E501", "zzz"])
def test_no_other_code_is_offered_for_one_that_is_not_there(fxlint, word):
    assert fxlint("rule", word)[2] == f"error: there is no rule '{word}'; `fxlint rules` lists them\n"


def test_the_pages_of_all_rules_are_written_with_an_index(fxlint, tmp_path):
    code, out, err = fxlint("rules", "--pages", str(tmp_path / "pages"))
    assert (code, out, err) == (0, "", f"{len(RULES) + 1} pages in {tmp_path / 'pages'}\n")
    index = (tmp_path / "pages" / "index.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert (tmp_path / "pages" / f"{rule.code}.md").read_text(encoding="utf-8") == pages.markdown(rule)
        assert f"[{rule.code}]({rule.code}.md)" in index
    assert re.findall("^## .*", index, re.MULTILINE) == [f"## {name}" for name in pages.FAMILIES.values()]


def test_a_place_where_no_pages_can_be_is_one_error(fxlint, tmp_path):
    (tmp_path / "file").write_text("")
    said = f"error: --pages: '{tmp_path / 'file' / 'pages'}' cannot be written: Not a directory\n"
    assert fxlint("rules", "--pages", str(tmp_path / "file" / "pages")) == (2, "", said)
