"""fxlint: predicts, from source, what torch.fx symbolic tracing cannot capture, and proves it by tracing."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # as typing has it, which a folder under lint may have a file of the name of
if TYPE_CHECKING:
    from fxlint.api import check
    from fxlint.config import ConfigError
    from fxlint.findings import Finding, Location, ModuleReport, Problem, Report, Suggestion

_HOMES = {"check": "fxlint.api", "ConfigError": "fxlint.config"}
"""Where what the package offers is, if not among the words of the findings."""

__all__ = [
    "ConfigError",
    "Finding",
    "Location",
    "ModuleReport",
    "Problem",
    "Report",
    "Suggestion",
    "__version__",
    "check",
]


def __getattr__(name: str) -> object:
    """What the package offers, when it is first asked for: ``python -m fxlint`` and ``--version`` need none of it."""
    if name not in __all__:
        raise AttributeError(f"module 'fxlint' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "fxlint.findings")), name)
