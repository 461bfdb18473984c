"""Edits: what the suggestion makes of a bad example passes the lint, and does what the good example does."""

from __future__ import annotations

from pathlib import Path

import pytest
import truth

from fxlint.rules import Example, load_rules
from fxlint.tracer.edits import apply
from fxlint.transforms import lint_transforms

RULES = load_rules()
REPAIRED = [
    ("FX301", "returned_after_change", "recompiled"),
    ("FX302", "before_the_node_itself", "after_its_input"),
    ("FX303", "appended_and_used", "inserted"),
    ("FX304", "same_operation_after_itself", "list_of_the_nodes"),
    ("FX305", "operation_dropped", "uses_replaced_first"),
    ("FX305", "uses_replaced_too_late", "uses_replaced_first"),
    ("FX306", "wrapped_operation", "new_node_left_out"),
    ("FX312", "misspelled", "one_of_the_six"),
    ("FX313", "argument_assigned", "updated"),
    ("FX314", "equal_to_one", "counted"),
    ("FX320", "replaced", "by_path"),
    ("FX324", "asserted", "within_tolerances"),
    ("FX330", "counted_only", "result_returned"),
    ("FX333", "own_class_only", "with_the_stock_test"),
]


def repaired(folder: Path, example: Example) -> str:
    """The example after the edits of the only finding in it."""
    path = folder / "repaired.py"
    path.write_text(example.code, encoding="utf-8")
    (finding,) = lint_transforms([str(path)], RULES)
    edits = [edit for suggestion in finding.suggestions for edit in suggestion.edits]
    assert edits
    return apply(
        example.code,
        [
            (place.line, place.column, place.end_line, place.end_column, edit.text)
            for edit in edits
            for place in [edit.location]
        ],
    )


def named(examples: tuple[Example, ...], name: str) -> Example:
    return next(example for example in examples if example.name == name)


@pytest.mark.torch
@pytest.mark.parametrize(("code", "bad", "good"), REPAIRED, ids=[f"{code}-{bad}" for code, bad, _ in REPAIRED])
def test_the_repaired_example_does_what_the_good_one_does(tmp_path: Path, code: str, bad: str, good: str):
    rule = RULES.by_code(code)
    (tmp_path / "repaired.py").write_text(repaired(tmp_path, named(rule.bad, bad)), encoding="utf-8")
    assert lint_transforms([str(tmp_path / "repaired.py")], RULES) == ()
    truth.run(tmp_path, "repaired.py", named(rule.good, good).run or "")


def test_every_edit_leaves_code_without_a_finding(tmp_path: Path):
    for rule in (rule for rule in RULES if rule.code.startswith(("FX3", "FX4"))):
        for example in rule.bad:
            path = tmp_path / "repaired.py"
            path.write_text(example.code, encoding="utf-8")
            (finding,) = lint_transforms([str(path)], RULES)
            assert finding.suggestions
            if any(suggestion.edits for suggestion in finding.suggestions):
                text = repaired(tmp_path, example)
                compile(text, rule.code, "exec")
                path.write_text(text, encoding="utf-8")
                assert lint_transforms([str(path)], RULES) == ()


def test_allclose_is_only_written_where_torch_has_its_name(lint):
    code = "def f(model, x):\n    gm = fx.symbolic_trace(model)\n    assert gm(x) == model(x)\n"
    (finding,) = lint(code, head="from torch import fx\n\n\n")
    assert finding.suggestions[0].is_advice
