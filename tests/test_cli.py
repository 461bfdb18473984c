"""The command line: what goes where, and with which exit code. The two stages are stand-ins here."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import fxlint as fxlint_package
from fxlint import __version__
from fxlint.cli import check, main
from fxlint.findings import (
    Check,
    Confirmation,
    Confirmed,
    Edit,
    Finding,
    Location,
    ModuleReport,
    Predicted,
    Prediction,
    Problem,
    Root,
    Step,
    Suggestion,
)
from fxlint.static import Outlook
from fxlint.tracing import Tracing

STOPPING = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    **({signal.SIGHUP: "hung up"} if hasattr(signal, "SIGHUP") else {}),
}
MODEL = "def forward(self, x):\n    return len(x)\n"
INDENTED = MODEL.replace("\n", "\n    ")
NET = ModuleReport(Root("model.py", "Net", 1, "class"), Predicted("fails"))


def finding(severity: str = "error", code: str = "FX120", line: int = 2, status: str = "unconfirmed") -> Finding:
    place = Location("model.py", line, 12, line, 18)
    return Finding(code, "rule", severity, place, f"{code} message", "e.e", ("model.py::Net",),
                   confirmation=Confirmation(status))  # fmt: skip


@dataclass
class Stages:
    """What the two stages answer, and what they were asked."""

    predicted: Prediction = field(default_factory=lambda: Prediction((NET,)))
    confirmed: Prediction | None = None
    paths: tuple[str, ...] = ()
    settings: dict = field(default_factory=dict)
    confirm_ran: bool = False

    def finds(self, *findings: Finding, problems: tuple[Problem, ...] = ()) -> None:
        self.predicted = Prediction((NET,), findings, problems)


@pytest.fixture
def stages(tmp_path, monkeypatch) -> Stages:
    """Stand-ins for predict and confirm, in a new working directory with model.py."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    Path("model.py").write_text(MODEL)
    answers = Stages()

    def outlook(project, paths, rules, search_path, jobs, tracing, cache):
        answers.paths = tuple(paths)
        return Outlook(answers.predicted)

    def confirm(prediction, rules, settings, cache):
        answers.confirm_ran = True
        answers.settings = settings
        return answers.confirmed or prediction

    monkeypatch.setattr("fxlint.engine.outlook", outlook)
    monkeypatch.setattr("fxlint.confirm.confirm", confirm, raising=False)
    monkeypatch.setattr("fxlint.confirm.ConfirmSettings", dict, raising=False)
    return answers


@pytest.fixture
def fxlint(capsys):
    """Runs a command; gives (exit code, standard output, standard error)."""
    handlers = {number: signal.getsignal(number) for number in STOPPING}

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


CLEAN = "1 module in 1 file: 0 trace, 1 fail, 0 depend, 0 unknown; 0 findings\n"


def test_clean_is_0_with_the_summary_on_standard_error(stages, fxlint):
    assert fxlint("model.py") == (0, "", CLEAN)


def test_findings_are_1_and_go_to_standard_output(stages, fxlint):
    stages.finds(finding())
    code, out, err = fxlint("model.py", "--output-format", "concise")
    assert (code, out) == (1, "model.py:2:12: FX120 FX120 message (error)\n")
    assert err == CLEAN.replace("0 findings", "1 finding: 0 confirmed, 0 refuted, 0 unreached, 1 unconfirmed")


@pytest.mark.parametrize("arguments", [[], ["."], ["check"], ["check", "model.py"], ["model.py", "-q"], ["-q", "."]])
def test_check_is_the_default_command_and_here_the_default_path(stages, fxlint, arguments):
    assert fxlint(*arguments)[0] == 0
    assert stages.paths == ("model.py",)


def test_a_slip_in_the_name_of_a_command_is_told_as_such(stages, fxlint):
    code, _, err = fxlint("chekc", ".")
    assert (code, err.splitlines()[-1]) == (
        2, "Error: there is no command, file or folder 'chekc'; did you mean 'check'?"
    )  # fmt: skip
    Path("rule2").mkdir()
    Path("rule2/a.py").write_text("")
    assert fxlint("rule2")[0] == 0


def test_a_folder_that_is_called_check_needs_a_prefix(stages, fxlint):
    Path("check").mkdir()
    Path("check/a.py").write_text("")
    fxlint("./check")
    assert stages.paths == ("./check/a.py",)


@pytest.mark.parametrize(
    ("severity", "status", "fail_on", "code"),
    [
        ("error", "confirmed", "warning", 1),
        ("warning", "unconfirmed", "warning", 1),
        ("warning", "unreached", "warning", 1),
        ("info", "confirmed", "warning", 0),
        ("info", "confirmed", "info", 1),
        ("warning", "confirmed", "error", 0),
        ("error", "confirmed", "error", 1),
        ("error", "confirmed", "never", 0),
        ("error", "refuted", "info", 0),
    ],
)
def test_fail_on_sets_the_least_severity_that_counts_and_refuted_never_does(
    stages, fxlint, severity, status, fail_on, code
):
    stages.finds(finding(severity, status=status))
    assert fxlint("model.py", "--fail-on", fail_on)[0] == code


def test_without_fail_on_warnings_count(stages, fxlint):
    stages.finds(finding("info"))
    assert fxlint("model.py")[0] == 0
    stages.finds(finding("warning"))
    assert fxlint("model.py")[0] == 1


