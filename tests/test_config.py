"""The settings of a run: where they are looked for and how strictly they are read."""

import json
import os
import sys
from dataclasses import fields, replace
from pathlib import Path

import jsonschema
import pytest

from fxlint.config import DEFAULT_EXCLUDE, Config, ConfigError, load, override, parse
from fxlint.findings import Finding, Location
from fxlint.rules import Rule, RuleSet
from fxlint.schema import reference, schema
from fxlint.selection import selection

PYPROJECT = "[tool.fxlint]\nignore = ['FX105']\n"

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture
def work(tmp_path, monkeypatch):
    (tmp_path / "project" / "pkg").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def test_without_a_file_every_setting_has_its_default(work):
    config = load(["pkg"])
    assert config == Config(root=work)
    assert (config.fail_on, config.confirm, config.python, config.exclude) == ("warning", True, None, DEFAULT_EXCLUDE)


def test_every_key_is_read(work):
    (work / "fxlint.toml").write_text(
        """
        exclude = ["a/"]
        extend-exclude = ["b/"]
        select = ["FX1"]
        ignore = ["flag-argument"]
        fail-on = "never"
        python = ".venv/bin/python"
        timeout = 5
        confirm = false
        [instances]
        "pkg.net:Net" = "Net(8)"
        "pkg/other.py::Outer.Net" = ["Net(1)", "Net(2)"]
        """
    )
    assert load([]) == Config(
        root=work,
        file=work / "fxlint.toml",
        exclude=("a/",),
        extend_exclude=("b/",),
        select=("FX1",),
        ignore=("flag-argument",),
        fail_on="never",
        python=str(work / ".venv/bin/python"),
        timeout=5.0,
        confirm=False,
        instances={"pkg.net:Net": ("Net(8)",), "pkg/other.py::Outer.Net": ("Net(1)", "Net(2)")},
    )


@pytest.mark.parametrize("given", [["pkg"], ["pkg/net.py"], ["pkg/net.py", "pkg/sub"], ["."], []])
def test_the_nearest_file_at_or_above_what_the_paths_share_is_taken(work, given):
    (work / "pkg" / "sub").mkdir()
    (work.parent / "fxlint.toml").write_text("select = ['FX9']")
    (work / "pyproject.toml").write_text(PYPROJECT)
    (work / "pkg" / "pyproject.toml").write_text("[project]\nname = 'no section for us'\n")
    assert load(given).ignore == ("FX105",)
    assert load(given).root == work


def test_fxlint_toml_goes_before_pyproject_toml_in_one_folder(work):
    (work / "pyproject.toml").write_text(PYPROJECT)
    (work / "fxlint.toml").write_text("timeout = 3")
    assert load(["pkg"]) == Config(root=work, file=work / "fxlint.toml", timeout=3.0)


def test_a_named_file_is_the_only_one_read(work):
    (work / "fxlint.toml").write_text("timeout = 3")
    (work / "pkg" / "strict.toml").write_text("fail-on = 'info'")
    assert load(["pkg"], ["pkg/strict.toml"]) == Config(
        root=work / "pkg", file=work / "pkg" / "strict.toml", fail_on="info"
    )


def test_a_home_of_nobody_is_no_home(work):
    (work / "fxlint.toml").write_text("python = '~no-such-user/x'")
    assert load([]).python == str(work / "~no-such-user/x")


@pytest.mark.parametrize("path", ["a" * 5000, "a/" * 2500, "a\0b"])
def test_a_path_that_no_file_can_have_starts_the_search_all_the_same(work, path):
    (work / "fxlint.toml").write_text("timeout = 3")
    assert load([path]).timeout == 3.0


