"""Files with findings of the static half, so that suggestions see what they see in a run."""

from __future__ import annotations

import textwrap
from pathlib import Path

from fxlint.findings import Finding, Prediction, Suggestion
from fxlint.fix import with_suggestions
from fxlint.predict import predict
from fxlint.rules import load_rules
from fxlint.tracer.edits import apply

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
RULES = load_rules()


def net(forward: str, parameters: str = "x", init: str = "") -> str:
    """The source of a module with this body of forward."""
    text = HEAD
    if init:
        body = textwrap.indent(textwrap.dedent(init).strip(), " " * 8)
        text += f"    def __init__(self):\n        super().__init__()\n{body}\n\n"
    body = textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)
    return f"{text}    def forward(self, {parameters}):\n{body}\n"


class Suggested:
    """Files with their findings and suggestions."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        paths = [str(folder / name) for name in sorted(files)]
        self.prediction: Prediction = with_suggestions(predict(paths, RULES, (folder,)))

    def finding(self, event: str) -> Finding:
        return next(finding for finding in self.prediction.findings if finding.event == event)

    def of(self, event: str, kind: str = "") -> list[Suggestion]:
        found = [finding for finding in self.prediction.findings if finding.event == event]
        return [one for finding in found for one in finding.suggestions if not kind or one.kind == kind]

    def edited(self, suggestion: Suggestion, name: str = "net.py") -> str:
        text = (self.folder / name).read_text(encoding="utf-8")
        return apply(
            text,
            [
                (at.line, at.column, at.end_line, at.end_column, edit.text)
                for edit in suggestion.edits
                for at in [edit.location]
                if Path(at.path).name == name
            ],
        )

    def rewrites(self, event: str) -> list[str]:
        """The files as the rewrites would have them, best first."""
        return [self.edited(one) for one in self.of(event, "rewrite") if not one.is_advice]
