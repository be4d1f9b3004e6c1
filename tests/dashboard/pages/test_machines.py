"""The page of a machine: its diagram with numbers, what is stuck, and who may fire what."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa

from interlock.apps.contracts.machine import contract
from interlock.dashboard import diagram, plots
from interlock.machine import Go
from interlock.machine.diagram import Point
from interlock.store import SECOND
from interlock.store import service_tables as s
from interlock.store import tables as t
from interlock.watch.measures import Point as At
from tests.support.api import BY
from tests.support.rollups import roll_all
from tests.support.site import EVIL, Site


def page(site: Site, who: str = "owner", query: str = "") -> str:
    roll_all(site.api.engine)
    answer = site.get(f"/ui/machines/order{query}", who)
    assert answer.status_code == 200
    text: str = answer.text
    return text


def nodes(text: str) -> dict[str, str]:
    """What a screen reader says of each state of the diagram."""
    return {
        name: html.unescape(label)
        for name, label in re.findall(r'data-key="n-([^"]*)"[^>]*? aria-label="([^"]*)"', text)
    }


def row(text: str, state: str) -> str:
    found = re.search(rf'<tr data-key="{state}">.*?</tr>', text, re.DOTALL)
    assert found is not None
    return found[0]


def quick(site: Site, times: int = 10) -> None:
    """Several that pass through their states in two seconds each."""
    for _ in range(times):
        made = site.api.new()
        site.api.clock.advance(timedelta(seconds=2))
        site.api._work(made, Go("asked"))
        site.api.clock.advance(timedelta(seconds=2))
        site.api.engine.fire(made, "approve", actor=BY)


# -- who sees it


@pytest.mark.parametrize("who", ["owner", "member", "reviewer", "viewer", "north-owner", "north-viewer"])
def test_everybody_who_is_logged_in_may_look_at_a_machine(site: Site, who: str) -> None:
    assert "<h1>Order</h1>" in page(site, who)


@pytest.mark.parametrize("name", ["nothing", "Order", "%3Cscript%3E", "..%2Forder"])
def test_an_unknown_machine_is_not_found(site: Site, name: str) -> None:
    answer = site.get(f"/ui/machines/{name}")
    assert answer.status_code == 404
    assert "<script>" not in answer.text


def test_what_another_workspace_has_is_not_counted(site: Site) -> None:
    site.api.asked(workspace="north")
    assert nodes(page(site, "viewer"))["asked"] == "asked, needs a person: 0 now"
    assert nodes(page(site, "north-viewer"))["asked"].startswith("asked, needs a person: 1 now")
    assert "version 1" in page(site, "viewer")
    assert '<span class="num">0</span>' in page(site, "viewer")


# -- the diagram and the table of states


def test_each_state_is_a_link_to_its_instances_with_how_many_and_how_long_usually(site: Site) -> None:
    quick(site)
    site.api.new()
    text = page(site)
    assert nodes(text) == {
        "new": "new, working: 1 now, usually 1.5 s",
        "asked": "asked, needs a person: 0 now, usually 1.5 s",
        "sent": "sent, done: 10 now",
        "refused": "refused, ended: 0 now",
        "cancelled": "cancelled, ended: 0 now",
    }
    assert text.count('href="/ui/instances?machine=order&amp;state=asked"') == 2, "in the diagram, and in the table"


def test_a_state_shows_its_number_the_usual_time_and_its_oldest(site: Site) -> None:
    quick(site)
    made = site.api.asked()
    site.api.clock.advance(timedelta(seconds=30))
    cells = [html.unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<td.*?</td>", row(page(site), "asked"))]
    assert cells == ["asked", "1", "1.5 s", "1.9 s", "30 s"]
    assert f'href="/ui/instances/{made.id}"' in row(page(site), "asked")
    assert "final state" in row(page(site), "sent")


def test_one_that_is_there_much_longer_than_usual_stands_out_in_words(site: Site) -> None:
    quick(site)
    site.api.asked({"item": "a forgotten order"})
    site.api.clock.advance(timedelta(seconds=59))
    assert "stuck" not in page(site)
    site.api.clock.advance(timedelta(hours=2))
    text = page(site)
    page_text = html.unescape(re.sub(r"<.*?>", "", text))
    assert "a forgotten order has been in asked for 2 h, longer than usual: 90 % leave within 1.9 s." in page_text
    assert 'class="node n-person stuck"' in text
    assert "1 · stuck 2 h" in text
    assert nodes(text)["asked"].endswith("one for 2 h, longer than usual")


def test_without_a_past_nothing_is_called_stuck(site: Site) -> None:
    site.api.new()
    site.api.clock.advance(timedelta(days=2))
    assert "stuck" not in page(site)


def test_a_state_that_only_an_older_version_has_is_in_the_table(site: Site) -> None:
    made = site.api.new()
    move = sa.update(t.instance).where(t.instance.c.id == made).values(state="gone_by")
    site.api.engine.write(lambda unit: unit.conn.execute(move))
    roll_all(site.api.engine)
    count = {"workspace": "default", "machine": "order", "state": "gone_by", "n": 1}
    site.api.engine.write(lambda unit: unit.conn.execute(sa.insert(s.state_count).values(count)))
    assert "of an older version" in row(page(site), "gone_by")


# -- the rest of it


def test_transitions_say_who_may_fire_them(site: Site) -> None:
    text = page(site).partition("Transitions</h2>")[2]
    rows = [
        [html.unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<td.*?</td>", one)]
        for one in re.findall(r"<tr><td>.*?</tr>", text, re.DOTALL)
    ]
    assert ["new", "asked", "checked", "a worker", ""] in rows
    assert ["asked", "refused", "refuse", "the system, a person", ""] in rows
    assert ["asked", "sent", "report", "an agent", ""] in rows
    assert ["asked", "cancelled", "destroy", "an owner", ""] in rows
    assert len(rows) == len(site.api.engine.registry["order"].edges)


def test_versions_that_are_under_way_are_listed(site: Site) -> None:
    site.api.new()
    old = {
        "machine": "order",
        "version": 7,
        "digest": "x",
        "spec": json.dumps(site.api.engine.registry["order"].spec()),
    }
    site.api.engine.write(lambda unit: unit.conn.execute(sa.insert(t.definition).values(**old, registered_at=1)))
    text = page(site)
    assert re.findall(r"<dt>version (\d+)", text) == ["7", "1"]
    assert re.findall(r'<dd>.*?<span class="num">(\d+)</span></dd>', text) == ["0", "1"]


def test_the_window_of_the_plots_is_part_of_the_address(site: Site) -> None:
    quick(site, 2)
    assert 'aria-label="2 finished in 24 hours"' in page(site)
    assert 'aria-label="2 finished in 1 hour"' in page(site, query="?span=1h")
    assert 'aria-label="2 finished in 7 days"' in page(site, query="?span=7d")


def test_a_machine_that_stands_still_says_who_stopped_it(site: Site) -> None:
    halt = {"machine": "order", "actor": "user:ann", "reason": "", "at": 1}
    site.api.engine.write(lambda unit: unit.conn.execute(sa.insert(s.halt).values(halt)))
    assert "Halted by ann <time" in page(site)


def test_hostile_text_is_shown_as_text(site: Site) -> None:
    quick(site)
    made = site.api.asked()
    site.api.clock.advance(timedelta(hours=2))
    evil = sa.update(t.instance).where(t.instance.c.id == made.id).values(key=EVIL)
    site.api.engine.write(lambda unit: unit.conn.execute(evil))
    halt = {"machine": "order", "actor": "user:<script>x</script>", "reason": EVIL, "at": 1}
    site.api.engine.write(lambda unit: unit.conn.execute(sa.insert(s.halt).values(halt)))
    text = page(site)
    assert "<script>x" not in text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert html.escape(EVIL, quote=False).replace('"', "&#34;").replace("'", "&#39;") in text


def test_the_page_has_no_style_and_no_script_in_it(site: Site) -> None:
    text = page(site)
    assert " style=" not in text
    assert re.findall(r"<script(?! type=\"module\" src=)", text) == []


# -- the way of one instance


def test_the_picture_of_an_instance_shows_where_it_was_is_and_can_go(site: Site) -> None:
    engine = site.api.engine
    made = site.api.asked()
    drawn = diagram.for_instance(engine.registry["order"], engine.history(made.id), engine.get(made.id))
    classes = {node.name: node.classes for node in drawn.nodes}
    assert classes == {"new": "n-work", "asked": "n-person here", "sent": "off", "refused": "off", "cancelled": "off"}
    ways = {way.key: way.classes.rpartition(" ")[2] for way in drawn.ways}
    assert ways == {
        "new-asked": "taken",
        "asked-sent": "next",
        "asked-refused": "next",
        "asked-cancelled": "next",
        "new-cancelled": "faint",
    }
    assert {way.key for way in drawn.ways if way.far} == {"new-cancelled"}


def test_of_a_line_with_two_heads_only_those_that_were_taken_have_one() -> None:
    pair = {("extracting", "failed")}
    drawn = diagram.picture(
        contract, visited={"extracting"}, taken=pair, present="failed", onward={("failed", "rejected")}
    )
    way = next(way for way in drawn.ways if way.key == "extracting-failed")
    assert (way.classes, way.head, way.tail) == ("taken", "taken", "")
    back = diagram.picture(contract, visited=set(), taken={("failed", "extracting")}, present="extracting")
    way = next(way for way in back.ways if way.key == "extracting-failed")
    assert (way.classes, way.head, way.tail) == ("taken", "", "taken")
    onward = next(way for way in drawn.ways if way.key == "failed-rejected")
    assert (onward.head, onward.classes) == ("fail", "e-fail next")


def test_a_guard_that_refuses_leaves_no_way_onward() -> None:
    row = SimpleNamespace(from_state="parsing_pdf", to_state="failed")
    it: Any = SimpleNamespace(
        state="failed",
        previous="parsing_pdf",
        failed_step="parsing_pdf",
        data={},
        wake=None,
        paused_wake=None,
        finished_at=None,
        due_event=None,
    )
    drawn = diagram.for_instance(contract, [row], it)
    assert {way.key for way in drawn.ways if way.classes.endswith("next")} == {"failed-rejected"}
    assert next(way for way in drawn.ways if way.key == "parsing_pdf-failed").classes == "taken"


def test_an_instance_in_a_state_that_is_gone_still_has_a_picture() -> None:
    it: Any = SimpleNamespace(state="older", previous=None, failed_step=None, data={})
    drawn = diagram.for_instance(contract, [], it)
    assert not [node for node in drawn.nodes if "here" in node.classes]


def test_bends_are_round_and_never_rounder_than_there_is_room() -> None:
    path = diagram.rounded([Point(0, 0), Point(0, 40), Point(10, 40), Point(10, 80)])
    assert path == "M0 0L0 35Q0 40 5 40L5 40Q10 40 10 45L10 80"
    assert diagram.rounded([Point(0, 0), Point(0, 40), Point(100, 40)]) == "M0 0L0 31Q0 40 9 40L100 40"


# -- plots


@pytest.mark.parametrize(
    ("highest", "step"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 5), (21, 10), (1_204, 500), (88_000, 50_000)]
)
def test_ticks_are_round_numbers_and_at_most_four(highest: int, step: int) -> None:
    assert plots.tick_step(highest) == step


def test_an_empty_series_has_its_axis() -> None:
    drawn = plots.plot(plots.empty(1_000_000 * SECOND, plots.SPANS["24h"]), plots.SPANS["24h"], "work", "finished")
    assert (drawn.ticks, drawn.lines, drawn.total) == (["1", "0"], [0.0, 100.0], 0)
    assert all(bar.height == 0 for bar in drawn.bars)


def test_one_among_a_million_can_be_seen() -> None:
    drawn = plots.plot([At(0, 1_000_000), At(3600 * SECOND, 1)], plots.SPANS["24h"], "work", "finished")
    assert [bar.height for bar in drawn.bars] == [100.0, 1.0]
    assert drawn.bars[1].title == "01:00 to 02:00 UTC: 1 finished"


def test_failed_attempts_stand_on_top_of_what_finished() -> None:
    drawn = plots.spark([At(0, 3), At(1, 0)], [At(0, 1), At(1, 2)])
    assert [(bar.y, bar.height) for bar in drawn.bars] == [(25.0, 75.0), (100.0, 0.0)]
    assert [(bar.y, bar.height) for bar in drawn.failed] == [(0.0, 25.0), (50.0, 50.0)]


def test_an_instance_is_created_by_the_form_of_its_model(site: Site) -> None:
    path = "/ui/machines/order/new"
    assert f'href="{path}"' in site.get("/ui/machines/order").text
    assert 'name="f_item"' in site.get(path).text
    fields = {"f_item": "a lamp", "business_key": "A-7", "labels": "shop=north\n", "priority": "1"}
    page = site.send(path, path, fields)
    made = site.api.engine.get(UUID(page.url.path.rpartition("/")[2]))
    assert (made.key, made.data["item"], made.shown_labels, made.priority) == ("A-7", "a lamp", {"shop": "north"}, 1)
    assert site.send(path, path, fields).status_code == 409


def test_what_does_not_fit_the_model_is_refused_by_name(site: Site) -> None:
    path = "/ui/machines/order/new"
    refused = site.send(path, path, {"f_item": "x", "labels": "north"})
    assert (refused.status_code, "name=value" in refused.text) == (422, True)
    assert site.get("/ui/machines/none/new").status_code == 404


def test_only_who_may_create_sees_the_form(site: Site) -> None:
    assert "/ui/machines/order/new" not in site.get("/ui/machines/order", "viewer").text
    assert site.get("/ui/machines/order/new", "viewer").status_code == 403
