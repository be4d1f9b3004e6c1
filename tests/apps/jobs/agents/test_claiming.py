"""A claim as a block: what is reported while it goes on, and however it is left."""

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
from tests.apps.jobs.agents.claims_service import DEADLINE, ClaimsService, Kind, VirtualPace, agent, eventually, job


async def test_a_claim_goes_from_its_start_to_success(both: ClaimsService, kind: Kind) -> None:
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


async def test_a_job_has_one_agent_at_a_time(service: ClaimsService, kit: Any, kind: Kind) -> None:
    other = agent(kind, service, service.new_token("other", ["claims"]))
    async with kit.claim("ramp", "1") as run:
        with pytest.raises(AlreadyClaimed, match="take another job"):
            await other.claim("ramp", "1").__aenter__()
        await run.fail("the form was gone")
    assert (service.run()[2], service.status()) == ("the form was gone", "discovered")
    async with other.claim("ramp", "1") as run:
        await run.succeed()
    with pytest.raises(NotClaimable, match="applied"):
        await kit.claim("ramp", "1").__aenter__()
    with pytest.raises(UnknownJob, match="'2'"):
        await kit.claim("ramp", "2").__aenter__()
    await other.close()


async def test_the_lease_is_renewed_every_third_of_it(service: ClaimsService, kit: Any) -> None:
    async with kit.claim("ramp", "1") as run:
        await eventually(lambda: kit.pauses)
        for _ in range(7):
            waiting = len(kit.pauses)
            service.advance(101)
            await eventually(lambda: service.left() == 300)
            await eventually(lambda at=waiting: len(kit.pauses) > at)
        assert set(kit.pauses) == {100.0}
        assert not run.lost
        await run.succeed()
    assert service.status() == "applied"


async def test_an_exception_inside_is_reported_and_goes_on(service: ClaimsService, kit: Any) -> None:
    with pytest.raises(ValueError, match="no such field"):
        async with kit.claim("ramp", "1"):
            raise ValueError("no such field")
    assert (service.run()[0::2], service.status()) == (("failed", "ValueError: no such field"), "discovered")


