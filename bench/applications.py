"""Applications prepared per second: a posting is read and matched, its form answered, resume and letter written, made
as PDF and DOCX, read back, and checked for claims that the profile does not support."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Sequence
from datetime import date
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.postings import BOARD, NOW, large_board
from interlock.apps.jobs.autoapply.answers import Applicant, FormContext, form_of, resolve_form
from interlock.apps.jobs.autoapply.documents.claim_check import ClaimCheck
from interlock.apps.jobs.autoapply.documents.packet import Packet, file_hashes
from interlock.apps.jobs.autoapply.documents.preparing import prepare
from interlock.apps.jobs.finder.matching import match_posting
from interlock.apps.jobs.finder.postings.posting import Posting
from interlock.apps.jobs.finder.postings.read_posting import ReadPosting
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.profiles.seeker import Seeker
from interlock.apps.jobs.finder.sources import adapter_of
from interlock.apps.jobs.finder.sources.answer import Answer

GOAL = 10.0
"""Applications a second, on two cores."""
DOCUMENTS = {"resume": "resume.pdf", "cover_letter": "letter.pdf"}


def measure(many: int, runs: int) -> dict[str, Any]:
    """In one process and in two, each with its own share of the postings; nothing is reused between applications."""
    postings = adapter_of("greenhouse").parse(Answer(large_board()), BOARD, NOW).postings[:many]
    found: dict[str, Any] = {"postings": len(postings), "cores": os.cpu_count(), "processes": []}
    for processes in (1, 2):
        rounds = [_round(postings, processes) for _ in range(runs)]
        found["processes"].append(
            {
                "processes": processes,
                "rate": statistics.median(len(postings) / took for took, _ in rounds),
                "cpu_ms": statistics.median(cpu / len(postings) * 1000 for _, cpu in rounds),
            }
        )
    return found


def _round(postings: Sequence[Posting], processes: int) -> tuple[float, float]:
    """Seconds until all are prepared, and the processor time of it, without the start of the processes."""
    context = multiprocessing.get_context("spawn")
    shares = [[one.model_dump(mode="json") for one in postings[at::processes]] for at in range(processes)]
    with context.Pool(processes) as pool:
        pool.map(_warm, [share[:1] for share in shares], chunksize=1)
        began = time.perf_counter()
        cpu = sum(pool.map(_share, shares, chunksize=1))
        return time.perf_counter() - began, cpu


def _warm(share: list[dict[str, Any]]) -> None:
    _share(share)
    time.sleep(0.5)  # so that each process of the pool gets one


def _share(rows: list[dict[str, Any]]) -> float:
    seeker = Seeker(parse_profile(sample()))
    began = time.process_time()
    for row in rows:
        _application(Posting.model_validate(row), seeker)
    return time.process_time() - began


def _application(posting: Posting, seeker: Seeker) -> Packet:
    read = ReadPosting(posting)
    made = prepare(read, seeker, match_posting(read, seeker))
    who = Applicant(seeker.profile, documents=DOCUMENTS)
    answered = resolve_form(form_of(posting), who, FormContext.of(posting, date(2026, 11, 1)))
    check = ClaimCheck(seeker, read)
    if check.check(made.resume.text, "resume") or check.check(made.letter.text, "letter"):
        raise SystemExit(f"the rules wrote something that the profile does not say, for {posting.title}")
    answers = {one.question.key: one.answer.value for one in answered}
    return Packet(
        posting.url or "",
        "",
        posting.content_hash,
        made.resume.text,
        made.letter.text,
        file_hashes(made.files),
        answers,
    )


def report(found: dict[str, Any]) -> None:
    table = Table("processes", "applications/s", "CPU ms", title=f"{found['postings']} applications prepared")
    for one in found["processes"]:
        table.add_row(str(one["processes"]), f"{one['rate']:.1f}", f"{one['cpu_ms']:.0f}")
    Console().print(table)


def markdown(found: dict[str, Any]) -> str:
    rows = "\n".join(f"| {one['processes']} | {one['rate']:.1f} | {one['cpu_ms']:.0f} |" for one in found["processes"])
    two = found["processes"][-1]["rate"]
    return (
        f"| processes | applications/s | CPU ms each |\n| --- | --- | --- |\n{rows}\n\n"
        f"| goal | reached |\n| --- | --- |\n| on two cores: at least {GOAL:.0f} applications a second | {two:.1f} |"
    )