def test_an_interpreter_without_a_folder_is_a_command_name(work):
    assert parse({"python": "python3.12"}, work / "fxlint.toml").python == "python3.12"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exlude = []", "unknown key 'exlude'; did you mean 'exclude'?"),
        ("fail_on = 'info'", "unknown key 'fail_on'; did you mean 'fail-on'?"),
        ("select = 'FX1'", "'select' must be a list of strings"),
        ("ignore = ['']", "'ignore' has \"\", which names nothing"),
        ("fail-on = 'errors'", "'fail-on' must be one of error, warning, info, never"),
        ("timeout = 0", "'timeout' must be a number of seconds above 0, at most 86400"),
        ("timeout = 1e308", "'timeout' must be a number of seconds above 0"),
        ("timeout = inf", "'timeout' must be a number of seconds above 0"),
        (f"timeout = {10**400}", "'timeout' must be a number of seconds above 0"),
        (f"timeout = 1{'0' * 5000}", "not valid TOML: "),
        (f"select = {'[' * 5000}", "not valid TOML: "),
        (f"select = {'{a=' * 5000}", "not valid TOML: "),
        ("timeout = true", "'timeout' must be a number of seconds above 0"),
        ("timeout = nan", "'timeout' must be a number of seconds above 0"),
        ('python = "a\\u0000b"', "'python' must be the path or the name"),
        ('extend-exclude = ["a\\u0000b"]', "'extend-exclude' has \"a\\u0000b\", which names nothing"),
        ("[instances]\n\"a:b\\u0000\" = 'x'", "'instances' has the key 'a:b\x00', not of the form"),
        ("confirm = 'no'", "'confirm' must be true or false"),
        ("python = 3", "'python' must be the path or the name of a Python interpreter"),
        ("instances = []", "'instances' must be a table such as"),
        ("instances = {Net = 'Net(8)'}", "'instances' has the key 'Net', not of the form 'package.module:Class'"),
        ("instances = {'a:Net' = 8}", "'instances' must give 'a:Net' an expression or a list of expressions"),
        ("instances = {'a:Net' = []}", "'instances' must give 'a:Net' an expression or a list of expressions"),
        ("per-file-ignores = []", "'per-file-ignores' must be a table such as"),
        ("per-file-ignores = {'a/' = 'FX1'}", "'per-file-ignores' must give 'a/' a list of strings"),
        ("inputs = []", "'inputs' must be a table such as"),
        ("inputs = {'a:Net' = ['(x,)']}", "'inputs' must give 'a:Net' an expression for a tuple"),
        ("exclude = [", "not valid TOML"),
    ],
)
def test_an_error_names_the_file_and_the_key(work, text, message):
    (work / "fxlint.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load(["pkg"])
    assert str(error.value).startswith(f"{work / 'fxlint.toml'}: {message}")


def test_a_configuration_that_is_no_file_is_an_error(work):
    file = work / "fxlint.toml"
    file.mkdir()
    with pytest.raises(ConfigError, match=r"fxlint\.toml: is not a file$"):
        load(["pkg"])
    file.rmdir()
    file.symlink_to(file)
    with pytest.raises(ConfigError, match=r"fxlint\.toml: is not a file$"):
        load(["pkg"])


def test_a_named_file_that_is_missing_is_an_error(work):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file or directory"):
        load([], ["none.toml"])


def test_our_section_of_pyproject_must_be_a_table(work):
    (work / "pyproject.toml").write_text("[tool]\nfxlint = 1\n")
    with pytest.raises(ConfigError, match=r"'tool\.fxlint' must be a table"):
        load([])


DOCUMENTED = Path(__file__).parents[1] / "docs" / "configuration.md"


def documented() -> dict[str, object]:
    """The example in the documentation."""
    text = DOCUMENTED.read_text(encoding="utf-8")
    return tomllib.loads(text.partition("```toml\n")[2].partition("```")[0])["tool"]["fxlint"]


def test_the_documented_example_is_valid_and_has_every_key():
    table = documented()
    parse(table, Path("/project/pyproject.toml"))
    assert {key.replace("-", "_") for key in table} == {field.name for field in fields(Config)} - {"root", "file"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leaf-module = []", "'tracer' has the unknown key 'leaf-module'; did you mean 'leaf-modules'?"),
        ("presets = ['torchvison']", "has the unknown preset 'torchvison'; did you mean 'torchvision'?"),
        ("class = 'MyTracer'", "'class', which must be the name of a class, 'package.module:MyTracer'"),
    ],
)
def test_a_slip_in_the_table_of_the_tracer_is_one_line_with_the_nearest_word(work, text, said):
    with pytest.raises(ConfigError) as raised:
        parse({"tracer": tomllib.loads(text)}, work / "fxlint.toml")
    assert said in str(raised.value)


