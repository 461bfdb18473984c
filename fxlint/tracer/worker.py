"""The worker: run as a script by the user's interpreter, ``python path/to/fxlint/tracer/worker.py``.

Reads batches as JSON lines from standard input and writes messages as JSON lines to standard output (see ``jobs.py``).
Both are moved to private descriptors before anything of the user's runs, and standard input, output and error lead
nowhere from then on. The first message is the greeting: versions, or why torch cannot be used.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    # Running a script puts its folder first on sys.path: there the tracer's modules would hide the user's.
    sys.path.pop(0)

import importlib.util
import json
import os
import select
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

PACKAGE = "_fxlint_tracer"
OLDEST_TORCH = (2, 1)


def load_package() -> ModuleType:
    """This folder as a package of its own name: this interpreter may have no fxlint, or another one."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        PACKAGE, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no package in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    source, sink = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    greeting: dict[str, Any] = {"python": ".".join(map(str, sys.version_info[:3])), "executable": sys.executable}
    try:
        import torch
        import torch.fx

        torch.set_num_threads(1)
        greeting["torch"] = torch.__version__
        if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST_TORCH:
            greeting["problem"] = f"its torch {torch.__version__} is older than {'.'.join(map(str, OLDEST_TORCH))}"
    except BaseException as error:  # a broken installation raises anything
        greeting["problem"] = f"importing torch raised {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    if "problem" in greeting:
        os.write(sink, json.dumps(greeting).encode() + b"\n")
        return
    load_package()
    jobs = importlib.import_module(f"{PACKAGE}.jobs")
    process = importlib.import_module(f"{PACKAGE}.process")
    process.keep_private(source, sink)
    process.refuse_network()
    warnings.simplefilter("ignore")
    send = process.sender(sink)
    send(greeting)
    serve(source, send, jobs.run_batch, process.Orphaned)


def serve(
    source: int, send: Callable[[Any], None], run_batch: Callable[..., None], orphaned: type[BaseException]
) -> None:
    """Do one batch after the other until standard input ends."""
    with os.fdopen(source, "rb", closefd=False) as batches:
        for line in iter(batches.readline, b""):
            try:
                run_batch(json.loads(line), send, lambda: _at_end(source))
            except orphaned:
                return
            send({"kind": "batch done"})


def _at_end(source: int) -> bool:
    """Whether standard input has ended while a batch is running: whoever asked for it is gone.

    The parent writes nothing during a batch, so anything to read is the end.
    """
    return sys.platform != "win32" and bool(select.select([source], [], [], 0)[0])


if __name__ == "__main__":
    main()
