"""The demo world's forms are read, filled in and sent over HTTP, each application at most once."""

from __future__ import annotations

import socket
from datetime import date, timedelta
from hashlib import sha256
from typing import Any

import pytest

from interlock.apps.jobs.autoapply.answers import Applicant, FormContext, resolve_form
from interlock.apps.jobs.autoapply.errors import JobClosed, SiteUnreachable
from interlock.apps.jobs.autoapply.submission import (
    Adapter,
    AnswerLost,
    Blocked,
    BlockKind,
    FilledForm,
    NotDelivered,
    PostingGone,
    Rejected,
    SiteNotReached,
    Submitted,
    Unknown,
    adapter_for,
    deliver,
)
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.profiles.profile_file import check_profile
from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World

from .filled import EMAIL, FILES, NAME, filled, posting

ANSWERS = {"name": NAME, "email": EMAIL, "resume": "resume.pdf", "authorised": "Yes"}


def page(world: World, key: str = "booking-backend", company: str = "tidewater") -> Posting:
    return posting(url=f"{world.url}/{company}/jobs/{key}", external_id=key)


async def made(world: World, settings: JobsSettings, **answers: Any) -> tuple[Adapter, FilledForm]:
    one = page(world)
    adapter = adapter_for(one, settings)
    return adapter, filled(one, await adapter.form(one), {**ANSWERS, **answers})


async def test_its_form_is_read_from_the_page(world: World, settings: JobsSettings) -> None:
    adapter = adapter_for(page(world), settings)
    assert adapter.name == "demo_world"
    assert adapter.capabilities.submit
    assert not adapter.capabilities.needs_person
    asked = {one.key: one for one in await adapter.form(page(world))}
    assert list(asked) == ["name", "email", "phone", "resume", "cover_letter", "authorised", "why"]
    assert {name for name, one in asked.items() if one.required} == {"name", "email", "resume", "authorised"}
    assert (asked["resume"].type, asked["cover_letter"].type, asked["authorised"].type) == ("file", "long", "single")
    assert asked["authorised"].options == ("Yes", "No")


async def test_the_resolver_answers_what_it_knows(world: World, settings: JobsSettings) -> None:
    one = page(world)
    profile = check_profile({"identity": {"name": NAME, "email": EMAIL, "phone": "+49 30 5550142"}})
    who = Applicant(profile, documents={"resume": "resume.pdf"})
    asked = await adapter_for(one, settings).form(one)
    found = {a.question.key: a.answer for a in resolve_form(asked, who, FormContext("html", date(2026, 1, 1)))}
    assert (found["name"].value, found["email"].value, found["resume"].value) == (NAME, EMAIL, "resume.pdf")
    assert found["authorised"].needs_user


async def test_an_application_arrives_as_it_was_approved(world: World, settings: JobsSettings) -> None:
    adapter, form = await made(world, settings, cover_letter="Grüße\nfrom 横浜")
    assert adapter.validate(form) == ()
    proof = await deliver(adapter, form, "key-1")
    (one,) = world.received.list()
    assert one["fields"] == {"name": NAME, "email": EMAIL, "authorised": "Yes", "cover_letter": "Grüße\nfrom 横浜"}
    assert [(file["field"], file["filename"], file["sha256"]) for file in one["files"]] == [
        ("resume", "resume.pdf", sha256(FILES["resume.pdf"]).hexdigest())
    ]
    assert proof["adapter"] == "demo_world"
    assert len(proof["reference"]) == 8
    assert len(proof["answer_hash"]) == 64


async def test_every_page_with_a_form_can_be_sent(world: World, settings: JobsSettings) -> None:
    for company in world.described()["companies"]:
        seen = set()
        for row in company["postings"]:
            if row["kind"] in seen:
                continue
            seen.add(row["kind"])
            one = posting(ats=row["kind"], url=row["url"])
            adapter = adapter_for(one, settings)
            asked = await adapter.form(one)
            answers: dict[str, Any] = {"name": NAME, "email": EMAIL, "resume": "resume.pdf"}
            for question in asked:
                if question.required and question.key not in answers:
                    answers[question.key] = (
                        question.options[0] if question.options else True if question.type == "bool" else "4"
                    )
            outcome = await adapter.submit(filled(one, asked, answers if asked else {}), "key")
            if row["kind"] == "workday":
                assert isinstance(outcome, Blocked)
                assert outcome.kind is BlockKind.LOGIN
            else:
                assert isinstance(outcome, Submitted), (row["url"], outcome)


