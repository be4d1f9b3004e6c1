"""Preparing: the form is read and answered, resume and letter are written, checked and kept as one packet.

The form comes first, so that questions which may reject the application are known before work is spent on documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar
from uuid import UUID

import sqlalchemy as sa

from interlock import ai
from interlock.apps.jobs.autoapply.answers.bank import SavedAnswer
from interlock.apps.jobs.autoapply.documents import write_letter
from interlock.apps.jobs.autoapply.documents.model_tailor import choice_of_model
from interlock.apps.jobs.autoapply.documents.model_writer import letter_with_model
from interlock.apps.jobs.autoapply.documents.preparing import Documents
from interlock.apps.jobs.autoapply.documents.preparing import prepare as make_documents
from interlock.apps.jobs.autoapply.documents.read_back import FactLost
from interlock.apps.jobs.autoapply.documents.rendering import RenderError
from interlock.apps.jobs.autoapply.documents.values import DroppedText, Letter, Line, Piece
from interlock.apps.jobs.autoapply.errors import GenerationTimeout, InvalidJobUrl, ModelQuotaExceeded
from interlock.apps.jobs.autoapply.machine import PREPARING, READY_TO_SUBMIT
from interlock.apps.jobs.autoapply.models import Application
from interlock.apps.jobs.autoapply.packets.form import Form, context_of, fill, read_form, used_answers, with_letter
from interlock.apps.jobs.autoapply.packets.making import artifacts_of, claims_of, dropped_texts, inputs_of, packet_from
from interlock.apps.jobs.autoapply.packets.stored import KINDS, StoredPacket, stored_packet
from interlock.apps.jobs.autoapply.records import answers, applications
from interlock.apps.jobs.autoapply.records import artifacts as files
from interlock.apps.jobs.autoapply.steps.openness import require_listed
from interlock.apps.jobs.autoapply.submission import adapter_for
from interlock.apps.jobs.autoapply.versions import work
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.records import postings, profiles
from interlock.apps.jobs.finder.records.postings import PostingRow
from interlock.apps.jobs.settings import JobsSettings
from interlock.engine import Claim, artifacts
from interlock.engine.application import Unit, require_claim
from interlock.machine import WORKER, Actor, Go, LimitReached, Outcome, WorkError
from interlock.worker import Task

T = TypeVar("T")
log = logging.getLogger("interlock.autoapply")


class NotPrepared(WorkError):
    """What a packet is made from is missing."""


@dataclass(frozen=True, slots=True)
class Material:
    """What a packet is made from."""

    row: PostingRow
    seeker: Seeker
    profile_digest: str
    bank: tuple[SavedAnswer, ...]
    stored: StoredPacket | None


@work(PREPARING, timeout=timedelta(minutes=15))
def prepare(task: Task[Application]) -> Outcome:
    """Make the packet, or use the one that was made from the same profile, posting and answers."""
    data, settings = task.data, settings_in(task.setting("jobs"))
    given = task.read(material, task.workspace, task.id, data.posting_id, data.packet_hash)
    require_listed(given.row)
    context = context_of(given.row.posting, task.now(), task.id)
    if given.stored is not None and data.packet_inputs == inputs_of(
        given.row, given.profile_digest, given.stored.form.questions, given.bank, context
    ):
        return Go(READY_TO_SUBMIT, reason="neither profile nor posting nor answers changed: the packet is used again")
    read, posting = ReadPosting(given.row.posting), given.row.posting
    adapter = adapter_for(posting, settings)
    form = fill(read_form(adapter, posting), read, given.seeker.profile, given.bank, context)
    task.save({"knockouts": len(form.knockouts), "open_questions": len(form.open_questions), "adapter": adapter.name})
    documents = _documents(task, read, given.seeker, settings)
    form = with_letter(form, documents.letter.text, context)
    claims = claims_of(documents, given.seeker, read)
    packet = packet_from(given.row, given.profile_digest, documents, form)
    kept = artifacts_of(packet, documents, form, claims)
    hashes = task.write(_keep, packet.packet_hash, kept, used_answers(form, given.bank, context))
    known = {
        "resume": hashes["resume.pdf"],
        "cover_letter": hashes["letter.pdf"],
        "packet_hash": packet.packet_hash,
        "packet_inputs": inputs_of(given.row, given.profile_digest, form.questions, given.bank, context),
        "doubts": _doubts(form, claims, dropped_texts(documents)),
        "open_questions": len(form.open_questions),
        "knockouts": len(form.knockouts),
        "adapter": adapter.name,
    }
    return Go(READY_TO_SUBMIT, data=known)


def material(
    conn: sa.Connection, workspace: str, instance_id: UUID, posting_id: str | None, packet_hash: str | None
) -> Material:
    """Read what a packet is made from, in one read."""
    row = postings.find(conn, workspace, UUID(posting_id)) if posting_id else None
    if row is None:
        raise InvalidJobUrl(f"posting {posting_id} does not exist any more; add it again")
    found = profiles.seeker(conn, workspace)
    if found is None:
        raise NotPrepared("there is no profile; `interlock jobs init` writes one, or PUT /api/jobs/profile")
    stored = stored_packet(conn, instance_id, packet_hash, files=False) if packet_hash else None
    return Material(row, found[0], found[1], answers.bank(conn, workspace), stored)


def _documents(task: Task[Application], posting: ReadPosting, seeker: Seeker, settings: JobsSettings) -> Documents:
    """Resume and letter: by rules, or with what a model chose and wrote where one is configured."""
    match = match_posting(posting, seeker)
    if not ai.configured(task):
        return make_documents(posting, seeker, match)
    choice = _asked(lambda: choice_of_model(task, posting, seeker))
    letter = _letter(task, posting, seeker, settings)
    try:
        return make_documents(posting, seeker, match, letter=letter, choice=choice)
    except (RenderError, FactLost) as error:
        # Characters that no font has, or more than a page: the rules' documents can be made.
        said = f"the model's text cannot be set as a document: {error}"
        ruled = write_letter(posting, seeker)
        return make_documents(posting, seeker, match, letter=replace(ruled, note=said[:500]))


def _letter(task: Task[Application], posting: ReadPosting, seeker: Seeker, settings: JobsSettings) -> Letter | None:
    """The model's letter; None for the letter by rules."""
    letter = _asked(lambda: letter_with_model(task, posting, seeker))
    if letter is not None and letter.method == "model" and settings.autoapply.model_line:
        return replace(letter, disclosure=Line((Piece(settings.autoapply.model_line),)))
    return letter


