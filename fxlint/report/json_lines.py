"""One finding per line, each an object as in ``findings`` of the JSON format: for what reads line by line."""

from __future__ import annotations

import json

from fxlint.findings import Report
from fxlint.report import Options
from fxlint.report.json import document


def render(report: Report, options: Options) -> str:
    return "".join(f"{json.dumps(finding)}\n" for finding in document(report, options)["findings"])
