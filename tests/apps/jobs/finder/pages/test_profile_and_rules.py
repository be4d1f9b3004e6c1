"""The profile's page, and rules that show what they would change before they are kept."""

from __future__ import annotations

from html import unescape

from interlock.apps.jobs.finder.pages.profile import as_yaml
from interlock.apps.jobs.finder.profiles.profile_file import parse_profile, sample
from interlock.apps.jobs.finder.records import profiles
from tests.apps.jobs.finder.pages.conftest import Finder

PROFILE = "/ui/jobs/profile"
RULES = "/ui/jobs/rules"


def test_a_profile_is_pasted_and_shown(finder: Finder) -> None:
    after = finder.site.send(PROFILE, PROFILE, {"profile": "titles: [Baker]\nskills: [Python]\n"})
    assert "The profile is stored" in after.text
    text = unescape(finder.site.get(PROFILE).text)
    assert "<dd>Baker</dd>" in text
    assert "Changed by owner" in text


def test_every_problem_of_a_profile_is_named_and_nothing_typed_is_lost(finder: Finder) -> None:
    bad = "titels: [Baker]\nsalary: {min: -1, currency: USD}\n# mine\n"
    after = finder.site.send(PROFILE, PROFILE, {"profile": bad})
    text = unescape(after.text)
    assert after.status_code == 422
    assert "titels: no such key; did you mean titles?" in text
    assert "salary.min" in text
    assert "# mine" in text
    assert finder.read(lambda conn: profiles.find(conn, "default")) is None


def test_the_profile_that_is_shown_gives_the_same_profile() -> None:
    made = parse_profile(sample())
    assert parse_profile(as_yaml(made)) == made


def test_the_sample_is_a_start_and_is_not_stored(finder: Finder) -> None:
    assert "Robin Vale" in finder.site.get(f"{PROFILE}?start=sample").text
    assert finder.read(lambda conn: profiles.find(conn, "default")) is None


def test_a_changed_rule_shows_what_disappears_before_it_is_kept(finder: Finder) -> None:
    finder.profile()
    finder.match()
    fields = {
        "companies": "Grim Corp\nKind Boats",
        "domains": "bad.example",
        "keywords": "unpaid",
        "filter.threshold": "5",
        "match.threshold": "80",
        "match.threshold_with_office": "65",
    }
    seen = finder.site.send(RULES, RULES, {**fields, "do": "preview"})
    text = unescape(seen.text)
    assert "0 matches would appear, 1 would disappear" in text
    assert "Excluded company: kind boats" in text
    stored = finder.read(lambda conn: profiles.find(conn, "default"))
    assert stored is not None
    assert stored.profile.stop_list.companies == ("Grim Corp",)
    after = finder.site.send(RULES, RULES, {**fields, "do": "save"})
    assert "The rules are stored" in after.text
    stored = finder.read(lambda conn: profiles.find(conn, "default"))
    assert stored is not None
    assert stored.profile.stop_list.companies == ("Grim Corp", "Kind Boats")
    assert stored.profile.titles == ("Backend Engineer",)


def test_rules_that_cannot_be_are_named_and_not_kept(finder: Finder) -> None:
    finder.profile()
    form = finder.site.form(RULES, RULES)
    fields = {"companies": "x", "domains": "no domain", "keywords": "", "filter.threshold": "many"}
    for do in ("preview", "save"):
        sent = {**form, **fields, "match.threshold": "80", "match.threshold_with_office": "65", "do": do}
        text = unescape(finder.site.browser().post(RULES, data=sent).text)
        assert "stop_list.companies.0" in text
        assert "filter.threshold" in text


def test_a_profile_that_changed_meanwhile_is_not_overwritten(finder: Finder) -> None:
    finder.profile()
    form = finder.site.form(RULES, RULES)
    finder.profile(titles=["Cook"])
    fields = {"companies": "", "domains": "", "keywords": "", "filter.threshold": "5", "match.threshold": "80"}
    sent = {**form, **fields, "match.threshold_with_office": "65", "do": "save"}
    reply = finder.site.browser().post(RULES, data=sent)
    assert reply.status_code == 409
    assert "was changed since you opened this page" in unescape(reply.text)


def test_a_link_fills_an_entry_in(finder: Finder) -> None:
    finder.profile()
    assert "Grim Corp\nSad Inc" in unescape(finder.site.get(f"{RULES}?add=Sad+Inc&to=companies").text)