def test_concrete_args_are_a_table_or_an_expression(work):
    table = tomllib.loads("['concrete-args']\n'a:Net' = {flag = true, n = 2}\n'a:Other' = \"{'mask': None}\"")
    found = parse(table, work / "fxlint.toml").concrete_args
    assert found == {"a:Net": "{'flag': True, 'n': 2}", "a:Other": "{'mask': None}"}


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    text = json.dumps(schema(), indent=1) + "\n"
    path = Path(__file__).parents[1] / "docs" / "fxlint.schema.json"
    if os.environ.get("FXLINT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
        pytest.fail("the schema was rewritten: read the difference")
    assert text == path.read_text(encoding="utf-8")
    jsonschema.Draft7Validator.check_schema(schema())
    return jsonschema.Draft7Validator(schema())


def test_the_reference_in_the_documentation_is_that_of_the_schema():
    text = DOCUMENTED.read_text(encoding="utf-8")
    start = text.index("\n", text.index("<!-- reference")) + 2
    if os.environ.get("FXLINT_UPDATE_GOLDEN"):
        DOCUMENTED.write_text(text[:start] + reference(), encoding="utf-8")
        pytest.fail("the reference was rewritten: read the difference")
    assert text[start:] == reference()


def test_the_schema_has_every_key_and_takes_the_documented_example(validator):
    table = documented()
    assert schema()["properties"].keys() == table.keys()
    validator.validate(table)


@pytest.mark.parametrize(
    "text",
    [
        "exlude = []",
        "select = 'FX1'",
        "ignore = ['']",
        "fail-on = 'errors'",
        "timeout = 0",
        "timeout = 86401",
        "jobs = 0",
        "jobs = true",
        "jobs = 1.5",
        "confirm = 'no'",
        "python = 3",
        "baseline = 3",
        "per-file-ignores = {'a/' = 'FX1'}",
        "instances = {Net = 'Net(8)'}",
        "instances = {'a:Net' = []}",
        "inputs = {'a:Net' = ['(x,)']}",
        "concrete-args = {'a:Net' = true}",
        "concrete-args = {'a:Net' = {mask = 'None'}}",
        "tracer = {leaf-module = []}",
        "tracer = {leaf-modules = 'a:B'}",
        "tracer = {leaf-modules = ['a b']}",
        "tracer = {autowrap-modules = ['a:b']}",
        "tracer = {class = 'MyTracer'}",
        "tracer = {presets = ['torchvison']}",
    ],
)
def test_the_schema_refuses_what_fxlint_refuses(validator, work, text):
    table = tomllib.loads(text)
    assert not validator.is_valid(table)
    with pytest.raises(ConfigError):
        parse(table, work / "fxlint.toml")


def rule(code: str, name: str) -> Rule:
    return Rule(code, name, "error", (f"{name}.a",), "", "", "", "", "", (), ())


OFF = replace(rule("FX301", "off"), default=False)
RULES = RuleSet([rule("FX101", "branch"), rule("FX105", "flag"), rule("FX201", "silent"), OFF])


@pytest.mark.parametrize(
    ("select", "ignore", "reported"),
    [
        ((), (), ["FX101", "FX105", "FX201"]),
        (("FX1",), (), ["FX101", "FX105"]),
        (("FX1",), ("flag",), ["FX101"]),
        (("silent", "FX101"), (), ["FX101", "FX201"]),
        ((), ("FX10", "FX201"), []),
        (("FX101",), ("FX101",), []),
        (("FX101",), ("FX1",), ["FX101"]),
        (("FX1",), ("ALL",), ["FX101", "FX105"]),
        (("ALL",), ("FX1",), ["FX201", "FX301"]),
        (("off",), (), ["FX301"]),
    ],
)
def test_rules_are_selected_by_code_prefix_and_name_and_the_more_specific_word_wins(select, ignore, reported):
    assert codes(Config(Path(), select=select, ignore=ignore)) == reported


def test_a_rule_that_is_off_by_default_is_on_where_it_is_selected():
    assert codes(Config(Path(), extend_select=("FX301",))) == ["FX101", "FX105", "FX201", "FX301"]
    assert codes(Config(Path(), extend_select=("FX301",), ignore=("FX3",))) == ["FX101", "FX105", "FX201", "FX301"]


def test_rules_are_ignored_in_the_files_of_a_pattern():
    config = Config(Path("/project"), per_file_ignores={"tests/": ("FX1",), "/gen_*.py": ("flag",)})
    everywhere = ["FX101", "FX105", "FX201"]
    assert codes(config, "/project/tests/deep/a.py") == ["FX201"]
    assert codes(config, "/project/gen_a.py") == ["FX101", "FX201"]
    assert codes(config, "/project/pkg/gen_a.py") == everywhere
    assert codes(config, "/elsewhere/a.py") == everywhere


def codes(config: Config, path: str = "a.py") -> list[str]:
    """The rules that report findings in a file."""
    test = selection(config, RULES)
    findings = [Finding(r.code, r.name, "error", Location(path, 1, 1, 1, 2), "", r.events[0]) for r in RULES]
    return [finding.code for finding in findings if test(finding)]


@pytest.mark.parametrize("key", ["select", "extend-select", "ignore"])
def test_a_selector_that_names_no_rule_is_an_error(key):
    with pytest.raises(ConfigError, match=f"'{key}' names no rule: 'brnch'; did you mean 'branch'?"):
        selection(Config(Path(), **{key.replace("-", "_"): ("FX1", "brnch")}), RULES)


def test_an_ignore_of_some_files_that_names_no_rule_is_an_error():
    with pytest.raises(ConfigError, match="'per-file-ignores' names no rule: 'flg'; did you mean 'flag'"):
        selection(Config(Path(), per_file_ignores={"tests/": ("flg",)}), RULES)


def test_what_is_said_over_the_file_adds_to_lists_that_extend_merges_tables_and_replaces_the_rest(work):
    instances = {"a:A": "A(1)", "b:B": "B()"}
    table = {"ignore": ["FX105"], "extend-exclude": ["a/"], "exclude": ["b/"], "instances": instances}
    config = parse(table, work / "fxlint.toml")
    said = {"ignore": ["FX1"], "extend-exclude": ["c/"], "exclude": ["d/"], "instances": {"a:A": "A(2)"}}
    assert override(config, said, "command line") == replace(
        config,
        ignore=("FX105", "FX1"),
        extend_exclude=("a/", "c/"),
        exclude=("d/",),
        instances={"a:A": ("A(2)",), "b:B": ("B()",)},
    )


def test_a_selection_that_is_said_over_the_file_starts_afresh(work):
    config = parse({"select": ["FX2"], "extend-select": ["FX3"], "ignore": ["FX105"]}, work / "fxlint.toml")
    said = override(config, {"select": ["FX105"], "ignore": ["FX101"]}, "command line")
    assert (said.select, said.extend_select, said.ignore) == (("FX105",), (), ("FX101",))


def test_what_is_wrong_in_what_is_said_over_the_file_names_its_origin(work):
    with pytest.raises(ConfigError, match="here: unknown key 'slect'; did you mean 'select'"):
        override(Config(work), {"slect": []}, "here")
