"""The counts of a report."""

from fxlint.report.summary import standing, statuses, summary_line, verdict, verdicts


def test_the_verdict_is_what_the_tracer_did_where_it_ran_except_that_depends_stands(report):
    assert {module.root.qualname: verdict(module) for module in report.modules} == {
        "Net": "fails",
        "Fine": "traces",
        "Pool": "depends",
        "f": "fails",
        "Lazy": "traces",
    }


def test_every_module_and_every_finding_is_counted_once(report):
    assert sum(verdicts(report).values()) == len(report.modules)
    assert sum(statuses(report).values()) == len(report.findings)


def test_a_refuted_finding_does_not_stand(report):
    assert [finding.code for finding in standing(report)] == ["FX101", "FX120", "FX105", "FX123"]


def test_the_line(report, empty):
    assert summary_line(report) == (
        "5 modules in 3 files: 2 trace, 2 fail, 1 depend, 0 unknown; "
        "5 findings: 1 confirmed, 1 refuted, 1 unreached, 2 unconfirmed"
    )
    assert summary_line(empty) == "0 modules in 0 files: 0 trace, 0 fail, 0 depend, 0 unknown; 0 findings"
