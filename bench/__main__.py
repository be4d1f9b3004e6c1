"""`make bench`: tables for people, JSON for tools, and tables and plots for the documentation."""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import applications, documentation, growth, kinds, many, postings, quiet, reading, reports, scaling, sessions
from bench.peers import compare

ROOT = Path(__file__).parent.parent
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Something that is measured by itself."""

    measure: Callable[[Path, argparse.Namespace], Figures]
    report: Callable[[Figures, argparse.Namespace], None]
    markdown: Callable[[Figures], str] | None = None
    plot: Callable[[Figures, Path], None] | None = None
    asked: bool = False
    """Only when it is named."""


PARTS = {
    "peers": Part(
        lambda folder, given: compare.measure(folder, given.items, given.runs, limit=given.limit),
        lambda figures, _: compare.report(figures),
        compare.markdown,
        compare.plot,
    ),
    "items": Part(
        lambda folder, given: compare.measure(folder, given.items, given.runs, limit=given.limit, alone=True),
        lambda figures, _: compare.report(figures),
        asked=True,
    ),
    "kinds": Part(
        lambda folder, given: kinds.measure(folder, given.items // 4, given.runs, limit=given.limit),
        lambda figures, _: kinds.report(figures),
        kinds.markdown,
    ),
    "scaling": Part(
        lambda folder, given: scaling.measure(folder, given.items * 2, min(given.runs, 3), limit=given.limit),
        lambda figures, _: scaling.report(figures),
        scaling.markdown,
    ),
    "growth": Part(
        lambda folder, given: growth.measure(folder, given.scale),
        lambda figures, _: growth.report(figures),
        growth.markdown,
        growth.plot,
    ),
    "quiet": Part(
        lambda folder, given: quiet.measure(folder, given.long, given.items, given.idle),
        lambda figures, _: quiet.report(figures),
        quiet.markdown,
        quiet.plot,
    ),
    "service": Part(
        lambda folder, given: reports.measure_service(folder, given.seconds, given.runs),
        lambda figures, _: reports.report_service(figures),
        reports.service_markdown,
    ),
    "claims": Part(
        lambda folder, given: reports.measure_claims(folder, given.seconds, given.runs),
        lambda figures, _: reports.report_claims(figures),
    ),
    "pages": Part(
        lambda folder, given: reports.measure_pages(folder, given.instances),
        lambda figures, given: reports.report_pages(figures, given.instances),
        asked=True,  # growth has them at every size
    ),
    "many": Part(
        lambda folder, given: many.measure(folder, given.instances),
        lambda figures, _: many.report(figures),
        asked=True,  # it needs the packages of all applications, and fills the disk
    ),
    "reading": Part(
        lambda _, given: reading.measure(given.pdfs, given.runs),
        lambda figures, _: reports.report_reading(figures),
        asked=True,
    ),
    "postings": Part(
        lambda _, given: postings.measure(given.board, given.runs, given.postings),
        lambda figures, _: postings.report(figures),
    ),
    "applications": Part(
        lambda _, given: applications.measure(given.applications, given.runs),
        lambda figures, _: applications.report(figures),
        applications.markdown,
    ),
    "sessions": Part(
        lambda folder, given: sessions.measure(folder, given.runs, given.sessions),
        lambda figures, _: sessions.report(figures),
        sessions.markdown,
    ),
}


def main() -> None:
    options = argparse.ArgumentParser(prog="make bench", description=__doc__)
    options.add_argument("--only", choices=tuple(PARTS), action="append", help="only this part; may be given again")
    options.add_argument("--items", type=int, default=20_000, help="work items a run")
    options.add_argument("--runs", type=int, default=5, help="runs of each; the median counts")
    options.add_argument("--limit", type=float, default=120.0, help="seconds after which a run is stopped")
    options.add_argument("--scale", type=int, default=1_000_000, help="the most instances of each kind, for growth")
    options.add_argument("--long", type=int, default=200_000, help="items over which a worker's memory is watched")
    options.add_argument("--idle", type=float, default=60.0, help="seconds for which an idle service is watched")
    options.add_argument("--instances", type=int, default=1_000_000, help="instances behind the pages")
    options.add_argument("--seconds", type=float, default=5.0, help="how long each round of requests lasts")
    options.add_argument(
        "--pdfs", type=Path, default=Path("../shared/data/cuad"), help="a folder of PDFs, to read them"
    )
    options.add_argument("--board", type=Path, help="a recorded list of Greenhouse; else the demo world's large board")
    options.add_argument("--postings", type=int, default=100_000, help="postings over which memory is watched")
    options.add_argument("--applications", type=int, default=200, help="applications that are prepared in a run")
    options.add_argument("--sessions", type=int, default=200, help="agent sessions that run at once")
    options.add_argument("--json", type=Path, help="write the figures to this file, beside those of other parts in it")
    options.add_argument("--plot", type=Path, help="write plots to this folder")
    options.add_argument("--docs", type=Path, help="write tables into this page, between its marks")
    options.add_argument("--again", action="store_true", help="measure nothing: tell what is in the file of --json")
    given = options.parse_args()
    if given.again and not given.json:
        options.error("--again needs --json FILE, with the figures to tell")
    known: Figures = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    for name in given.only or [name for name, part in PARTS.items() if not part.asked]:
        if not given.again:
            known[name] = _measured(PARTS[name], given)
            if given.json:  # after each, for some take long and the next may fail
                given.json.parent.mkdir(parents=True, exist_ok=True)
                given.json.write_text(json.dumps(known, indent=1) + "\n")
        if name in known:
            _tell(name, PARTS[name], known[name], given)


def _measured(part: Part, given: argparse.Namespace) -> Figures:
    folder = Path(tempfile.mkdtemp(prefix="il-bench-"))
    folder.chmod(0o755)  # PostgreSQL may run as somebody else
    try:
        return part.measure(folder, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tell(name: str, part: Part, figures: Figures, given: argparse.Namespace) -> None:
    part.report(figures, given)
    if given.plot and part.plot:
        given.plot.mkdir(parents=True, exist_ok=True)
        part.plot(figures, given.plot)
    if given.docs and part.markdown:
        documentation.write(given.docs, name, part.markdown(figures))


if __name__ == "__main__":
    main()
