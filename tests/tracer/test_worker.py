"""The worker as a process: run as a script by an interpreter that need not have fxlint."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

WORKER = Path(__file__).parents[2] / "fxlint" / "tracer" / "worker.py"


def root(qualname="Net", **more):
    return {
        "id": qualname,
        "kind": "class",
        "qualname": qualname,
        "instances": [],
        "inputs": None,
        "suggestions": [],
        "watch": {},
        "goals": [],
        **more,
    }


class Process:
    def __init__(self, folder):
        self.errors = (folder / "stderr").open("w+")
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=pipe,
            stdout=pipe,
            stderr=self.errors,
            cwd=folder,
            env=environment,
            text=True,
        )
        self.greeting = json.loads(self.process.stdout.readline())

    def run(self, batch):
        self.process.stdin.write(json.dumps(batch) + "\n")
        self.process.stdin.flush()
        messages = []
        while not messages or messages[-1].get("kind") != "batch done":
            messages.append(json.loads(self.process.stdout.readline()))
        return messages


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """One worker for all batches: its forks keep them apart."""
    process = Process(tmp_path_factory.mktemp("worker"))
    yield process
    process.process.stdin.close()
    assert process.process.wait(timeout=30) == 0
    process.process.stdout.close()
    process.errors.close()


@pytest.fixture
def work(tmp_path, process):
    """Runs a batch of files given as {name: source}; the messages of the worker."""

    def run(sources, roots=None, seconds=20, memory=0):
        for name, text in sources.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("import torch\nimport torch.nn as nn\n" + textwrap.dedent(text))
        files = [
            {
                "id": name,
                "file": str(tmp_path / name),
                "module": Path(name).stem,
                "package": False,
                "sys_path": [str(tmp_path)],
                "roots": roots or [root()],
            }
            for name in sources
        ]
        interest = [str(tmp_path / name) for name in sources]
        batch = {"files": files, "interest": interest, "seconds": seconds, "memory": memory}
        return process.run(batch)

    return run


def of_kind(messages, kind):
    return [message for message in messages if message.get("kind") == kind]


NET = """
class Net(nn.Module):
    def forward(self, x):
        return x + 1
"""


def test_the_greeting_says_which_torch(process):
    import torch

    assert process.greeting["torch"] == torch.__version__
    assert process.greeting["executable"] == sys.executable


def test_a_batch_ends_with_its_last_message(work):
    messages = work({"net.py": NET})
    assert [message["kind"] for message in messages[-2:]] == ["done", "batch done"]
    (stock,) = of_kind(messages, "stock")
    assert (stock["verdict"], stock["instance"], stock["graph"]["nodes"]) == ("traces", "Net()", 3)


def test_what_the_users_code_prints_goes_nowhere(work, process):
    loud = "import os, sys\nprint('x' * 1_000_000)\nos.write(1, b'y' * 1000)\nsys.stderr.write('z' * 1000)\n" + NET
    messages = work({"net.py": loud})
    assert of_kind(messages, "stock")[0]["verdict"] == "traces"
    process.errors.seek(0)
    assert process.errors.read() == ""


def test_the_tracers_modules_hide_none_of_the_users(work):
    sources = {
        "stock.py": "value = 1\n",
        "frames.py": "value = 2\n",
        "jobs.py": "from stock import value as one\nfrom frames import value as two\nassert (one, two) == (1, 2)\n"
        + NET,
    }
    messages = work(sources, roots=[root()])
    verdicts = {message["file"]: message["verdict"] for message in of_kind(messages, "stock")}
    assert verdicts == {"jobs.py": "traces"}


def test_a_file_named_like_a_library_module(work):
    messages = work({"json.py": NET, "my-net 2.py": NET})
    assert [message["verdict"] for message in of_kind(messages, "stock")] == ["traces", "traces"]


def test_the_network_is_refused(work):
    text = """
    import socket
    try:
        socket.create_connection(("localhost", 9), timeout=1)
        reached = True
    except OSError as error:
        reached = str(error)
    try:
        socket.socket().connect(("127.0.0.1", 9))
    except OSError as error:
        direct = str(error)
    assert "refused while fxlint" in reached and "refused while fxlint" in direct
    """
    messages = work({"net.py": textwrap.dedent(text) + NET})
    assert of_kind(messages, "failed") == []


def test_nobody_waits_to_try_the_network_again(work):
    text = """
    import socket, time
    for _ in range(3):
        try:
            socket.getaddrinfo("localhost", 9)
        except OSError:
            time.sleep(1000)
    """
    messages = work({"net.py": textwrap.dedent(text) + NET})
    assert of_kind(messages, "failed") == []


def test_several_instances_of_one_root(work):
    text = """
    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.n = n

        def forward(self, x):
            return int(x) if self.n > 1 else x
    """
    messages = work({"net.py": text}, roots=[root(instances=["Net(1)", "Net(n=2)"])])
    assert [(message["instance"], message["verdict"]) for message in of_kind(messages, "stock")] == [
        ("Net(1)", "traces"),
        ("Net(n=2)", "fails"),
    ]


def test_what_two_roots_have_looked_for_in_vain_is_not_looked_for_by_the_next(work):
    """Without conditions that nobody has met before, the first two go on for the goal alone."""
    conditions = "".join(f"\n            if x[{n}] > 0:\n                x = x + {n}" for n in range(30))
    text = f"""
    class Net(nn.Module):
        def forward(self, x):{conditions}
            return x

    class Second(Net):
        pass

    class Third(Net):
        pass
    """
    asked = [root(name, goals=[["elsewhere.py", 1, 1]]) for name in ("Net", "Second", "Third")]
    first, second, third = (message["runs"] for message in of_kind(work({"net.py": text}, asked), "recording"))
    assert third < second <= first


SILENT = """
class Net(nn.Module):
    def forward(self, x, y=None):
        return x * 2 if y is None else x

