"""Predictions made by hand over small sources."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from fxlint.confirm import ConfirmSettings, confirm
from fxlint.findings import Finding, Location, ModuleReport, Predicted, Prediction, Root
from fxlint.rules import load_rules

HEADER = "import torch\nimport torch.nn as nn\n\n"


class Project:
    """Files in a temporary folder, with the roots and findings that a test predicts."""

    def __init__(self, folder):
        self.folder = folder
        self.modules = []
        self.findings = []
        self.rules = load_rules()

    def write(self, name, text, header=HEADER):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(header + textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return str(path)

    def root(self, path, qualname="Net", kind="class", instances=(), inputs=None):
        root = Root(path, qualname, self.line(path, qualname.rpartition(".")[2]), kind, tuple(instances), inputs)
        self.modules.append(ModuleReport(root, Predicted("unknown", reason="predicted by hand")))
        return root

    def line(self, path, word):
        rows = Path(path).read_text(encoding="utf-8").splitlines()
        return next(number for number, row in enumerate(rows, 1) if word in row)

    def finding(self, root, text, event, *, path=None, suggestions=(), roots=None):
        """A finding at the first place of the root's file that reads ``text``."""
        path = path or root.path
        line = self.line(path, text)
        column = Path(path).read_text(encoding="utf-8").splitlines()[line - 1].index(text) + 1
        rule = self.rules.for_event(event)
        self.findings.append(
            Finding(
                rule.code,
                rule.name,
                rule.severity_of(event),
                Location(path, line, column, line, column + len(text)),
                "predicted by hand",
                event,
                tuple(one.id for one in roots or (root,)),
                suggestions=tuple(suggestions),
            )
        )

    def confirm(self, **settings):
        settings = {"python": sys.executable, "timeout": 30.0, "jobs": 1, "roots": (str(self.folder),), **settings}
        prediction = Prediction(tuple(self.modules), tuple(self.findings))
        return Outcome(confirm(prediction, self.rules, ConfirmSettings(**settings)))


class Outcome:
    def __init__(self, prediction):
        self.prediction = prediction
        self.modules = {module.root.qualname: module.confirmed for module in prediction.modules}
        self.by_path = {module.root.path: module.confirmed for module in prediction.modules}
        self.findings = prediction.findings
        self.problems = prediction.problems

    def statuses(self):
        return [(finding.event, finding.confirmation.status) for finding in self.findings]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture(scope="session")
def make_project():
    return Project
