"""The profile: what may be written, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from interlock.apps.jobs.commands import app
from interlock.apps.jobs.finder.identity.keys import word_list
from interlock.apps.jobs.finder.profiles.profile import Profile, offset_of
from interlock.apps.jobs.finder.profiles.profile_file import (
    ProfileError,
    check_profile,
    parse_profile,
    read_profile,
    sample,
)
from interlock.machine import InterlockError

KEYS = word_list("""
    identity time_zone home workplace titles role_types seniority management years skills salary company_size
    work_authorisation stop_list employment education projects answers never_say
""")


def run(*args: str) -> str:
    result = CliRunner().invoke(app, ["init", *args])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_sample_uses_every_part() -> None:
    profile = parse_profile(sample())
    assert set(Profile.model_fields) >= KEYS
    for key in KEYS:
        assert getattr(profile, key) not in (None, (), {}), key
    assert profile.skills[0].model_dump() == {"name": "Python", "years": 8.0, "last_used": "2026-10", "rank": 30}


def test_an_empty_profile_is_one() -> None:
    assert check_profile({}) == Profile()


def test_short_forms() -> None:
    profile = parse_profile("""
home: Portland, OR, US
workplace: remote
seniority: junior
skills: [Python]
company_size: large
work_authorisation: [United States, NO]
education: {school: Night School, start: 2014}
""")
    assert (profile.home.city, profile.home.region, profile.home.country) == ("Portland", "OR", "US")
    assert profile.workplace == ("remote",)
    assert profile.seniority == ("entry",)
    assert profile.skills[0].name == "Python"
    assert [one.country for one in profile.work_authorisation] == ["US", "NO"], "NO is Norway"
    assert profile.education[0].start == "2014"


WRONG = {
    "skils: [Python]": "skils: no such key; did you mean skills?",
    "skills: [{name: Go, year: 3}]": "skills.0.year: no such key; did you mean years?",
    "stop_list: {company: [Acme]}": "stop_list.company: no such key; did you mean companies?",
    "filter: {treshold: 3}": "filter.treshold: no such key; did you mean threshold?",
    "xyzzy: 1": "xyzzy: no such key; known keys are identity, ",
    "stop_list: {companies: [a]}": "stop_list.companies.0: String should have at least 2 characters",
    "stop_list: {keywords: ['  ']}": "stop_list.keywords.0: String should have at least 2 characters",
    "stop_list: {domains: [example.com/jobs]}": "'example.com/jobs' is not a domain; write it without a path",
    "time_zone: Pacific": "time_zone: 'Pacific' is not a time zone; write it as Region/City",
    "home: {country: Atlantis}": "home.country: 'Atlantis' is not a country; write its name",
    "identity: {email: a@b.c}": "identity.name: is missing; add it",
    "salary: {min: 100, currency: dollars}": "salary.currency: write three letters, such as USD (given: 'dollars')",
    "employment: [{company: A, title: B, start: 2021-13}]": "employment.0.start: write 2021 or 2021-03",
    "seniority: [boss]": "seniority.0: Input should be 'intern'",
    "workplace: unknown": "workplace: 'unknown' is no preference; leave it out",
    "match: {skills: 0, title: 0, seniority: 0, location: 0, salary: 0}": "the weights are all zero",
    "- a": "must have keys and values",
    "a: [": "is no YAML",
    "titles: &a [x]\nskills: *a": "no anchors and aliases",
}


@pytest.mark.parametrize("text", WRONG)
def test_an_error_names_the_key_and_the_remedy(text: str) -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, "mine.yaml")
    assert str(caught.value).startswith("mine.yaml")
    assert WRONG[text] in str(caught.value)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ProfileError) as caught:
        parse_profile("skils: []\nyears: -1")
    assert len(str(caught.value).splitlines()) == 2


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="init --sample"):
        read_profile(tmp_path / "none.yaml")
    path = tmp_path / "profile.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProfileError, match="no UTF-8"):
        read_profile(path)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(ProfileError, match="at most 1,000,000"):
        read_profile(path)


@pytest.mark.parametrize(
    ("zone", "hours"),
    [("America/Los_Angeles", -8), ("Europe/Dublin", 0), ("Asia/Kolkata", 5.5), ("Australia/Sydney", 10)],
)
def test_hours_are_counted_in_winter(zone: str, hours: float) -> None:
    assert offset_of(zone) == hours


def test_the_sample_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    assert "wrote" in run("--sample", str(path))
    assert read_profile(path) == parse_profile(sample())
    path.write_text("years: 3")
    with pytest.raises(InterlockError, match="is there already"):
        run("--sample", str(path))
    assert path.read_text() == "years: 3"
    assert "wrote" in run("--sample", "--force", str(path))
    assert read_profile(path) == parse_profile(sample())
