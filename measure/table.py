"""Write and read the data file: a part for the newest release, and what differs in the others.

One entry is one line, so that a new release shows as a readable diff. See README.md for the format.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

NODE = ["node", None, None, None, None, None]
TABLES = ("calls", "operations", "instance", "attributes")
GROUP_SIZE, GROUP_SHARE = 30, 0.97
# the constant that such a predicate answers holds for the machine that measured, and not for the release
MACHINE = [
    "torch.cuda.",
    "torch.mps.",
    "torch.xpu.",
    "torch.backends.",
    "torch.distributed.",
    "torch.accelerator.",
    "torch.cpu.",
    "torch.version.",
]
Rows = Mapping[str, list[dict[str, Any]]]


Number = Callable[[Iterable[Any] | None], str]


def update(path: Path, release: str, results: Rows, special: Mapping[str, Any] | None, only: tuple[str, ...]) -> None:
    """Put the results of one release into the file; they replace its entries with the prefixes ``only``, or all."""
    old: dict[str, Any] = {"releases": [], "outcomes": [NODE]}
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
    everything = {r: {name: expand(old, name, r) for name in TABLES} for r in old["releases"]}
    before = everything.pop(release, None)
    kept = {name: {} for name in TABLES} if before is None or not only else before
    kept["calls"] = {name: entry for name, entry in kept["calls"].items() if not name.startswith(only)}
    pool = _needed(old["outcomes"], [*everything.values(), kept])
    number = _numbering(pool)
    kept["calls"] |= {name: "|".join(_encode(row, number) for row in rows) for name, rows in results.items()}
    if special is not None:
        kept["operations"] = {name: _encode_cases(cases, number) for name, cases in special["operations"].items()}
        kept["instance"], kept["attributes"] = special["instance"], special["attributes"]
    everything[release] = kept
    groups = _groups(everything[max(everything, key=version)]["calls"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(compose(everything, outcomes=pool, machine=MACHINE, groups=groups), encoding="utf-8")


def _numbering(pool: list[Any]) -> Number:
    """Give each outcome its place in the pool; freed places are filled first, so that numbers stay as they are."""
    numbers = {json.dumps(outcome): index for index, outcome in enumerate(pool) if outcome is not None}
    free = [index for index, outcome in enumerate(pool) if outcome is None][::-1]

    def number(outcome: Iterable[Any] | None) -> str:
        if outcome is None:
            return ""
        row = list(outcome)
        key = json.dumps(row)
        if key not in numbers:
            if not free:
                pool.append(None)
                free.append(len(pool) - 1)
            numbers[key] = free.pop()
            pool[numbers[key]] = row
        return str(numbers[key])

    return number


def _needed(pool: list[Any], tables: Iterable[Mapping[str, Mapping[str, str]]]) -> list[Any]:
    """The pool with None in the places that no entry refers to."""
    used = {0}
    for table in tables:
        for entry in table["calls"].values():
            used |= set(map(int, re.findall(r"(?<![\w:])\d+(?![\w:])|(?<=:)\d+", entry.replace("*", " "))))
        for entry in table["operations"].values():
            used |= set(map(int, re.findall(r"\d+(?==)", entry)))
    return [outcome if index in used else None for index, outcome in enumerate(pool)]


def _groups(calls: Mapping[str, str]) -> dict[str, str]:
    """Groups of callables in which a traced argument nearly always has one and the same outcome: that outcome."""
    seen: dict[str, Counter[str]] = {}
    for name, entry in calls.items():
        if "@" in name or name.endswith("()"):
            continue
        counter = seen.setdefault(name.rpartition(".")[0], Counter())
        for part in entry.split("|"):
            cells = [*part.split(";"), "", ""][2].removesuffix("*").split(",")
            counter.update(code for cell in cells if (code := cell.partition("/")[0]))
    common = {group: counter.most_common(1)[0] for group, counter in seen.items() if counter.total() >= GROUP_SIZE}
    return {g: code for g, (code, count) in common.items() if count >= GROUP_SHARE * seen[g].total()}


def _encode(row: Mapping[str, Any], number: Number) -> str:
    cells = []
    for index in range(len(row["params"])):
        traced, contains = number(row["single"].get(f"{index}t")), number(row["single"].get(f"{index}c"))
        cells.append(f"{traced}/{contains}" if contains else traced)
    body = f"{cells[0]}*" if len(cells) > 2 and len(set(cells)) == 1 else ",".join(cells)
    keyword = ",".join(f"{index}:{number(outcome)}" for index, outcome in sorted(row["keyword"].items()))
    pairs = ",".join(f"{pair}:{number(outcome)}" for pair, outcome in sorted(row["pairs"].items()))
    sizes = "" if row["sizes"] is None else ",".join([str(row["sizes"][0]), *(number(o) for o in row["sizes"][1:])])
    return ";".join((",".join(row["params"]), number(row["plain"]), body, keyword, pairs, sizes)).rstrip(";")


def _encode_cases(cases: Mapping[str, Any], number: Number) -> str:
    """``outcome=case,case|outcome=case``."""
    grouped: dict[str, list[str]] = {}
    for case, outcome in sorted(cases.items()):
        grouped.setdefault(number(outcome), []).append(case)
    return "|".join(
        f"{code}={','.join(found)}" for code, found in sorted(grouped.items(), key=lambda pair: int(pair[0]))
    )


def shortened(outcome: Iterable[Any]) -> list[Any]:
    """An outcome without the empty fields at its end."""
    row = list(outcome)
    while row[-1] is None:
        row.pop()
    return row


def expand(data: Mapping[str, Any], table: str, release: str) -> dict[str, Any]:
    """One table as it is for one release."""
    whole = dict(data[table])
    for name, entry in data["changes"].get(release, {}).get(table, {}).items():
        if entry is None:
            whole.pop(name, None)
        else:
            whole[name] = entry
    return whole


def version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3])


def difference(newest: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    changed = {name: entry for name, entry in other.items() if newest.get(name) != entry}
    return {**changed, **{name: None for name in newest if name not in other}}


def compose(everything: Mapping[str, Mapping[str, Any]], **head: Any) -> str:
    """The text of a data file: ``everything`` is release -> table -> entries."""
    order = sorted(everything, key=version, reverse=True)
    newest = everything[order[0]]
    data: dict[str, Any] = {"releases": order, **head, **newest}
    data["changes"] = {r: {t: difference(newest[t], everything[r].get(t, {})) for t in newest} for r in order[1:]}
    return dump(data)


def dump(value: Any, depth: int = 0) -> str:
    """JSON with one line for each entry of the outer two or three levels."""
    pad = " " * (depth + 1)
    if isinstance(value, dict) and value and depth < 4:
        inner = ",\n".join(f"{pad}{json.dumps(k)}: {dump(value[k], depth + 1)}" for k in _ordered(value, depth))
        return "{\n" + inner + "\n" + " " * depth + "}" + ("\n" if depth == 0 else "")
    if isinstance(value, list) and value and isinstance(value[0], list):
        inner = ",\n".join(f"{pad}{json.dumps(item, ensure_ascii=False)}" for item in value)
        return "[\n" + inner + "\n" + " " * depth + "]"
    return json.dumps(value, ensure_ascii=False)


def _ordered(value: Mapping[str, Any], depth: int) -> list[str]:
    return list(value) if depth == 0 else sorted(value)
