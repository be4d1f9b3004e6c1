"""Workers, schedules, outbox, alerts, audit and settings: shown, changed, and only by whom it is for."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

from interlock.engine.outbox import O
from interlock.engine.schedules import ScheduleSpec
from interlock.people import actions
from interlock.store import moment, tables
from tests.support.api import BY
from tests.support.site import EVIL, Site


def test_a_schedule_is_made_paused_run_and_removed(site: Site) -> None:
    fields = {
        "name": "nightly",
        "machine": "order",
        "cron": "30 2 * * *",
        "zone": "Europe/Berlin",
        "data": '{"item": "tea"}',
    }
    made = site.send("/ui/schedules", "/ui/schedules/new", fields)
    assert "Schedule nightly saved" in made.text
    assert "30 2 * * *" in site.get("/ui/schedules").text
    base = "/ui/schedules/default/nightly"
    assert "paused by owner" in site.send("/ui/schedules", f"{base}/pause").text
    assert "paused by" not in site.send("/ui/schedules", f"{base}/resume").text
    site.send("/ui/schedules", f"{base}/run")
    assert [i.data["item"] for i in site.api.engine.page().instances] == ["tea"]
    assert "No schedules" in site.send("/ui/schedules", f"{base}/remove").text


def test_a_wrong_schedule_is_refused(site: Site) -> None:
    for wrong in ({"cron": "never"}, {"zone": "Mars/Olympus"}, {"data": "{"}, {"data": "[]"}):
        fields = {"name": "x", "machine": "order", "cron": "* * * * *", "zone": "UTC", "data": "{}", **wrong}
        refused = site.send("/ui/schedules", "/ui/schedules/new", fields)
        assert refused.status_code == 422, wrong
    assert site.api.engine.schedules.all() == []


def test_a_viewer_sees_schedules_without_buttons(site: Site) -> None:
    site.api.engine.schedules.put(ScheduleSpec("nightly", "order", "0 2 * * *"), actor=BY)
    page = site.get("/ui/schedules", "viewer").text
    assert "nightly" in page
    assert "/ui/schedules/default/nightly" not in page
    assert "nightly" not in site.get("/ui/schedules", "north-owner").text


def test_messages_wait_with_a_remedy_and_a_dead_one_can_be_tried_again(site: Site) -> None:
    made = site.api.engine.outbox.put("mail", "a@b.c", EVIL, {"text": EVIL}, workspace="default")
    page = site.get("/ui/outbox").text
    assert "set [mail] in the configuration" in page
    assert "<script>alert" not in page
    site.api.engine.store.write(
        lambda conn: conn.execute(O.update().where(O.c.id == made).values(status="dead", last_error="550 no such user"))
    )
    page = site.get(f"/ui/outbox/{made}").text
    assert "550 no such user" in page
    assert "<script>alert" not in page
    site.send(f"/ui/outbox/{made}", f"/ui/outbox/{made}/retry")
    assert site.api.engine.outbox.get(made).status == "waiting"
    assert site.get(f"/ui/outbox/{made}", "north-owner").status_code == 404


def test_workers_leases_and_limits_are_shown(site: Site) -> None:
    from datetime import timedelta

    site.api.engine.leases.take("sandbox-7", EVIL, timedelta(minutes=5))
    site.api.engine.leases.take("duty:mail", "a process", timedelta(minutes=5))
    use = {"id": uuid4(), "key": "daily/<i>ann</i>", "at": site.api.engine.clock.now(), "instance_id": uuid4()}
    site.api.engine.store.write(lambda conn: conn.execute(tables.limit_use.insert().values(**use)))
    page = site.get("/ui/workers").text
    assert "sandbox-7" in page
    assert "Duties of the service (1)" in page
    assert "daily/&lt;i&gt;ann" in page
    assert "daily/<i>ann" in site.api.get("/api/limits").text
    assert "<script>alert" not in page
    assert "No worker has run yet" in page


def test_a_rule_of_ones_own_is_kept_and_removed(site: Site) -> None:
    fields = {
        "name": "many_orders",
        "metric": "state_count",
        "op": ">",
        "threshold": "50",
        "machine": "order",
        "state": "asked",
    }
    assert "many orders" in site.send("/ui/alerts", "/ui/alert-rules/new", fields).text
    wrong = site.send("/ui/alerts", "/ui/alert-rules/new", {**fields, "name": "x", "state": "nowhere"})
    assert (wrong.status_code, "nowhere" in wrong.text) == (422, True)
    site.send("/ui/alerts", "/ui/alert-rules/many_orders/remove")
    assert "many orders" not in site.get("/ui/alerts").text.partition("<h2>Rules</h2>")[2].partition("</table>")[0]


def test_what_was_done_is_in_the_audit_with_its_actor(site: Site) -> None:
    site.send("/ui/settings", "/ui/workspaces/new", {"name": "south", "title": "<b>The south</b>"})
    page = site.get("/ui/audit").text
    assert "south" in page
    assert "<b>The south" not in page
    assert site.get("/ui/audit", "member").status_code == 403
    assert "south" not in site.get("/ui/audit", "north-owner").text


def test_a_token_is_shown_once(site: Site) -> None:
    fields = {"name": "robot", "kind": "agent", "scope": ["read", "fire"], "workspace": "default", "days": "30"}
    page = site.send("/ui/settings", "/ui/tokens/new", fields).text
    secret = page.partition('id="secret">')[2].partition("<")[0]
    assert secret.startswith("il_")
    assert site.api.people.by_token(secret).scopes == frozenset({"read", "fire"})
    assert secret not in site.get("/ui/settings").text
    [made] = [t for t in site.api.people.tokens() if t.name == "robot"]
    site.send("/ui/settings", f"/ui/tokens/{made.id}/revoke")
    assert site.api.people.token(made.id).revoked_at is not None


def test_only_owners_make_tokens_for_agents(site: Site) -> None:
    fields = {"name": "robot", "kind": "agent", "scope": "read", "workspace": "default"}
    assert site.send("/ui/settings", "/ui/tokens/new", fields, "member").status_code == 403
    own = site.send("/ui/settings", "/ui/tokens/new", {**fields, "kind": "person"}, "member")
    assert "Copy the token now" in own.text


def test_people_are_added_given_roles_and_shut_out(site: Site) -> None:
    site.send("/ui/settings", "/ui/people/new", {"name": "zoe", "role": "viewer", "workspace": "default"})
    zoe = site.api.people.find("zoe")
    site.send("/ui/settings", f"/ui/people/{zoe.id}/role", {"workspace": "north", "role": "member"})
    assert {w: r.value for w, r in site.api.people.find("zoe").roles.items()} == {
        "default": "viewer",
        "north": "member",
    }
    assert "/login?link=" in site.send("/ui/settings", f"/ui/people/{zoe.id}/link").text
    site.send("/ui/settings", f"/ui/people/{zoe.id}/disable")
    assert site.api.people.find("zoe").disabled_at is not None
    last = site.send("/ui/settings", f"/ui/people/{site.api.people.find('owner').id}/disable")
    assert last.status_code == 403


def test_a_member_changes_nobody(site: Site) -> None:
    target = site.api.people.find("viewer")
    csrf = site.form("/ui/settings", "/ui/theme", "member")["csrf"]
    for what in ("role", "disable", "link"):
        answer = site.browser("member").post(f"/ui/people/{target.id}/{what}", data={"csrf": csrf, "role": "owner"})
        assert answer.status_code == 403, what
    assert site.browser("member").post("/ui/people/new", data={"csrf": csrf, "name": "x"}).status_code == 403
    assert "/ui/people/new" not in site.get("/ui/settings", "member").text


def test_an_alert_that_is_none_cannot_be_acknowledged(site: Site) -> None:
    csrf = site.form("/ui/settings", "/ui/theme")["csrf"]
    assert site.browser().post(f"/ui/alerts/{uuid4()}/acknowledge", data={"csrf": csrf}).status_code == 404


def test_a_new_person_without_a_password_gets_a_link_to_pass_on(site: Site) -> None:
    page = site.send("/ui/settings", "/ui/people/new", {"name": "zoe", "role": "viewer"}).text
    assert "/login?link=" in page
    assert 'data-copy="link"' in page
    added = site.send(
        "/ui/settings", "/ui/people/new", {"name": "yves", "role": "viewer", "password": "a long enough one"}
    )
    assert "yves added" in added.text


def test_the_present_role_is_selected(site: Site) -> None:
    reviewer = site.api.people.find("reviewer")
    page = site.get("/ui/settings").text
    form = page.partition(f'action="/ui/people/{reviewer.id}/role"')[2].partition("</form>")[0]
    assert re.findall(r"<option selected>(\w+)</option>", form) == ["reviewer"]


def test_days_that_are_none_are_refused_before_a_token_is_made(site: Site) -> None:
    fields = {"name": "robot", "kind": "person", "workspace": "default", "days": "soon"}
    refused = site.send("/ui/settings", "/ui/tokens/new", fields)
    assert (refused.status_code, "number of days" in refused.text) == (422, True)
    assert [t for t in site.api.people.tokens() if t.name == "robot"] == []


def test_the_audit_is_filtered_by_days_and_names_what_a_person_reads(site: Site) -> None:
    it = site.api.asked()
    [review] = site.api.engine.reviews.waiting(instance_id=it.id)
    site.send(f"/ui/reviews?review={review.id}", f"/ui/reviews/{review.id}/assign", {"to": "reviewer"})
    today = moment(site.api.clock.now()).date()
    page = site.get(f"/ui/audit?from={today}&to={today}&what=review.assigned").text
    assert f'<a href="/ui/reviews?review={review.id}">' in page
    assert '<span class="muted">to:</span> reviewer' in page
    before = today - timedelta(days=1)
    assert "No actions match." in site.get(f"/ui/audit?to={before}&what=review.assigned").text
    assert site.get("/ui/audit?from=yesterday").status_code == 422


def test_a_bulk_action_of_selected_instances_is_in_the_audit(site: Site) -> None:
    some = [site.api.new(), site.api.new()]
    fields = {"action": "pause", "id": [str(one) for one in some], "reason": "stocktaking"}
    csrf = site.form("/ui/settings", "/ui/theme")["csrf"]
    site.browser().post("/ui/bulk", data={"csrf": csrf, **fields})
    [found] = actions_of(site, "pause.selected")
    assert (found.target, found.details["done"], found.details["reason"]) == ("2 instances", 2, "stocktaking")
    assert sorted(found.details["instances"]) == sorted(map(str, some))
    assert "pause selected" in site.get("/ui/audit").text
    assert "2 instances" in site.get("/ui/audit?what=pause+selected").text


def actions_of(site: Site, what: str) -> list[actions.Action]:
    return site.api.engine.read(lambda conn: actions.page(conn, what=what)).actions