def test_an_input_that_cannot_be_linted_is_2_and_the_rest_is_reported(stages, fxlint):
    stages.finds(finding(), problems=(Problem("broken.py", "could not parse:\ninvalid syntax", 3),))
    code, out, err = fxlint("model.py", "--output-format", "concise")
    assert (code, out) == (2, "model.py:2:12: FX120 FX120 message (error)\n")
    assert err.splitlines()[0] == "error: broken.py:3: could not parse: invalid syntax"


def test_a_missing_path_is_2_and_the_rest_is_linted(stages, fxlint):
    code, _, err = fxlint("gone", "model.py")
    assert (code, stages.paths) == (2, ("model.py",))
    assert err.splitlines()[0] == "error: gone: no such file or folder"


def test_a_verification_that_could_not_run_is_a_warning_and_changes_no_exit_code(stages, fxlint):
    stages.confirmed = Prediction((NET,), (), (Problem("model.py", "the import ended the process"),))
    code, _, err = fxlint("model.py")
    assert code == 0
    assert err.splitlines()[0] == "warning: model.py: the import ended the process"


def test_a_problem_without_a_file_is_told_without_a_place(stages, fxlint):
    stages.confirmed = Prediction((NET,), (), (Problem("", "nothing was traced: no torch", stage="confirm"),))
    assert fxlint("model.py", "-q")[2] == "warning: nothing was traced: no torch\n"


def test_a_slip_in_a_declaration_is_a_warning_and_changes_no_exit_code(stages, fxlint):
    Path("model.py").write_text("# fxlint: trce\n" + MODEL)
    Path("fxlint.toml").write_text('[instances]\n"model:Nett" = "Nett(4)"\n')
    code, _, err = fxlint("model.py", "-q")
    assert code == 0
    key, comment = err.splitlines()
    assert key.startswith("warning: fxlint.toml: instances: 'model:Nett' names no module class: ")
    assert comment == "warning: model.py:1: `# fxlint: trce` says nothing to fxlint; did you mean `trace`?"


def test_no_python_files_is_a_warning(stages, fxlint):
    Path("empty").mkdir()
    code, _, err = fxlint("empty")
    assert code == 0
    assert err.splitlines()[0] == "warning: no Python files in empty"


def test_a_usage_error_is_2(stages, fxlint):
    code, out, err = fxlint("--no-such-option")
    assert (code, out) == (2, "")
    assert "No such option" in err


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("exlude = []", "fxlint.toml: unknown key 'exlude'; did you mean 'exclude'?"),
        ("python = 'no-such-python'", "'python': 'no-such-python' is not an interpreter that can be run"),
        ("select = ['no-such-rule-at-all']", "'select' names no rule: 'no-such-rule-at-all'"),
    ],
)
def test_a_wrong_configuration_is_2_before_anything_runs(stages, fxlint, config, message):
    Path("fxlint.toml").write_text(config)
    code, out, err = fxlint("model.py")
    assert (code, out) == (2, "")
    assert message in err
    assert not stages.paths


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e308", "0", "-1", "86401", "soon"])
def test_a_timeout_that_is_none_is_2(stages, fxlint, value):
    code, out, err = fxlint("model.py", "--timeout", value)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("Error: Invalid value for '--timeout': ")


def test_what_a_message_quotes_stays_on_its_line(stages, fxlint):
    Path("fxlint.toml").write_text('"timeout\\n\\u001b" = 1')
    code, _, err = fxlint("model.py")
    assert code == 2
    assert err.splitlines() == [
        f"error: {Path('fxlint.toml').absolute()}: unknown key 'timeout\\n\\x1b'; did you mean 'timeout'?"
    ]


def run_in(shell: str, arguments: str = "--no-confirm --output-format json model.py") -> tuple[int, list[str]]:
    """(exit code, lines on standard error) of fxlint with redirections."""
    command = f"{sys.executable} -m fxlint {arguments} {shell}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    printed = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=60,
    )
    return printed.returncode, printed.stderr.splitlines()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_standard_output_that_is_full_is_2(stages):
    assert run_in(">/dev/full") == (2, ["error: standard output cannot be written: No space left on device"])


def test_so_it_is_for_help_and_version(stages):
    assert run_in(">/dev/full", "--version") == (2, ["error: [Errno 28] No space left on device"])


def test_standard_output_that_is_closed_is_2(stages):
    assert run_in(">&-") == (2, ["error: standard output cannot be written: Bad file descriptor"])
    code, lines = run_in("--output-file report.json >&-")
    assert (code, len(lines)) == (0, 1)
    assert json.loads(Path("report.json").read_text())["summary"]["files"] == 1


def test_who_reads_no_more_of_standard_output_is_not_told(stages):
    assert run_in("-q | true") == (0, [])


@pytest.mark.parametrize("full", ["2>/dev/full", "2>&-", "2>&- <&-"])
def test_standard_error_that_takes_nothing_changes_nothing(stages, full):
    assert run_in(f"--output-file report.json {full}")[0] == 0


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [(number, 128 + number, word) for number, word in STOPPING.items()],
)
def test_a_run_that_a_signal_stops_ends_with_the_code_for_it(stages, fxlint, monkeypatch, number, code, said):
    monkeypatch.setattr("fxlint.engine.outlook", lambda *_: signal.raise_signal(number))
    assert fxlint("model.py") == (code, "", f"{said}\n")