class Second(Net):
    pass

class Third(Net):
    pass
"""


@pytest.mark.parametrize(
    ("source", "compared"),
    [
        (SILENT, ["Net"]),  # the first one has shown that the graph is not the module
        (SILENT.replace("x * 2", "x"), ["Net", "Second"]),
    ],
)
def test_modules_are_run_side_by_side_until_a_finding_is_clear(work, source, compared):
    asked = [root(name, silent=[["silent.none", "net.py", 5, 25]]) for name in ("Net", "Second", "Third")]
    assert [message["root"] for message in of_kind(work({"net.py": source}, asked), "beside")] == compared


def test_the_training_flag_is_a_matter_of_the_graphs_alone(work):
    messages = work({"net.py": NET}, [root(silent=[["silent.training", "net.py", 5, 8]])])
    assert (len(of_kind(messages, "modes")), of_kind(messages, "beside")) == (1, [])


@pytest.mark.parametrize("where", ["__init__", "forward"])
def test_a_module_that_changes_the_tracer_is_not_believed(work, where):
    text = f"""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.touch("__init__")

        def touch(self, where):
            if where == "{where}":
                torch.fx.Tracer.to_bool = lambda *_: True

        def forward(self, x):
            self.touch("forward")
            return x

    class Next(nn.Module):
        def forward(self, x):
            return x
    """
    messages = work({"net.py": text}, roots=[root(), root("Next")])
    told, following = (message["reason"] for message in of_kind(messages, "ended"))
    assert told.startswith("building or tracing it changes torch.fx.Tracer.to_bool, and a trace would not tell")
    assert (following, [one["root"] for one in of_kind(messages, "stock")]) == (None, ["Next"])


def test_a_module_that_cannot_live_on_the_meta_device(work):
    text = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.rates = [value.item() for value in torch.linspace(0, 1, 3)]
            self.register_buffer("limit", torch.ones(1))

        def forward(self, x):
            return x * self.rates[1]

    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("limit", torch.ones(1))

        def forward(self, x):
            return x if self.limit > 0 else -x
    """
    surveyed = root("Late", id="surveyed", found=[{"text": "net.Late()", "device": "meta"}])
    messages = work({"net.py": text}, roots=[root(), root("Late"), surveyed])
    assert [(message["device"], message["verdict"]) for message in of_kind(messages, "stock")] == [
        ("cpu", "traces"),
        ("cpu", "traces"),
        ("cpu", "traces"),
    ]


REASONS = {
    "arguments": (
        "def __init__(self, width, depth, *, bias): super().__init__()",
        "its constructor needs width, depth, bias;",
    ),
    "raises": (
        "def __init__(self):\n        raise ValueError('odd\\nsize')",
        "Net() raised ValueError: odd size (net.py:5)",
    ),
    "exits": ("def __init__(self):\n        raise SystemExit(2)", "Net() raised SystemExit: 2 (net.py:5)"),
    "crashes": ("def __init__(self):\n        import os; os.abort()", "building it crashed with SIGABRT"),
    "leaves": ("def __init__(self):\n        import os; os._exit(0)", "building it called os._exit(0)"),
}


