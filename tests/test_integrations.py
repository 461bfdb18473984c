"""The recipes of docs/integrations.md, the action and the hooks, each run as its users do."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")
MODEL = """\
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return len(x)
"""
FOUND = ("src/model.py", 6, 16, "FX120")


def recipe(name: str) -> str:
    """The code block under the mark of a recipe."""
    (found,) = re.findall(rf"<!-- recipe: {name} -->\n```\w+\n(.*?)```", DOCS, re.DOTALL)
    return found


@pytest.fixture
def work(tmp_path, monkeypatch) -> Path:
    """A project with one finding, and ``fxlint`` on the path."""
    monkeypatch.chdir(tmp_path)
    Path("src").mkdir()
    Path("src/model.py").write_text(MODEL)
    command(tmp_path / "bin" / "fxlint", f'exec {shlex.quote(sys.executable)} -m fxlint "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def command(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def shell(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(bash, check=False, capture_output=True, text=True, env={**os.environ, **environment})


class TestAction:
    ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))

    def lint(self, work: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the step that lints, with the inputs as the runner would fill them in."""
        step = next(step for step in self.ACTION["runs"]["steps"] if step["name"] == "Lint")
        shutil.copytree(work / "bin", work / "temp" / "fxlint" / "bin")
        given = {name: declared["default"] for name, declared in self.ACTION["inputs"].items()} | inputs
        environment = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
            for name, value in step["env"].items()
        }
        return shell(step["run"], RUNNER_TEMP=str(work / "temp"), GITHUB_STEP_SUMMARY="summary.md", **environment)

    def test_it_annotates_summarises_and_fails(self, work):
        done = self.lint(work, paths="src other")
        assert done.returncode == 2  # there is no other
        assert "::error title=FX120 len-of-traced,file=src/model.py,line=6," in done.stdout
        assert Path("summary.md").read_text().startswith("## fxlint: 1 finding\n")

    def test_without_findings_it_passes(self, work):
        Path("src/model.py").write_text("x = 1\n")
        assert self.lint(work, summary="false").returncode == 0
        assert not Path("summary.md").exists()

    def test_it_installs_what_it_stands_in(self):
        install = self.ACTION["runs"]["steps"][0]
        assert install["env"] == {"GITHUB_ACTION_PATH": "${{ github.action_path }}"}
        assert install["run"].rstrip().endswith('install --quiet "$GITHUB_ACTION_PATH"')


def test_github():
    steps = yaml.safe_load(recipe("github"))["jobs"]["fxlint"]["steps"]
    (step,) = [step for step in steps if "fxlint" in step["uses"]]
    assert step["with"].keys() <= TestAction.ACTION["inputs"].keys()


def test_code_scanning(work):
    lint, upload = yaml.safe_load(recipe("code-scanning"))
    assert shell(lint["run"]).returncode == 0
    (run,) = json.loads(Path(upload["with"]["sarif_file"]).read_text())["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"], result["ruleId"]) == (
        "src/model.py", 6, "FX120"
    )  # fmt: skip


def test_azure(work):
    (step,) = yaml.safe_load(recipe("azure"))["steps"]
    done = shell(step["script"])
    assert done.returncode == 1
    assert done.stdout.startswith("##vso[task.logissue type=error;sourcepath=src/model.py;linenumber=6;columnnumber=16")


def test_gitlab(work):
    job = yaml.safe_load(recipe("gitlab"))["fxlint"]
    command(work / "bin" / "pip", "true")
    assert shell("\n".join(job["script"])).returncode == 1
    (issue,) = json.loads(Path(job["artifacts"]["reports"]["codequality"]).read_text())
    assert (issue["location"]["path"], issue["location"]["lines"]["begin"], issue["check_name"]) == (
        "src/model.py", 6, "len-of-traced"
    )  # fmt: skip


def test_reviewdog(work):
    command(work / "bin" / "reviewdog", "cat > reviewdog.json")
    assert shell(recipe("reviewdog")).returncode == 0
    (diagnostic,) = json.loads(Path("reviewdog.json").read_text())["diagnostics"]
    assert diagnostic["location"]["range"]["start"] == {"line": 6, "column": 16}


@pytest.mark.skipif(shutil.which("vim") is None, reason="there is no vim")
def test_vim(work):
    Path("recipe.vim").write_text(recipe("vim"))
    Path("run.vim").write_text(
        "source recipe.vim\n"
        "edit src/model.py\n"
        "silent make!\n"
        "let found = map(getqflist(), {_, v -> [bufname(v.bufnr), v.lnum, v.col, v.text]})\n"
        "call writefile([json_encode(found)], 'quickfix.json')\n"
        "quitall!\n"
    )
    subprocess.run(["vim", "-es", "-u", "NONE", "-N", "-S", "run.vim"], check=False, timeout=60, capture_output=True)
    (entry,) = json.loads(Path("quickfix.json").read_text())
    path, line, column, text = entry
    assert (path, line, column, text[:5]) == FOUND


def test_vs_code(work):
    (task,) = json.loads(recipe("vscode"))["tasks"]
    pattern = task["problemMatcher"]["pattern"]
    printed = shell(task["command"])
    assert printed.returncode == 1
    (row,) = printed.stdout.splitlines()
    found = re.fullmatch(pattern["regexp"], row)
    assert found
    told = tuple(found[pattern[name]] for name in ("file", "line", "column", "code"))
    assert told == tuple(map(str, FOUND))
    assert found[pattern["severity"]] == "error"
    assert re.fullmatch(pattern["regexp"], row.replace("(error)", "(warning, unreached)"))
    assert re.fullmatch(pattern["regexp"], "nb.ipynb:cell 2:3:16: FX120 what (error)")


class TestPreCommit:
    HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))

    def test_each_hook_runs_as_it_stands_and_respects_the_excludes(self, work):
        Path("src/gen.py").write_text(MODEL)
        Path("fxlint.toml").write_text("exclude = ['gen.py']")
        hook = next(hook for hook in self.HOOKS if hook["id"] == "fxlint")
        done = shell(f"{hook['entry']} src/model.py src/gen.py")
        assert done.returncode == 1
        assert "src/model.py:6:16: error FX120" in done.stdout
        assert "src/gen.py" not in done.stdout
        assert all("--force-exclude" in hook["entry"] for hook in self.HOOKS)

    @pytest.mark.network
    @pytest.mark.parametrize("tool", ["pre-commit", "prek"])
    def test_both_hooks_run_from_this_checkout(self, tmp_path, monkeypatch, tool):
        environment = tmp_path / "env"
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin" / "pip", "install", "--quiet", tool], check=True)
        checkout = tmp_path / "fxlint"
        subprocess.run(["git", "clone", "--quiet", ROOT, checkout], check=True)
        project = tmp_path / "project"
        (project / "src").mkdir(parents=True)
        (project / "src" / "model.py").write_text(MODEL)
        monkeypatch.chdir(project)
        of_project = f'PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m fxlint "$@"'
        command(tmp_path / "bin" / "fxlint", of_project)
        shell("git init --quiet && git add -A")
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        home = {"PRE_COMMIT_HOME": str(tmp_path / "cache"), "PREK_HOME": str(tmp_path / "cache")}
        for hook in ("fxlint", "fxlint-confirm"):
            run = f"{environment / 'bin' / tool} try-repo {checkout} {hook} --all-files --verbose"
            done = shell(run, PATH=path, PYTHONPATH="", **home)
            assert done.returncode == 1, done.stdout + done.stderr
            assert "src/model.py:6:16: error FX120" in done.stdout
            assert ("tracer:  confirmed" in done.stdout) == (hook == "fxlint-confirm")
