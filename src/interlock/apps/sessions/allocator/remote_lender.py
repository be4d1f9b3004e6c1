"""The allocator elsewhere, as sessions use it: over HTTP, in either family of paths.

One of ours tells so by a header. It finds a borrow again by its key, so that a lost answer is looked up. Another one
may not: then nobody knows whether a sandbox was lent, and a person decides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from interlock.apps.sessions.allocator import pool
from interlock.apps.sessions.allocator.http_client import NoAnswer, NotReached, Reply, call
from interlock.apps.sessions.allocator.lender import (
    FAILED,
    SUCCEEDED,
    AllocatorRefused,
    AllocatorUnavailable,
    AnswerLost,
    Borrowed,
    KeysUnknown,
    KeyUsed,
    Lent,
    NotBorrowed,
    PoolEmpty,
    Return,
    WrongToken,
)

OURS = "x-interlock-allocator"
ASK_AGAIN = timedelta(seconds=15)
"""How long to wait for a sandbox where the allocator does not say; each look is a request."""
MISSING = {404, 405}
"""Statuses of an allocator that has only the other family of paths."""


@dataclass(frozen=True)
class RemoteLender:
    """A Lender behind an address."""

    url: str
    token: str = field(repr=False)
    timeout: float = 30.0

    @property
    def name(self) -> str:
        return self.url

    def turn(self, key: str) -> timedelta | None:
        return None

    def leave_line(self, key: str) -> None:
        return

    # -- borrowing

    def borrow(self, key: str, *, wait: float = 0, params: Mapping[str, Any] | None = None) -> Lent:
        headers = {"idempotency-key": key}
        query = {"wait": f"{wait:g}", "params": json.dumps(dict(params or {}))}
        answer = self._ask("GET", "/borrow", query=query, headers=headers, longer=wait)
        if answer.status in MISSING and not _is_ours(answer):
            body = {"wait": wait, "params": dict(params or {})}
            answer = self._ask("POST", "/handlers/ip/borrow", body=body, headers=headers, longer=wait)
        if answer.status == 200:
            return _lent(answer)
        self._check(answer)
        if answer.status == 503:
            raise PoolEmpty(_said(answer), retry_after=_later(answer))
        raise _refusal(answer)

    def find(self, key: str) -> Lent | None:
        answer = self._ask("GET", f"/borrow/{quote(key, safe='')}")
        if not _is_ours(answer):
            raise KeysUnknown(f"the allocator {self.url} does not know keys, so whether it lent a sandbox is unknown")
        if answer.status == 200:
            return _lent(answer)
        if answer.status == 404:
            return None
        self._check(answer)
        raise _refusal(answer)

    # -- returning

    def give_back(self, lent: Lent) -> Return:
        body = {"item": lent.item, "borrow_token": lent.token}
        answer = self._ask("POST", "/return", body=body)
        if answer.status in MISSING and answer.text("msg") is None:
            answer = self._ask("POST", "/handlers/ip/return", body=body)
        if answer.ok:
            operation = answer.text("operation_id")
            return Return(operation, "pending") if operation else Return("", SUCCEEDED)
        self._check(answer)
        raise _refusal(answer)

    def operation(self, operation_id: str) -> Return:
        answer = self._ask("GET", f"/operations/{quote(operation_id, safe='')}")
        if answer.ok:
            status = answer.text("status") or "pending"
            known = status if status in {SUCCEEDED, FAILED} else "pending"
            return Return(operation_id, known, (answer.text("message") or "")[:500] or None)
        if answer.status == 404:
            raise AllocatorRefused(f"the allocator {self.url} does not know its operation {operation_id[:100]}")
        self._check(answer)
        raise _refusal(answer)

    def renew(self, lent: Lent) -> None:
        answer = self._ask("POST", "/renew", body={"borrow_token": lent.token})
        if answer.ok or not _is_ours(answer):  # another allocator may know no time limit
            return
        self._check(answer)
        raise _refusal(answer)

    # -- for those who look after it

    def release_by_force(self, item_id: str, item: Any, key: str | None = None) -> None:
        answer = self._ask("GET", "/admin/stats")
        body: dict[str, Any] = {"item": item}
        if _is_ours(answer):
            body = {"item_id": item_id, "key": key}
        answer = self._ask("POST", "/admin/force-return", body=body)
        if answer.ok or answer.status == 404:  # it is not borrowed
            return
        self._check(answer)
        raise _refusal(answer)

    def quarantine(self, item_id: str, reason: str) -> None:
        answer = self._ask("POST", "/admin/quarantine", body={"item_id": item_id, "reason": reason})
        if answer.ok:
            return
        self._check(answer)
        raise _refusal(answer)

    def borrowed(self) -> Sequence[Borrowed]:
        answer = self._ask("GET", "/admin/borrowed")
        if not answer.ok:
            self._check(answer)
            raise _refusal(answer)
        found = answer.body.get("items") if isinstance(answer.body, Mapping) else answer.body
        if not isinstance(found, list):
            raise AllocatorUnavailable(f"{self.url} answered without a list of borrowed items")
        return [_borrowed(one) for one in found]

    # -- asking

    def _ask(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        longer: float = 0,
    ) -> Reply:
        given = dict(headers or {})
        if self.token:
            given["authorization"] = f"Bearer {self.token}"
        url = self.url.rstrip("/") + path
        try:
            return call(method, url, body=body, query=query, headers=given, timeout=self.timeout + longer)
        except NotReached as error:
            raise AllocatorUnavailable(f"the allocator {self.url} cannot be reached: {error}") from None
        except NoAnswer as error:
            raise AnswerLost(f"the allocator {self.url} did not answer: {error}") from None

    def _check(self, answer: Reply) -> None:
        """Raise for an answer that leaves open what was done, or that another moment can change."""
        says = answer.text("msg") or answer.text("err")
        if answer.status in {408, 425, 429} or (answer.status in {502, 503} and says is not None):
            if answer.status != 503:
                raise AllocatorUnavailable(f"{self.url} answered {answer.status}: {_said(answer)}")
            return
        if answer.status >= 500:
            # A proxy, or a failure in the middle: what was done before it is not known.
            raise AnswerLost(f"{self.url} answered {answer.status}: {_said(answer)}")


def _is_ours(answer: Reply) -> bool:
    return OURS in answer.headers


def _lent(answer: Reply) -> Lent:
    token = answer.text("borrow_token")
    if not token or not isinstance(answer.body, Mapping) or "item" not in answer.body:
        raise AnswerLost("the allocator answered 200 without an item and its token")
    item = answer.body["item"]
    return Lent(answer.text("item_id") or pool.digest(pool.canonical(item)), item, token)


def _refusal(answer: Reply) -> AllocatorUnavailable | AllocatorRefused:
    said = _said(answer)
    if answer.status == 503:
        return AllocatorUnavailable(said)
    kinds: dict[int, type[AllocatorRefused]] = {404: NotBorrowed, 409: KeyUsed}
    if answer.status == 403 and (answer.text("err") == "Forbidden" or "borrow token" in said.lower()):
        return WrongToken(said)
    return kinds.get(answer.status, AllocatorRefused)(f"the allocator answered {answer.status}: {said}")


def _said(answer: Reply) -> str:
    return (answer.text("msg") or answer.text("detail") or answer.text("err") or "nothing more")[:500]


def _later(answer: Reply) -> timedelta:
    return timedelta(seconds=answer.retry_after) if answer.retry_after else ASK_AGAIN


def _borrowed(one: Any) -> Borrowed:
    """An item of the list: ours have an id and a key, those of others are only what they are."""
    if isinstance(one, Mapping) and isinstance(one.get("id"), str):
        key = one.get("key")
        at = key.find("loan:") if isinstance(key, str) else -1
        return Borrowed(one["id"], key[at:] if isinstance(key, str) and at >= 0 else key, str(one.get("state")))
    item = one["item"] if isinstance(one, Mapping) and "item" in one else one
    return Borrowed(pool.digest(pool.canonical(item)), None)
