"""fxlint: predicts, from source, what torch.fx symbolic tracing cannot capture, and proves it by tracing."""

__version__ = "0.1.0"
