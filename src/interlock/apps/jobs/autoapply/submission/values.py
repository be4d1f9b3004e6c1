"""The values of a submission: the filled form that is sent, and the outcomes of sending it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any

from interlock.apps.jobs.autoapply.documents.packet import Packet
from interlock.apps.jobs.finder.postings.posting import Posting, Question

MEDIA_TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "doc": "application/msword",
    "txt": "text/plain",
    "rtf": "application/rtf",
}


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter can do for a posting."""

    read_form: bool = False
    """It reads the questions of the form; otherwise the form may ask more than is known."""
    prefill: bool = False
    """It brings the answers into the form's own shape."""
    submit: bool = False
    """It sends the application itself."""
    needs_key: bool = False
    """Sending needs a key of the employer (`[jobs.autoapply.keys]`)."""
    needs_person: bool = False
    """A person sends the application."""


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A packet with everything that sending it needs."""

    packet: Packet
    posting: Posting
    questions: tuple[Question, ...]
    """The questions that `packet.answers` answers, in the order of the form. A file question is answered with the name
    of a file, a choice with the text of its option, several choices with a list of them."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """File name → content. `packet.files` has the hash of each."""

    def changed_files(self) -> list[str]:
        """Names of files that are missing, or that are not those of the packet."""
        named = self.packet.files
        wrong = [name for name in named if name not in self.files or _digest(self.files[name]) != named[name]]
        return wrong + [name for name in self.files if name not in named]


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def media_type(name: str) -> str:
    """The media type of a file by the end of its name."""
    return MEDIA_TYPES.get(name.rpartition(".")[2].lower(), "application/octet-stream")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps a form from being sent."""

    message: str
    question: str | None = None
    """The key of the question that it is about."""

    def json(self) -> dict[str, Any]:
        return {"question": self.question, "message": self.message}


@dataclass(frozen=True, slots=True)
class Proof:
    """What the site answered when it accepted an application."""

    adapter: str
    status: int
    reference: str | None = None
    """The site's own id of the application, where it names one."""
    confirmation_url: str | None = None
    answer_hash: str | None = None
    """SHA-256 of the body of the answer."""

    def json(self) -> dict[str, Any]:
        """The proof as it is stored with the effect."""
        return {
            "adapter": self.adapter,
            "status": self.status,
            "reference": self.reference,
            "confirmation_url": self.confirmation_url,
            "answer_hash": self.answer_hash,
        }


class BlockKind(StrEnum):
    """Why an application was not taken although nothing is wrong with it."""

    PERSON = "person"
    """Only a person can send it here."""
    KEY = "key"
    """The site wants a key, or refuses the configured one."""
    CHALLENGE = "challenge"
    """The site wants proof of a human: a captcha, a security code."""
    LOGIN = "login"
    CLOSED = "closed"
    """The site does not know the posting any more."""
    BUSY = "busy"
    """The site asks for a pause; `retry_after` says how long."""
    ADDRESS = "address"
    """The address may not be used: private, or of another host than the system's."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """The site accepted the application."""

    proof: Proof


@dataclass(frozen=True, slots=True)
class Rejected:
    """The site refused the application, or it was never sent because of its problems. It did not arrive."""

    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Blocked:
    """The application did not arrive, for a reason that is not in its answers."""

    kind: BlockKind
    reason: str
    retry_after: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Bytes left and no valid answer came: it may have arrived. It must never be sent again by itself."""

    reason: str


Outcome = Submitted | Rejected | Blocked | Unknown


@dataclass(frozen=True, slots=True)
class HandOverItem:
    """One field of a form as a person fills it in."""

    question: Question
    value: str | None
    """The text to copy; None for a file, and where nothing is to be entered."""
    file: str | None = None
    """The name of the file to upload."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """What a person needs to send an application by hand, in the order of the form."""

    url: str | None
    """The address of the form."""
    items: tuple[HandOverItem, ...]
    note: str = ""
    """Why a person has to do it."""
