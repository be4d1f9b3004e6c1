"""The page of a machine's flow: bands and tables say the same, and times are shown as distributions."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from interlock.dashboard import flow
from interlock.dashboard.spread import spreads
from interlock.machine import Go
from interlock.store import SECOND
from interlock.watch.flow import Move
from interlock.watch.histogram import MINUTE, Bucket
from tests.support.api import BY, order
from tests.support.rollups import roll_all
from tests.support.site import Site

A, B, C, D = list(order.states)[:4]


def page(site: Site, query: str = "", who: str = "owner") -> Any:
    roll_all(site.api.engine)
    return site.get(f"/ui/machines/order/flow{query}", who)


def text_of(found: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found.text))


def test_moves_and_times_are_on_the_page_with_the_same_numbers_as_text(site: Site) -> None:
    for _ in range(3):
        made = site.api.new()
        site.api.clock.advance(timedelta(minutes=3))
        site.api._work(made, Go("asked"))
    site.api.engine.fire(made, "approve", actor=BY)
    found = page(site)
    said = text_of(found)
    first = order.initial
    assert "3 created · 4 moves in 7 days" in said
    assert f"created {first} 3 —" in said
    assert f"{first} asked 3 100 %" in said
    assert f"<title>3 from {first} to asked</title>" in found.text
    assert f"{first}: half of 3 stays ended within" in found.text
    assert f'href="/ui/instances?machine=order&amp;state={first}"' in found.text
    assert len(found.content) < 200_000
    assert " style=" not in found.text
    assert site.get("/ui/machines/order").text.count('href="/ui/machines/order/flow"') == 1


def test_a_window_without_moves_says_so_and_an_unknown_machine_is_not_found(site: Site) -> None:
    site.api.new()
    site.api.clock.advance(timedelta(days=2))
    assert "1 created · 0 moves" in text_of(page(site))
    assert "No moves in 24 hours." in text_of(page(site, "?span=24h"))
    assert "No stay ended in 7 days." in text_of(page(site, "?span=nonsense"))
    assert site.get("/ui/machines/nothing/flow").status_code == 404
    assert "0 created" in text_of(page(site, "", "north-owner"))


def moves(*given: tuple[str | None, str, int]) -> list[Move]:
    return [Move(*one) for one in given]


def test_states_stand_to_the_right_of_what_leads_to_them_and_loops_run_below() -> None:
    made = flow.picture(order, moves((None, A, 10), (A, B, 8), (B, C, 5), (B, A, 3), (A, C, 2), (C, C, 1)), "a day")
    x = {node.name: node.x for node in made.nodes}
    assert x[A] < x[B] < x[C]
    assert {band.title for band in made.bands if band.back} == {f"3 from {B} back to {A}", f"1 from {C} back to {C}"}
    assert made.width - x[C] > flow.NODE + flow.LETTER * len(C), "the name of the last state has room beside it"
    assert {node.n for node in made.nodes if node.name == A} == {13}, "created, and back"
    lowest = max(node.y + node.height for node in made.nodes)
    assert made.height > lowest


def test_bands_leave_and_enter_states_within_their_height() -> None:
    given = moves((None, A, 1_000_000), (A, B, 600_000), (A, C, 399_999), (A, D, 1), (B, D, 600_000))
    made = flow.picture(order, given, "a day")
    nodes = {node.name: node for node in made.nodes}
    widths = {band.key: band.width for band in made.bands}
    assert widths[f"{A}-{D}"] == flow.THIN, "one of a million is seen"
    assert abs(widths[f"{A}-{B}"] + widths[f"{A}-{C}"] - nodes[A].height) < 1
    assert sum(node.height for node in made.nodes if node.x == nodes[B].x) <= flow.TALL + 1
    for one in made.nodes:
        others = [other for other in made.nodes if other.x == one.x and other.name != one.name]
        assert all(other.y >= one.y + one.height or other.y + other.height <= one.y for other in others)


def test_a_move_past_a_column_goes_around_its_states() -> None:
    made = flow.picture(order, moves((None, A, 10), (A, B, 5), (B, C, 5), (A, C, 5)), "a day")
    [way] = [band for band in made.bands if band.key == f"{A}-{C}"]
    [between] = [node for node in made.nodes if node.name == B]
    ends, begins = re.search(rf" {between.x} ([0-9.]+)L{between.x + flow.NODE} ([0-9.]+)C", way.path).groups()  # type: ignore[union-attr]
    assert ends == begins
    low, high = float(ends) - way.width / 2, float(ends) + way.width / 2
    assert low >= between.y + between.height or high <= between.y


def test_states_of_older_versions_and_nothing_at_all_are_drawn() -> None:
    assert {node.name for node in flow.picture(order, moves(("gone", A, 1)), "a day").nodes} == {"gone", A}
    nothing = flow.picture(order, [], "a day")
    assert (nothing.nodes, nothing.bands) == ([], [])


def test_distributions_share_one_scale_in_the_order_of_the_machine() -> None:
    found = spreads(
        order,
        {
            B: {MINUTE: Bucket(9, 9 * MINUTE // 2, MINUTE)},
            A: {SECOND: Bucket(1, SECOND, SECOND), MINUTE: Bucket(3, 3 * MINUTE, MINUTE)},
            "gone": {SECOND: Bucket(0, 0, 0)},
        },
    )
    assert [row.state for row in found.rows] == [A, B]
    assert {len(row.bars) for row in found.rows} == {found.width // 10}
    first = found.rows[0].bars
    assert (first[0].title, first[0].height) == ("0.5 s to 1.0 s: 1 of 4 (25 %)", 33.33)
    assert (first[-1].title, first[-1].height) == ("30 s to 1 min: 3 of 4 (75 %)", 100.0)
    assert found.axis[-1] == "1 min"
    assert spreads(order, {}).rows == ()