async def test_an_exception_after_the_submission_is_left_to_a_person(service: ClaimsService, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await run.submitted()
            raise TimeoutError

    with pytest.raises(TimeoutError):
        await work()
    assert service.run() == ("submitted", {"agent_error": "TimeoutError"}, None)
    service.expire_leases()
    assert service.status() == "queued"
    assert (await kit.runs_for("1"))[0].requires_verification


async def test_a_block_that_is_left_without_a_word(service: ClaimsService, kit: Any) -> None:
    async with kit.claim("ramp", "1") as run:
        pass
    assert (service.run()[0::2], service.status()) == (("failed", "the agent ended without a report"), "discovered")
    async with kit.claim("ramp", "1") as run:
        await run.submitted()
    assert (service.run(), service.status()) == (("submitted", {}, None), "queued")


async def test_who_lost_the_lease_learns_it_at_the_next_call_and_at_the_end(service: ClaimsService, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            service.steal()
            assert not run.lost
            with pytest.raises(LeaseLost):
                await run.check()
            assert run.lost
            with pytest.raises(LeaseLost):
                await run.submitted()

    with pytest.raises(LeaseLost, match="send nothing"):
        await work()
    assert (service.run()[0], service.status()) == ("lost", "discovered")


async def test_the_renewal_notices_the_loss_by_itself(service: ClaimsService, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await eventually(lambda: kit.pauses)
            service.steal()
            service.advance(100)
            await eventually(lambda: run.lost)

    with pytest.raises(LeaseLost):
        await work()
    assert service.status() == "discovered"


async def test_a_failure_after_the_loss_is_the_agents_own_with_a_note(service: ClaimsService, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await eventually(lambda: kit.pauses)
            service.steal()
            service.advance(100)
            await eventually(lambda: run.lost)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        await work()
    assert "its lease was lost" in caught.value.__notes__[0]
    assert service.run()[0] == "lost"


async def test_who_cannot_renew_in_time_counts_as_lost_without_a_report(service: ClaimsService, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            await eventually(lambda: kit.pauses)
            service.stop()
            service.advance(299)
            await eventually(lambda: 10.0 in kit.pauses)
            assert not run.lost
            service.advance(1)
            assert run.lost
            with pytest.raises(LeaseLost):
                await run.submitted()

    with pytest.raises(LeaseLost, match="could not renew its lease within 300 s"):
        await work()


async def test_the_service_goes_away_in_the_middle(service: ClaimsService, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1") as run:
            service.stop()
            await run.patch({"notes": "x"})

    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        await work()
    assert "could not be reported" in caught.value.__notes__[0]
    assert [pause for pause in kit.pauses if pause < 10]
    assert service.run()[0] == "pending"


async def test_what_was_said_and_not_heard_is_never_turned_into_a_failure(service: ClaimsService, kit: Any) -> None:
    """A success whose words are refused was still a submission."""
    with pytest.raises(BadRequest, match="answers") as caught:
        async with kit.claim("ramp", "1") as run:
            await run.succeed({"answers": "five"})
    assert caught.value.fields == ("artifacts.answers",)
    assert (service.run()[0], service.status()) == ("submitted", "queued")


async def test_a_success_that_was_not_heard_is_said_again_at_the_end(service: ClaimsService, kit: Any) -> None:
    failing = {"on": False}
    _break(kit, failing)
    async with kit.claim("ramp", "1") as run:
        failing["on"] = True
        with pytest.raises(Unavailable, match="503"):
            await run.succeed({"notes": "out"})
        failing["on"] = False
    assert service.run() == ("success", {"notes": "out"}, None)


async def test_nothing_is_said_of_a_run_that_is_over(service: ClaimsService, kit: Any) -> None:
    async with kit.claim("ramp", "1") as run:
        await run.succeed()
        for word in (run.check(), run.patch({"notes": "x"}), run.fail("no")):
            with pytest.raises(RunOver, match="success"):
                await word
    assert service.run() == ("success", {}, None)


async def test_the_same_run_id_goes_on_with_the_same_claim_and_a_fresh_lease(service: ClaimsService, kit: Any) -> None:
    first = kit.claim("ramp", "1", "mine")
    await first.__aenter__()
    service.advance(50)
    async with kit.claim("ramp", "1", "mine") as run:
        assert service.left() == 300
        await run.succeed()
    assert [one.run_id for one in await kit.runs_for("1")] == ["mine"]
    with pytest.raises(LeaseLost):
        await first.__aexit__(None, None, None)


async def test_an_agent_that_says_nothing_for_long_is_not_renewed(service: ClaimsService, kit: Any) -> None:
    async def work() -> None:
        async with kit.claim("ramp", "1", idle=150) as run:
            await eventually(lambda: kit.pauses)
            service.advance(100)
            await eventually(lambda: service.left() == 300 and len(kit.pauses) == 2)
            service.advance(100)
            await eventually(lambda: 10.0 in kit.pauses)
            assert service.left() == 200
            service.expire_leases()
            assert run.lost

    with pytest.raises(LeaseLost):
        await work()
    assert service.status() == "discovered"


def test_a_keyboard_interrupt_is_reported_too(service: ClaimsService) -> None:
    with Client(service.url, service.token, pace=VirtualPace(service)) as client:
        client.add([job()])
        with pytest.raises(KeyboardInterrupt), client.claim("ramp", "1"):
            raise KeyboardInterrupt
        assert service.run()[0::2] == ("failed", "KeyboardInterrupt")


async def test_a_cancelled_task_is_reported_too(service: ClaimsService) -> None:
    kit, inside = agent("asyncio", service), asyncio.Event()
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
    assert service.run()[0::2] == ("failed", "CancelledError")
    await kit.close()


async def test_whoever_cancels_twice_does_not_wait_and_it_is_reported_nevertheless(service: ClaimsService) -> None:
    kit, inside = agent("asyncio", service), asyncio.Event()
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
    await eventually(lambda: service.status() == "discovered")
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
