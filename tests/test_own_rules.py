"""Rules of a project's own: read strictly, predicted, confirmed, and tested by their examples."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

import fxlint
from fxlint.cli import main
from fxlint.rules import RuleError, load_rules

PROJECT = Path(__file__).parents[1] / "fixtures" / "own_rules"
ORDER = "ACME101-numpy-order.toml"
GELU = "ACME201-old-gelu.toml"
LEAVES = "ACME301-leaves.toml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the fixture, as the working directory."""
    shutil.copytree(PROJECT, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path / "own")
    return tmp_path / "own"


@pytest.fixture
def run(capsys):
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


def found(**settings: object) -> list[tuple[str, int, str, str]]:
    """(file, line, code, status) of each finding in the project."""
    report = fxlint.check("acme/net.py", **settings)
    return [
        (Path(one.location.path).name, one.location.line, one.code, one.confirmation.status) for one in report.findings
    ]


def change(file: str, old: str, new: str) -> None:
    path = Path("lint", file)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


class TestReading:
    def test_they_come_beside_the_shipped_ones_from_files_and_folders_each_file_once(self, project):
        shipped = {rule.code for rule in load_rules()}
        for places in (["."], [".", LEAVES], [ORDER, GELU, LEAVES]):
            own = {rule.code for rule in load_rules([Path("lint", place) for place in places])} - shipped
            assert own == {"ACME101", "ACME201", "ACME301"}

    @pytest.mark.parametrize(
        ("file", "old", "new", "said"),
        [
            (ORDER, "replacement =", "replacment =", ":4: replacment: is not a key here; did you mean 'replacement'?"),
            (ORDER, '"ACME101"', '"FX101"', ":1: code: 'FX101' is taken: codes that begin with FX are"),
            (ORDER, '"ACME101"', '"acme"', ":1: code: 'acme' does not have the form"),
            (ORDER, '"acme.ops:numpy_order"', '"acme.ops.numpy_order"', ":3: untraceable: must be at least one name"),
            (ORDER, "untraceable =", 'leaf_modules = ["acme"]\nuntraceable =', ":3: leaf_modules: cannot stand beside"),
            (ORDER, "untraceable =", "# ", "untraceable: is missing, and so are discouraged, leaf_modules"),
            (ORDER, '"acme.ops.order"', '"acme.ops.order(x)"', ":4: replacement: 'acme.ops.order(x)' is no name"),
            (ORDER, "  # <- ACME101", "", "bad[1].code: has no line marked '# <- ACME101'"),
            (ORDER, "# <- ACME101", "# <- ACME101 call.numpy", "a mark must read '# <- ACME101'"),
            (ORDER, "[[good]]", "[[better]]", "good: is missing: a rule has at least one [[good]] example"),
            (ORDER, "[[bad]]", "[[bads]]", ":10: bads: is not a key here; did you mean 'bad'?"),
            (ORDER, "summary =", 'severity = "info"\nsummary =', ":5: severity: is not a key here"),
            (GELU, "replacement =", "# ", "replacement: is missing"),
            (LEAVES, "[[good]]", "[[bad]]", "bad: is not a key here"),
            (GELU, '"old-gelu"', '"wrap-misuse"', "must be named ACME201-wrap-misuse.toml"),
            (GELU, 'code = "ACME201"', "code = ACME", "not valid TOML: Invalid value (at line 1"),
            (GELU, 'code = "ACME201"', f"code = {'[' * 5000}", "not valid TOML: "),
            (GELU, 'code = "ACME201"', 'code = "ACME\u0662\u0660\u0661"', "does not have the form"),
            (ORDER, "`{callee}`", "`{callee:>999999999}`", ":6: message: {callee} stands alone"),
            (ORDER, "`{callee}`", "`{callee!z}`", ":6: message: {callee} stands alone"),
            (ORDER, "[[bad]]", '[[bad]]\nfiles = {"../outside.py" = ""}', ":11: bad[1].files: '../outside.py' is no"),
        ],
    )  # fmt: skip
    def test_a_slip_is_one_line_with_the_file_and_where_it_is_known_the_line(self, project, run, file, old, new, said):
        change(file, old, new)
        code, out, err = run("acme", "--no-confirm")
        assert (code, out) == (2, "")
        assert err.startswith(f"error: {project / 'lint' / file}")
        assert said in err
        assert err.count("\n") == 1

    def test_the_page_in_the_documentation_is_one(self, tmp_path):
        text = (PROJECT.parents[1] / "docs" / "own-rules.md").read_text(encoding="utf-8")
        page = re.findall(r"```toml\n(code =.*?)```\n", text, re.DOTALL)[0]
        path = tmp_path / ORDER
        path.write_text(page, encoding="utf-8")
        assert load_rules([path]).by_code("ACME101").calls == ("acme.ops:numpy_order", "acme.ops:Sorter.sort")

    def test_a_line_in_the_text_of_an_example_is_no_key(self, project):
        change(GELU, "from torch import nn", "from torch import nn\nreplacement = 1")
        change(GELU, "replacement =", "replacment =")
        with pytest.raises(RuleError, match=r"toml:4: replacment"):
            load_rules([Path("lint")])

    def test_two_cannot_have_one_code(self, project):
        text = Path("lint", GELU).read_text(encoding="utf-8").replace('"old-gelu"', '"older-gelu"')
        Path("lint", "ACME201-older-gelu.toml").write_text(text, encoding="utf-8")
        with pytest.raises(RuleError, match="code 'ACME201' belongs to ACME201-old-gelu"):
            load_rules([Path("lint")])

    @pytest.mark.parametrize("place", ["loop", "n" * 300])
    def test_a_place_that_nothing_can_be_read_from_is_named(self, project, run, place):
        Path("loop").symlink_to("loop")
        Path("fxlint.toml").write_text(f'rules = ["{place}"]')
        code, _, said = run("--no-confirm", ".")
        assert code == 2
        assert said.startswith(f"error: {Path(place).absolute()}: cannot be read: ")

    def test_a_pipe_among_the_files_is_named_and_not_waited_for(self, project, run):
        os.mkfifo("lint/ACME900-pipe.toml")
        assert run("acme")[::2] == (2, f"error: {project / 'lint/ACME900-pipe.toml'}: is no regular file\n")

    def test_a_place_that_is_not_there_is_named(self, project, run):
        assert run("acme", "--config", "rules = ['lnt/']")[::2] == (
            2, f"error: {project / 'lnt'}: cannot be read: No such file or directory\n",
        )  # fmt: skip


