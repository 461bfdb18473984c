"""The arguments of a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from fxlint.predict.values import Value, holds_traced, may_hold_traced


@dataclass(eq=False, slots=True)
class Arguments:
    """The arguments of a call. ``extra`` stands for further positional ones of unknown number, likewise keywords."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    extra: Value | None = None
    extra_keywords: Value | None = None

    def after(self, receiver: Value) -> Arguments:
        return Arguments([receiver, *self.positional], self.keywords, self.extra, self.extra_keywords)

    def without_first(self) -> Arguments:
        return Arguments(self.positional[1:], self.keywords, self.extra, self.extra_keywords)

    def values(self) -> list[Value]:
        found = [*self.positional, *self.keywords.values()]
        if self.extra is not None:
            found.append(self.extra)
        if self.extra_keywords is not None:
            found.append(self.extra_keywords)
        return found

    def holds_traced(self) -> bool:
        return any(holds_traced(value) for value in self.values())

    def may_hold_traced(self) -> bool:
        return any(may_hold_traced(value) for value in self.values())

    def get(self, position: int, name: str) -> Value | None:
        if position < len(self.positional):
            return self.positional[position]
        return self.keywords.get(name)
