"""How many findings there are of each rule, the most frequent ones first."""

from __future__ import annotations

from collections import Counter

from fxlint.findings import Report
from fxlint.report import Options
from fxlint.report.summary import standing
from fxlint.rewrite import fix_of


def render(report: Report, options: Options) -> str:
    """A line for each rule: the count, the code, ``[*]`` where --fix can do something, and the name."""
    findings = standing(report)
    fixable = {one.code for one in findings if fix_of(one, unsafe=False) is not None}
    counts = Counter((finding.code, finding.rule) for finding in findings)
    width = len(str(max(counts.values(), default=0)))
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(
        f"{count:>{width}}  {code}  {'[*]' if code in fixable else '[ ]'}  {name}\n" for (code, name), count in rows
    )
