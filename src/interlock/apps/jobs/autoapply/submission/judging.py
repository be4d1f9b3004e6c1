"""What a site's answer to an application means, as far as every system means the same.

Only an answer that certainly refuses is a refusal. Redirects, errors of the server, pages in place of data, and
answers that break off say nothing about whether the application arrived: they are Unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any

import orjson

from interlock.apps.jobs.autoapply.documents.values import clean
from interlock.apps.jobs.autoapply.submission.still_open import CHALLENGE_WORDS, plain_words
from interlock.apps.jobs.autoapply.submission.values import (
    Blocked,
    BlockKind,
    Outcome,
    Problem,
    Proof,
    Rejected,
    Submitted,
    Unknown,
)
from interlock.apps.jobs.finder.fetching.pacing import pause
from interlock.apps.jobs.finder.sources.answer import Answer

MOST_PROBLEMS = 10
LONGEST = 300
"""Characters of a site's message that are shown."""
UNSURE = (408, 425)
"""Refusals that a proxy may send although the site got the request."""
NESTED = 4
"""How deep the messages of an error may lie."""


def json_of(answer: Answer) -> dict[str, Any] | None:
    """The object of an answer; None when it is none, whatever its header says."""
    try:
        found = orjson.loads(answer.body)
    except (orjson.JSONDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def refusal(answer: Answer, now: float, *, keyed: bool = False) -> Outcome | None:
    """The outcome of an answer that is no success; None for 200 to 299, which each system reads itself.

    `now` in seconds since 1970, for a Retry-After that names a date.
    """
    status = answer.status
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return Unknown(f"the site answered with a redirect ({status}), which is not followed")
    if status in UNSURE or status < 200 or status >= 500:
        return Unknown(f"the site answered {status}; the application may have arrived")
    if status in (401, 403, 407, 429) and is_challenge(answer):
        return Blocked(BlockKind.CHALLENGE, f"the site wants proof of a human ({status})")
    if status == 429:
        wait = pause(answer.header("retry-after"), now)
        return Blocked(
            BlockKind.BUSY, "the site asks for a pause (429)", timedelta(seconds=wait) if wait is not None else None
        )
    if status in (401, 403, 407):
        if keyed:
            return Blocked(BlockKind.KEY, f"the site refuses the key ({status}); check [jobs.autoapply.keys]")
        return Blocked(BlockKind.LOGIN, f"the site wants an account ({status})")
    if status in (404, 410):
        return Blocked(BlockKind.CLOSED, f"the site does not know the posting ({status})")
    found = tuple(Problem(text) for text in messages(json_of(answer)))
    if status == 409:
        return Rejected((Problem("the site says that you applied there already (409)"), *found))
    return Rejected(found or (Problem(f"the site refused the application ({status})"),))


def is_challenge(answer: Answer) -> bool:
    """Whether an answer asks to prove that one is human."""
    return bool(CHALLENGE_WORDS.search(plain_words(answer.body[:100_000])[:5000]))


def not_understood(answer: Answer) -> Unknown:
    """The outcome of a success that does not say what a success says."""
    if is_challenge(answer):
        return Unknown(f"the site answered {answer.status} with a page that wants proof of a human")
    what = "a page" if answer.body.lstrip()[:1] == b"<" else "something else"
    return Unknown(f"the site answered {answer.status} with {what} in place of a confirmation")


def accepted(adapter: str, answer: Answer, reference: object = None) -> Submitted:
    """The proof of an answer that confirms."""
    text = clean(str(reference), 200) if isinstance(reference, str | int) else ""
    return Submitted(Proof(adapter, answer.status, text or None, None, sha256(answer.body).hexdigest()))


def messages(found: Mapping[str, Any] | None) -> list[str]:
    """What an error says, as plain lines."""
    if found is None:
        return []
    said: dict[str, None] = {}
    for name in ("error", "errors", "message", "detail", "validation_errors", "errorInfo"):
        for text in _texts(found.get(name), NESTED):
            said.setdefault(text)
            if len(said) >= MOST_PROBLEMS:
                return list(said)
    return list(said)


def _texts(value: Any, deep: int) -> Iterator[str]:
    if isinstance(value, str):
        text = clean(value, LONGEST)
        if text:
            yield text
    elif deep and isinstance(value, list):
        for one in value[:MOST_PROBLEMS]:
            yield from _texts(one, deep - 1)
    elif deep and isinstance(value, dict):
        for name, one in list(value.items())[:MOST_PROBLEMS]:
            for text in _texts(one, deep - 1):
                plain = name in ("message", "detail", "error", "code", "description")
                yield text if plain else clean(f"{name}: {text}", LONGEST)