class TestPrediction:
    def test_calls_are_told_and_leaves_are_not_looked_into(self, project):
        assert found(confirm=False) == [
            ("net.py", 11, "ACME101", "unconfirmed"),
            ("net.py", 16, "ACME101", "unconfirmed"),
            ("net.py", 21, "ACME201", "unconfirmed"),
        ]

    def test_without_them_it_is_told_what_happens_inside(self, project):
        assert {code for _, _, code, _ in found(confirm=False, rules=[])} == {"FX101", "FX150"}

    def test_a_call_without_a_traced_value_is_one_that_can_be_made(self, project):
        assert "Constant" in Path("acme/net.py").read_text(encoding="utf-8")
        report = fxlint.check("acme/net.py", confirm=False)
        verdicts = {module.root.qualname: module.predicted.verdict for module in report.modules}
        assert verdicts["Constant"] == "traces"
        assert verdicts["Ordered"] == "fails"

    def test_the_replacement_is_a_way_out_with_its_import(self, project):
        first, _, other = fxlint.check("acme/net.py", confirm=False).findings
        assert [edit.text for edit in first.suggestions[0].edits] == ["import acme.ops\n", "acme.ops.order"]
        assert [edit.text for edit in other.suggestions[0].edits] == ["torch.nn.functional.gelu"]

    def test_they_are_selected_and_suppressed_as_others_are(self, project):
        assert found(confirm=False, select=["ACME"]) == found(confirm=False)
        assert {code for _, _, code, _ in found(confirm=False, ignore=["old-gelu"])} == {"ACME101"}
        source = Path("acme/net.py")
        text = source.read_text(encoding="utf-8")
        source.write_text(text.replace("ops.old_gelu(x)", "ops.old_gelu(x)  # noqa: ACME201"), encoding="utf-8")
        assert {code for _, _, code, _ in found(confirm=False)} == {"ACME101"}
        source.write_text(text.replace("nn.ReLU()", "nn.ReLU()  # noqa: ACME201"), encoding="utf-8")
        assert {code for _, _, code, _ in found(confirm=False)} == {"ACME101", "ACME201", "FX001"}

    def test_they_hold_for_the_files_of_their_configuration(self, project):
        shutil.copytree(project / "acme", project.parent / "other" / "acme")
        report = fxlint.check([project / "acme/net.py", project.parent / "other/acme/net.py"], confirm=False)
        own = {Path(one.location.path).parts[-3] for one in report.findings if one.code.startswith("ACME")}
        assert own == {"own"}
        assert {Path(one.location.path).parts[-3] for one in report.findings} == {"own", "other"}


