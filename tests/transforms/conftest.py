"""Code around graphs as a file, and what is found in it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from fxlint.findings import Finding
from fxlint.rules import load_rules
from fxlint.transforms import lint_transforms

HEAD = "import operator\n\nimport torch\nfrom torch import fx, nn\n\n"
RULES = load_rules()

Lint = Callable[..., list[Finding]]


@pytest.fixture
def lint(tmp_path: Path) -> Lint:
    """The findings in a file that imports torch, fx and nn before ``code``; ``files`` stand beside it."""

    def found(code: str, head: str = HEAD, **files: str) -> list[Finding]:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        (tmp_path / "passes.py").write_text(head + textwrap.dedent(code), encoding="utf-8")
        return list(lint_transforms([str(path) for path in sorted(tmp_path.glob("*.py"))], RULES))

    return found
