"""How many findings there are of each rule, the most frequent ones first."""

from __future__ import annotations

from collections import Counter

from fxlint.findings import Report
from fxlint.report import Options
from fxlint.report.summary import standing
from fxlint.rewrite import fix_of


def render(report: Report, options: Options) -> str:
    """A line for each rule: the count, the code, ``[*]`` where --fix can do something, and the name; then what that
    means, where it is said of any.
    """
    findings = standing(report)
    fixable = {one.code for one in findings if fix_of(one, unsafe=False) is not None}
    counts = Counter((finding.code, finding.rule) for finding in findings)
    width = len(str(max(counts.values(), default=0)))
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    marks = {code: "[*]  " if code in fixable else "     " for (code, _), _ in rows} if fixable else {}
    table = "".join(f"{count:>{width}}  {code}  {marks.get(code, '')}{name}\n" for (code, name), count in rows)
    return f"{table}[*] fixable with --fix\n" if fixable else table
