"""A changed profile filters and scores stored postings again, each once, and what a person decided stays."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from interlock.apps.jobs.finder import intake
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.records import postings, profiles
from interlock.apps.jobs.finder.steps import duties
from interlock.people import OPERATORS
from interlock.testing import Trial
from tests.apps.jobs.finder.fetching.site import Site

from .conftest import Made
from .finding import HERE, ME, Acme, active, crawl, give_profile, items, row, rows, run


def stopping(*words: str) -> str:
    """The sample, which stops these words in titles."""
    profile = parse_profile(sample()).model_dump(mode="json", exclude_none=True)
    profile["stop_list"] = {"keywords": list(words)}
    return yaml.safe_dump(profile)


def settle(trial: Trial) -> None:
    """Let everything end, also what waits for a company."""
    run(trial)
    trial.advance(minutes=11)
    run(trial)


def outcomes(trial: Trial) -> dict[str, str]:
    return {one.posting_key.rpartition(":")[2]: one.outcome for one in rows(trial)}


@pytest.mark.soak("postgresql")
def test_what_passes_now_starts_a_new_lineage_and_what_no_longer_does_says_so(trial: Trial, board: Acme) -> None:
    give_profile(trial, stopping("11"))
    board.show("11", "22")
    active(trial, board)
    settle(trial)
    assert outcomes(trial) == {"11": "filtered", "22": "matched"}
    before = len(items(trial, "listing"))
    give_profile(trial, stopping("22"))
    settle(trial)
    assert outcomes(trial) == {"11": "matched", "22": "filtered"}
    [again] = items(trial, "listing")[before:]
    assert (again.state, again.parent, again.key) == ("SUCCESS", None, "greenhouse:acme:11")
    settle(trial)
    assert len(items(trial, "listing")) == before + 1, "nothing is worked on twice"
    assert {one.profile_digest for one in rows(trial)} == {trial.engine.read(lambda c: profiles.digest_of(c, HERE))}


@pytest.mark.soak("postgresql")
def test_a_dismissed_posting_that_changes_is_not_offered_to_agents(trial: Trial, board: Acme) -> None:
    give_profile(trial, stopping("Kiwi"))
    board.show("11", title="Senior Python Engineer, Kiwi")
    source_id = active(trial, board)
    [found] = rows(trial, "filtered")
    trial.engine.write(lambda unit: intake.decide(unit, HERE, found.id, "dismissed", ME))
    board.rows["11"] = row(board, "11", title="Senior Python Engineer")
    crawl(trial, source_id)
    settle(trial)
    [again] = rows(trial)
    assert (again.outcome, again.decision) == ("matched", "dismissed")
    assert items(trial, "job") == []


@pytest.mark.soak("postgresql")
def test_what_a_person_decided_stays(trial: Trial, board: Acme) -> None:
    give_profile(trial, stopping("33", "44"))
    board.show("11", "22", "33", "44")
    active(trial, board)
    settle(trial)
    ids = {one.posting_key[-2:]: one.id for one in rows(trial)}

    def decide(key: str, decision: str) -> None:
        trial.engine.write(lambda unit: intake.decide(unit, HERE, ids[key], decision, ME))

    decide("11", "saved")
    decide("44", "dismissed")
    trial.engine.write(lambda unit: intake.unfilter(unit, HERE, ids["33"], ME, "I like it"))
    settle(trial)
    assert outcomes(trial) == {"11": "matched", "22": "matched", "33": "matched", "44": "filtered"}
    give_profile(trial, stopping("11", "22", "33"))
    settle(trial)
    assert outcomes(trial) == {"11": "matched", "22": "filtered", "33": "matched", "44": "filtered"}
    taken = next(one for one in rows(trial) if one.id == ids["33"])
    assert "lena: I like it" in taken.filter_result


def test_a_posting_that_an_item_works_on_waits_for_it(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("11")
    active(trial, board)
    settle(trial)
    [found] = rows(trial)
    item = trial.engine.write(
        lambda unit: intake._item(
            unit,
            intake.listing,
            HERE,
            found.posting_key,
            {"posting_id": str(found.id), "stage": "FILTER"},
            ME,
        )
    ).item
    trial.engine.write(lambda unit: postings.update(unit, found.id, item_id=item.id))
    give_profile(trial, stopping("11"))
    assert duties.score_again(trial.engine) is False, "it would be asked again at once, and again"
    settle(trial)
    assert outcomes(trial) == {"11": "filtered"}


@pytest.mark.soak("postgresql")
def test_a_profile_that_changes_between_filter_and_match_filters_again(trial: Trial, board: Acme) -> None:
    give_profile(trial)
    board.show("11")
    active(trial, board)
    settle(trial)
    [found] = rows(trial)
    trial.engine.write(
        lambda unit: intake._item(
            unit, intake.listing, HERE, found.posting_key, {"posting_id": str(found.id), "stage": "ANALYZE"}, ME
        )
    )
    trial.engine.write(lambda unit: postings.update(unit, found.id, outcome=postings.NEW))
    give_profile(trial, stopping("11"))
    trial.run_until_idle()
    assert outcomes(trial) == {"11": "filtered"}
    assert items(trial, "listing")[-1].state == "FILTERED"


@pytest.mark.soak("postgresql")
def test_many_rows_are_scored_in_bounded_rounds(trial: Trial, board: Acme, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duties, "AT_ONCE", 3)
    give_profile(trial, stopping("Python"))
    board.show(*(str(number) for number in range(5)))
    active(trial, board)
    assert set(outcomes(trial).values()) == {"filtered"}
    give_profile(trial, stopping("Engineer"))
    assert duties.score_again(trial.engine)
    assert duties.score_again(trial.engine)
    assert not duties.score_again(trial.engine)
    assert not [one for one in items(trial, "listing") if one.finished_at is None]


@pytest.mark.soak("postgresql")
def test_all_that_wait_for_a_profile_are_started(trial: Trial, board: Acme, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duties, "AT_ONCE", 3)
    board.show(*(str(number) for number in range(8)))
    active(trial, board)
    assert set(outcomes(trial).values()) == {"waiting"}
    profile = parse_profile(stopping("Python"))
    trial.engine.write(lambda unit: profiles.put(unit, HERE, profile, "lena"))
    for _ in range(4):
        duties.start_waiting(trial.engine)
        trial.run_until_idle()
    assert set(outcomes(trial).values()) == {"filtered"}


@pytest.mark.soak("postgresql")
def test_a_broken_file_keeps_the_profile_that_was_there(made: Made, site: Site, tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    trial = made(site.host, profile=path)

    def stored() -> str | None:
        duties.read_profile_file(trial.engine)
        return trial.engine.read(lambda conn: profiles.digest_of(conn, OPERATORS))

    assert stored() is None
    path.write_text(sample())
    first = stored()
    assert first is not None
    for broken in ("identity: [", "skills: 7", "", "\x00", "a: &a [*a]", "x: !!python/object:os.system {}"):
        path.write_text(broken)
        assert stored() == first, broken
    path.write_bytes(b"\xff\xfe\x00")
    assert stored() == first
    path.write_text(stopping("PHP"))
    assert stored() not in (None, first)
    path.unlink()
    assert stored() is not None
