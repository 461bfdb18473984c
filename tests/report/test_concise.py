"""One line per finding."""

import re

from fxlint.report.concise import render


def test_the_whole_output(report, options, golden):
    golden("concise.txt", render(report, options))


def test_every_line_has_the_form_that_editors_parse(report, options):
    rows = render(report, options).splitlines()
    form = re.compile(r"[^:]+:\d+:\d+: FX\d{3} .+ \((error|warning|info)(, (confirmed|unreached))?\)")
    assert all(form.fullmatch(row) for row in rows)


def test_a_refuted_finding_has_no_line(report, options):
    assert "FX122" in {finding.code for finding in report.findings}
    assert "FX122" not in render(report, options)


def test_nothing_found_is_an_empty_output(empty, options):
    assert render(empty, options) == ""
