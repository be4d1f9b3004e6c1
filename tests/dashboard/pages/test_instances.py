"""The list of instances: filters, order, saving it, and doing something to many."""

from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from uuid import UUID

import pytest

from interlock.engine import listing
from interlock.http.csv_cells import csv_line, safe_cell
from interlock.machine import OWNER, Actor
from tests.support.site import EVIL, Site

BY = Actor(OWNER, "test")


def shown(site: Site, query: str = "", who: str = "owner") -> list[str]:
    """The ids of the instances on the page, in their order."""
    text = site.get(f"/ui/instances{query}", who).text
    return [part.partition('"')[0] for part in text.split('class="id" href="/ui/instances/')[1:]]


def test_each_sees_the_instances_of_their_own_workspaces(site: Site) -> None:
    mine, theirs = site.api.new(), site.api.new(workspace="north")
    for who in ("owner", "member", "reviewer", "viewer"):
        assert shown(site, who=who) == [str(mine)]
    assert shown(site, who="north-viewer") == [str(theirs)]
    assert shown(site, "?workspace=north") == []


def test_filters_narrow_it_down(site: Site) -> None:
    asked = site.api.asked({"item": "coffee"}, labels={"shop": "north"}).id
    plain = site.api.new({"item": "tea"})
    site.api.engine.pause(plain, actor=BY)
    for query, found in {
        "?machine=order": [plain, asked],
        "?machine=order&state=asked": [asked],
        "?text=coff": [asked],
        "?label=shop%3Dnorth": [asked],
        "?show=paused": [plain],
        "?show=live": [plain, asked],
        "?show=finished": [],
        "?machine=nothing": [],
        "?age=3600": [],
        "?error=Broken": [],
    }.items():
        assert shown(site, query) == [str(one) for one in found], query
    site.api.clock.advance(timedelta(hours=2))
    assert len(shown(site, "?age=3600")) == 2


def test_it_can_be_sorted_by_age_and_by_the_time_in_its_state(site: Site) -> None:
    first = site.api.new()
    site.api.clock.advance(timedelta(hours=1))
    second = site.api.asked().id
    site.api.clock.advance(timedelta(hours=1))
    third = site.api.asked().id
    assert shown(site) == [str(third), str(second), str(first)]
    assert shown(site, "?sort=oldest") == [str(first), str(second), str(third)]
    assert shown(site, "?sort=longest&machine=order&state=asked") == [str(second), str(third)]
    page_text = site.get("/ui/instances?sort=longest").text
    assert "needs a machine and a state" in page_text


def test_where_too_many_are_in_a_state_they_are_not_sorted_by_the_time_in_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.api.new()
    site.api.new()
    monkeypatch.setattr(listing, "MOST_SORTED", 1)
    assert "at most 5,000" in site.get("/ui/instances?sort=longest&machine=order&state=new").text


@pytest.mark.parametrize("sort", ["", "oldest", "longest"])
def test_pages_follow_each_other_without_a_gap(site: Site, sort: str) -> None:
    made = {str(site.api.new()) for _ in range(120)}
    seen: list[str] = []
    url: str | None = f"/ui/instances?sort={sort}&machine=order&state=new"
    while url:
        text = site.get(url).text
        seen += [part.partition('"')[0] for part in text.split('class="id" href="/ui/instances/')[1:]]
        _, found, rest = text.partition('rel="next" href="')
        url = rest.partition('"')[0].replace("&amp;", "&") if found else None
    assert len(seen) == 120
    assert set(seen) == made


def test_whoever_searches_for_an_id_comes_to_the_instance(site: Site) -> None:
    it = site.api.new()
    assert site.get(f"/ui/instances?text={it}").url.path == f"/ui/instances/{it}"
    elsewhere = site.api.new(workspace="north")
    assert site.get(f"/ui/instances?text={elsewhere}").url.path == "/ui/instances"


