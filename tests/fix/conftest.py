from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from suggested import Suggested


@pytest.fixture
def suggested(tmp_path: Path) -> Callable[..., Suggested]:
    def make(text: str, **others: str) -> Suggested:
        return Suggested(tmp_path, {"net.py": text, **{f"{name}.py": other for name, other in others.items()}})

    return make
