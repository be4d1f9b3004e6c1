"""The handlers: read the file, extract the fields, validate them, compare. Only workers run them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from interlock import ai
from interlock.apps.contracts import naming
from interlock.apps.contracts.comparison import (
    Source,
    compare_offers,
    compare_pair,
    compare_template,
    current_from_fields,
    load_offers,
    load_template,
    page,
    shipped_offers,
    shipped_template,
)
from interlock.apps.contracts.errors import NotRetryable
from interlock.apps.contracts.fields import calibration_store, model_reader
from interlock.apps.contracts.fields.confidence import score
from interlock.apps.contracts.fields.extraction import extract
from interlock.apps.contracts.fields.validate import validate, values_of
from interlock.apps.contracts.fields.vertical import Vertical, load_verticals
from interlock.apps.contracts.ingest import stored
from interlock.apps.contracts.machine import (
    COMPARING,
    COMPLETED,
    EXTRACTING,
    PARSING_PDF,
    REVIEW_REQUIRED,
    VALIDATED,
    VALIDATING,
    contract,
)
from interlock.apps.contracts.models import Contract
from interlock.apps.contracts.review import blind_sample
from interlock.apps.contracts.settings import ContractSettings
from interlock.engine import Instance, artifacts
from interlock.engine.application import find, get
from interlock.machine import Go, Message, Outcome, WorkError
from interlock.store import moment
from interlock.worker import Task

DEFAULTS = ContractSettings()
log = logging.getLogger("interlock.contracts")


class ModelRefused(NotRetryable):
    """The model refused: a wrong key, a wrong request, or content that it does not accept. No retry can help."""


class NoVertical(NotRetryable):
    """There is no longer a vertical of that name."""


class NotReadYet(WorkError):
    """The other contract is still being read."""


class NothingToCompare(NotRetryable):
    """There is nothing of that name to compare with."""


def vertical_of(name: str, settings: ContractSettings) -> Vertical:
    known = load_verticals(settings.verticals)
    if name not in known:
        raise NoVertical(f"there is no vertical {name!r}; there are {', '.join(sorted(known))}")
    return known[name]


def settings_of(task: Task[Contract]) -> ContractSettings:
    found = task.setting("contracts")
    return found if isinstance(found, ContractSettings) else DEFAULTS


def _content(task: Task[Contract], digest: str | None) -> bytes:
    assert digest is not None, "an earlier step stored it"
    return task.read(artifacts.read, task.id, digest)


@contract.work(PARSING_PDF, timeout=timedelta(minutes=30))
def parse_pdf(task: Task[Contract]) -> Outcome:
    """Read the file into pages of text, once; a reprocessed workflow reuses them."""
    unstarted = not task.data.drive
    if task.data.text is not None:
        return Go(EXTRACTING, reason="the pages were stored before", unstarted=unstarted)
    original = _content(task, task.data.pdf)

    def said(number: int, of: int) -> None:
        task.check()
        task.progress(number / max(of, 1), f"page {number} of {of}")

    document = stored.reader().read(original, task.data.filename, said)
    digest = task.keep(stored.DOCUMENT, document.dump(), media_type="application/octet-stream")
    return Go(
        EXTRACTING,
        data={"text": digest, "pages": len(document.pages), "media_type": document.media_type},
        unstarted=unstarted,
    )


@contract.work(EXTRACTING, timeout=timedelta(minutes=30))
def extract_fields(task: Task[Contract]) -> Outcome:
    """Extract fields from the stored text by rules, and by a model if configured; every value has its place."""
    vertical = vertical_of(task.data.vertical, settings_of(task))
    document = task.read(stored.document, task.id, task.data.model_dump())
    try:
        more = model_reader.candidates(task, document, vertical)
    except ai.BudgetSpent as error:
        log.warning("the rules read %s alone: %s", task.id, error)
        more = {}
    except ai.ModelRefused as error:
        raise ModelRefused(str(error)) from error
    found = extract(document, vertical, providers=task.read(calibration_store.providers, vertical), more=more)
    digest = task.keep(stored.EXTRACTION, stored.packed(found.json()), media_type=stored.JSON)
    return Go(VALIDATING, data={"extraction": digest})


@contract.work(VALIDATING, timeout=timedelta(minutes=10))
def validate_fields(task: Task[Contract]) -> Outcome:
    """Estimate the confidence that all required fields are right; below the threshold a person decides."""
    settings = settings_of(task)
    vertical = vertical_of(task.data.vertical, settings)
    document = task.read(stored.document, task.id, task.data.model_dump())
    extraction = stored.extraction(_content(task, task.data.extraction))
    today = moment(task.read(_now, task.id)).date()
    problems = validate(
        vertical, values_of(extraction), today=today, providers=task.read(calibration_store.providers, vertical)
    )
    table = task.read(calibration_store.calibration, vertical.name)
    data_now, original = task.data.model_dump(), _content(task, task.data.pdf)
    scored = score(
        document,
        vertical,
        extraction,
        problems,
        table,
        cap_uncalibrated=settings.review_uncalibrated,
        unseen=stored.unseen(data_now, document, original, extraction),
    )
    read = scored.json()["fields"]
    stored.with_boxes(data_now, document, original, read)
    digest = task.keep(stored.FIELDS, stored.packed(read), media_type=stored.JSON)
    data: dict[str, Any] = {
        "fields": digest,
        "values": short(vertical, read),
        "parties": naming.parties_of(read),
        "problems": [problem.message for problem in scored.problems],
        "reasons": list(scored.reasons),
        "needs_review": scored.needs_review,
        "final_confidence": scored.final_confidence,
        "calibration": scored.calibration_version,
    }
    if not scored.needs_review:
        asks = (blind_sample.ask(vertical),) if blind_sample.chosen(task.id, settings.blind_share) else ()
        return Go(
            VALIDATED, data=data, reason=f"{scored.final_confidence} % sure", unstarted=not task.data.drive, asks=asks
        )
    why = f"{scored.final_confidence} % sure, {vertical.threshold} % needed"
    return Go(
        REVIEW_REQUIRED,
        data=data,
        reason="; ".join([why, *scored.reasons][:4]),
        messages=_asked(task, data["parties"], settings),
    )


def _now(conn: sa.Connection, instance_id: UUID) -> int:
    """When it entered its present state: that day counts for validation, however late the step runs."""
    return get(conn, instance_id, machine=contract.name).entered_at


def _asked(task: Task[Contract], parties: list[str], settings: ContractSettings) -> tuple[Message, ...]:
    called = naming.called({"filename": task.data.filename, "parties": parties})
    body = {"contract": called, "workflow": str(task.id), "page": f"/ui/contracts/{task.id}/review"}
    subject = f"{called} waits for a review"
    return tuple(
        Message(channel, whom, subject, body) for channel, _, whom in (one.partition(":") for one in settings.notify)
    )


def short(vertical: Vertical, read: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The required fields, shortened for lists."""
    return {f.name: read[f.name]["normalised"] for f in vertical.required if f.name in read}


