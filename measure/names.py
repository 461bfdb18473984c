"""List the public names under torch: modules, classes, functions, constants, and one canonical name for each object.

    python measure/names.py --out fxlint/predict/data/names.json

The canonical name is the shortest public path, and the one under which ``calls.py`` measures a callable.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pkgutil
import types
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import table
import torch

# packages whose import needs hardware, a peer or an optional dependency, or which no forward can reach
SKIPPED = tuple(
    """
    torch.testing. torch.onnx. torch.distributed. torch.package torch.export. torch.quantization. torch.fx.passes
    torch.fx.experimental. torch.ao.quantization. torch.ao.pruning torch.ao.ns torch.multiprocessing. torch.optim.
    torch.utils.tensorboard torch.utils.benchmark torch.utils.bottleneck torch.utils.data. torch.utils.model_dump
    torch.utils.viz torch.utils.hipify torch.utils.jit torch.utils.bundled torch.utils.cpp torch.utils.mkldnn
    torch.utils.show
    """.split()
)
# the classes whose objects model code has or subclasses
COMMON = (
    "torch.nn.",
    "torch.ao.nn.",
    "torch.autograd.",
    "torch.utils.",
    "torch.jit.",
    "torch.fx.",
    "torch.distributions.",
)
BOOKKEEPING = {
    "__module__",
    "__annotations__",
    "__dict__",
    "__weakref__",
    "__parameters__",
    "__orig_bases__",
    "__abstractmethods__",
}
BOOKKEEPING |= {"_abc_impl", "__constants__", "__dataclass_fields__", "__dataclass_params__", "__match_args__"}
PRIVATE = (
    "torch._C",
    "torch._C._nn",
    "torch.utils._pytree",
    "torch._VF",
    "torch._tensor",
    "torch._jit_internal",
    "torch._dynamo",
    "torch._higher_order_ops",
    "torch._utils",
    "torch._ops",
)


def modules() -> dict[str, types.ModuleType]:
    """The public modules of torch that import here, and the private ones that model code is seen to import."""
    found: dict[str, types.ModuleType] = {"torch": torch}
    for info in pkgutil.walk_packages(torch.__path__, "torch.", onerror=lambda _: None):
        name = info.name
        if name.startswith(SKIPPED) or any(part.startswith("_") for part in name.split(".")):
            continue
        try:
            found[name] = importlib.import_module(name)
        except BaseException:
            continue
    for name in PRIVATE:
        found[name] = importlib.import_module(name)
    # modules made by code, such as torch.ops or torch.classes
    for name, module in list(found.items()):
        for short, value in vars(module).items():
            inner = f"{name}.{short}"
            if (
                short.startswith("_")
                or any(part.startswith("_") for part in name.split("."))
                or inner.startswith(SKIPPED)
            ):
                continue
            if isinstance(value, types.ModuleType) and value.__name__ == inner:
                found.setdefault(inner, value)
    return dict(sorted(found.items()))


def letter(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return "m"
    if isinstance(value, type):
        return "c"
    return "f" if callable(value) else "v"


def canonical_names(known: Mapping[str, types.ModuleType]) -> dict[int, tuple[str, Any]]:
    """Identity of an object -> its one name, and the object to keep the identity valid.

    A Python object goes by the shortest path at its home or above it, everything else by the shortest path.
    """
    found: dict[int, tuple[str, Any]] = {}
    ranks: dict[int, tuple[bool, int, bool, int, str]] = {}
    for name, module in known.items():
        for attribute, value in sorted(vars(module).items()):
            if not _shown(attribute, name, value) or not _is_torch(value):
                continue
            if isinstance(value, type) or inspect.isroutine(value):
                rank = (not _is_home(name, value), *_by_length(name))
                if id(value) not in ranks or rank < ranks[id(value)]:
                    ranks[id(value)], found[id(value)] = rank, (f"{name}.{attribute}", value)
    return found


def _is_home(module: str, value: Any) -> bool:
    home = str(getattr(value, "__module__", None))
    native = inspect.isbuiltin(value) or home.startswith("torch._C")
    return native or f"{home}.".startswith(f"{module}.")


def listing() -> dict[str, dict[str, Any]]:
    """The three tables of the file: names per module, MRO and own attributes per class."""
    known = modules()
    chosen = {key: name for key, (name, _) in canonical_names(known).items()}
    names: dict[str, dict[str, str]] = {}
    bases: dict[str, str] = {}
    classes: dict[str, type] = {}
    for name, module in known.items():
        groups: dict[str, list[str]] = {"c": [], "f": [], "v": [], "m": []}
        for attribute, value in sorted(vars(module).items()):
            if not _shown(attribute, name, value):
                continue
            own, kind = f"{name}.{attribute}", letter(value)
            target = chosen.get(id(value), own)
            if isinstance(value, types.ModuleType):
                target = value.__name__
            if not _is_torch(value) and kind in "cfm":
                continue  # typing.Any in torch.nn.functional and the like: an import, not a name of torch
            groups[kind].append(attribute if target == own else f"{attribute}={target}")
            if isinstance(value, type) and target == own:
                classes[own] = value
                bases[own] = " ".join(_class_name(base, chosen) for base in value.__mro__[1:-1])
        names[name] = {kind: " ".join(found) for kind, found in groups.items() if found}
    whole = (torch.Tensor, torch.Size)  # their bases are no classes of the listing
    members = {
        name: " ".join(sorted(n for n in (dir(cls) if cls in whole else vars(cls)) if _is_member(n)))
        for name, cls in classes.items()
        if cls in whole or name.startswith(COMMON)
    }
    return {
        "modules": names,
        "bases": {k: v for k, v in bases.items() if v},
        "members": {k: v for k, v in members.items() if v},
    }


def _by_length(name: str) -> tuple[int, bool, int, str]:
    return name.count("."), any(part.startswith("_") for part in name.split(".")), len(name), name


def _shown(attribute: str, module: str, value: Any) -> bool:
    """Public names, and what some packages define under a private name and others import (``_ConvNd``, ``_pair``)."""
    if attribute.startswith("__") or attribute.isdigit():
        return False
    if not attribute.startswith("_") or module in ("torch", "torch._C._nn"):
        return True
    own = getattr(value, "__module__", None) == module and (isinstance(value, type) or inspect.isroutine(value))
    return own and module.startswith(("torch.nn.", "torch.utils.", "torch.autograd.", "torch.jit.", "torch.functional"))


def _is_member(attribute: str) -> bool:
    """What a class adds to ``object``, without the bookkeeping of the class statement."""
    return attribute not in BOOKKEEPING and (attribute == "__init__" or attribute not in dir(object))


def _is_torch(value: Any) -> bool:
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    if home is None:  # built into the extension
        return True
    return str(home).partition(".")[0] in ("torch", "builtins") and not (isinstance(value, type) and home == "builtins")


def _class_name(cls: type, chosen: dict[int, str]) -> str:
    return chosen.get(id(cls), f"{cls.__module__}.{cls.__qualname__}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    warnings.simplefilter("ignore")
    tables = listing()
    everything: dict[str, dict[str, Any]] = {}
    if out.exists():
        old = json.loads(out.read_text(encoding="utf-8"))
        everything = {r: {t: table.expand(old, t, r) for t in tables} for r in old["releases"]}
    everything[torch.__version__.partition("+")[0]] = tables
    out.write_text(table.compose(everything), encoding="utf-8")
    print({t: len(entries) for t, entries in tables.items()}, f"-> {out.name}")


if __name__ == "__main__":
    main()