class TestConfirmation:
    @pytest.mark.torch
    def test_each_is_met_and_the_replacement_is_tried(self, project):
        report = fxlint.check("acme/net.py")
        assert [one.confirmation.status for one in report.findings] == ["confirmed"] * 3
        assert [one.suggestions[0].checked.verdict for one in report.findings] == ["traces"] * 3
        verdicts = {module.root.qualname: module.confirmed.verdict for module in report.modules}
        assert {name for name, verdict in verdicts.items() if verdict == "fails"} == {"Ordered", "Sorted"}


class TestCommands:
    def test_they_are_listed_and_shown(self, project, run):
        listed = run("rules")[1].splitlines()
        assert "ACME101 numpy-order: A call of numpy_order gets a traced value" in listed
        page = run("rule", "numpy-order", "--output-format", "markdown")[1]
        assert "Cannot be traced: `acme.ops:numpy_order`, `acme.ops:Sorter.sort`." in page
        assert "What happens" not in page  # the page does not say

    def test_a_slip_in_them_hides_no_page_of_fxlint(self, project, run):
        change(ORDER, "[[good]]", "[[better]]")
        assert run("rule", "FX101")[0] == 0
        assert run("rule", "ACME201")[0] == 2

    def test_they_have_pages_behind_those_of_fxlint(self, project, run):
        run("rules", "--pages", "pages")
        index = Path("pages", "index.md").read_text(encoding="utf-8")
        own = index.partition("## Rules of the project")[2]
        assert [line[3:10] for line in own.splitlines() if line.startswith("| [")] == ["ACME101", "ACME201", "ACME301"]
        assert all(Path("pages", f"{code}.md").is_file() for code in ("ACME101", "FX101"))

    def test_they_are_among_the_rules_of_a_report(self, project, run):
        driver = json.loads(run("acme", "--no-confirm", "--output-format", "sarif")[1])["runs"][0]["tool"]["driver"]
        assert {"ACME101", "ACME201"} <= {rule["id"] for rule in driver["rules"]}

    @pytest.mark.torch
    @pytest.mark.slow
    def test_test_rules_runs_every_example(self, project, run):
        assert run("test-rules") == (0, "", "3 rules, 7 examples: 7 as their pages say, 0 not\n")

    @pytest.mark.torch
    @pytest.mark.slow
    def test_test_rules_says_what_an_example_does_instead(self, project, run):
        change(ORDER, "return order(x)", "return numpy_order(x)")
        change(ORDER, "import order", "import numpy_order")
        change(GELU, "return ops.old_gelu(x)", "return ops.older_gelu(x)")
        change(GELU, "nn.functional.gelu(x)", "nn.functional.gelu(x) * torch.rand(1)")
        change(LEAVES, "clip(x, low)\n", "x.clamp(0)\n")
        change(LEAVES, '"Gated()"', '"Gate()"')
        code, out, err = run("test-rules", "lint")
        assert code == 1
        said: dict[str, list[str]] = {}
        for line in out.splitlines():
            example, _, problem = line.partition(": ")
            said.setdefault(example, []).append(problem)
        assert said == {
            "ACME101 numpy-order, good example order_by_torch": [
                "line 8: ACME101 is found there, and it is not marked",
                "it does not trace: ValueError: invalid __array_struct__ (line 8)",
            ],
            "ACME201 old-gelu, bad example old": [
                "line 9: is marked, and nothing is predicted there",
                "line 9: FX172 is found there, and it is not marked",
                "it does not trace: AttributeError: module 'acme.ops' has no attribute 'older_gelu' (line 9)",
            ],
            "ACME201 old-gelu, good example new": ["the graph gives other outputs than the module"],
            "ACME301 leaves, good example clipped": ["the graph is the same without this rule"],
            "ACME301 leaves, good example gated": [
                "`Gate`, of which the instance is made, is no module class and no function that is traced"
            ],
        }
        assert err == "3 rules, 7 examples: 2 as their pages say, 5 not\n"

    def test_test_rules_without_rules_is_an_error(self, tmp_path, monkeypatch, run):
        monkeypatch.chdir(tmp_path)
        assert run("test-rules") == (
            2, "", "error: there are no rules of the project's own: name them, or set `rules` in the configuration\n",
        )  # fmt: skip
