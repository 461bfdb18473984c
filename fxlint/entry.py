"""Where the process of the command begins: an interrupt while the rest is imported ends it without a traceback."""

import os
import signal
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, which stops in its own way once it is there."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda number, _: os._exit(128 + number))
    from fxlint import cli

    cli.main()
