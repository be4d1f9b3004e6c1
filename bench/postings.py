"""Postings through parse, filter and match; HTML to text against BeautifulSoup; memory over many postings."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson
from rich.console import Console
from rich.table import Table

from bench import long_postings
from interlock.apps.jobs.finder.filtering import filter_posting
from interlock.apps.jobs.finder.identity.addresses import Address
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.reading.plain import plain
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer
from interlock.apps.jobs.finder.sources.cleaning import sanitised, text_of
from interlock.apps.jobs.world import World
from interlock.worker import gc_tuning

NOW = datetime(2026, 11, 1, tzinfo=UTC)
BOARD = Address("greenhouse", "thousand")


def measure(board: Path | None, runs: int, many: int) -> dict[str, Any]:
    """On one core, in one process. `board` is a recorded answer of Greenhouse, else one of our own as long as those."""
    body = board.read_bytes() if board else long_postings.board(1000)
    adapter, seeker = adapter_of("greenhouse"), Seeker(parse_profile(sample()))
    postings = adapter.parse(Answer(body), BOARD, NOW).postings
    # Greenhouse escapes its HTML a second time.
    texts = [unescape(row["content"]) for row in orjson.loads(body)["jobs"] if row.get("content")]
    read = [ReadPosting(one) for one in postings]
    for one in read:
        filter_posting(one, seeker, NOW)  # works out what filter and match see, once

    def whole() -> None:
        for one in adapter.parse(Answer(body), BOARD, NOW).postings:
            seen = ReadPosting(one)
            filter_posting(seen, seeker, NOW)
            match_posting(seen, seeker)

    def parse() -> None:
        adapter.parse(Answer(body), BOARD, NOW)

    def filter_alone() -> None:
        for one in read:
            filter_posting(one, seeker, NOW)

    def read_and_filter() -> None:
        for one in postings:
            filter_posting(ReadPosting(one), seeker, NOW)

    def ours() -> None:
        for one in texts:
            text_of(sanitised(one))

    def ours_plain() -> None:
        for one in texts:
            plain(one)

    def soup() -> None:
        for one in texts:
            _soup(one)

    clean = [sanitised(one) or "" for one in texts]

    def ours_clean() -> None:
        for one in clean:
            text_of(one)

    def soup_clean() -> None:
        for one in clean:
            _soup(one)

    ways = {
        "parse": parse,
        "parse, filter and match": whole,
        "text read, and filter": read_and_filter,
        "filter alone": filter_alone,
        "HTML sanitised, and to text": ours,
        "HTML to text": ours_plain,
        "HTML to text by BeautifulSoup": soup,
        "sanitised HTML to text": ours_clean,
        "sanitised HTML to text by BeautifulSoup": soup_clean,
    }
    gc_tuning.settle()  # as the service and its workers do
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):  # side by side in each round, so that a busy moment of the machine falls on all of them
        for name, way in ways.items():
            rates[name].append(len(texts) / _took(way))
    found = {name: statistics.median(one) for name, one in rates.items()}
    return {
        "postings": len(postings),
        "characters": round(statistics.mean(len(one.description_text or "") for one in postings)),
        "rates": found,
        "faster_than_soup": {
            "as rules read it": found["HTML to text"] / found["HTML to text by BeautifulSoup"],
            "with the sanitiser": found["HTML sanitised, and to text"] / found["HTML to text by BeautifulSoup"],
            "without it": found["sanitised HTML to text"] / found["sanitised HTML to text by BeautifulSoup"],
        },
        "same_text": sum(_is_same(one) for one in texts) / len(texts),
        "same_plain_text": sum(_words(plain(one)) == _words(_soup(one)) for one in texts) / len(texts),
        "memory": _memory(whole, len(postings), many),
    }


def large_board() -> bytes:
    with World() as world, urlopen(f"{world.url}/greenhouse-host/v1/boards/thousand/jobs?content=true") as answer:
        content: bytes = answer.read()
        return content


def _is_same(html: str) -> bool:
    return _words(text_of(sanitised(html)) or "") == _words(_soup(html))


def _soup(html: str) -> str:
    from bs4 import BeautifulSoup

    text: str = BeautifulSoup(html, "lxml").get_text(" ")
    return text


def _words(text: str) -> list[str]:
    """The words, without the dashes that stand for list items."""
    return "".join(character if character.isalnum() else " " for character in text).split()


def _took(way: Callable[[], None]) -> float:
    began = time.process_time()
    way()
    return time.process_time() - began


def _memory(way: Callable[[], None], each: int, many: int) -> list[dict[str, float]]:
    """The largest size of the process in MB after so many postings."""
    found = []
    for round_ in range(1, many // each + 1):
        way()
        if round_ * each in (many // 10 // each * each, many // each * each):
            size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            found.append({"postings": round_ * each, "mb": round(size, 1)})
    return found


def report(found: dict[str, Any]) -> None:
    title = f"{found['postings']:,} postings of {found['characters']:,} characters, one core"
    table = Table("", "postings/s", title=title)
    for name, rate in found["rates"].items():
        table.add_row(name, f"{rate:,.0f}")
    console = Console()
    console.print(table)
    ratios = ", ".join(f"{ratio:.1f} times {name}" for name, ratio in found["faster_than_soup"].items())
    console.print(
        f"HTML to text against BeautifulSoup: {ratios}; the same words in {found['same_text']:.1%}, "
        f"as rules read it in {found['same_plain_text']:.1%}"
    )
    for one in found["memory"]:
        console.print(f"after {one['postings']:,} postings: {one['mb']:,} MB at most")
