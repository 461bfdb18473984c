"""Which rules a run reports: codes, prefixes of codes, and names."""

from __future__ import annotations

from collections.abc import Callable

from fxlint.config import Config, ConfigError, did_you_mean
from fxlint.findings import Finding
from fxlint.rules import RuleSet


def selection(config: Config, rules: RuleSet) -> Callable[[Finding], bool]:
    """A test for findings to report: selected (an empty ``select`` selects all) and not ignored.

    Raises ConfigError for a selector that no rule answers to.
    """
    selected = _codes(config.select, "select", rules) if config.select else {rule.code for rule in rules}
    reported = selected - _codes(config.ignore, "ignore", rules)
    return lambda finding: finding.code in reported


def _codes(selectors: tuple[str, ...], key: str, rules: RuleSet) -> set[str]:
    found: set[str] = set()
    for selector in selectors:
        codes = {rule.code for rule in rules if rule.code.startswith(selector) or rule.name == selector}
        if not codes:
            known = [word for rule in rules for word in (rule.code, rule.name)]
            raise ConfigError(f"'{key}' names no rule: '{selector}'{did_you_mean(selector, known)}")
        found |= codes
    return found
