"""fxlint: predicts, from source, what torch.fx symbolic tracing cannot capture, and proves it by tracing."""

__version__ = "0.1.0"

from fxlint.api import check
from fxlint.findings import Finding, Location, ModuleReport, Problem, Report, Suggestion

__all__ = ["Finding", "Location", "ModuleReport", "Problem", "Report", "Suggestion", "__version__", "check"]