@pytest.mark.parametrize("query", ["?show=odd", "?sort=odd", "?age=odd", "?label=%3Dx", "?root=odd", "?after=odd"])
def test_what_makes_no_sense_is_refused_in_words(site: Site, query: str) -> None:
    answer = site.get(f"/ui/instances{query}")
    assert answer.status_code == 422
    assert "<main" in answer.text


def test_hostile_text_is_shown_as_text(site: Site) -> None:
    site.api.new({"item": EVIL, "note": EVIL}, key=EVIL[:100], labels={EVIL: EVIL})
    page = site.get(f"/ui/instances?text={'{{7*7}}'}&label=")
    assert "&lt;script&gt;" in page.text
    for part in ("<script>alert", "<img src=x", '"><img'):
        assert part not in page.text
    echoed = site.get("/ui/instances", params={"text": EVIL, "error": EVIL, "machine": EVIL, "state": EVIL}).text
    assert "<script>alert" not in echoed


# -- saving


def test_the_list_is_saved_as_csv_with_the_same_filter(site: Site) -> None:
    site.api.new({"item": "tea"})
    asked = site.api.asked({"item": "coffee", "api_key": "very-secret-value"}, key="=1+1").id
    answer = site.get("/ui/instances.csv?state=asked&machine=order")
    assert answer.headers["content-disposition"] == 'attachment; filename="instances.csv"'
    [row] = csv.DictReader(io.StringIO(answer.text))
    assert (row["id"], row["state"], row["key"]) == (str(asked), "asked", "'=1+1")
    assert json.loads(row["data"])["item"] == "coffee"
    assert "very-secret-value" not in answer.text


def test_the_list_is_saved_as_json_page_by_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.dashboard.pages.instances.SAVED_AT_ONCE", 2)
    made = [str(site.api.new()) for _ in range(5)]
    site.api.new(workspace="north")
    assert [one["id"] for one in site.get("/ui/instances.json").json()] == made[::-1]
    assert site.get("/ui/instances.json?text=nothing-has-this").json() == []


def test_it_is_saved_as_nothing_else(site: Site) -> None:
    assert site.get("/ui/instances.xml").status_code == 404


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "\uff1d1+1"])
def test_no_cell_is_run_by_a_spreadsheet(text: str) -> None:
    assert safe_cell(text) == f"'{text}"
    assert safe_cell("tea") == "tea"


def test_a_line_reads_back_and_is_split_at_no_semicolon() -> None:
    cells = ["a;=1+1", 'he said "no"', "x,y", "", "two\nlines", "tea"]
    line = csv_line(cells)
    assert next(csv.reader([line])) == cells
    assert line.startswith('"a;=1+1",')


# -- doing something to many


def paused(site: Site, *ids: UUID) -> list[bool]:
    return [site.api.engine.get(one).paused_at is not None for one in ids]


def test_some_are_chosen_previewed_and_done_with_their_reason(site: Site) -> None:
    one, two, left = site.api.new(), site.api.new(), site.api.new()
    preview = f"/ui/bulk/new?action=pause&which=ticked&id={one}&id={two}"
    assert "Pause: 2 instances?" in site.get(preview).text
    assert paused(site, one, two) == [False, False]
    answer = site.send(preview, "/ui/bulk", {"id": [str(one), str(two)], "reason": "stocktaking"})
    assert "2 paused." in answer.text
    assert paused(site, one, two, left) == [True, True, False]
    assert site.api.engine.history(one)[-1].payload["reason"] == "stocktaking"


def test_one_that_is_refused_does_not_hold_up_the_others(site: Site) -> None:
    done = site.api.asked().id
    site.api.engine.fire(done, "approve", actor=BY)
    open_ = site.api.asked().id
    preview = f"/ui/bulk/new?action=fire&id={done}&id={open_}"
    answer = site.send(preview, "/ui/bulk", {"id": [str(done), str(open_)], "event": "refuse"})
    assert "1 moved. 1 refused" in answer.text
    assert site.api.engine.get(open_).state == "refused"