@pytest.mark.parametrize(("body", "reason"), REASONS.values(), ids=REASONS)
def test_why_there_is_no_instance(work, body, reason):
    messages = work({"net.py": f"class Net(nn.Module):\n    {body}\n    def forward(self, x):\n        return x\n"})
    (ended,) = of_kind(messages, "ended")
    assert ended["reason"].startswith(reason)


def test_an_instance_of_another_class_is_refused(work):
    text = """
    class Other(nn.Module):
        def forward(self, x):
            return x

    class Net(nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self, x):
            return x
    """
    messages = work({"net.py": text}, roots=[root(instances=["Other()"])])
    assert of_kind(messages, "stock") == []
    (ended,) = of_kind(messages, "ended")
    assert ended["reason"] == "Other() makes an instance of Other, not of Net"


def test_the_place_of_a_crash_is_told(work):
    text = """
    import ctypes

    class Net(nn.Module):
        def forward(self, x):
            ctypes.string_at(0)
            return x
    """
    messages = work({"net.py": text})
    (ended,) = of_kind(messages, "ended")
    assert ended["reason"] == "tracing it crashed with SIGSEGV"
    assert ended["place"]["line"] == 8


def test_a_module_that_cannot_be_reached(work):
    messages = work({"net.py": NET}, roots=[root("Missing"), root("make.<locals>.Net")])
    reasons = [message["reason"] for message in of_kind(messages, "ended")]
    assert reasons == ["importing net defines no Missing here", "importing net defines no make here"]


