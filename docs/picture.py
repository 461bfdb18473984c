"""Draws what fxlint prints for the project of the README: ``python docs/picture.py`` writes ``docs/finding.svg``."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "finding.svg"
ARGUMENTS = ("fixtures/quickstart/vision/blocks.py",)

_WIDTH = 100
"""Columns, as in a pipe."""
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def draw() -> str:
    """The SVG of a real run. It loads no fonts: a picture in a page may not, and the page has one for code."""
    command = [sys.executable, "-m", "fxlint", *ARGUMENTS, "--color", "always", "--quiet"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if printed.returncode != 1:
        raise RuntimeError(f"fxlint ended with {printed.returncode}: {printed.stderr}")
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(printed.stdout.rstrip()))
    svg = console.export_svg(title=f"fxlint {' '.join(ARGUMENTS)}", unique_id="fxlint")
    return _FONTS.sub("", svg).replace("Fira Code, monospace", "monospace") + "\n"


def words(svg: str) -> list[str]:
    """The text in a picture, which is the same whatever drew it."""
    shown = re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)
    return " ".join(shown).replace("&#160;", " ").split()


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
