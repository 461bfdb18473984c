"""The language server, asked as an editor asks it."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import fxlint

pytest.importorskip("pygls")

NET = """import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return "😋", len(x)
"""


class Editor:
    """Speaks the protocol over the pipes of a server that it has started."""

    def __init__(self, folder, capabilities):
        environment = {**os.environ, "PYTHONPATH": str(Path(fxlint.__file__).parents[1])}
        command = [sys.executable, "-m", "fxlint", "server", "--stdio"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=folder, env=environment, **pipes)
        self.folder = folder
        self.heard = []
        self.count = 0
        self.timer = threading.Timer(60, self.process.kill)  # what never answers fails the test
        self.timer.start()
        told = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
        self.capabilities = self.ask("initialize", told)["capabilities"]
        self.tell("initialized", {})

    def close(self):
        self.ask("shutdown", None)
        self.tell("exit", None)
        code = self.process.wait(20)
        self.timer.cancel()
        assert (code, self.process.stderr.read().count(b"Traceback")) == (0, 0)

    def _send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def _receive(self):
        length = 0
        while (line := self.process.stdout.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, "the server has ended"
        message = json.loads(self.process.stdout.read(length))
        if "method" in message and "id" in message:
            self._send({"id": message["id"], "result": None})
        return message

    def tell(self, method, params):
        self._send({"method": method, "params": params})

    def ask(self, method, params):
        self.count += 1
        self._send({"id": self.count, "method": method, "params": params})
        while (message := self._receive()).get("id") != self.count or "method" in message:
            self.heard.append(message)
        return message["result"]

    def hear(self, method):
        for number, message in enumerate(self.heard):
            if message.get("method") == method:
                return self.heard.pop(number).get("params")
        while (message := self._receive()).get("method") != method:
            self.heard.append(message)
        return message.get("params")

    def uri(self, name="net.py"):
        return (self.folder / name).as_uri()

    def open(self, text, name="net.py", version=1):
        document = {"uri": self.uri(name), "languageId": "python", "version": version, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def change(self, text, version, name="net.py"):
        document = {"uri": self.uri(name), "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def about(self, method, **more):
        return self.ask(method, {"textDocument": {"uri": self.uri()}, **more})

    def published(self):
        return self.hear("textDocument/publishDiagnostics")


@pytest.fixture
def editor(tmp_path):
    started = []

    def start(**capabilities):
        started.append(Editor(tmp_path, capabilities))
        return started[-1]

    yield start
    for one in started:
        one.close()


def span(first, last):
    return {"start": {"line": first[0], "character": first[1]}, "end": {"line": last[0], "character": last[1]}}


HERE = span((6, 21), (6, 27))
"""Of ``len(x)`` in UTF-16, where the face counts twice."""


class TestDiagnostics:
    def test_what_is_open_and_not_on_disk(self, editor):
        ed = editor()
        ed.open(NET)
        told = ed.published()
        (one,) = told["diagnostics"]
        assert (told["uri"], told["version"]) == (ed.uri(), 1)
        assert (one["range"], one["code"], one["severity"], one["source"]) == (HERE, "FX120", 1, "fxlint")
        (step,) = one["relatedInformation"]
        assert step["location"] == {"uri": ed.uri(), "range": span((5, 22), (5, 23))}
        assert step["message"] == "x (input)"

    @pytest.mark.parametrize(("encoding", "column"), [("utf-8", 23), ("utf-32", 20), ("utf-16", 21)])
    def test_columns_are_in_the_units_of_the_editor(self, editor, encoding, column):
        ed = editor(general={"positionEncodings": [encoding]})
        assert ed.capabilities["positionEncoding"] == encoding
        ed.open(NET)
        (one,) = ed.published()["diagnostics"]
        assert one["range"]["start"]["character"] == column

    def test_what_is_typed_is_linted_once_after_a_moment(self, editor):
        ed = editor()
        ed.open(NET)
        ed.published()
        ed.change(NET.replace("len(x)", "int("), 2)
        ed.change(NET.replace("len(x)", "int(x)"), 3)
        told = ed.published()
        assert (told["version"], [one["code"] for one in told["diagnostics"]]) == (3, ["FX122"])

    def test_what_cannot_be_parsed_is_told_on_its_line(self, editor):
        ed = editor()
        ed.open("def f(:\n")
        (one,) = ed.published()["diagnostics"]
        assert (one["range"], one["severity"]) == (span((0, 0), (0, 7)), 1)

    def test_a_file_that_is_closed_has_none(self, editor):
        ed = editor()
        ed.open(NET)
        ed.published()
        ed.tell("textDocument/didClose", {"textDocument": {"uri": ed.uri()}})
        assert ed.published()["diagnostics"] == []

    def test_an_editor_that_asks_is_answered_and_not_told(self, editor):
        ed = editor(textDocument={"diagnostic": {}})
        assert ed.capabilities["diagnosticProvider"]["interFileDependencies"]
        ed.open(NET)
        report = ed.about("textDocument/diagnostic")
        assert (report["kind"], [one["code"] for one in report["items"]]) == ("full", ["FX120"])
        assert not [one for one in ed.heard if one.get("method") == "textDocument/publishDiagnostics"]

    def test_another_file_that_is_saved_and_the_configuration_are_heeded(self, editor, tmp_path):
        ed = editor()
        ed.open("from helper import count\n" + NET.replace("len(x)", "count(x)"))
        assert ed.published()["diagnostics"] == []
        (tmp_path / "helper.py").write_text("def count(x):\n    return len(x)\n")
        ed.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": ed.uri("helper.py"), "type": 1}]})
        assert [one["code"] for one in ed.published()["diagnostics"]] == ["FX120"]
        (tmp_path / "fxlint.toml").write_text('ignore = ["FX120"]')
        ed.tell("workspace/didChangeConfiguration", {"settings": {}})
        assert ed.published()["diagnostics"] == []
        (tmp_path / "fxlint.toml").write_text('ignored = ["FX120"]')
        ed.tell("workspace/didChangeConfiguration", {"settings": {}})
        assert "did you mean" in ed.hear("window/showMessage")["message"]

    def test_what_could_be_taken_away_is_marked(self, editor):
        ed = editor()
        ed.open("x = 1  # noqa: FX101\n")
        (one,) = ed.published()["diagnostics"]
        assert (one["code"], one["tags"]) == ("FX001", [1])

    def test_excluded_files_have_none(self, editor, tmp_path):
        (tmp_path / "fxlint.toml").write_text('exclude = ["net.py"]')
        ed = editor()
        ed.open(NET)
        assert ed.published()["diagnostics"] == []


class TestHelp:
    def test_quick_fixes_and_a_comment_that_silences_it(self, editor):
        ed = editor()
        ed.open(NET)
        ed.published()
        actions = ed.about("textDocument/codeAction", range=HERE, context={"diagnostics": []})
        edits = {one["title"]: one["edit"]["changes"][ed.uri()] for one in actions}
        assert edits["silence FX120 on this line"] == [{"range": span((6, 27), (6, 27)), "newText": "  # noqa: FX120"}]
        assert [{"range": HERE, "newText": "x.size(0)"}] in edits.values()
        assert ed.about("textDocument/codeAction", range=span((0, 0), (0, 0)), context={"diagnostics": []}) == []

    def test_a_hover_tells_why_and_what_to_do(self, editor):
        ed = editor()
        ed.open(NET)
        ed.published()
        told = ed.about("textDocument/hover", position={"line": 6, "character": 22})
        assert told["range"] == HERE
        assert "**FX120 len-of-traced**" in told["contents"]["value"]
        assert "must return a Python int" in told["contents"]["value"]
        assert ed.about("textDocument/hover", position={"line": 0, "character": 0}) is None

    def test_nothing_is_said_of_another_version(self, editor):
        ed = editor()
        ed.open(NET)
        ed.published()
        ed.change(f"# one more line\n{NET}", 2)
        assert ed.about("textDocument/hover", position={"line": 6, "character": 22}) is None