def test_all_that_match_are_done_in_batches_with_progress(site: Site) -> None:
    matching = [site.api.asked({"item": "tea"}).id for _ in range(3)]
    other = site.api.new()
    preview = "/ui/bulk/new?action=cancel&which=all&machine=order&state=asked"
    assert "Cancel: 3 instances?" in site.get(preview).text
    page = site.send(preview, "/ui/bulk", {"reason": "closed"})
    assert page.url.path.startswith("/ui/bulk/")
    assert "running" in page.text
    assert "data-moving" in page.text
    site.api.engine.bulk.step()
    done = site.get(page.url.path).text
    assert "data-moving" not in done
    assert "<b>3</b><span>cancelled</span>" in done
    assert {site.api.engine.get(one).state for one in matching} == {"cancelled"}
    assert site.api.engine.get(other).state == "new"
    assert page.url.path in site.get("/ui/bulk").text


def test_a_bulk_action_can_be_stopped(site: Site) -> None:
    site.api.new()
    page = site.send("/ui/bulk/new?action=pause&which=all&machine=order", "/ui/bulk")
    path = page.url.path
    assert "Stopped after 0" in site.send(path, f"{path}/stop").text
    assert site.api.engine.bulk.step() is None
    assert "stopped" in site.get(path).text


def test_a_form_that_is_sent_twice_starts_one_bulk_action(site: Site) -> None:
    site.api.new()
    preview = "/ui/bulk/new?action=pause&which=all&machine=order"
    fields = site.form(preview, "/ui/bulk")
    first, second = (site.browser().post("/ui/bulk", data=fields).url.path for _ in range(2))
    assert first == second
    assert len(site.api.engine.bulk.page().bulks) == 1


def test_everything_at_once_is_never_taken(site: Site) -> None:
    site.api.new()
    assert '<option value="all">' not in site.get("/ui/instances").text
    assert '<option value="all">' in site.get("/ui/instances?machine=order").text
    assert site.get("/ui/bulk/new?action=pause&which=all").status_code == 422
    assert site.get("/ui/bulk/new?action=pause").status_code == 422
    assert site.get("/ui/bulk/new?action=explode&which=all&machine=order").status_code == 422


def test_a_viewer_is_offered_nothing_and_can_do_nothing(site: Site) -> None:
    it = site.api.new()
    assert "Preview…" not in site.get("/ui/instances", "viewer").text
    assert site.get(f"/ui/bulk/new?action=pause&id={it}", "viewer").status_code == 403
    fields = site.form(f"/ui/bulk/new?action=pause&id={it}", "/ui/bulk")
    stolen = {**fields, "csrf": site.form("/ui/logout", "/ui/logout", "viewer")["csrf"], "id": str(it)}
    assert site.browser("viewer").post("/ui/bulk", data=stolen).status_code == 403
    assert paused(site, it) == [False]


def test_another_workspaces_instances_and_bulk_actions_are_not_there(site: Site) -> None:
    theirs = site.api.new(workspace="north")
    mine = site.api.new()
    assert str(theirs) not in site.get(f"/ui/bulk/new?action=pause&id={theirs}&id={mine}").text
    answer = site.send(f"/ui/bulk/new?action=pause&id={mine}", "/ui/bulk", {"id": [str(theirs)]})
    assert answer.status_code == 404
    assert paused(site, theirs) == [False]
    page = site.send("/ui/bulk/new?action=pause&which=all&machine=order", "/ui/bulk")
    assert site.get(page.url.path, "north-owner").status_code == 404
    assert site.get(page.url.path, "viewer").status_code == 200


def test_a_form_without_its_token_is_refused(site: Site) -> None:
    it = site.api.new()
    fields = {**site.form(f"/ui/bulk/new?action=pause&id={it}", "/ui/bulk"), "csrf": "wrong", "id": str(it)}
    assert site.browser().post("/ui/bulk", data=fields).status_code == 403
    assert paused(site, it) == [False]
