"""Webhooks: the channel that posts signed messages to configured endpoints.

The format is Standard Webhooks: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, and a JSON body.
The id is the message's and the same at each attempt, so that a receiver can drop duplicates. Only configured endpoints
are called.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from interlock.machine.extras import require

require("service", "httpx2")

import httpx2

from interlock.config.addresses import secret_parts
from interlock.engine.outbox import OutboxMessage
from interlock.engine.text import canonical
from interlock.machine import InterlockError
from interlock.store import SECOND, Clock, Micros, SystemClock, micros, moment
from interlock.worker.deliverer import DeliveryFailed, DeliveryRefused

PREFIX = "whsec_"
BIGGEST_ANSWER = 64 * 1024
KEPT = 500
LONGEST_WAIT = timedelta(hours=24)
TRY_AGAIN = {408, 425, 429}
TOLERANCE = timedelta(minutes=5)


class SignatureInvalid(InterlockError):
    """The request was not signed with this secret, or not recently. Do not trust it."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint and its signing secret."""

    url: str = field(repr=False)
    secret: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 15.0
    """Seconds to wait for the response."""


class Webhooks:
    """Posts each message to the endpoint that its recipient names."""

    def __init__(
        self, endpoints: Mapping[str, Endpoint], *, clock: Clock | None = None, proxy: str | None = None
    ) -> None:
        for name, endpoint in endpoints.items():
            _check(name, endpoint)
        self._endpoints = dict(endpoints)
        self._clock = clock or SystemClock()
        # Proxies and credentials of the environment are ignored: requests go only where the configuration says.
        self._client = httpx2.Client(follow_redirects=False, trust_env=False, proxy=proxy)
        _keep_secrets_out_of_logs()

    def deliver(self, message: OutboxMessage) -> str:
        endpoint = self._endpoints.get(message.recipient)
        if endpoint is None:
            known = ", ".join(sorted(self._endpoints)) or "none"
            raise DeliveryFailed(f"no webhook {message.recipient!r} is configured here; there are: {known}")
        now = self._clock.now()
        content = payload(message)
        headers = {
            "content-type": "application/json",
            "user-agent": "interlock",
            "accept-encoding": "identity",
            **{name.lower(): value for name, value in endpoint.headers.items()},
            "webhook-id": str(message.id),
            "webhook-timestamp": str(now // SECOND),
            "webhook-signature": sign(endpoint.secret, str(message.id), now // SECOND, content),
        }
        try:
            status, retry_after, text = self._post(endpoint, headers, content)
        except httpx2.InvalidURL as error:
            problem = f"the address of webhook {message.recipient!r} cannot be used ({type(error).__name__})"
            raise DeliveryRefused(problem) from None  # the error's own text contains the address
        except httpx2.HTTPError as error:
            problem = _hidden(str(error), endpoint) or type(error).__name__
            raise DeliveryFailed(f"webhook {message.recipient!r}: {problem}") from None
        return _judged(message.recipient, status, _wait(retry_after, now), _hidden(text, endpoint)[:KEPT])

    def _post(self, endpoint: Endpoint, headers: Mapping[str, str], content: bytes) -> tuple[int, str, str]:
        """The response's status, its Retry-After and the beginning of its body."""
        end = time.monotonic() + endpoint.timeout
        with (
            _in_silence(),
            self._client.stream(
                "POST", endpoint.url, content=content, headers=dict(headers), timeout=endpoint.timeout
            ) as answer,
        ):
            return answer.status_code, answer.headers.get("retry-after", ""), _beginning(answer, end)

    def close(self) -> None:
        self._client.close()


def payload(message: OutboxMessage) -> bytes:
    """The body that is signed and posted, identical at each attempt."""
    happened = moment(message.at).isoformat().replace("+00:00", "Z")
    return canonical(
        {"id": str(message.id), "type": message.subject, "timestamp": happened, "data": message.body}
    ).encode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The Standard Webhooks signature over id, timestamp and body."""
    signed = hmac.digest(_key(secret), f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(signed).decode()


def verify(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    tolerance: timedelta = TOLERANCE,
    *,
    now: Micros | None = None,
) -> dict[str, Any]:
    """Verify a request and return its body, for receivers. Raises SignatureInvalid."""
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message_id, sent, signatures = (given[f"webhook-{part}"] for part in ("id", "timestamp", "signature"))
    except KeyError as missing:
        raise SignatureInvalid(f"the request has no header {missing.args[0]}") from None
    if not (sent.isascii() and sent.isdecimal() and len(sent) < 15):
        raise SignatureInvalid(f"webhook-timestamp {sent[:40]!r} is not a number of seconds")
    present = SystemClock().now() if now is None else now
    if abs(present / SECOND - int(sent)) > tolerance.total_seconds():
        raise SignatureInvalid(f"it was signed at {sent}, more than {tolerance} from now; it may be a replay")
    expected = sign(secret, message_id, int(sent), body).encode()
    if not any(hmac.compare_digest(expected, one.encode("utf-8", "replace")) for one in signatures.split()):
        raise SignatureInvalid("no signature matches the body and the secret")
    found: dict[str, Any] = json.loads(body)
    return found


def _key(secret: str) -> bytes:
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise InterlockError(f"a secret that begins with {PREFIX} must continue in base64; this one does not") from None


def _check(name: str, endpoint: Endpoint) -> None:
    try:
        url = httpx2.URL(endpoint.url)
        fits = url.scheme in {"http", "https"} and bool(url.host)
    except (httpx2.InvalidURL, ValueError):
        fits = False
    if not fits:
        raise InterlockError(f"webhook {name!r} has an invalid address; use https://host/path")
    if not _key(endpoint.secret):
        raise InterlockError(f"webhook {name!r} has no secret; set one, so that receivers can verify its messages")
    for header, value in endpoint.headers.items():
        if not (header.isascii() and header.replace("-", "").replace("_", "").isalnum() and value.isprintable()):
            raise InterlockError(f"webhook {name!r} has an invalid header {header!r}")


def _judged(name: str, status: int, retry_after: timedelta | None, text: str) -> str:
    said = f"{status} {text}".strip()
    if 200 <= status < 300:
        return said
    if status in TRY_AGAIN or status >= 500:
        raise DeliveryFailed(f"webhook {name!r} answered {said}", retry_after=retry_after)
    if 300 <= status < 400:
        raise DeliveryRefused(f"webhook {name!r} answered {status}: redirects are not followed")
    raise DeliveryRefused(f"webhook {name!r} answered {said}")


def _beginning(answer: httpx2.Response, end: float) -> str:
    """The beginning of the response body. The status is known, so a body that breaks off changes nothing."""
    read = bytearray()
    try:
        for chunk in answer.iter_raw():  # with a chunk size it would wait until the chunk is full
            read += chunk
            if len(read) >= BIGGEST_ANSWER or time.monotonic() > end:
                break
    except httpx2.HTTPError:
        read += b" (the response broke off)"
    text = bytes(read[:BIGGEST_ANSWER]).decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _wait(header: str, now: Micros) -> timedelta | None:
    """Parse Retry-After, in seconds or as a date; at most a day."""
    header = header.strip()
    if header.isascii() and header.isdecimal():
        return min(timedelta(seconds=int(header[:9])), LONGEST_WAIT)
    try:
        date = parsedate_to_datetime(header)
        until = micros(date if date.tzinfo else date.replace(tzinfo=UTC))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(timedelta(microseconds=until - now), timedelta(0)), LONGEST_WAIT)


def _hidden(text: str, endpoint: Endpoint) -> str:
    """Remove secrets that the other side may have repeated."""
    secrets = (
        endpoint.secret,
        endpoint.secret.removeprefix(PREFIX),
        *endpoint.headers.values(),
        endpoint.url,
        *secret_parts(endpoint.url),
    )
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    return text


# -- the HTTP library logs addresses and headers, which may contain secrets

_silent: ContextVar[bool] = ContextVar("interlock_webhook", default=False)
LOGGERS = ("httpx2", *(f"httpcore2.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))


def _not_ours(_: logging.LogRecord) -> bool:
    return not _silent.get()


def _keep_secrets_out_of_logs() -> None:
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_not_ours)  # adding the same filter twice has no effect


@contextmanager
def _in_silence() -> Iterator[None]:
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)
