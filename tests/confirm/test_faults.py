"""Whatever the code under lint does costs its own file, and one clear line."""

import sys
import venv
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

NET = """
class Net(nn.Module):
    def forward(self, x):
        return x + 1
"""

WRITES = """import contextlib, os
def say(words):
    for fd in range(3, 20):
        with contextlib.suppress(OSError): os.write(fd, words)
"""

IMPORTS = {
    "raises": ("raise ValueError('odd')", "importing it raised ValueError: odd", 4),
    "needs": (
        "import nowhere_to_be_found",
        "importing it raised ModuleNotFoundError: No module named 'nowhere_to_be",
        4,
    ),
    "exits": ("import sys\nsys.exit(3)", "importing it called sys.exit(3)", 5),
    "leaves": ("import os\nos._exit(0)", "importing it called os._exit(0)", 5),
    "hangs": ("while True: pass", "importing it did not finish within", 4),
    "sleeps": ("import time\ntime.sleep(1000)", "importing it did not finish within", 5),
    "crashes": ("import ctypes\nctypes.string_at(0)", "importing it crashed with SIGSEGV", 5),
    "kills": ("import os\nos.kill(os.getpid(), 9)", "importing it crashed with SIGKILL", None),
    "replaces": ("import os\nos.execv('/bin/true', ['true'])", "importing it ended the process", None),
    "syntax": ("def (", "importing it raised SyntaxError", 4),
    "aborts": ("import os\nos.abort()", "importing it crashed with SIGABRT", 5),
    "asks": ("input()", "importing it raised EOFError", 4),
    "allocates": ("bytearray(10 << 30)", "importing it raised MemoryError", 4),
    "tensors": ("torch.empty(10 << 30, dtype=torch.uint8)", "importing it raised RuntimeError", 4),
    "mute": ("import os\nos.closerange(3, 4096)", "importing it closed the pipe to fxlint", None),
    "patches": ("import torch.fx\ntorch.fx.Tracer.trace = None", "importing it changes torch.fx.Tracer.trace", None),
    "multiplies": (
        "import os, time\nfor _ in range(9): os.fork()\ntime.sleep(1000)",
        "importing it started too many processes",
        None,
    ),
    "murders": ("import os\nos.kill(os.getppid(), 9)", "importing or tracing it crashed with SIGKILL", None),
    "forges": (
        f'{WRITES}list(map(say, [b\'{{"file": "x", "kind": "stage", "root": []}}\\n\'] * 9))',
        "importing or tracing it",
        None,
    ),
    "floods": (f"{WRITES}while True: say(b'x' * 65536)", "importing it did not finish within", 7),
    "deaf": ("import os, time\nos.closerange(3, 256)\ntime.sleep(1000)", "importing it did not finish within", None),
}
HARMLESS = {
    "prints": "print('x' * 1_000_000)",
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    "forks": "import os, time\nif os.fork() == 0:\n    time.sleep(1000)",
    "forks_and_returns": "import os\nos.fork()",
    "closes": "import sys\nsys.stdout.close()\nsys.stdin.close()",
    "reads": "import sys\nassert sys.stdin.read() == ''",
    "moves": "import os\nos.chdir('/')",
    "traces": "import sys\nsys.settrace(lambda *_: None)\nsys.setprofile(lambda *_: None)",
    "at_exit": "import atexit, os\natexit.register(os.kill, os.getppid(), 9)",
    "spins": "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin).start()",
    "babbles": "import os\nfor fd in range(3, 20):\n    try:\n        os.write(fd, b'[1]\\nno json\\n')\n"
    "    except OSError:\n        pass",
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory, make_project):
    """All the faults in one run, each in a file of its own."""
    project = make_project(tmp_path_factory.mktemp("faults"))
    for name, text in {**{name: text for name, (text, _, _) in IMPORTS.items()}, **HARMLESS}.items():
        project.root(project.write(f"{name}.py", f"{text}\n{NET}"))
    project.root(project.write("gone.py", NET))
    (project.folder / "gone.py").unlink()
    project.root(project.write("last.py", NET))
    return project.confirm(timeout=4.0, jobs=2)


def confirmed(outcome, name):
    return next(one for path, one in outcome.by_path.items() if path.endswith(f"{name}.py"))


@pytest.mark.parametrize(("name", "reason", "line"), [(name, *rest[1:]) for name, rest in IMPORTS.items()], ids=IMPORTS)
def test_an_import_that_fails_is_one_clear_line(outcome, name, reason, line):
    module = confirmed(outcome, name)
    assert module.verdict == "not-run"
    assert module.reason.startswith(reason)
    assert "\n" not in module.reason
    (problem,) = [problem for problem in outcome.problems if problem.path.endswith(f"{name}.py")]
    assert problem.message.startswith(f"not traced: {reason}")
    assert (problem.line, problem.stage) == (line, "confirm")


def test_a_file_that_is_gone_by_now_is_one_clear_line(outcome):
    (problem,) = [problem for problem in outcome.problems if problem.path.endswith("gone.py")]
    assert problem.message.startswith("not traced: importing it raised FileNotFoundError")
    assert confirmed(outcome, "gone").verdict == "not-run"


@pytest.mark.parametrize("name", [*HARMLESS, "last"])
def test_what_is_odd_and_harms_nothing(outcome, name):
    assert confirmed(outcome, name).verdict == "traces"
    assert not [problem for problem in outcome.problems if problem.path.endswith(f"{name}.py")]


