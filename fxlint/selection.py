"""Which rules a run reports, and where: codes, prefixes of codes, names, and patterns of files."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from fxlint.config import Config, ConfigError
from fxlint.findings import Finding
from fxlint.rules import Rule, RuleSet

ALL: Final = "ALL"

_EXACT: Final = 100
"""The weight of a selector that is a code or a name: more than that of any prefix."""

_DIGITS: Final = str.maketrans("OIL", "011")
"""The digits for which letters are taken."""


@dataclass(frozen=True, slots=True)
class Selection:
    """``codes`` are those of the rules that are on; each pattern of ``ignored`` turns some off, from ``root``."""

    codes: frozenset[str]
    ignored: tuple[tuple[GitIgnoreSpec, frozenset[str]], ...]
    root: Path

    def __call__(self, finding: Finding) -> bool:
        """Whether the finding is reported."""
        return finding.code in self.codes and finding.code not in self._ignored(finding.location.path)

    def _ignored(self, path: str) -> frozenset[str]:
        if not self.ignored:
            return frozenset()
        relative = os.path.relpath(path, self.root).replace(os.sep, "/")
        return frozenset().union(*(codes for spec, codes in self.ignored if spec.match_file(relative)))


def selection(config: Config, rules: RuleSet) -> Selection:
    """The rules that ``config`` selects; where it selects none, those that are on by default.

    Of several selectors that mean a rule the most specific one decides: a code or a name goes before a prefix, a longer
    prefix before a shorter one, and ignoring before selecting where both are alike. Raises ConfigError for a selector
    that means no rule.
    """
    select = {**_weights(config.select, "select", rules)} if config.select else _default(rules)
    for code, weight in _weights(config.extend_select, "extend-select", rules).items():
        select[code] = max(weight, select.get(code, weight))
    ignore = _weights(config.ignore, "ignore", rules)
    per_file = config.per_file_ignores.items()
    return Selection(
        _left(select, ignore),
        tuple(
            (GitIgnoreSpec.from_lines([pattern]), frozenset(_weights(selectors, "per-file-ignores", rules)))
            for pattern, selectors in per_file
        ),
        config.root,
    )


def fixable(config: Config, rules: RuleSet) -> frozenset[str]:
    """The codes of the rules whose suggestions --fix applies. Raises ConfigError for a selector that means no rule."""
    return _left(_weights(config.fixable, "fixable", rules), _weights(config.unfixable, "unfixable", rules))


def meant(selector: str, rules: RuleSet) -> dict[str, int]:
    """The codes of the rules that a selector means, with how specific it is; empty where there are none."""
    weights = ((rule.code, _weight(selector, rule)) for rule in rules)
    return {code: weight for code, weight in weights if weight is not None}


def near(word: str, rules: RuleSet) -> str:
    """The end of an error message on a word that means no rule: the rule that it is like.

    A name is like another by its letters; codes are not, for the next number is another matter altogether, but for
    letters that look like a digit.
    """
    upper, lower = word.upper(), word.lower().replace("_", "-")
    names = [rule.name for rule in rules]
    like = [
        *(rule.code for rule in rules if upper.startswith(rule.code)),
        *(rule.code for rule in rules if upper.translate(_DIGITS).startswith(rule.code)),
        *difflib.get_close_matches(lower, names, n=1),
        *(name for name in names if lower and lower in name),
    ]
    return f"; did you mean '{like[0]}'?" if like else "; `fxlint rules` lists them"


def _weight(selector: str, rule: Rule) -> int | None:
    if selector == ALL:
        return 0
    if selector in (rule.code, rule.name):
        return _EXACT
    return len(selector) if rule.code.startswith(selector) else None


def _left(select: Mapping[str, int], ignore: Mapping[str, int]) -> frozenset[str]:
    return frozenset(code for code, weight in select.items() if weight > ignore.get(code, -1))


def _default(rules: RuleSet) -> dict[str, int]:
    return {rule.code: 0 for rule in rules if rule.default}


def _weights(selectors: tuple[str, ...], key: str, rules: RuleSet) -> dict[str, int]:
    found: dict[str, int] = {}
    for selector in selectors:
        codes = meant(selector, rules)
        if not codes:
            raise ConfigError(f"'{key}' names no rule: '{selector}'{near(selector, rules)}")
        for code, weight in codes.items():
            found[code] = max(weight, found.get(code, weight))
    return found
