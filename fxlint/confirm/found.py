"""Instances that nobody declared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fxlint.findings import Problem


@dataclass(frozen=True, slots=True)
class Instance:
    """An expression that makes an instance of a root, how it was found, and where it can be built.

    ``rank`` is the lower, the closer it is to how the project itself makes one. ``answers`` are the truth values of the
    conditions that the root's findings depend on, in its configuration.
    """

    text: str
    how: str
    device: str
    rank: int = 0
    seconds: float = 0.0
    answers: tuple[bool | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """By root id: the instances to trace, the best one first; and what was tried in vain where there is none.

    ``problems`` are what kept files from being imported.
    """

    instances: Mapping[str, tuple[Instance, ...]]
    reasons: Mapping[str, str]
    problems: tuple[Problem, ...] = ()


NOTHING = Found(MappingProxyType({}), MappingProxyType({}))
