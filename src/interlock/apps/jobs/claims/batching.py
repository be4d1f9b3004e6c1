"""Batches claims: those that arrive during a commit share the next transaction.

There is no timer: a lone claim is made at once. Under load many claims share the round trips and the commit of one
transaction. Plain refusals, because another run holds the job, are answered together, too: in a race they are the
majority. A claim that needs a closer look (run id used before, lease expired, invalid data) is made alone, as if
there were no batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from interlock.apps.jobs.claims import steps
from interlock.apps.jobs.claims.redis_view import RedisLock
from interlock.engine import Instance
from interlock.http.batching import Batcher
from interlock.store import StoreError

Outcome = Instance | steps.Conflict | None


class ClaimBatcher(Batcher[steps.AgentClaim, Instance]):
    """The claims of one process that wait for the next transaction."""

    async def claim(self, asked: steps.AgentClaim) -> Instance | None:
        """The run that holds the job, after the commit; None when the claim must be made alone."""
        return await self.submit(asked)

    async def _make(self, asked: Sequence[steps.AgentClaim]) -> Sequence[Outcome]:
        claims = asked
        if self._service.engine.leases.mirror is not None:
            return await self._service.call(self._claim_with_redis, claims)
        try:
            made = await self._service.write(partial(steps.claim_many, asked=claims), "claim_job")
        except steps.MustClaimAlone:
            return [None] * len(claims)
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
