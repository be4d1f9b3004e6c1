"""Batches claims: those that arrive during a commit share the next transaction.

There is no timer: a lone claim is made at once. Under load many claims share the round trips and the commit of one
transaction. Plain refusals, because another run holds the job, are answered together, too: in a race they are the
majority. A claim that needs a closer look (run id used before, lease expired, invalid data) is made alone, as if
there were no batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from interlock.apps.jobs.claims import steps
from interlock.apps.jobs.claims.redis_view import RedisLock
from interlock.engine import Instance
from interlock.http.service import Service
from interlock.store import StoreError

MOST = 32
AT_ONCE = 2
"""Concurrent transactions of a process: while one waits for the disk, the next is prepared."""
ENOUGH = 8
"""The least size of a batch that starts beside another. Fewer claims wait, so that they share a commit."""

Outcome = Instance | steps.Conflict | None
Waiting = tuple[steps.AgentClaim, "asyncio.Future[Instance | None]"]


class ClaimBatcher:
    """The claims of one process that wait for the next transaction."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[Waiting] = []
        self._under_way: set[asyncio.Future[list[Outcome]]] = set()
        self._called = False
        self._at_once = 1 if service.engine.store.one_writer else AT_ONCE

    async def claim(self, asked: steps.AgentClaim) -> Instance | None:
        """The run that holds the job, after the commit; None when the claim must be made alone."""
        loop = asyncio.get_running_loop()
        made: asyncio.Future[Instance | None] = loop.create_future()
        self._waiting.append((asked, made))
        self._schedule(loop)
        return await made

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start a batch once a turn of the event loop brings no more claims."""
        enough = not self._under_way or len(self._waiting) >= ENOUGH
        if not self._called and enough and len(self._under_way) < self._at_once:
            self._called = True
            loop.call_soon(self._wait_for_more, loop, len(self._waiting))

    def _wait_for_more(self, loop: asyncio.AbstractEventLoop, seen: int) -> None:
        if seen < len(self._waiting) < MOST:
            loop.call_soon(self._wait_for_more, loop, len(self._waiting))
        else:
            self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._called = False
        self._waiting = [one for one in self._waiting if not one[1].done()]  # the caller has gone
        group = self._waiting[:MOST]
        del self._waiting[:MOST]
        if not group:
            return
        made = loop.create_task(self._make([asked for asked, _ in group]))
        self._under_way.add(made)
        made.add_done_callback(partial(self._end, loop, group))
        if self._waiting:
            self._schedule(loop)

    async def _make(self, claims: Sequence[steps.AgentClaim]) -> list[Outcome]:
        if self._service.engine.leases.mirror is not None:
            return await self._service.call(self._claim_with_redis, claims)
        made = await self._service.write(partial(steps.claim_many, asked=claims), "claim_job")
        left = [asked for asked, begun in zip(claims, made, strict=True) if begun is None]
        if not left:
            return list(made)
        answers = iter(await self._service.call(self._refused, left))
        return [begun or next(answers) for begun in made]

    def _refused(self, claims: Sequence[steps.AgentClaim]) -> list[steps.Conflict | None]:
        engine = self._service.engine
        try:
            return engine.read(lambda conn: steps.refusals(conn, engine.clock.now(), claims)) if claims else []
        except StoreError:  # the rest of the batch is committed; these are made alone
            return [None] * len(claims)

    def _claim_with_redis(self, claims: Sequence[steps.AgentClaim]) -> list[Outcome]:
        """With Redis: take the locks there first, all in one round trip."""
        engine = self._service.engine
        mirror = engine.leases.mirror
        assert mirror is not None
        names = [(asked.lock, asked.request.run_id) for asked in claims]
        free = mirror.take_many(names, steps.LEASE)
        open_ = [asked for asked, mine in zip(claims, free, strict=True) if mine]
        try:
            made = iter(engine.write(partial(steps.claim_many, asked=open_), "claim_job") if open_ else [])
        except steps.MustClaimAlone:
            return [None] * len(claims)
        except BaseException:
            for asked in open_:
                RedisLock(engine, asked.workspace, asked.lock, asked.request.run_id).give_back()
            raise
        # A lock taken in Redis without a claim goes alone, which corrects what Redis shows.
        refused = iter(self._refused([asked for asked, mine in zip(claims, free, strict=True) if not mine]))
        return [next(made) if mine else next(refused) for mine in free]

    def _end(
        self, loop: asyncio.AbstractEventLoop, group: Sequence[Waiting], made: asyncio.Future[list[Outcome]]
    ) -> None:
        self._under_way.discard(made)
        error = asyncio.CancelledError() if made.cancelled() else made.exception()
        results: list[Outcome] = [None] * len(group) if error is not None else made.result()
        if isinstance(error, steps.MustClaimAlone):
            error = None
        for (_, waits), result in zip(group, results, strict=True):
            if waits.done():
                continue
            if isinstance(error, asyncio.CancelledError):
                waits.cancel()
            elif error is not None:
                waits.set_exception(error)
            elif isinstance(result, steps.Conflict):
                waits.set_exception(result)
            else:
                waits.set_result(result)
        if self._waiting:
            self._schedule(loop)
