"""Bodies of requests, in the spellings that clients use."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any
from uuid import UUID

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from interlock.apps.sessions.control import NewPrompt, NewSession
from interlock.apps.sessions.conversation.attachments import MOST, MOST_BYTES, File
from interlock.http.problems import BadRequest

TEXTS = ("content", "prompt", "text", "message", "messages", "data")
DEPTH = 20
Short = Annotated[str, Field(max_length=300)]
Reason = Annotated[str, Field(max_length=2000)]
LARGEST = 2 * MOST_BYTES
"""Bytes of a body with attachments: base64 is a third more."""


def named(*names: str) -> AliasChoices:
    return AliasChoices(*names)


class Body(BaseModel):
    """What all bodies share."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class AttachmentBody(Body):
    """A file: its content as text, or as base64."""

    name: Short = "file"
    media_type: Annotated[str, Field(max_length=100, pattern=r"^[\w.+-]+/[\w.+-]+$")] = Field(
        "text/plain", validation_alias=named("media_type", "mediaType", "mime_type", "mimeType")
    )
    text: str | None = None
    content_base64: str | None = Field(None, validation_alias=named("content_base64", "contentBase64"))

    @model_validator(mode="after")
    def _one(self) -> AttachmentBody:
        if (self.text is None) == (self.content_base64 is None):
            raise ValueError("give either text or content_base64")
        return self

    def file(self) -> File:
        if self.text is not None:
            return File(self.name, self.media_type, self.text.encode("utf-8", "replace"))
        try:
            return File(self.name, self.media_type, base64.b64decode(self.content_base64 or "", validate=True))
        except (binascii.Error, ValueError):
            raise BadRequest(f"the content of the attachment {self.name[:80]!r} is not base64") from None


class PromptPart(Body):
    """What the agent is asked to do: a text, a list of messages, or any JSON."""

    content: Any = Field(
        None,
        examples=["Write down the opening hours"],
        description="The text. `prompt`, `text`, `message`, `messages` and `data` are accepted.",
    )
    prompt: Any = None
    text: Any = None
    message: Any = None
    messages: Any = None
    data: Any = None
    attachments: list[AttachmentBody] = Field(default_factory=list, max_length=MOST)

    @property
    def has_prompt(self) -> bool:
        return any(getattr(self, name) is not None for name in TEXTS)

    def new_prompt(self) -> NewPrompt:
        given = {name: getattr(self, name) for name in TEXTS if getattr(self, name) is not None}
        if len(given) != 1:
            have = f"these are {', '.join(given)}" if given else "there is none"
            raise BadRequest(f"give the prompt in exactly one of {', '.join(TEXTS)}; {have}", place="body")
        data = next(iter(given.values()))
        return NewPrompt(text_of(data), data, tuple(one.file() for one in self.attachments))


class SessionBody(Body):
    """A new session."""

    repo: Short = Field("", examples=["harbour/shop"], description="A name of `[sessions.repos]`.")
    target_branch: Short = Field("main", validation_alias=named("target_branch", "targetBranch"))
    parent: UUID | None = Field(None, validation_alias=named("parent", "parent_id", "parentId"))
    title: Short = ""
    agent: Short = Field("", description="`demo`, `claude`, or one of `[sessions.agents]`; empty for the default one.")
    workspace: Short | None = None

    def new_session(self) -> NewSession:
        return NewSession(self.repo, self.target_branch, self.title, self.agent, self.parent)


class SessionWithPromptBody(SessionBody, PromptPart):
    """A new session and its first prompt."""


class PromptBody(PromptPart):
    """A further prompt."""

    session_id: UUID = Field(validation_alias=named("session_id", "sessionId"))


class ForkBody(PromptPart):
    """A session that continues another one."""

    title: Short = ""
    target_branch: Short = Field("", validation_alias=named("target_branch", "targetBranch"))


class SessionPatch(Body):
    """Changes of a session."""

    title: Short | None = Field(None, examples=["Opening hours"])
    target_branch: Short | None = Field(None, validation_alias=named("target_branch", "targetBranch"))
    ui_status: Short | None = Field(None, validation_alias=named("ui_status", "uiStatus", "status"))
    force: bool = Field(False, description="Set a status that the machine does not allow; for owners, with a reason.")
    reason: Reason = ""


class ReasonBody(Body):
    """Why."""

    reason: Reason = Field("", examples=["it is merged"])


class MergeBody(Body):
    """A merge of the session's branch."""

    message: Annotated[str, Field(max_length=5000, examples=["Opening hours"])] = ""


def text_of(data: Any, depth: int = 0) -> str:
    """The text of a prompt, whatever form it was sent in; the JSON itself where it has none of the known names."""
    if isinstance(data, str):
        return data
    if depth < DEPTH and isinstance(data, dict):
        for name in TEXTS:
            if data.get(name) is not None:
                return text_of(data[name], depth + 1)
    if depth < DEPTH and isinstance(data, list):
        asked = [one for one in data if not isinstance(one, dict) or one.get("role", "user") == "user"]
        if asked and all(isinstance(one, str | dict) for one in asked):
            return "\n\n".join(text_of(one, depth + 1) for one in asked)
    return json.dumps(data, ensure_ascii=False)
