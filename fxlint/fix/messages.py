"""Messages of checks as plain strings: values that are formatted into them would be those of Proxies."""

from __future__ import annotations

import ast
import re
from typing import Final

GAP: Final = "..."
"""What stands for a value that the message had."""
_PERCENT: Final = re.compile(r"%%|%(?:\(\w+\))?[-+ #0]*[\d*]*(?:\.[\d*]+)?[diouxXeEfFgGcrsa]")
_BRACES: Final = re.compile(r"\{\{|\}\}|\{[^{}]*\}")


def plain_message(message: ast.expr | None, otherwise: str) -> str:
    """The source of a string with the fixed parts of a message; of ``otherwise`` where it has none."""
    text = _fixed(message) if message is not None else None
    has_words = text is not None and text.replace(GAP, "").strip()
    return quoted(text if text is not None and has_words else " ".join(otherwise.split()))


def quoted(text: str) -> str:
    """The source of a string, in double quotes where they need no escape."""
    return repr(text) if '"' in text or repr(text)[1:-1].replace("\\'", "'") != text else f'"{text}"'


def _fixed(node: ast.expr) -> str | None:
    """The parts of a text that are known; None for what is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        parts = (one.value if isinstance(one, ast.Constant) else GAP for one in node.values)
        return "".join(map(str, parts))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_fixed(node.left), _fixed(node.right)]
        return None if sides == [None, None] else "".join(GAP if side is None else side for side in sides)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        text = _fixed(node.left)
        return None if text is None else _PERCENT.sub(_escape_or_gap, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = _fixed(node.func.value)
        return None if text is None else _BRACES.sub(_escape_or_gap, text)
    return None


def _escape_or_gap(found: re.Match[str]) -> str:
    """A doubled character stands for itself."""
    return found[0][0] if found[0] in ("%%", "{{", "}}") else GAP
