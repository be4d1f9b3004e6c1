"""Claims that arrive while others are being committed are made together, in the next transaction.

There is no timer: a lone claim is made at once. Under load one transaction carries many, so a claim pays for a small
part of its round trips and of its commit. Those who are plainly refused, because another run holds the job, are told
together, too: in a race they are the most. Whoever needs a closer look (the run id was used, the lease ran out, the
data does not fit) is looked at alone, exactly as if there were no others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from interlock.apps.jobs.claims import steps
from interlock.apps.jobs.claims.redis_view import Shown
from interlock.engine import Instance
from interlock.http.service import Service
from interlock.store import StoreError

MOST = 32
AT_ONCE = 2
"""Transactions under way in a process: while one waits for the disk, the next is prepared."""
ENOUGH = 8
"""How many it takes to begin beside another; fewer wait for its end, or one of them would get a commit of its own."""

Answer = Instance | steps.Conflict | None
Waiting = tuple[steps.Asked, "asyncio.Future[Instance | None]"]


class Gathering:
    """What waits for the next transaction, in one process."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[Waiting] = []
        self._under_way: set[asyncio.Future[list[Answer]]] = set()
        self._called = False
        self._at_once = 1 if service.engine.store.one_writer else AT_ONCE

    async def claim(self, asked: steps.Asked) -> Instance | None:
        """The run that holds the job, after the commit; None when it has to be looked at alone."""
        loop = asyncio.get_running_loop()
        made: asyncio.Future[Instance | None] = loop.create_future()
        self._waiting.append((asked, made))
        self._soon(loop)
        return await made

    def _soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """When a turn of the loop brings no more: those who come at once go together, and nobody waits for a clock."""
        enough = not self._under_way or len(self._waiting) >= ENOUGH
        if not self._called and enough and len(self._under_way) < self._at_once:
            self._called = True
            loop.call_soon(self._look, loop, len(self._waiting))

    def _look(self, loop: asyncio.AbstractEventLoop, seen: int) -> None:
        if seen < len(self._waiting) < MOST:
            loop.call_soon(self._look, loop, len(self._waiting))
        else:
            self._begin(loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._called = False
        self._waiting = [one for one in self._waiting if not one[1].done()]  # whoever left wants no claim
        group = self._waiting[:MOST]
        del self._waiting[:MOST]
        if not group:
            return
        made = loop.create_task(self._make([asked for asked, _ in group]))
        self._under_way.add(made)
        made.add_done_callback(partial(self._end, loop, group))
        if self._waiting:
            self._soon(loop)

    async def _make(self, wishes: Sequence[steps.Asked]) -> list[Answer]:
        if self._service.engine.leases.mirror is not None:
            return await self._service.call(self._shown, wishes)
        made = await self._service.write(partial(steps.claim_many, asked=wishes), "claim_job")
        left = [asked for asked, begun in zip(wishes, made, strict=True) if begun is None]
        if not left:
            return list(made)
        answers = iter(await self._service.call(self._refused, left))
        return [begun or next(answers) for begun in made]

    def _refused(self, wishes: Sequence[steps.Asked]) -> list[steps.Conflict | None]:
        engine = self._service.engine
        try:
            return engine.read(lambda conn: steps.refusals(conn, engine.clock.now(), wishes)) if wishes else []
        except StoreError:  # others of the group have what they asked for; these are looked at alone
            return [None] * len(wishes)

    def _shown(self, wishes: Sequence[steps.Asked]) -> list[Answer]:
        """With Redis: shown there first, all in one round trip."""
        engine = self._service.engine
        mirror = engine.leases.mirror
        assert mirror is not None
        names = [(asked.lock, asked.wish.run_id) for asked in wishes]
        free = mirror.take_many(names, steps.LEASE)
        open_ = [asked for asked, mine in zip(wishes, free, strict=True) if mine]
        try:
            made = iter(engine.write(partial(steps.claim_many, asked=open_), "claim_job") if open_ else [])
        except steps.Apart:
            return [None] * len(wishes)
        except BaseException:
            for asked in open_:
                Shown(engine, asked.workspace, asked.lock, asked.wish.run_id).give_back()
            raise
        # Who was shown and not served goes alone: what is shown there has to be set right.
        refused = iter(self._refused([asked for asked, mine in zip(wishes, free, strict=True) if not mine]))
        return [next(made) if mine else next(refused) for mine in free]

    def _end(
        self, loop: asyncio.AbstractEventLoop, group: Sequence[Waiting], made: asyncio.Future[list[Answer]]
    ) -> None:
        self._under_way.discard(made)
        error = asyncio.CancelledError() if made.cancelled() else made.exception()
        results: list[Answer] = [None] * len(group) if error is not None else made.result()
        if isinstance(error, steps.Apart):
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
            self._soon(loop)
