"""An exception as the report tells it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .frames import Frame, UserCode, frames_of

MAX_MESSAGE = 2000


@dataclass(frozen=True)
class Failed:
    """``frames`` are the user's frames, outermost first: all of them, or none where no line of theirs was running."""

    type: str
    message: str
    frames: tuple[Frame, ...]

    def to_json(self) -> dict[str, Any]:
        return {"type": self.type, "message": self.message, "frames": [frame.to_json() for frame in self.frames]}


def failed(error: BaseException, user: UserCode) -> Failed:
    return Failed(type(error).__name__, message_of(error), frames_of(user.of_traceback(error.__traceback__)))


def message_of(error: BaseException) -> str:
    """What the exception says, bounded; also where its ``__str__`` itself raises."""
    try:
        text = str(error)
    except Exception as broken:
        text = f"(no message: its __str__ raised {type(broken).__name__})"
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"