def test_an_interrupt_while_the_command_is_imported_ends_it_quietly():
    program = (
        "import signal, sys\n"
        "class Interrupts:\n"
        "    def find_spec(name, *_):\n"
        "        name == 'click' and signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts)\n"
        "from fxlint.entry import main\n"
        "main()\n"
    )
    run = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")


def test_a_bug_in_fxlint_is_2_and_not_findings(stages, fxlint, monkeypatch):
    monkeypatch.setattr("fxlint.engine.outlook", lambda *_: 1 / 0)
    code, out, err = fxlint("model.py")
    assert (code, out) == (2, "")
    assert "ZeroDivisionError" in err
    assert "this is a bug in fxlint" in err


def test_findings_and_modules_are_sorted_by_place_and_code(stages, fxlint):
    stages.predicted = Prediction(
        (replace(NET, root=replace(NET.root, line=9)), NET),
        (finding(line=9), finding(line=2, code="FX121"), finding(line=2)),
    )
    report = json.loads(fxlint("model.py", "--output-format", "json")[1])
    assert [(found["line"], found["code"]) for found in report["findings"]] == [
        (2, "FX120"),
        (2, "FX121"),
        (9, "FX120"),
    ]
    assert [module["line"] for module in report["modules"]] == [1, 9]


def test_no_confirm_runs_no_code(stages, fxlint):
    fxlint("model.py", "--no-confirm")
    assert not stages.confirm_ran
    Path("fxlint.toml").write_text("confirm = false")
    fxlint("model.py")
    assert not stages.confirm_ran
    fxlint("model.py", "--confirm")
    assert stages.confirm_ran


def test_no_confirm_starts_no_process_and_runs_no_line_of_the_project(tmp_path):
    """Whatever Python starts or runs is told to an audit hook."""
    (tmp_path / "model.py").write_text(f"from torch import nn\n\n\nclass Net(nn.Module):\n    {INDENTED}")
    program = """if True:
        import sys
        def note(event, told):
            if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec"):
                print("started", event)
            elif event == "exec" and told[0].co_filename.endswith("model.py"):
                print("ran the model")
        sys.addaudithook(note)
        from fxlint.cli import main
        main(["model.py", "--output-format", "concise", *sys.argv[1:]])
    """
    noted = {}
    for option in ("--no-confirm", "--confirm"):
        command = [sys.executable, "-c", program, option]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert "1 module in 1 file" in done.stderr
        noted[option] = "started" in done.stdout or "ran the model" in done.stdout
    assert noted == {"--no-confirm": False, "--confirm": True}


def test_a_file_that_is_saved_before_it_is_traced_is_told(stages, fxlint, monkeypatch):
    def confirm(prediction, rules, settings, cache):
        Path("model.py").write_text(f"# another line\n{MODEL}")
        return prediction

    assert fxlint("model.py")[2].count("warning: model.py: it was saved") == 0
    monkeypatch.setattr("fxlint.confirm.confirm", confirm)
    assert fxlint("model.py")[2].count("warning: model.py: it was saved between prediction and tracing") == 1


def test_the_command_line_goes_before_the_configuration(stages, fxlint):
    Path("fxlint.toml").write_text(
        "timeout = 3\npython = 'no-such-python'\n[instances]\n'model:Net' = 'Net(8)'\n[inputs]\n'model:Net' = '(1,)'\n"
    )
    fxlint("model.py", "--timeout", "5", "--python", sys.executable)
    assert callable(stages.settings.pop("log"))
    assert callable(stages.settings.pop("progress"))
    assert stages.settings == {
        "python": sys.executable,
        "instances": {"model:Net": ("Net(8)",)},
        "inputs": {"model:Net": "(1,)"},
        "timeout": 5.0,
        "jobs": os.cpu_count(),
        "roots": (str(Path.cwd()),),
        "files": ("model.py",),
        "config": "fxlint.toml",
        "tracing": Tracing(folders=(str(Path.cwd()),)),
    }


def test_a_named_configuration_is_used(stages, fxlint):
    Path("strict.toml").write_text("fail-on = 'info'")
    stages.finds(finding("info"))
    assert fxlint("model.py", "--config", "strict.toml")[0] == 1


def test_a_finding_counts_by_the_configuration_nearest_to_its_file_and_the_command_line_goes_before(stages, fxlint):
    Path("pkg").mkdir()
    Path("pkg/model.py").write_text(MODEL)
    Path("pkg/fxlint.toml").write_text("fail-on = 'never'")
    stages.finds(replace(finding(), location=replace(finding().location, path="pkg/model.py")))
    assert fxlint(".")[0] == 0
    assert fxlint(".", "--fail-on", "error")[0] == 1
    assert f"with the settings of {Path('pkg/fxlint.toml').absolute()}:\n" in fxlint(".", "-v")[2]


def test_a_setting_is_said_over_the_configuration(stages, fxlint):
    Path("fxlint.toml").write_text("fail-on = 'error'\ntimeout = 3\n[instances]\n'model:Net' = 'Net(8)'\n")
    stages.finds(finding("info"))
    said = ["--config", "fail-on='info'", "--config", "instances.'a:B'='B()'"]
    assert fxlint("model.py", *said)[0] == 1
    assert stages.settings["instances"] == {"model:Net": ("Net(8)",), "a:B": ("B()",)}
    assert stages.settings["timeout"] == 3.0


