"""Words shared by the formats that people read."""

from __future__ import annotations

import re

from fxlint.findings import Check, Failure, Problem

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """``text`` with escapes for what would drive the terminal, end a line or turn the direction of reading."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """``text`` on one line, runs of white space as one space."""
    return printable(" ".join(text.split()))


def placed(problem: Problem) -> str:
    """``path:line: message`` on one line, without what the problem does not have."""
    place = printable(problem.path) if problem.line is None else f"{printable(problem.path)}:{problem.line}"
    return f"{place}: {one_line(problem.message)}" if problem.path else one_line(problem.message)


def failure(error: Failure) -> str:
    """``TraceError: message``, and where that was."""
    text = f"{error.type}: {one_line(error.message)}" if error.message.strip() else error.type
    if error.path is None:
        return text
    place = ":".join(str(part) for part in (printable(error.path), error.line, error.column) if part is not None)
    return f"{text} ({place})"


def check(result: Check) -> str:
    """What happened when a suggestion was tried."""
    if result.verdict == "not-run":
        return f"not tried: {one_line(result.reason)}" if result.reason else "not tried"
    if result.verdict == "fails":
        if result.error is None:
            return "tried: still fails"
        if result.reason:
            return f"tried: {one_line(result.reason)}: {failure(result.error)}"
        return f"tried: this place is passed; the next failure is {failure(result.error)}"
    nodes = f", {result.graph.nodes} nodes" if result.graph else ""
    outputs = {None: "", True: ", equal outputs", False: ", but the outputs differ"}[result.equal_outputs]
    reason = f", {one_line(result.reason)}" if result.reason else ""
    return f"tried: traces{nodes}{outputs}{reason}"
