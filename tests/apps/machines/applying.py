"""Stand-ins for auto-apply: an employer's site that remembers what arrived, and handlers that prepare and submit."""

from __future__ import annotations

from typing import Any

from interlock.apps.jobs.autoapply.machine import application
from interlock.apps.jobs.autoapply.models import Application
from interlock.engine import Effect
from interlock.machine import Go, Machine, NotSent, Outcome
from interlock.worker import Task

LIMITS = ("user_day", "rule_week", "company_cooldown", "global_hour")


class Site:
    """The employer's site: it takes an application, refuses it, or falls silent after it took it."""

    def __init__(self, *moods: str) -> None:
        self.moods = list(moods)
        self.arrived: list[str] = []

    def send(self, effect: Effect) -> dict[str, str]:
        mood = self.moods.pop(0) if self.moods else "fine"
        if mood == "refuses":
            raise NotSent("the form is closed for maintenance")
        self.arrived.append(effect.key)
        if mood == "falls silent":
            raise ConnectionError("the line went dead")
        return {"url": f"https://acme.example/confirm/{len(self.arrived)}"}


def submission(task: Task[Application]) -> str:
    """The name of the submission, forever: whatever step sends it, it is the same one."""
    return f"submit:{task.id}"


def applying(site: Site) -> Machine:
    """The machine as auto-apply will drive it: prepare, ask unless this packet was approved, submit once."""

    def prepare(_: Task[Application]) -> Outcome:
        return Go("ready_to_submit", data={"packet_hash": "packet"})

    def submit(task: Task[Application]) -> Outcome:
        approved = task.data.approved_packet == task.data.packet_hash
        if task.data.require_user_approval and not approved:
            return Go("requires_review")
        answer = task.once("submit", {"job": task.data.job_id}, site.send, key=submission(task), takes=LIMITS)
        return Go("submitted", data={"confirmation_url": answer["url"]})

    made = application.with_handlers({"preparing": prepare, "ready_to_submit": submit, "requires_review": submit})
    made.created_through = None  # here it stands alone, without the records of the application
    return made


def match(number: int = 0, **data: Any) -> dict[str, Any]:
    """A posting that matched a rule of a user who wants no approval; each is at another company."""
    return {"user_id": "ann", "job_id": str(number), "company": f"c{number}", "require_user_approval": False, **data}
