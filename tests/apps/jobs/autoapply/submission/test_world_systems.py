"""From a board of the demo world, as the finder reads it, to an application that the board's own endpoint received."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.apps.jobs.autoapply.submission import AnswerLost, NotDelivered, adapter_for, deliver
from interlock.apps.jobs.settings import JobsSettings
from interlock.apps.jobs.world import World
from interlock.apps.jobs.world.exchange import KEY
from tests.apps.jobs.world.crawling import client, crawl, source_of, with_detail

from .filled import EMAIL, FILES, filled

KEYED = ("greenhouse", "lever", "ashby", "smartrecruiters", "workable", "personio")


def settings_for(world: World, secret: str = KEY) -> JobsSettings:
    keys = {name: {"system": name, "secret": secret, "host": world.host, "company_id": "1"} for name in KEYED}
    return JobsSettings.model_validate(
        {"private_hosts": [world.host], "timeout": 5, "autoapply": {"keys": keys, "submit_timeout": 2}}
    )


async def sent(world: World, kind: str, settings: JobsSettings) -> dict[str, Any]:
    """The proof of an application for the first posting of the first board of this kind."""
    sources = [row for company in world.described()["companies"] for row in company["sources"] if row["kind"] == kind]
    with client() as http:
        reader, board = source_of(http, world, sources[0])
        one = with_detail(http, reader, board, crawl(http, reader, board).postings[0])
    adapter = adapter_for(one, settings)
    assert adapter.name == kind, adapter.note
    answers: dict[str, Any] = {}
    asked = await adapter.form(one)
    for question in asked:
        key = question.key.lower()
        if question.type == "file" and question.required is not False:
            answers[question.key] = next(iter(FILES))
        elif "email" in key:
            answers[question.key] = EMAIL
        elif "name" in key and question.required:
            answers[question.key] = "Robin" if "first" in key else "Vale" if "last" in key else "Robin Vale"
        elif question.required:
            plain = {"bool": True, "consent": True, "multi": list(question.options)[:1]}
            answers[question.key] = plain.get(question.type, question.options[0] if question.options else "4")
    return await deliver(adapter, filled(one, asked, answers), "key")


@pytest.mark.parametrize("kind", [*KEYED, "recruitee"])
async def test_a_board_receives_the_application_once(world: World, kind: str) -> None:
    proof = await sent(world, kind, settings_for(world))
    (one,) = world.received.list()
    assert (one["kind"], one["by"], proof["adapter"]) == (kind, kind, kind)


@pytest.mark.parametrize("kind", [one for one in (*KEYED, "recruitee") if one != "personio"])
async def test_a_lost_answer_is_never_followed_by_a_second_sending(world: World, kind: str) -> None:
    # Personio's documents go to an address below that of its applications, so a fault would meet them first.
    tail = "applicationForm.submit" if kind == "ashby" else ""
    world.faults.add("lost_answer", f"/{kind}-host/{tail}", method="POST")
    with pytest.raises(AnswerLost):
        await sent(world, kind, settings_for(world))
    assert len(world.received.list()) == 1


@pytest.mark.parametrize("kind", ["greenhouse", "lever", "personio"])
async def test_a_wrong_key_is_refused_and_nothing_arrives(world: World, kind: str) -> None:
    with pytest.raises(NotDelivered, match="key"):
        await sent(world, kind, settings_for(world, "wrong-key"))
    assert world.received.list() == []