def test_isolated_is_without_a_configuration_file(stages, fxlint):
    Path("fxlint.toml").write_text("fail-on = 'never'")
    stages.finds(finding())
    assert fxlint("model.py", "--isolated")[0] == 1
    assert fxlint("model.py", "--isolated", "--config", "fail-on='never'")[0] == 0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["fail-om='info'"], "--config: unknown key 'fail-om'; did you mean 'fail-on'?"),
        (["fail-on=info"], "--config: 'fail-on=info' is no TOML: "),
        (["timeout=0"], "--config: 'timeout' must be a number of seconds above 0"),
        (["a.toml", "b.toml"], "--config: 'b.toml' is one file too many"),
    ],
)
def test_a_wrong_setting_is_2(stages, fxlint, said, message):
    code, _, err = fxlint("model.py", *(word for text in said for word in ("--config", text)))
    assert code == 2
    assert err.startswith(f"error: {message}")


def test_settings_can_be_shown_and_are_what_is_read_again(stages, fxlint):
    Path("fxlint.toml").write_text("python = 'bin/py'\n[per-file-ignores]\n'a\"b/' = ['FX1']\n")
    code, out, _ = fxlint("model.py", "--show-settings", "--select", "FX120", "--timeout", "2.5")
    assert (code, stages.paths) == (0, ())
    assert out.splitlines()[0] == f"# {Path('fxlint.toml').absolute()}"
    Path("again.toml").write_text(out)
    assert fxlint("model.py", "--show-settings", "--config", "again.toml")[1].splitlines()[1:] == out.splitlines()[1:]


def test_standard_input_is_among_the_files_that_are_shown(stages, fxlint, standard_input):
    standard_input(MODEL)
    assert fxlint("-", "--show-files") == (0, "-\n", "")


def test_files_can_be_shown(stages, fxlint):
    Path("gen_a.py").write_text("")
    assert fxlint(".", "--show-files", "--exclude", "gen_*.py") == (0, "model.py\n", "")
    assert fxlint("gone.py", "--show-files")[0] == 2
    assert stages.paths == ()


def test_excluded_files_are_not_linted(stages, fxlint):
    Path("fxlint.toml").write_text("extend-exclude = ['gen_*.py']")
    Path("gen_a.py").write_text("")
    fxlint(".")
    assert stages.paths == ("model.py",)


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["--select", "FX101,FX105"], ["FX101", "FX105"]),
        (["--select", "FX101", "--select", "flag-argument"], ["FX101", "FX105"]),
        (["--ignore", "FX101"], []),
        (["--select", "FX1", "--ignore", "FX105"], ["FX101", "FX120"]),
        (["--extend-select", "FX120"], ["FX101", "FX120"]),
    ],
)
def test_rules_are_selected_on_the_command_line(stages, fxlint, arguments, codes):
    Path("fxlint.toml").write_text("select = ['FX101']\n")
    stages.finds(*(finding(code=code) for code in ("FX101", "FX105", "FX120")))
    report = json.loads(fxlint("model.py", "--output-format", "json", *arguments)[1])
    assert [told["code"] for told in report["findings"]] == codes


def test_a_selector_on_the_command_line_that_names_no_rule_is_2(stages, fxlint):
    code, _, err = fxlint("model.py", "--select", "flag-argumnt")
    assert (code, err) == (2, "error: 'select' names no rule: 'flag-argumnt'; did you mean 'flag-argument'?\n")


def test_files_that_are_named_are_left_out_where_excluding_is_forced(stages, fxlint):
    Path("fxlint.toml").write_text("extend-exclude = ['gen_*.py']")
    Path("gen_a.py").write_text("")
    fxlint("gen_a.py", "model.py", "--force-exclude")
    assert stages.paths == ("model.py",)
    fxlint("gen_a.py", "model.py", "--force-exclude", "--exclude", "model.py,build/")
    assert stages.paths == ()