async def test_what_is_missing_is_named_and_nothing_is_sent(world: World, settings: JobsSettings) -> None:
    adapter, form = await made(world, settings, authorised="")
    with pytest.raises(NotDelivered, match="needs an answer"):
        await deliver(adapter, form, "key")
    outcome = await adapter.submit(form, "key")
    assert isinstance(outcome, Rejected)
    assert [one.question for one in outcome.problems] == ["authorised"]
    assert world.received.list() == []


async def test_a_field_that_is_gone_from_the_form_stops_it(world: World, settings: JobsSettings) -> None:
    adapter, form = await made(world, settings, shoe_size="43")
    outcome = await adapter.submit(form, "key")
    assert isinstance(outcome, Rejected)
    assert [one.question for one in outcome.problems] == ["shoe_size"]
    assert world.received.list() == []


async def test_an_answer_that_is_lost_is_unknown_and_never_sent_again(world: World, settings: JobsSettings) -> None:
    adapter, form = await made(world, settings)
    world.faults.add("lost_answer", "/apply/", method="POST")
    with pytest.raises(AnswerLost):
        await deliver(adapter, form, "key")
    assert len(world.received.list()) == 1


@pytest.mark.parametrize("fault", ["cut_off", "slow", "html", "server_error", "redirect_loop"])
async def test_what_goes_wrong_after_the_first_byte_is_unknown(
    world: World, settings: JobsSettings, fault: str
) -> None:
    adapter, form = await made(world, settings)
    world.faults.add(fault, "/apply/", method="POST", seconds=30)
    outcome = await adapter.submit(form, "key")
    assert isinstance(outcome, Unknown), outcome
    assert sum(one["seen"] for one in world.faults.list()) == 1
    assert len(world.received.list()) <= 1


async def test_a_busy_site_is_asked_later(world: World, settings: JobsSettings) -> None:
    adapter, form = await made(world, settings)
    world.faults.add("too_many_requests", "/apply/", method="POST", seconds=90)
    with pytest.raises(SiteNotReached) as caught:
        await deliver(adapter, form, "key")
    assert caught.value.retry_after == timedelta(seconds=90)
    assert world.received.list() == []


async def test_a_posting_that_is_gone(world: World, settings: JobsSettings) -> None:
    adapter, form = await made(world, settings)
    world.faults.add("not_found", "/tidewater/jobs/")
    with pytest.raises(PostingGone):
        await deliver(adapter, form, "key")
    with pytest.raises(JobClosed):
        await adapter.form(page(world))


async def test_before_the_first_byte_it_may_be_tried_again(world: World, settings: JobsSettings) -> None:
    adapter, form = await made(world, settings)
    world.faults.add("server_error", "/tidewater/jobs/", method="GET")
    with pytest.raises(SiteUnreachable):
        await adapter.submit(form, "key")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{closed.getsockname()[1]}"
    away = posting(url=f"http://{host}/tidewater/jobs/booking-backend")
    given = settings.model_copy(
        update={
            "private_hosts": [host],
            "autoapply": settings.autoapply.model_copy(update={"demo_host": host}),
        }
    )
    with pytest.raises(SiteUnreachable):
        await adapter_for(away, given).form(away)


def test_only_the_host_that_was_named_is_the_demo_world(world: World, settings: JobsSettings) -> None:
    assert adapter_for(posting(url="https://jobs.example.org/1"), settings).name == "assisted"
    assert (
        adapter_for(posting(url=world.url.replace("127.0.0.1", "demo@127.0.0.1") + "/x"), settings).name == "assisted"
    )
    unnamed = settings.model_copy(update={"private_hosts": []})
    adapter = adapter_for(page(world), unnamed)
    assert (adapter.name, "private_hosts" in adapter.note) == ("assisted", True)
