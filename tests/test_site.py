"""The documentation: links between its files, and the site that is built from them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fxlint.rules import load_rules

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path):
    prose = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose)
    assert [link for link in links if ":" not in link and not (page.parent / link).is_file()] == []


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_has_every_rule(tmp_path: Path):
    for name in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(name, reason=f"{name} is not installed; the extra docs has it")
    command = [sys.executable, str(ROOT / "docs" / "build.py"), str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    for rule in load_rules():
        page = (tmp_path / "rules" / f"{rule.code}.html").read_text(encoding="utf-8")
        assert f"{rule.name} ({rule.code})" in page
    home = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert all(f'href="{page}.html"' in home for page in ("usage", "configuration", "rules/index", "contributing"))
    assert 'src="_images/finding.svg"' in home