@pytest.fixture
def standard_input(monkeypatch):
    def give(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    return give


def test_source_on_standard_input_goes_by_the_name_it_is_given_and_is_not_run(stages, fxlint, standard_input):
    Path("model.py").write_text("what is on disk does not matter")
    stages.finds(finding())
    standard_input(MODEL)
    code, out, _ = fxlint("-", "--stdin-filename", "model.py")
    assert (code, stages.paths, stages.confirm_ran) == (1, ("model.py",), False)
    assert "|     return len(x)" in out


def test_source_on_standard_input_is_predicted(fxlint, standard_input, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    standard_input("from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return len(x)\n")
    code, out, err = fxlint("-", "--output-format", "concise")
    assert (code, err[:19]) == (1, "1 module in 1 file:")
    assert out.startswith("-:4:16: FX120 ")


def test_source_on_standard_input_under_an_excluded_name_is_left_out_where_that_is_forced(
    stages, fxlint, standard_input
):
    Path("fxlint.toml").write_text("exclude = ['gen_*.py']\nforce-exclude = true")
    standard_input(MODEL)
    assert fxlint("-", "--stdin-filename", "gen_a.py", "-q") == (0, "", "")
    assert stages.paths == ()


@pytest.mark.parametrize("arguments", [["-", "model.py"], ["model.py", "--stdin-filename", "a.py"]])
def test_standard_input_is_linted_alone_and_only_it_needs_a_name(stages, fxlint, arguments):
    code, _, err = fxlint(*arguments)
    assert code == 2
    assert "standard input" in err


def test_suppressed_findings_do_not_count_and_the_summary_says_how_many_there_are(stages, fxlint):
    Path("model.py").write_text(MODEL.replace("len(x)", "len(x)  # noqa: FX120"))
    stages.finds(finding())
    assert fxlint("model.py") == (0, "", CLEAN.replace("findings", "findings; 1 suppressed"))
    assert fxlint("model.py", "--ignore-noqa", "-q")[0] == 1


def test_add_noqa_suppresses_what_is_found(stages, fxlint):
    stages.finds(finding(), finding(code="FX101", status="refuted"))
    assert fxlint("model.py", "--add-noqa") == (0, "", "1 finding is suppressed by a comment now\n")
    assert Path("model.py").read_text() == MODEL.replace("len(x)", "len(x)  # noqa: FX120")
    assert fxlint("model.py", "-q")[0] == 0


UNUSED = "def forward(self, x):\n    return x  # noqa: FX120\n"


def test_fix_applies_what_is_safe_and_reports_what_is_left(stages, fxlint):
    Path("model.py").write_text(UNUSED)
    stages.finds(finding(code="FX101"))
    code, out, err = fxlint("model.py", "--fix", "--output-format", "concise")
    assert (code, out, err.endswith("; 1 fixed\n")) == (1, "model.py:2:12: FX101 FX101 message (error)\n", True)
    assert Path("model.py").read_text() == UNUSED.replace("  # noqa: FX120", "")


def test_diff_shows_what_fix_would_do_and_changes_nothing(stages, fxlint):
    Path("model.py").write_text(UNUSED)
    code, out, _ = fxlint("model.py", "--diff")
    assert (code, out.splitlines()[-2:]) == (1, ["-    return x  # noqa: FX120", "+    return x"])
    assert Path("model.py").read_text() == UNUSED
    Path("model.py").write_text(MODEL)
    assert fxlint("model.py", "--diff")[:2] == (0, "")


def test_diff_tells_of_suggestions_that_are_not_known_to_be_safe(stages, fxlint):
    edit = Edit(Location("model.py", 2, 12, 2, 18), "x.size(0)")
    stages.finds(replace(finding(), suggestions=(Suggestion("rewrite", "use it", (edit,), checked=Check("traces")),)))
    code, out, err = fxlint("model.py", "--diff")
    assert (code, out) == (0, "")
    assert err.startswith("1 more with --unsafe-fixes")
    assert "+    return x.size(0)" in fxlint("model.py", "--diff", "--unsafe-fixes")[1]


def test_what_nobody_has_seen_to_trace_is_not_applied_and_that_is_said(stages, fxlint):
    edit = Edit(Location("model.py", 2, 12, 2, 18), "x.size(0)")
    stages.finds(replace(finding(), suggestions=(Suggestion("rewrite", "use it", (edit,)),)))
    told = "not applied for 1 finding: a change has to be seen to trace, and nothing was traced"
    for options in (("--diff",), ("--diff", "--unsafe-fixes"), ("--fix", "--unsafe-fixes")):
        _, _, err = fxlint("model.py", "--no-confirm", *options)
        assert told in err.splitlines()
    assert told not in fxlint("model.py", "--no-confirm")[2]


@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.chmod(0o444), "is read-only; it is left as it is"),
        (lambda path: Path("other.py").hardlink_to(path), "has 1 more names (hard links); it is left as it is"),
    ],
)
def test_a_file_that_is_not_to_be_replaced_costs_itself_only(stages, fxlint, option, spoil, told):
    Path("model.py").write_text(UNUSED)
    Path("good.py").write_text(UNUSED)
    found = finding(code="FX101")
    stages.finds(found, replace(found, location=replace(found.location, path="good.py")))
    spoil(Path("model.py"))
    code, _, err = fxlint("model.py", "good.py", option)
    assert (code, f"error: model.py: {told}\n" in err) == (2, True)
    assert Path("model.py").read_text() == UNUSED
    assert Path("good.py").read_text() != UNUSED


def test_a_file_that_cannot_be_written_costs_itself_only(stages, fxlint, monkeypatch):
    def replace_file(path, data):
        if path == "model.py":
            raise OSError(28, "No space left on device")
        Path(path).write_bytes(data)

    Path("model.py").write_text(UNUSED)
    Path("good.py").write_text(UNUSED)
    monkeypatch.setattr("fxlint.fixing.replace_file", replace_file)
    code, out, err = fxlint("model.py", "good.py", "--fix", "--output-format", "concise")
    assert (code, out.startswith("model.py:2:15: FX001 ")) == (2, True)
    assert "error: model.py: cannot be written: No space left on device\n" in err
    assert "; 1 fixed\n1 fixable with --fix\n" in err
    assert "noqa" not in Path("good.py").read_text()


def test_fix_only_neither_reports_nor_fails_for_what_is_left(stages, fxlint):
    Path("model.py").write_text(UNUSED)
    stages.finds(finding(code="FX101"))
    code, out, err = fxlint("model.py", "--fix-only")
    assert (code, out, "; 1 fixed" in err) == (0, "", True)
    assert "noqa" not in Path("model.py").read_text()


def test_show_fixes_lists_what_was_fixed(stages, fxlint):
    Path("model.py").write_text(UNUSED)
    told = "fixed: model.py:2:15: FX001 remove `# noqa: FX120`\n"
    assert told in fxlint("model.py", "--diff", "--show-fixes")[2]
    assert told in fxlint("model.py", "--fix", "--show-fixes")[2]
    assert "fixed: " not in fxlint("model.py", "--fix", "--show-fixes")[2]


