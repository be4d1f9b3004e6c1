"""`interlock jobs score`: what a profile makes of postings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from interlock.console.options import Config
from interlock.console.printing import Json, as_json, short, table


def score(
    postings: Annotated[
        Path, typer.Option("--postings", help="The postings, a JSON object a line.", show_default=False)
    ],
    profile: Annotated[
        Path | None, typer.Option("--profile", help="The profile, a YAML file.", show_default="profile under [jobs]")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", help="The moment by which ages are counted, in ISO 8601.", show_default="now"),
    ] = None,
    in_json: Json = False,
    config: Config = None,
) -> None:
    """Filter and match postings by a profile. Nothing is saved."""
    from interlock.machine.extras import require

    require("jobs", "yaml", "ahocorasick")
    from interlock.apps.jobs.commands.parse import moment
    from interlock.apps.jobs.finder.profiles.profile_file import read_profile
    from interlock.apps.jobs.finder.profiles.seeker import Seeker
    from interlock.apps.jobs.finder.reading.evaluate import rows
    from interlock.apps.jobs.finder.scoring import score_row

    if profile is None:
        from interlock.config import load

        profile = load(config).section("jobs").profile
    seeker = Seeker(read_profile(profile))
    now = moment(at) if at else datetime.now(UTC)
    scored = [score_row(row, seeker, now) for row in rows(postings)]
    if in_json:
        as_json(scored)
        return
    _print_scored(scored)


def _print_scored(scored: list[dict[str, Any]]) -> None:
    ordered = sorted(scored, key=lambda one: (one["state"] == "FILTERED", -one["list_score"]))
    lines = [
        (
            str(one["score"]),
            f"{one['confidence']:.0%}",
            one["state"],
            short(one["title"] or "unknown", 50),
            short(one["company"] or "unknown", 30),
            short(_why(one), 90),
        )
        for one in ordered
    ]
    table(("score", "confidence", "state", "title", "company", "why"), lines)
    many = {state: sum(one["state"] == state for one in scored) for state in ("SUCCESS", "SKIPPED", "FILTERED")}
    typer.echo(
        f"{len(scored)} postings: {many['SUCCESS']} at or above the threshold, {many['SKIPPED']} below it, "
        f"{many['FILTERED']} filtered out"
    )


def _why(scored: dict[str, Any]) -> str:
    """The reasons against a filtered posting, the worst first; for the others their matched skills."""
    found = scored["filter_result"]
    if found["passed"]:
        return ", ".join(scored["match_result"]["matched_skills"])
    if found["hard_rejections"]:
        return str(found["rejection_summary"])
    worst = sorted(found["strikes"], key=lambda one: -one["points"])
    return f"{found['total_strikes']} strikes: " + "; ".join(one["reason"] for one in worst)
