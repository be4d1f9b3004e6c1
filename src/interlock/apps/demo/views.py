"""How the demo's contracts and applications look to people; an application's own view wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.dashboard.views import Block, Looking, View
from interlock.engine import Instance, OpenReview


@dataclass(frozen=True, slots=True)
class ContractView(View):
    """The fields with how sure each is, and the sentences that they were read from."""

    def title(self, instance: Instance) -> str:
        return str(instance.data.get("filename") or View.title(self, instance))

    def summary(self, review: OpenReview, instance: Instance) -> str:
        problems = instance.data.get("problems") or []
        return "; ".join(problems) or f"{instance.data.get('final_confidence', 0)} % sure that all fields are right"

    def evidence(self, looking: Looking) -> list[Block]:
        fields: Mapping[str, Any] = looking.instance.data.get("fields") or {}
        rows = [
            (name.replace("_", " "), str(one["corrected"] or one["value"]), 100 * (one["confidence"] or 0.0))
            for name, one in fields.items()
        ]
        found = [Block("Fields", rows=rows)] if rows else []
        text, marks = "", []
        for one in fields.values():
            sure = "sure" if (one["confidence"] or 0.0) >= 0.9 else "doubtful"
            marks.append((len(text), len(text) + len(one["quote"] or ""), sure))
            text += f"{one['quote'] or ''}\n"
        if text:
            found.append(Block("Where they stand", kind="quote", text=text, marks=marks))
        scans = [a for a in looking.artifacts if a.media_type == "application/pdf"]
        found += [Block(a.name, kind="artifact", artifact=a.name) for a in scans[-1:]]
        return found


@dataclass(frozen=True, slots=True)
class ApplicationView(View):
    """The posting, and the letter that would be sent."""

    def title(self, instance: Instance) -> str:
        return f"{instance.data.get('title', '')} at {instance.data.get('company', '')}"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        return f"{review.title} For {instance.data.get('user_id', '')}."

    def evidence(self, looking: Looking) -> list[Block]:
        data = looking.instance.data
        named = ("company", "title", "job_url", "user_id", "rule_id")
        rows = [(name.replace("_", " "), str(data[name]), None) for name in named if data.get(name)]
        kept = [a for a in looking.artifacts if a.name == "cover-letter.txt"]
        return [Block("Posting", rows=rows), *(Block("Letter", kind="artifact", artifact=a.name) for a in kept[-1:])]


VIEWS: Mapping[str, View] = {"contract": ContractView(), "application": ApplicationView()}
