"""Messages as they are stored, made up."""

from __future__ import annotations

from uuid_utils.compat import uuid7

from interlock.apps.sessions.conversation.messages import Message


def message(text: str, kind: str = "text", seq: int = 1) -> Message:
    return Message(uuid7(), uuid7(), uuid7(), seq, kind, text, len(text), None, 0)
