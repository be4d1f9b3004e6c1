"""Shows leases in Redis: `SET NX PX` takes one, Lua scripts compare the holder to renew and release."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from interlock.machine import extras

log = logging.getLogger(__name__)

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
# Sets the key again if it is missing, and leaves one that shows another holder.
RENEW = """
local shown = redis.call('get', KEYS[1])
if shown == ARGV[1] or not shown then redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1 end
return 0
"""
REPLACE = """
if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end
return 0
"""


class RedisMirror:
    """Shows named leases in Redis. If Redis does not answer, the database alone decides."""

    def __init__(self, url: str) -> None:
        extras.require("redis", "redis")
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        # No retries: a `SET NX` whose answer was lost would find its own key.
        self._redis: Any = redis.Redis.from_url(
            url, retry=Retry(NoBackoff(), 0), socket_timeout=2, socket_connect_timeout=2, decode_responses=True
        )
        self._error: type[Exception] = redis.RedisError
        self._release: Any = self._redis.register_script(RELEASE)
        self._renew: Any = self._redis.register_script(RENEW)
        self._replace: Any = self._redis.register_script(REPLACE)

    def take(self, name: str, holder: str, ttl: timedelta) -> str | None:
        try:
            if self._redis.set(name, holder, nx=True, px=_millis(ttl)):
                return None
            other = self._redis.get(name)
        except self._error as error:
            log.warning("redis did not answer, the database alone decides about %s: %s", name, error)
            return None
        if other in {None, holder}:
            self.renew(name, holder, ttl)
            return None
        return str(other)

    def take_many(self, wanted: Sequence[tuple[str, str]], ttl: timedelta) -> list[bool]:
        try:
            with self._redis.pipeline(transaction=False) as pipeline:
                for name, holder in wanted:
                    pipeline.set(name, holder, nx=True, px=_millis(ttl))
                return [bool(done) for done in pipeline.execute()]
        except self._error as error:
            log.warning("redis did not answer, the database alone decides about %d leases: %s", len(wanted), error)
            return [True] * len(wanted)

    def replace(self, name: str, over: str, holder: str, ttl: timedelta) -> bool:
        try:
            return bool(self._replace(keys=[name], args=[over, holder, _millis(ttl)]))
        except self._error as error:
            log.warning("redis did not answer, the database alone decides about %s: %s", name, error)
            return True

    def renew(self, name: str, holder: str, ttl: timedelta) -> None:
        self._quietly(lambda: self._renew(keys=[name], args=[holder, _millis(ttl)]), name)

    def release(self, name: str, holder: str) -> None:
        self._quietly(lambda: self._release(keys=[name], args=[holder]), name)

    def _quietly(self, call: Any, name: str) -> None:
        try:
            call()
        except self._error as error:
            log.warning("redis did not answer for %s: %s", name, error)

    def close(self) -> None:
        self._redis.close()


def _millis(ttl: timedelta) -> int:
    return max(1, int(ttl.total_seconds() * 1000))