@pytest.mark.skipif(sys.platform != "linux", reason="only there are the orphans of a process told to it")
def test_a_daemon_of_the_code_under_lint_does_not_outlive_it(project):
    daemon = """
import os, time
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writer, b"%d" % os.getpid())
        time.sleep(1000)
    os._exit(0)
pid = int(os.read(reader, 20))
class Net(nn.Module):
    def forward(self, x):
        raise ValueError(f"pid {pid}")
"""
    project.root(project.write("net.py", daemon))
    pid = project.confirm().modules["Net"].error.message.partition("pid ")[2]
    assert pid.isdecimal()
    assert not Path("/proc", pid).exists()


class TestOneModuleOfAFile:
    SOURCE = """
    import ctypes, os, sys, time

    class Hangs(nn.Module):
        def forward(self, x):
            while True:
                pass  # here

    class HangsWhenBuilt(nn.Module):
        def __init__(self):
            time.sleep(1000)

        def forward(self, x):
            return x

    class Crashes(nn.Module):
        def forward(self, x):
            ctypes.string_at(0)

    class Exits(nn.Module):
        def forward(self, x):
            sys.exit(1)

    class Recurses(nn.Module):
        def forward(self, x):
            return self.forward(x)

    class LateHang(nn.Module):
        def forward(self, x):
            n = int(x)
            while True:
                pass

    class Net(nn.Module):
        def forward(self, x):
            return x + 1
    """

    @pytest.fixture(scope="class")
    def outcome(self, tmp_path_factory, make_project):
        project = make_project(tmp_path_factory.mktemp("modules"))
        path = project.write("net.py", self.SOURCE)
        for name in ("Hangs", "HangsWhenBuilt", "Crashes", "Exits", "Recurses", "LateHang", "Net"):
            root = project.root(path, name)
        project.finding(
            root, "int(x)", "int.call", roots=[module.root for module in project.modules if "Late" in module.root.id]
        )
        return project.confirm(timeout=3.0)

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("Hangs", "tracing it did not finish within 3 s"),
            ("HangsWhenBuilt", "building it did not finish within 3 s"),
            ("Crashes", "tracing it crashed with SIGSEGV"),
        ],
    )
    def test_it_alone_is_not_traced(self, outcome, name, reason):
        assert outcome.modules[name].verdict == "not-run"
        assert outcome.modules[name].reason.startswith(reason)
        assert "net.py:" in outcome.modules[name].reason

    def test_each_of_these_is_one_clear_line_and_no_other_is(self, outcome):
        lost = ("Crashes", "Hangs", "HangsWhenBuilt")
        assert [problem.message for problem in outcome.problems] == [
            f"{name} not traced: {outcome.modules[name].reason}" for name in lost
        ]

    @pytest.mark.parametrize(("name", "kind"), [("Exits", "SystemExit"), ("Recurses", "RecursionError")])
    def test_an_exception_of_any_kind_is_a_failure(self, outcome, name, kind):
        assert (outcome.modules[name].verdict, outcome.modules[name].error.type) == ("fails", kind)

    def test_a_recording_that_hangs_leaves_the_verdict(self, outcome):
        assert outcome.modules["LateHang"].verdict == "fails"
        (finding,) = [finding for finding in outcome.findings if finding.event == "int.call"]
        assert finding.confirmation.status == "confirmed"

    def test_the_others_go_on(self, outcome):
        assert outcome.modules["Net"].verdict == "traces"


class TestInterpreters:
    def assert_nothing_was_traced(self, outcome, words):
        assert outcome.modules["Net"].verdict == "not-run"
        assert words in outcome.modules["Net"].reason
        (problem,) = outcome.problems
        assert problem.message == f"nothing was traced: {outcome.modules['Net'].reason}"
        (finding,) = outcome.findings
        assert (finding.confirmation.status, finding.confirmation.reason) == (
            "unconfirmed",
            outcome.modules["Net"].reason,
        )

    @pytest.fixture
    def prepared(self, project):
        root = project.root(project.write("net.py", NET))
        project.finding(root, "x + 1", "int.call")
        return project

    def test_one_without_torch(self, prepared, tmp_path):
        venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
        python = tmp_path / "bare" / "bin" / "python"
        self.assert_nothing_was_traced(prepared.confirm(python=str(python)), f"torch is not installed for {python}")

    def test_one_that_does_not_exist(self, prepared):
        self.assert_nothing_was_traced(prepared.confirm(python="/nowhere/python"), "/nowhere/python cannot be run")

    def test_one_that_is_no_python(self, prepared):
        self.assert_nothing_was_traced(prepared.confirm(python="/bin/false"), "/bin/false does not work")

    def test_one_whose_torch_is_old(self, prepared, tmp_path, monkeypatch):
        old = tmp_path / "old" / "torch"
        old.mkdir(parents=True)
        (old / "__init__.py").write_text("__version__ = '1.13.1+cpu'\ndef set_num_threads(n): ...\n")
        (old / "fx.py").touch()
        monkeypatch.setenv("PYTHONPATH", str(old.parent))
        words = "its torch 1.13.1+cpu is older than 2.1"
        self.assert_nothing_was_traced(prepared.confirm(python=sys.executable), words)

    def test_one_whose_torch_is_broken(self, prepared, tmp_path, monkeypatch):
        broken = tmp_path / "broken" / "torch"
        broken.mkdir(parents=True)
        (broken / "__init__.py").write_text("raise OSError('libtorch.so: cannot open')\n")
        monkeypatch.setenv("PYTHONPATH", str(broken.parent))
        words = "importing torch raised OSError: libtorch.so: cannot open"
        self.assert_nothing_was_traced(prepared.confirm(python=sys.executable), words)
