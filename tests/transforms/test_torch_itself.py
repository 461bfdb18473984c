"""The passes of torch itself are read by many: what is found there must be a bug."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from fxlint.rules import load_rules
from fxlint.transforms import lint_transforms


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("package", ["fx", "ao/quantization/fx", "_inductor/fx_passes"])
def test_nothing_is_found_in_torch(package: str):
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    paths = [str(path) for path in sorted((Path(spec.origin).parent / package).rglob("*.py"))]
    assert len(paths) > 20
    assert [(finding.location, finding.message) for finding in lint_transforms(paths, load_rules())] == []
