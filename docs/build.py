"""Builds the documentation site: ``python docs/build.py FOLDER``. Any warning, such as a broken link, is an error.

The site has the files of this folder, those of the top level (the README is its home), and the page of each rule.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.cmd.build import build_main

from fxlint import pages
from fxlint.rules import load_rules

DOCS = Path(__file__).resolve().parent
TOP = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files of the top level, and what the site calls them."""
CHAPTERS = {
    "Usage": "tutorial usage configuration instances tracing own-rules integrations",
    "Rules": "rules/index",
    "How it works": "prediction silent transforms",
    "Project": "contributing changelog",
}

_LINK = re.compile(r"\]\((?:docs/|\.\./)?([\w.-]+)\)")


def sources() -> dict[str, str]:
    """The text of each page by its path in the site."""
    rules = load_rules()
    found = {f"rules/{name}": text for name, text in pages.files(rules).items()}
    found["rules/index.md"] += _contents((rule.code for rule in rules), "Rules")
    for path in (*DOCS.glob("*.md"), *(DOCS.parent / name for name in TOP)):
        name = TOP.get(path.name, path.name) if path.parent != DOCS else path.name
        found[name] = _LINK.sub(_within, path.read_text(encoding="utf-8"))
    found["index.md"] += "".join(_contents(names.split(), chapter) for chapter, names in CHAPTERS.items())
    return found


def _within(link: re.Match[str]) -> str:
    """A link between this folder and the top level as one within the site."""
    return f"]({TOP.get(link[1], link[1])})"


def _contents(names: Iterable[str], chapter: str) -> str:
    """The part of the navigation that lists these pages."""
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {chapter}", "", *names, "```", ""])


def build(folder: Path) -> int:
    """Build the site; its exit code."""
    with TemporaryDirectory() as place:
        for name, text in sources().items():
            path = Path(place, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for picture in DOCS.glob("*.svg"):
            Path(place, picture.name).write_bytes(picture.read_bytes())
        strict = ("-q", "-W", "--keep-going")
        return build_main([*strict, "-d", f"{place}/.doctrees", "-c", str(DOCS), place, str(folder)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
