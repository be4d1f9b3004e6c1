"""A claim as a block: what is told of it while it goes on, and however it is left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlock.apps.jobs.agents import (
    AlreadyClaimed,
    BadRequest,
    Client,
    LeaseLost,
    NotClaimable,
    RunOver,
    Unavailable,
    UnknownJob,
)
from tests.apps.jobs.agents.town import DEADLINE, Kind, Town, TownPace, agent, eventually, job


async def test_a_claim_goes_from_its_start_to_success(both: Town, kind: Kind) -> None:
    kit = agent(kind, both)
    await kit.add([job()])
    async with kit.claim("ramp", "1", variant_id="v2", artifacts={"resume_url": "s3://v2.pdf"}) as run:
        assert (run.run.status, run.run.agent, run.lease.seconds, run.lost) == ("pending", "kit", 300, False)
        assert both.status() == "queued"
        await run.patch({"answers": {"yoe": "5"}})
        await run.check()
        assert (await run.submitted({"answers": {"visa": "no"}})).status == "submitted"
        ended = await run.succeed({"confirmation_url": "https://ramp.example/1"})
    assert ended.artifacts == {
        "resume_url": "s3://v2.pdf",
        "answers": {"yoe": "5", "visa": "no"},
        "confirmation_url": "https://ramp.example/1",
    }
    assert (both.status(), both.left()) == ("applied", 0)
    assert [one.status for one in await kit.runs_for("1", "ramp")] == ["success"]
    await kit.close()


async def test_a_job_has_one_agent_at_a_time(town: Town, kit: Any, kind: Kind) -> None:
    other = agent(kind, town, town.new_token("other", ["claims"]))
    async with kit.claim("ramp", "1") as run:
        with pytest.raises(AlreadyClaimed, match="take another job"):
            await other.claim("ramp", "1").__aenter__()
        await run.fail("the form was gone")
    assert (town.run()[2], town.status()) == ("the form was gone", "discovered")
    async with other.claim("ramp", "1") as run:
        await run.succeed()
    with pytest.raises(NotClaimable, match="applied"):
        await kit.claim("ramp", "1").__aenter__()
    with pytest.raises(UnknownJob, match="'2'"):
        await kit.claim("ramp", "2").__aenter__()
    await other.close()


async def test_the_lease_is_renewed_every_third_of_it(town: Town, kit: Any) -> None:
    async with kit.claim("ramp", "1") as run:
        await eventually(lambda: kit.pauses)
        for _ in range(7):
            waiting = len(kit.pauses)
            town.advance(101)
            await eventually(lambda: town.left() == 300)
            await eventually(lambda at=waiting: len(kit.pauses) > at)
        assert set(kit.pauses) == {100.0}
        assert not run.lost
        await run.succeed()
    assert town.status() == "applied"


async def test_an_exception_inside_is_reported_and_goes_on(town: Town, kit: Any) -> None:
    with pytest.raises(ValueError, match="no such field"):
        async with kit.claim("ramp", "1"):
            raise ValueError("no such field")
    assert (town.run()[0::2], town.status()) == (("failed", "ValueError: no such field"), "discovered")


async def test_an_exception_after_the_submission_is_left_to_a_person(town: Town, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await run.submitted()
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await work()
    assert town.run() == ("submitted", {"agent_error": "TimeoutError"}, None)
    town.expire_leases()
    assert town.status() == "queued"
    assert (await kit.runs_for("1"))[0].requires_verification


async def test_a_block_that_is_left_without_a_word(town: Town, kit: Any) -> None:
    async with kit.claim("ramp", "1") as run:
        pass
    assert (town.run()[0::2], town.status()) == (("failed", "the agent ended without a report"), "discovered")
    async with kit.claim("ramp", "1") as run:
        await run.submitted()
    assert (town.run(), town.status()) == (("submitted", {}, None), "queued")


async def test_who_lost_the_lease_is_told_at_the_next_word_and_at_the_end(town: Town, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            town.steal()
            assert not run.lost
            with pytest.raises(LeaseLost):
                await run.check()
            assert run.lost
            with pytest.raises(LeaseLost):
                await run.submitted()

    with pytest.raises(LeaseLost, match="send nothing"):
        await work()
    assert (town.run()[0], town.status()) == ("lost", "discovered")


async def test_the_renewal_notices_the_loss_by_itself(town: Town, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await eventually(lambda: kit.pauses)
            town.steal()
            town.advance(100)
            await eventually(lambda: run.lost)

    with pytest.raises(LeaseLost):
        await work()
    assert town.status() == "discovered"


async def test_a_failure_after_the_loss_is_the_agents_own_with_a_note(town: Town, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await eventually(lambda: kit.pauses)
            town.steal()
            town.advance(100)
            await eventually(lambda: run.lost)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        await work()
    assert "its lease was lost" in caught.value.__notes__[0]
    assert town.run()[0] == "lost"


async def test_who_cannot_renew_in_time_counts_as_lost_without_being_told(town: Town, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await eventually(lambda: kit.pauses)
            town.stop()
            town.advance(299)
            await eventually(lambda: 10.0 in kit.pauses)
            assert not run.lost
            town.advance(1)
            assert run.lost
            with pytest.raises(LeaseLost):
                await run.submitted()

    with pytest.raises(LeaseLost, match="could not renew its lease within 300 s"):
        await work()


async def test_the_service_goes_away_in_the_middle(town: Town, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            town.stop()
            await run.patch({"notes": "x"})

    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        await work()
    assert "could not be reported" in caught.value.__notes__[0]
    assert [pause for pause in kit.pauses if pause < 10]
    assert town.run()[0] == "pending"


async def test_what_was_said_and_not_heard_is_never_turned_into_a_failure(town: Town, kit: Any) -> None:
    """A success whose words are refused was still a submission."""
    with pytest.raises(BadRequest, match="answers") as caught:
        async with kit.claim("ramp", "1") as run:
            await run.succeed({"answers": "five"})
    assert caught.value.fields == ("artifacts.answers",)
    assert (town.run()[0], town.status()) == ("submitted", "queued")


async def test_a_success_that_was_not_heard_is_said_again_at_the_end(town: Town, kit: Any) -> None:
    failing = {"on": False}
    _break(kit, failing)
    async with kit.claim("ramp", "1") as run:
        failing["on"] = True
        with pytest.raises(Unavailable, match="503"):
            await run.succeed({"notes": "out"})
        failing["on"] = False
    assert town.run() == ("success", {"notes": "out"}, None)


async def test_nothing_is_said_of_a_run_that_is_over(town: Town, kit: Any) -> None:
    async with kit.claim("ramp", "1") as run:
        await run.succeed()
        for word in (run.check(), run.patch({"notes": "x"}), run.fail("no")):
            with pytest.raises(RunOver, match="success"):
                await word
    assert town.run() == ("success", {}, None)


async def test_the_same_run_id_goes_on_with_the_same_claim_and_a_fresh_lease(town: Town, kit: Any) -> None:
    first = kit.claim("ramp", "1", "mine")
    await first.__aenter__()
    town.advance(50)
    async with kit.claim("ramp", "1", "mine") as run:
        assert town.left() == 300
        await run.succeed()
    assert [one.run_id for one in await kit.runs_for("1")] == ["mine"]
    with pytest.raises(LeaseLost):
        await first.__aexit__(None, None, None)


async def test_an_agent_that_says_nothing_for_long_is_not_renewed(town: Town, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1", idle=150) as run:
            await eventually(lambda: kit.pauses)
            town.advance(100)
            await eventually(lambda: town.left() == 300 and len(kit.pauses) == 2)
            town.advance(100)
            await eventually(lambda: 10.0 in kit.pauses)
            assert town.left() == 200
            town.expire_leases()
            assert run.lost

    with pytest.raises(LeaseLost):
        await work()
    assert town.status() == "discovered"


def test_a_keyboard_interrupt_is_reported_too(town: Town) -> None:
    with Client(town.url, town.token, pace=TownPace(town)) as client:
        client.add([job()])
        with pytest.raises(KeyboardInterrupt), client.claim("ramp", "1"):
            raise KeyboardInterrupt
        assert town.run()[0::2] == ("failed", "KeyboardInterrupt")


async def test_a_cancelled_task_is_reported_too(town: Town) -> None:
    kit, inside = agent("asyncio", town), asyncio.Event()
    await kit.add([job()])

    async def work() -> None:
        async with kit.claim("ramp", "1"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.wait_for(inside.wait(), DEADLINE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert town.run()[0::2] == ("failed", "CancelledError")
    await kit.close()


async def test_whoever_cancels_twice_does_not_wait_and_it_is_reported_nevertheless(town: Town) -> None:
    kit, inside = agent("asyncio", town), asyncio.Event()
    await kit.add([job()])

    async def work() -> None:
        async with kit.claim("ramp", "1"):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.wait_for(inside.wait(), DEADLINE)
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: town.status() == "discovered")
    await eventually(lambda: len(asyncio.all_tasks()) == 1)
    await kit.close()


def _break(kit: Any, failing: dict[str, bool]) -> None:
    """Lets the service be overloaded for a while, as seen from the agent: its transport answers 503."""
    import httpx2

    client = kit.client if hasattr(kit, "client") else kit
    http = client._http
    inner = http._transport

    class Sometimes(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            return httpx2.Response(503) if failing["on"] else inner.handle_request(request)

        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if failing["on"]:
                return httpx2.Response(503)
            found: httpx2.Response = await inner.handle_async_request(request)
            return found

        def close(self) -> None:
            inner.close()

        async def aclose(self) -> None:
            await inner.aclose()

    http._transport = Sometimes()