def _asked(ask: Callable[[], T]) -> T | None:
    """The model's answer; None where another call would end the same, so that the rules do it."""
    try:
        return ask()
    except ai.TotalBudgetSpent as error:
        log.warning("the rules write instead of the model: %s", error)
        return None
    except ai.BudgetSpent as error:
        raise LimitReached(str(error), until=error.until) from error
    except ai.ModelQuota as error:
        raise ModelQuotaExceeded(str(error), retry_after=error.retry_after) from error
    except (ai.ModelTimeout, ai.ModelUnavailable) as error:
        raise GenerationTimeout(str(error), retry_after=error.retry_after) from error
    except ai.ModelError as error:
        log.warning("the rules write instead of the model: %s", error)
        return None


def _doubts(form: Form, claims: dict[str, Any], dropped: dict[str, DroppedText]) -> list[str]:
    """Why a person has to look at the packet, whatever the rule says."""
    refused = [
        f"a model wrote in the {name} what your profile does not say: {one.named}; the rules wrote it instead"[:300]
        for name, one in dropped.items()
    ]
    found = [
        f"the {name} says what the profile does not: {', '.join(dict.fromkeys(one.words[:60] for one in part[:5]))}"
        for name, part in claims.items()
    ]
    return [*found, *refused] + [f"may reject you: {one.reason}"[:300] for one in form.knockouts[:5]]


def _keep(
    unit: Unit, claim: Claim, packet_hash: str, kept: list[tuple[str, str, bytes]], used: list[SavedAnswer]
) -> dict[str, str]:
    """Store everything of a packet in one transaction; the hash of each."""
    instance = require_claim(unit, claim)
    hashes = {}
    for name, media_type, content in kept:
        actor = Actor(WORKER, str(claim.worker))
        hashes[name] = artifacts.keep(
            unit, claim.id, name, content, media_type=media_type, actor=actor, step=claim.step
        )
        files.note(
            unit,
            instance.workspace,
            instance.id,
            packet_hash,
            kind=KINDS.get(name, "file"),
            name=name,
            media_type=media_type,
            hash=hashes[name],
            size=len(content),
        )
    answers.count_uses(unit, instance.workspace, used)
    applications.update(unit, instance.id, packet_hash=packet_hash)
    return hashes
