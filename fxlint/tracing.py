"""How the project traces: what it tells its Tracer, and the arguments that it binds. Both halves go by it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

from fxlint.findings import Root
from fxlint.project.naming import ModuleName, module_name

_Setting = TypeVar("_Setting")


@dataclass(frozen=True, slots=True)
class TracerSettings:
    """What the Tracer is told; with none of it, it is that of ``torch.fx.symbolic_trace``.

    A name is ``package.module:Qualified.name`` of a class, a function, or a collection of some (a registry), or
    ``package.module`` for all that the module holds. The names in ``optional`` need not exist. ``autowrap_modules`` are
    names of modules; they come on top of ``math``. ``tracer_class`` is a subclass of ``torch.fx.Tracer``.
    """

    leaf_modules: tuple[str, ...] = ()
    autowrap_functions: tuple[str, ...] = ()
    autowrap_modules: tuple[str, ...] = ()
    param_shapes_constant: bool = False
    tracer_class: str | None = None
    optional: frozenset[str] = frozenset()

    def with_preset(self, name: str) -> TracerSettings:
        """These settings and those of a preset, a key of ``PRESETS``. What a preset names need not exist."""
        preset = PRESETS[name]
        named = (*preset.leaf_modules, *preset.autowrap_functions, *preset.autowrap_modules)
        return replace(
            self,
            leaf_modules=(*self.leaf_modules, *preset.leaf_modules),
            autowrap_functions=(*self.autowrap_functions, *preset.autowrap_functions),
            autowrap_modules=(*self.autowrap_modules, *preset.autowrap_modules),
            optional=self.optional | frozenset(named),
        )


PRESETS: Final[Mapping[str, TracerSettings]] = MappingProxyType(
    {
        # what torchvision.models.feature_extraction tells its tracer
        "torchvision": TracerSettings(leaf_modules=("torchvision.ops",), autowrap_modules=("torchvision.ops",)),
        # what timm tells that one on top, now and in older releases
        "timm": TracerSettings(
            leaf_modules=(
                "torchvision.ops",
                "timm.layers._fx:_leaf_modules",
                "timm.models._features_fx:_leaf_modules",
            ),
            autowrap_functions=(
                "timm.layers._fx:_autowrap_functions",
                "timm.models._features_fx:_autowrap_functions",
            ),
            autowrap_modules=("torchvision.ops",),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Tracing:
    """The Tracer and ``concrete_args``: expressions for the dictionary, by class as in ``key_of_root``.

    Relative paths in their keys start in ``folders``. With ``bind_defaults`` every parameter that has a default is
    bound to it.
    """

    tracer: TracerSettings = TracerSettings()
    concrete_args: Mapping[str, str] = field(default_factory=dict)
    bind_defaults: bool = False
    folders: tuple[str, ...] = ()

    def with_leaves(self, modules: Sequence[str], functions: Sequence[str]) -> Tracing:
        """This with more leaf modules, and with more functions whose calls become nodes."""
        told = self.tracer
        leaf_modules = (*told.leaf_modules, *modules)
        autowrap_functions = (*told.autowrap_functions, *functions)
        return replace(self, tracer=replace(told, leaf_modules=leaf_modules, autowrap_functions=autowrap_functions))

    def concrete_args_of(self, root: Root) -> str | None:
        if not self.concrete_args:
            return None
        return of_root(self.concrete_args, root, module_name(Path(root.path)), self.folders, None)


STOCK: Final = Tracing()
"""As ``torch.fx.symbolic_trace`` does it."""


def tracing_of(tracer: Mapping[str, Any], concrete_args: Mapping[str, str], folders: Sequence[str]) -> Tracing:
    """What the tables ``tracer`` and ``concrete-args`` of the configuration say."""
    settings = TracerSettings(
        leaf_modules=tracer.get("leaf-modules", ()),
        autowrap_functions=tracer.get("autowrap-functions", ()),
        autowrap_modules=tracer.get("autowrap-modules", ()),
        param_shapes_constant=tracer.get("param-shapes-constant", False),
        tracer_class=tracer.get("class"),
    )
    for preset in tracer.get("presets", ()):
        settings = settings.with_preset(preset)
    return Tracing(settings, dict(concrete_args), tracer.get("bind-defaults", False), tuple(folders))


def of_root(
    values: Mapping[str, _Setting], root: Root, name: ModuleName, folders: Sequence[str], default: _Setting
) -> _Setting:
    """The setting for a root."""
    key = key_of_root(values, root, name, folders)
    return default if key is None else values[key]


def key_of_root(keys: Iterable[str], root: Root, name: ModuleName, folders: Sequence[str]) -> str | None:
    """The key of a table that means a root: ``package.module:Class`` or ``path.py::Class``."""
    here = os.path.realpath(root.path)
    for key in keys:
        path, separator, qualname = key.partition("::")
        places = [os.path.realpath(Path(folder, path)) for folder in (*folders, ".")] if separator else []
        if key == f"{name.name}:{root.qualname}" or (qualname == root.qualname and here in places):
            return key
    return None


def files_named(owner: str, is_path: bool, folders: Sequence[Path]) -> list[Path]:
    """Where the file may be that the first part of such a key names."""
    dotted = owner.replace(".", "/")
    candidates = [owner] if is_path else [f"{dotted}.py", f"{dotted}/__init__.py"]
    return [folder / source / name for folder in folders for source in ("", "src") for name in candidates]
