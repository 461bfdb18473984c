"""Sources are written to a file and imported from there, as the worker does: positions come from real files."""

from __future__ import annotations

import copy
import importlib.util
import sys
import textwrap
from dataclasses import dataclass
from itertools import count

import pytest

torch = pytest.importorskip("torch")

from fxlint.tracer.executed import Executed  # noqa: E402
from fxlint.tracer.explore import record  # noqa: E402
from fxlint.tracer.frames import UserCode  # noqa: E402
from fxlint.tracer.stock import stock  # noqa: E402

HEADER = """\
import functools
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from math import sqrt

"""
_numbers = count()


@dataclass
class Source:
    """A source file, imported. Lines are found by the marks in their comments."""

    path: str
    text: str
    module: object

    def line(self, mark):
        return next(n for n, row in enumerate(self.text.splitlines(), 1) if row.endswith("# " + mark))

    def user(self):
        return UserCode([self.path])

    def build(self, instance="Net()"):
        made = eval(instance, vars(self.module))
        return copy.deepcopy(made) if instance.isidentifier() and isinstance(made, torch.nn.Module) else made

    def stock(self, instance="Net()", concrete_args=None):
        return stock(self.build(instance), self.user(), concrete_args)

    def record(self, instance="Net()", **bounds):
        """The recording, and the executed places of the whole file."""
        executed = Executed({self.path: [(1, 10_000)]})
        recording = record(lambda: self.build(instance), self.user(), executed, bounds.pop("seconds", 20), **bounds)
        return recording, executed.frames()

    def events(self, instance="Net()"):
        """(family, line) of what a recording met in this file; the line is None where none of it was running."""
        recording, _ = self.record(instance)
        return [(event.family, self.innermost(event)) for event in recording.events]

    def innermost(self, event):
        lines = [frame.line for frame in event.frames if frame.file == self.path]
        return lines[-1] if lines else None


@pytest.fixture
def source(tmp_path):
    def make(text, name=None):
        name = name or f"source_{next(_numbers)}"
        path = tmp_path / f"{name}.py"
        full = HEADER + textwrap.dedent(text)
        path.write_text(full, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return Source(str(path), full, module)

    return make


@pytest.fixture
def forward(source):
    """A module whose forward has this body; ``members`` are statements of its __init__."""

    def make(body, arguments="x", members="pass"):
        rows = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
        return source(
            f"class Net(nn.Module):\n"
            f"    def __init__(self):\n"
            f"        super().__init__()\n{textwrap.indent(textwrap.dedent(members), ' ' * 8)}\n\n"
            f"    def forward(self, {arguments}):\n{rows}\n"
        )

    return make
