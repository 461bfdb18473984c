"""What both ends of the worker's pipe know; standard library only, so that the parent may import it."""

from __future__ import annotations

import json
from typing import Any, Final

Message = dict[str, Any]

INHERITED: Final = 3
"""Added to the rank of an instance of a subclass that has its forward from the class; see ``instances/survey.py``."""


def parsed(line: bytes) -> Message | None:
    """A message; None for what the code under lint wrote into the pipe."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None