def test_memory_is_limited(work):
    text = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.data = bytearray(1 << 30)

        def forward(self, x):
            return x
    """
    messages = work({"net.py": text}, memory=1 << 28)
    (ended,) = of_kind(messages, "ended")
    assert ended["reason"].startswith("Net() raised MemoryError")


def written_anew(path, text):
    """The part of a suggestion that replaces the whole text of a file."""
    return {"edits": {str(path): [[1, 1, 10**6, 1, text]]}}


class TestSuggestions:
    FLAG = """
    class Net(nn.Module):
        def forward(self, x, flag=True):
            if flag:
                return x.relu()
            return -x
    """

    def outcome(self, work, text, suggestion, **more):
        messages = work({"net.py": text}, roots=[root(suggestions=[{"id": "1", **suggestion}], **more)])
        (answer,) = of_kind(messages, "suggestion")
        return answer

    def test_concrete_args(self, work):
        answer = self.outcome(work, self.FLAG, {"expr": "{'flag': True}"})
        assert answer["verdict"] == "traces"
        assert "equal_outputs" not in answer

    def test_outputs_are_compared_where_there_are_inputs(self, work):
        suggestion = {"expr": "{'flag': False}"}
        assert self.outcome(work, self.FLAG, suggestion, inputs="(torch.randn(3),)")["equal_outputs"] is True

    def test_an_expression_that_cannot_be_evaluated(self, work):
        answer = self.outcome(work, self.FLAG, {"expr": "{'flag': nowhere}"})
        assert answer["verdict"] == "not-run"
        assert "NameError" in answer["reason"]

    def test_wrap(self, work, tmp_path):
        text = "class Net(nn.Module):\n    def forward(self, x):\n        return x / len(x)\n"
        suggestion = {"wraps": [[str(tmp_path / "net.py"), "len"]]}
        answer = self.outcome(work, text, suggestion, inputs="(torch.randn(3),)")
        assert (answer["verdict"], answer["equal_outputs"]) == ("traces", True)
        assert "call_function[target=builtins.len]" in answer["graph"]["text"]

    def test_a_wrap_that_fails_hurts_nothing_else(self, work, tmp_path):
        suggestions = [
            {"id": "1", "wraps": [[str(tmp_path / "net.py"), "nowhere"]]},
            {"id": "2", "expr": "{'flag': True}"},
        ]
        messages = work({"net.py": self.FLAG}, roots=[root(suggestions=suggestions)])
        assert [
            (answer["verdict"], (answer["error"] or {}).get("type")) for answer in of_kind(messages, "suggestion")
        ] == [
            ("fails", "KeyError"),
            ("traces", None),
        ]

    @pytest.mark.parametrize(
        ("rewritten", "verdict", "equal"),
        [
            ("torch.where(x.sum() > 0, x, -x)", "traces", True),
            ("x + x", "traces", False),
            ("-x if x.sum() > 0 else x", "fails", None),
        ],
    )
    def test_rewrite(self, work, tmp_path, rewritten, verdict, equal):
        text = "class Net(nn.Module):\n    def forward(self, x):\n        return x if x.sum() > 0 else -x\n"
        new = "import torch\nimport torch.nn as nn\n" + text.replace("x if x.sum() > 0 else -x", rewritten)
        suggestion = written_anew(tmp_path / "net.py", new)
        answer = self.outcome(work, text, suggestion, inputs="(torch.randn(3),)")
        assert (answer["verdict"], answer.get("equal_outputs")) == (verdict, equal)

    def test_a_rewritten_helper_reaches_who_imported_it(self, work, tmp_path):
        helper = "def scale(x):\n    return x / len(x)\n"
        net = "from helper import scale\nclass Net(nn.Module):\n    def forward(self, x):\n        return scale(x)\n"
        fixed = helper.replace("len(x)", "x.size(0)")
        suggestion = {"id": "1", **written_anew(tmp_path / "helper.py", fixed)}
        messages = work({"helper.py": helper, "net.py": net}, roots=[root(suggestions=[suggestion])])
        assert [answer["verdict"] for answer in of_kind(messages, "suggestion")] == ["traces"]

    def test_what_tracing_does_not_come_to_is_not_tried(self, work, tmp_path):
        text = """
        def halved(x):
            if len(x) > 1:
                return x / 2
            return x

        class Net(nn.Module):
            def forward(self, x):
                y = halved(x)
                return int(y)
        """
        file = str(tmp_path / "net.py")
        suggestions = [
            {"id": "there", "wraps": [[file, "len"]], "at": [[file, 5, 5]]},
            {"id": "after", "wraps": [[file, "int"]], "at": [[file, 12, 12]]},
            {"id": "around", "wraps": [[file, "halved"]], "at": [[file, 6, 6]]},
            {"id": "one of two", "wraps": [[file, "len"]], "at": [[file, 12, 12], [file, 4, 5]]},
            {"id": "any", "expr": "{'x': torch.ones(1)}", "at": None},
        ]
        watch = {file: [(1, 12)]}
        messages = work({"net.py": text}, roots=[root(suggestions=suggestions, watch=watch)])
        answers = {answer["suggestion"]: answer for answer in of_kind(messages, "suggestion")}
        tried = {name: answer["verdict"] for name, answer in answers.items()}
        assert tried == {
            "there": "fails",
            "after": "not-run",
            "around": "fails",
            "one of two": "fails",
            "any": "traces",
        }
        assert answers["after"]["reason"] == "tracing fails before it comes here"

    def test_a_rewrite_that_does_not_compile(self, work, tmp_path):
        suggestion = written_anew(tmp_path / "net.py", "def (")
        answer = self.outcome(work, NET, suggestion)
        assert answer["verdict"] == "not-run"
        assert "SyntaxError" in answer["reason"]


def test_a_misused_wrap_poisons_no_other_file(work):
    poison = """
    torch.fx.wrap("nowhere")

    class Net(nn.Module):
        def forward(self, x):
            return x
    """
    messages = work({"a.py": poison, "b.py": NET})
    verdicts = {message["file"]: message["verdict"] for message in of_kind(messages, "stock")}
    assert verdicts == {"a.py": "fails", "b.py": "traces"}
    recording = next(message for message in of_kind(messages, "recording") if message["file"] == "a.py")
    assert [event["family"] for event in recording["events"]] == ["wrap"]


def test_without_forking_all_is_done_in_one_process(tmp_path, monkeypatch):
    from fxlint.tracer import jobs

    monkeypatch.setattr(jobs, "CAN_FORK", False)
    path = tmp_path / "not_forked.py"
    path.write_text("import torch.nn as nn\n" + textwrap.dedent(TestSuggestions.FLAG))
    suggestions = [
        {"id": "1", "expr": "{'flag': True}"},
        {"id": "2", "wraps": [[str(path), "len"]]},
    ]
    spec = {"id": "f", "file": str(path), "module": "not_forked", "package": False, "sys_path": [str(tmp_path)]}
    files = [{**spec, "roots": [root(suggestions=suggestions)]}]
    messages = []
    batch = {"files": files, "interest": [str(path)], "seconds": 20, "memory": 0}
    jobs.run_batch(batch, messages.append, lambda: False)
    assert [message["verdict"] for message in of_kind(messages, "stock")] == ["fails"]
    assert [message["verdict"] for message in of_kind(messages, "suggestion")] == ["traces", "not-run"]
    assert messages[-1]["kind"] == "done"


@pytest.mark.parametrize(
    ("bound", "value", "reason"),
    [
        ("MAX_TRIES", 1, "1 other ways out were tried on this module"),
        ("TRY_SECONDS", 0.0, "the 0 s for ways out of this module were over"),
    ],
)
def test_what_is_beyond_the_bounds_is_not_tried(tmp_path, monkeypatch, bound, value, reason):
    from fxlint.tracer import jobs

    monkeypatch.setattr(jobs, "CAN_FORK", False)
    monkeypatch.setattr(jobs, bound, value)
    path = tmp_path / f"bounded_{bound}.py"
    path.write_text("import torch.nn as nn\n" + textwrap.dedent(TestSuggestions.FLAG))
    suggestions = [{"id": str(number), "expr": f"{{'flag': {bool(number)}}}"} for number in range(2)]
    spec = {"id": "f", "file": str(path), "module": path.stem, "package": False, "sys_path": [str(tmp_path)]}
    files = [{**spec, "roots": [root(suggestions=suggestions)]}]
    messages = []
    batch = {"files": files, "interest": [str(path)], "seconds": 20, "memory": 0}
    jobs.run_batch(batch, messages.append, lambda: False)
    answer = of_kind(messages, "suggestion")[-1]
    assert (answer["verdict"], answer["reason"]) == ("not-run", reason)


class TestPartsOfSuggestions:
    outcome = TestSuggestions.outcome
    LAYER = """
    class Norm(nn.BatchNorm1d):
        def __init__(self):
            super().__init__(3)

        def forward(self, x):
            return super().forward(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = Norm()

        def forward(self, x):
            return self.norm(x) if self.norm.weight.shape[0] > 2 else x
    """

    def test_a_class_as_a_leaf_in_whatever_holds_it(self, work, tmp_path):
        leaf = {"id": "1", "tracer": {"leaf": [str(tmp_path / "net.py"), "Norm"], "param_shapes_constant": True}}
        roots = [root(suggestions=[leaf], inputs="(torch.randn(2, 3),)"), root("Norm", suggestions=[leaf])]
        one, other = of_kind(work({"net.py": self.LAYER}, roots=roots), "suggestion")
        assert (one["verdict"], one["equal_outputs"]) == ("traces", True)
        assert "call_module[target=norm]" in one["graph"]["text"]
        assert "call_module[target=layer]" in other["graph"]["text"]

    def test_shapes_of_parameters_as_constants(self, work):
        text = """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.bias = nn.Parameter(torch.zeros(3))

            def forward(self, x):
                return x + self.bias if self.bias.shape[0] > 2 else x
        """
        answer = self.outcome(work, text, {"tracer": {"param_shapes_constant": True}})
        assert answer["verdict"] == "traces"

    def test_all_parts_at_once(self, work, tmp_path):
        text = "class Net(nn.Module):\n    def forward(self, x, flag=True):\n"
        text += "        return x / len(x) if flag and x.sum() > 0 else x\n"
        new = "import torch\nimport torch.nn as nn\n" + text.replace("flag and x.sum() > 0", "flag")
        file = str(tmp_path / "net.py")
        parts = {**written_anew(file, new), "wraps": [[file, "len"]], "expr": "{'flag': True}"}
        assert self.outcome(work, text, parts)["verdict"] == "traces"

    def test_a_wrap_in_the_text_before_is_forgotten_by_the_text_after(self, work, tmp_path):
        text = "import math\nimport torch.fx\ntorch.fx.wrap(math.sqrt)\n"
        text += "class Net(nn.Module):\n    def forward(self, x):\n        return -x\n"
        new = "import torch\nimport torch.nn as nn\n" + text.replace("torch.fx.wrap(math.sqrt)\n", "")
        answer = self.outcome(work, text, written_anew(tmp_path / "net.py", new))
        assert answer["verdict"] == "traces"


def test_a_function_that_another_one_defines_is_traced_where_it_needs_nothing_of_it(work):
    text = """
    class Pass:
        def rewrite(self, gm, k):
            def pattern(x):
                return torch.relu(x)

            def scaled(x):
                return x * k

            return pattern, scaled
    """
    names = ["Pass.rewrite.<locals>.pattern", "Pass.rewrite.<locals>.scaled"]
    messages = work({"net.py": text}, roots=[root(name, kind="function") for name in names])
    assert [message["verdict"] for message in of_kind(messages, "stock")] == ["traces"]
    reasons = [message["reason"] for message in of_kind(messages, "ended")]
    assert reasons == [None, "it is defined inside a function, where nothing outside can reach it"]
