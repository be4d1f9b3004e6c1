"""`interlock apply`: what waits, and what is decided, on a database."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

from interlock.store import open_store
from tests.support.commands import Done, command

from .applicant import open_applicant


def test_the_commands_decide_what_the_endpoints_decide(tmp_path: Path, sqlite_url: str) -> None:
    def run(*arguments: str) -> Done:
        return command("apply", *arguments, "--database", sqlite_url, cwd=tmp_path)

    with open_store(sqlite_url, durability="normal", wakeup="poll") as store, open_applicant(store) as applicant:
        (tmp_path / "rule.yaml").write_text("name: all\nmax_applications_per_week: 20\n")
        done = run("rules", "rule.yaml", "--json")
        [rule] = json.loads(done.out)["rules"]
        assert rule["rule"]["max_applications_per_week"] == 20
        (tmp_path / "wrong.yaml").write_text("name: all\ntitels: []\n")
        wrong = run("rules", "wrong.yaml")
        assert (wrong.code, "did you mean titles?" in wrong.err) == (1, True)
        it, other = applicant.choose(applicant.match()), applicant.choose(applicant.match(1))
        applicant.trial.run_until_idle()
        shown = json.loads(run("status", str(it), "--json").out)
        assert shown["status"] == "requires_review"
        assert [one["to_status"] for one in shown["log"]][:3] == ["queued", "preparing", "ready_to_submit"]
        assert str(it) in run("status").out
        whole = run("status", str(it)).out
        assert "resume.pdf, resume.docx, letter.pdf, letter.docx, packet.json" in whole
        assert "media_type" not in whole
        refused = run("approve", str(it), "0" * 64)
        assert (refused.code, "look at it again" in refused.err) == (1, True)
        assert run("reject", str(it), "--reason", "too far").code == 0
        assert (applicant.trial.state(it), applicant.row(it).withdraw_reason) == ("withdrawn", "rejected_in_review")
        assert run("pause", str(other), "--reason", "holidays").code == 0
        assert applicant.trial.state(other) == "paused"
        assert run("resume", str(other)).code == 0
        assert run("pause", "--all").code == 0
        assert applicant.trial.state(other) == "paused"
        assert run("resume", "--all").code == 0
        assert run("withdraw", str(other)).code == 0
        assert applicant.row(other).withdraw_reason == "user"
        assert run("pause", "--rule", rule["id"]).code == 0
        assert run("rules", "--delete", rule["id"]).code == 0
        assert json.loads(run("rules", "--json").out) == {"rules": []}
        again = run("rules", "--delete", rule["id"])
        assert (again.code, "there is no rule" in again.err) == (1, True)
        assert run("export", "all.json").code == 0
        assert json.loads((tmp_path / "all.json").read_text())
        assert run("export", "all.txt").code == 1
        assert run("withdraw", str(UUID(int=1))).code == 1
        assert json.loads(run("status", str(other)[-8:], "--json").out)["id"] == str(other)
        assert "is not a status of applications" in run("status", "--status", "nope").err
        assert "name the file, too" in run("rules", "--id", rule["id"]).err


def test_a_time_without_an_offset_is_one_of_the_seekers_time_zone(tmp_path: Path, sqlite_url: str) -> None:
    def run(*arguments: str) -> Done:
        return command("apply", *arguments, "--database", sqlite_url, cwd=tmp_path)

    with (
        open_store(sqlite_url, durability="normal", wakeup="poll") as store,
        open_applicant(store, autoapply={"planned": True}) as applicant,
    ):
        applicant.profile(time_zone="Asia/Tokyo")
        it = applicant.choose(applicant.match())
        tomorrow = datetime.now(ZoneInfo("Asia/Tokyo")).replace(microsecond=0) + timedelta(days=1)
        done = run("schedule", str(it), f"{tomorrow:%Y-%m-%dT%H:%M:%S}")
        assert (done.code, "+09:00" in done.out) == (0, True), done.err
        assert datetime.fromisoformat(applicant.trial.data(it)["scheduled_for"]) == tomorrow
        assert run("schedule", str(it), "now").code == 0
        assert applicant.trial.data(it)["scheduled_for"] is None
        wrong = run("schedule", str(it), "tomorrow")
        assert (wrong.code, "is not a time" in wrong.err) == (1, True)
