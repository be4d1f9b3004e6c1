"""The review view of the demo's applications."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.dashboard.views import Block, View, ViewContext
from interlock.engine import Instance, OpenReview


@dataclass(frozen=True, slots=True)
class ApplicationView(View):
    """The posting, and the letter that would be sent."""

    def title(self, instance: Instance) -> str:
        return f"{instance.data.get('title', '')} at {instance.data.get('company', '')}"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        return f"{review.title} For {instance.data.get('user_id', '')}."

    def evidence(self, context: ViewContext) -> list[Block]:
        data = context.instance.data
        named = ("company", "title", "job_url", "user_id", "rule_id")
        rows = [(name.replace("_", " "), str(data[name]), None) for name in named if data.get(name)]
        kept = [a for a in context.artifacts if a.name == "cover-letter.txt"]
        return [Block("Posting", rows=rows), *(Block("Letter", kind="artifact", artifact=a.name) for a in kept[-1:])]