@pytest.mark.parametrize(
    ("arguments", "fixed"),
    [
        (["--fixable", "FX1"], False),
        (["--fixable", "FX1,unused-suppression"], True),
        (["--unfixable", "FX0"], False),
        (["--unfixable", "FX0", "--fixable", "FX001"], True),
    ],
)
def test_rules_whose_suggestions_are_applied_can_be_chosen(stages, fxlint, arguments, fixed):
    Path("model.py").write_text(UNUSED)
    assert ("\n1 fixable with --fix" in fxlint("model.py", *arguments)[2]) == fixed
    fxlint("model.py", "--fix", *arguments)
    assert ("noqa" not in Path("model.py").read_text()) == fixed


def test_the_summary_tells_what_is_fixable(stages, fxlint):
    Path("model.py").write_text(UNUSED)
    edit = Edit(Location("model.py", 1, 1, 1, 1), "import torch\n")
    unsafe = Suggestion("rewrite", "use it", (edit,), checked=Check("traces"))
    stages.finds(replace(finding(code="FX101"), suggestions=(unsafe,)))
    assert fxlint("model.py")[2].endswith("\n1 fixable with --fix, 1 more with --fix --unsafe-fixes\n")


def test_suppressing_comments_can_give_a_reason(stages, fxlint):
    stages.finds(finding())
    fxlint("--add-noqa=a list, really", "model.py")
    assert Path("model.py").read_text() == MODEL.replace("len(x)", "len(x)  # noqa: FX120 a list, really")
    assert fxlint("model.py", "-q")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ([], ["FX101", "FX105", "FX120", "FX124"]),
        (["--min-severity", "warning"], ["FX101", "FX105", "FX120"]),
        (["--min-severity", "error"], ["FX101", "FX105"]),
        (["--min-confidence", "certain"], ["FX101", "FX120", "FX124"]),
        (["--min-confidence", "confirmed"], ["FX101"]),
    ],
)
def test_what_is_less_grave_or_less_sure_can_be_left_out(stages, fxlint, arguments, codes):
    stages.finds(
        finding(code="FX101", status="confirmed"),
        replace(finding(code="FX105"), certainty="conditional", depends_on=("self.pool",)),
        finding("warning", "FX120", status="unreached"),
        finding("info", "FX124"),
    )
    report = json.loads(fxlint("model.py", "--output-format", "json", *arguments)[1])
    assert [told["code"] for told in report["findings"]] == codes


def test_what_is_left_out_needs_its_comment_all_the_same(stages, fxlint):
    Path("model.py").write_text(MODEL.replace("len(x)", "len(x)  # noqa: FX120"))
    stages.finds(finding("info"))
    assert fxlint("model.py", "--min-severity", "error")[0] == 0


def test_a_module_that_was_not_traced_is_2_for_those_who_require_it(stages, fxlint):
    code, _, err = fxlint("model.py", "--require-confirm", "--exit-zero")
    assert (code, err.splitlines()[-1]) == (
        2, "error: 1 of 1 modules were not traced, and --require-confirm asks for all"
    )  # fmt: skip
    stages.confirmed = Prediction((replace(NET, confirmed=Confirmed("traces")),))
    assert fxlint("model.py", "--require-confirm")[0] == 0


def test_silent_is_nothing_but_the_exit_code_and_the_file_that_is_asked_for(stages, fxlint):
    stages.finds(finding(), problems=(Problem("broken.py", "could not parse"),))
    assert fxlint("model.py", "--silent") == (2, "", "")
    fxlint("model.py", "-s", "--output-format", "concise", "--output-file", "report.txt")
    assert Path("report.txt").read_text() == "model.py:2:12: FX120 FX120 message (error)\n"


@pytest.mark.parametrize("option", ["--fix", "--add-noqa"])
def test_a_file_that_was_saved_while_it_was_linted_is_left_alone(stages, fxlint, monkeypatch, option):
    Path("model.py").write_text(UNUSED)
    stages.finds(finding(code="FX101"))
    check = fxlint_package.check

    def slow(*arguments, **settings):
        report = check(*arguments, **settings)
        Path("model.py").write_text(UNUSED + "today = 1\n")
        return report

    monkeypatch.setattr("fxlint.check", slow)
    code, _, err = fxlint("model.py", option)
    assert (code, "error: model.py: was changed while it was linted; it is left as it is\n" in err) == (2, True)
    assert Path("model.py").read_text() == UNUSED + "today = 1\n"


@pytest.mark.parametrize("instead", [["--diff"], ["--add-noqa"], ["--write-baseline", "base.json"]])
def test_what_is_done_instead_of_a_report_tells_what_could_not_be_linted(stages, fxlint, instead):
    code, _, err = fxlint("model.py", "gone.py", *instead)
    assert (code, err.splitlines()[-1]) == (2, "error: gone.py: no such file or folder")


def test_standard_input_cannot_be_changed(stages, fxlint, standard_input):
    standard_input(MODEL)
    assert fxlint("-", "--fix")[0] == 2