# -- comparing


@contract.work(COMPARING, timeout=timedelta(minutes=30))
def compare(task: Task[Contract]) -> Outcome:
    settings = settings_of(task)
    mine = task.read(source_of, task.id, task.workspace)
    wanted = task.data.compare_with or ""
    today = moment(task.read(_now, task.id)).date()
    comparison: Any
    if wanted and wanted not in {"template", "offers"} and not wanted.startswith(("template:", "offers:")):
        other = task.read(source_of, _id(wanted), task.workspace)
        comparison = compare_pair(other, mine)
    elif wanted.startswith("offers") or (not wanted and task.data.vertical == "energy"):
        offers = load_offers(*_file(settings, wanted)) if ":" in wanted else shipped_offers()
        comparison = compare_offers(current_from_fields(mine.fields, mine.name), offers, today)
    else:
        template = load_template(*_file(settings, wanted)) if ":" in wanted else shipped_template(task.data.vertical)
        if template is None:
            raise NothingToCompare(
                f"there is no template for the vertical {task.data.vertical!r}; name what to compare it with"
            )
        comparison = compare_template(mine, template)
    digest = task.keep(stored.COMPARISON, comparison.model_dump_json(indent=1).encode(), media_type=stored.JSON)
    task.keep("comparison.html", page(comparison).encode(), media_type="text/html")
    return Go(
        COMPLETED,
        data={"comparison": digest, "comparison_kind": comparison.kind, "verdict": comparison.summary.verdict},
    )


def comparable(conn: sa.Connection, wanted: str, workspace: str, settings: ContractSettings) -> None:
    """Raise NothingToCompare early if there is nothing of that name."""
    if wanted in {"template", "offers"}:
        return
    if wanted.startswith(("template:", "offers:")):
        _file(settings, wanted)
        return
    _contract(conn, _id(wanted), workspace)


def _file(settings: ContractSettings, wanted: str) -> tuple[str, str]:
    """A user's template or list of offers, from the configured folder."""
    name = wanted.partition(":")[2]
    path = settings.templates / f"{name}.yaml" if settings.templates else None
    if path is None or not name.replace("-", "").replace("_", "").isalnum() or not path.is_file():
        raise NothingToCompare(f"there is no file {name!r} among the templates of the configuration")
    return path.read_text("utf-8"), name


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise NothingToCompare(f"{text!r} is not a workflow's id, `template` or `offers`") from None


def source_of(conn: sa.Connection, instance_id: UUID, workspace: str) -> Source:
    """A contract as one side of a comparison."""
    found = _contract(conn, instance_id, workspace)
    if not found.data.get("text"):
        if found.finished_at is None:
            raise NotReadYet(f"the contract {instance_id} was not read yet")
        raise NothingToCompare(f"the contract {instance_id} could not be read")
    return Source(
        found.data["filename"], stored.document(conn, found.id, found.data), stored.fields(conn, found.id, found.data)
    )


def _contract(conn: sa.Connection, instance_id: UUID, workspace: str) -> Instance:
    found = find(conn, instance_id, machine=contract.name, workspace=workspace)
    if found is None:
        raise NothingToCompare(f"there is no workflow {instance_id} to compare it with")
    if found.erased:
        raise NothingToCompare(f"the data of workflow {instance_id} was erased; there is nothing to compare it with")
    return found
