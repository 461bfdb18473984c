"""The findings under the name of their file: for people, where one line each is enough."""

from __future__ import annotations

from itertools import groupby

from fxlint.findings import Report
from fxlint.report import Options
from fxlint.report.concise import said
from fxlint.report.summary import standing
from fxlint.report.text import printable


def render(report: Report, options: Options) -> str:
    """The findings that the tracer did not refute, a paragraph for each file; places and codes are aligned."""
    rows: list[str] = []
    for path, of_file in groupby(standing(report), key=lambda finding: finding.location.path):
        told = [(f"{one.location.line}:{one.location.column}", said(one)) for one in of_file]
        width = max(len(place) for place, _ in told)
        rows += [f"{printable(path)}:", *(f"  {place:<{width}}  {text}" for place, text in told), ""]
    return "".join(f"{row}\n" for row in rows)