def test_closed_standard_input_is_told(stages, fxlint, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert fxlint("-") == (2, "", "error: standard input is closed\n")


def test_a_baseline_that_cannot_be_written_is_told_by_its_name(stages, fxlint):
    told = "error: --write-baseline: 'gone/base.json' cannot be written: No such file or directory\n"
    assert fxlint("model.py", "--write-baseline", "gone/base.json") == (2, "", told)


@pytest.mark.parametrize("option", ["--write-baseline", "--output-file"])
@pytest.mark.parametrize("target", ["model.py", "./model.py", "other.py", "link", "script", "cells.ipynb"])
def test_a_report_replaces_no_source_code(stages, fxlint, option, target):
    for name in ("other.py", "script", "cells.ipynb"):
        Path(name).write_text(MODEL)
    Path("link").symlink_to("model.py")
    told = f"error: {option}: '{target.removeprefix('./')}' is source code, which is not replaced\n"
    assert fxlint("model.py", "script", option, target) == (2, "", told)
    assert (stages.paths, Path(target).read_text()) == ((), MODEL)


def test_a_baseline_replaces_nothing_but_a_baseline(stages, fxlint):
    Path("settings.json").write_text('{"line-length": 100}')
    told = "error: --write-baseline: 'settings.json' is no baseline, and not replaced by one\n"
    assert fxlint("model.py", "--write-baseline", "settings.json") == (2, "", told)
    assert (stages.paths, Path("settings.json").read_text()) == ((), '{"line-length": 100}')
    Path("empty.json").touch()
    Path("older.json").write_text('{"schema": 0, "findings": []}')
    for base in ("empty.json", "older.json"):
        assert fxlint("model.py", "--write-baseline", base) == (0, "", f"0 in the baseline, {base}\n")


def test_a_baseline_hides_what_it_holds(stages, fxlint):
    stages.finds(finding())
    assert fxlint("model.py", "--write-baseline", "base.json") == (0, "", "1 in the baseline, base.json\n")
    assert fxlint("model.py", "--baseline", "base.json") == (
        0, "", CLEAN.replace("findings", "findings; 1 in the baseline")
    )  # fmt: skip
    Path("fxlint.toml").write_text("baseline = 'base.json'")
    stages.finds(finding(), finding(code="FX101"))
    assert fxlint("model.py", "-q", "--output-format", "concise")[:2] == (
        1, "model.py:2:12: FX101 FX101 message (error)\n"
    )  # fmt: skip
    assert fxlint("model.py", "--write-baseline", "base.json")[2] == "2 in the baseline, base.json\n"


def test_a_baseline_that_is_missing_is_2(stages, fxlint):
    assert fxlint("model.py", "--baseline", "none.json")[0] == 2


def test_the_report_can_go_to_a_file(stages, fxlint):
    stages.finds(finding())
    code, out, err = fxlint("model.py", "--output-format", "concise", "--output-file", "report.txt")
    assert (code, out) == (1, "")
    assert Path("report.txt").read_text() == "model.py:2:12: FX120 FX120 message (error)\n"
    assert err


def test_a_report_that_cannot_be_written_leaves_the_old_one(stages, fxlint, monkeypatch):
    Path("report.txt").write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    code, _, err = fxlint("model.py", "--output-file", "report.txt")
    assert (code, err) == (2, "error: --output-file: 'report.txt' cannot be written: No space left on device\n")
    assert Path("report.txt").read_text() == "old"


def test_exit_zero_is_for_findings_only(stages, fxlint):
    stages.finds(finding())
    assert fxlint("model.py", "--exit-zero")[0] == 0
    assert fxlint("model.py", "gone.py", "--exit-zero")[0] == 2


def test_exit_non_zero_on_fix(stages, fxlint):
    Path("model.py").write_text(UNUSED)
    assert fxlint("model.py", "--fix", "--exit-non-zero-on-fix")[0] == 1
    assert fxlint("model.py", "--fix", "--exit-non-zero-on-fix")[0] == 0


STATISTICS = """\
11  FX121       rule
 1  FX001  [*]  unused-suppression
 1  FX120       rule
[*] fixable with --fix
"""


def test_statistics_count_the_findings_of_each_rule(stages, fxlint):
    Path("model.py").write_text(MODEL + "    # fxlint: ignore[FX101]\n")
    refuted = finding(code="FX105", status="refuted")
    stages.finds(finding(), *(finding(code="FX121", line=line) for line in range(1, 12)), refuted)
    code, out, _ = fxlint("model.py", "--statistics")
    assert (code, out) == (1, STATISTICS)


def test_settings_can_come_from_the_environment(stages, fxlint, monkeypatch):
    stages.finds(finding())
    Path("my settings.toml").write_text("fail-on = 'never'")
    monkeypatch.setenv("FXLINT_CONFIG", "my settings.toml")
    monkeypatch.setenv("FXLINT_OUTPUT_FORMAT", "concise")
    monkeypatch.setenv("FXLINT_OUTPUT_FILE", "report.txt")
    assert fxlint("model.py", "-q") == (0, "", "")
    assert Path("report.txt").read_text() == "model.py:2:12: FX120 FX120 message (error)\n"


def test_the_number_of_processes_can_be_said(stages, fxlint):
    fxlint("model.py", "-j", "3")
    assert stages.settings["jobs"] == 3
    assert fxlint("model.py", "-j", "0")[0] == 2


@pytest.mark.parametrize("columns", [40, 80])
def test_on_a_terminal_paragraphs_are_as_wide_as_it_is(stages, fxlint, monkeypatch, columns):
    stages.finds(finding())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = fxlint("model.py", "--color", "never")[1].splitlines()
    why = next(number for number, row in enumerate(rows) if row.startswith("  why:"))
    assert columns - 15 < max(map(len, rows[why : why + 4])) <= columns


def test_a_file_that_cannot_be_written_is_2(stages, fxlint):
    code, _, err = fxlint("model.py", "--output-file", "no/report.txt")
    assert (code, err) == (2, "error: --output-file: there is no folder 'no'\n")


def test_quiet_has_no_summary_and_verbose_tells_the_stages(stages, fxlint):
    assert fxlint("model.py", "-q") == (0, "", "")
    err = fxlint("model.py", "-v")[2]
    words = [row.split(" ")[0] for row in err.splitlines()]
    assert words == ["found", "predicted", "suggested", "traced", "1"]


@pytest.mark.parametrize(
    ("arguments", "environment", "colored"),
    [
        ([], {}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True),
        (["--color", "always", "--output-format", "json"], {}, False),
    ],
)
def test_colour(stages, fxlint, monkeypatch, arguments, environment, colored):
    stages.finds(finding(code="FX120"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in fxlint("model.py", *arguments)[1]) == colored


@pytest.mark.parametrize(
    ("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_on_a_terminal(stages, fxlint, monkeypatch, environment, colored):
    stages.finds(finding())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in fxlint("model.py")[1]) == colored


def test_show_graph_shows_every_module(stages, fxlint):
    stages.confirmed = Prediction((replace(NET, confirmed=Confirmed("traces", instance="Net()")),))
    assert fxlint("model.py")[1] == ""
    assert fxlint("model.py", "--show-graph")[1] == "model.py:1: Net traces with Net()\n\n"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("fxlint ru", ["plain,rule", "plain,rules", "file,ru"]),
        ("fxlint --min-s", ["plain,--min-severity"]),
        ("fxlint src --fail-on w", ["plain,warning"]),
        ("fxlint check mod", ["file,mod"]),
        ("fxlint rule --al", ["plain,--all"]),
    ],
)
def test_shells_complete_commands_options_values_and_paths(fxlint, monkeypatch, words, found):
    monkeypatch.setenv("_FXLINT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert fxlint()[1].splitlines() == found


def test_version(fxlint):
    assert fxlint("--version") == (0, f"fxlint {__version__}\n", "")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_the_options_of_the_default_command(fxlint, option):
    code, out, _ = fxlint(option)
    assert code == 0
    assert "--output-format" in out


def test_help_lists_every_option_once_under_a_heading(fxlint):
    out = fxlint("check", "--help")[1]
    options = [name for parameter in check.params for name in parameter.opts if name.startswith("--")]
    listed = [word.strip(",") for row in out.splitlines() for word in re.findall(r"^ +(?:-\w, )?(--[\w-]+)", row)]
    assert sorted(listed) == sorted(options)
    headings = [row for row in out.splitlines() if re.fullmatch(r"\w[\w ]*:", row)]
    assert headings == ["Files:", "Rules:", "Tracing:", "Report:", "Fixing:", "Exit code:", "Configuration:"]


def test_version_and_help_import_nothing_heavy():
    heavy = {"torch", "rich", "pathspec", "numpy"}
    script = "import sys\nfrom fxlint.cli import main\ntry: main([sys.argv[1]])\nexcept SystemExit: print(*sys.modules)"
    for option in ("--version", "--help"):
        printed = subprocess.run([sys.executable, "-c", script, option], capture_output=True, text=True, check=True)
        loaded = set(printed.stdout.splitlines()[-1].split())
        assert "fxlint.cli" in loaded
        assert not loaded & heavy


def test_a_prediction_of_one_file_imports_no_processes_and_nothing_of_the_other_half(tmp_path):
    text = "from torch import nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return len(x)\n"
    (tmp_path / "net.py").write_text(text, encoding="utf-8")
    script = (
        "import sys\nfrom fxlint.cli import main\n"
        "try: main(['--no-confirm', '--no-cache', 'net.py'])\nexcept SystemExit: print(*sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(printed.stdout.splitlines()[-1].split())
    assert "fxlint.fix" in loaded
    assert not loaded & {"multiprocessing", "socket", "fxlint.confirm"}


def test_python_m_fxlint_is_the_same():
    printed = subprocess.run([sys.executable, "-m", "fxlint", "--version"], capture_output=True, text=True, check=True)
    assert printed.stdout == f"fxlint {__version__}\n"


def test_a_console_that_cannot_encode_a_message_gets_it_escaped():
    command = [sys.executable, "-m", "fxlint", "--config", "数.toml"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    printed = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert (printed.returncode, printed.stdout) == (2, b"")
    assert printed.stderr.startswith(b"error: \\u6570.toml: cannot be read")


def test_files_that_only_the_provenance_names_are_seen_from_the_working_directory(stages, fxlint):
    helper, away = Path("lib/helper.py").absolute().as_posix(), "/elsewhere/helper.py"
    steps = (Step(Location(helper, 2, 1, 2, 5), "len(x)"), Step(Location(away, 3, 1, 3, 5), "x"))
    stages.finds(replace(finding(), provenance=steps))
    _, out, _ = fxlint("model.py", "--output-format", "json")
    (told,) = json.loads(out)["findings"]
    assert [step["path"] for step in told["provenance"]] == ["lib/helper.py", away]
    _, out, _ = fxlint("model.py", "--output-format", "sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    uris = [place["physicalLocation"]["artifactLocation"]["uri"] for place in result["relatedLocations"]]
    assert uris == ["lib/helper.py", "file:///elsewhere/helper.py"]


@pytest.mark.parametrize("name", ["typing", "rich", "dataclasses"])
def test_files_that_are_called_like_modules_fxlint_needs_do_not_stand_for_them(tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported')\n")
    command = [sys.executable, "-m", "fxlint", "--no-confirm", f"{name}.py"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
