"""Answers with random damage, and what must hold of every posting that is read from them."""

from __future__ import annotations

import random
from typing import Any

from interlock.apps.jobs.finder.postings.posting import Posting

JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    10**18,
    1e308,
    "",
    " ",
    "\x00",
    "\ud800",
    "<script>alert(1)</script>",
    "x" * 5000,
    [],
    {},
    [[]],
    [None, 1, "a", {}],
    {"name": 7},
    {"value": []},
    "99999-99-99",
    "https://[",
    "javascript:alert(1)",
    "-5",
    "NaN",
    {"a": {"b": {}}},
]


def mutated(value: Any, dice: random.Random, chance: float = 0.08) -> Any:
    """The value with some of its parts replaced, removed or doubled."""
    if dice.random() < chance:
        return dice.choice(JUNK)
    if isinstance(value, dict):
        return {
            (dice.choice(["", "id", "x"]) if dice.random() < 0.01 else key): mutated(one, dice, chance)
            for key, one in value.items()
            if dice.random() > 0.02
        }
    if isinstance(value, list):
        return [mutated(one, dice, chance) for one in value for _ in range(2 if dice.random() < 0.05 else 1)]
    return value


def damaged(raw: bytes, dice: random.Random) -> bytes:
    """Bytes with pieces cut out, doubled or replaced."""
    for _ in range(dice.randint(1, 4)):
        at, many = dice.randrange(len(raw) + 1), dice.randrange(30)
        piece = dice.choice([b"", b"<", b">", b"&#x0;", b"\xff\xfe", b"]]>", b'"', b"<a>", raw[at : at + many] * 2])
        raw = raw[:at] + piece + raw[at + many :]
    return raw


def check(posting: Posting) -> None:
    assert posting.external_id or posting.url
    shown = posting.model_dump_json()
    # The plain text may speak of tags; what is shown as HTML, and everything else, has none.
    assert "<script" not in posting.model_dump_json(exclude={"description_text", "sections"}).lower()
    assert 'href="javascript' not in (posting.description_html or "").lower()
    for url in (posting.url, posting.apply_url, posting.canonical_url):
        assert url is None or url.startswith(("https://", "http://"))
    assert len(posting.title or "") <= 300
    assert "" not in (
        posting.title,
        posting.url,
        posting.company_name_raw,
        posting.description_text,
        posting.external_id,
    )
    assert Posting.model_validate_json(shown) == posting
