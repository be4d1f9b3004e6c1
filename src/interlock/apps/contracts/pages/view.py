"""The dashboard's view of a contract: its fields with their confidence, and the quotes they were read from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.apps.contracts import naming
from interlock.apps.contracts.machine import REVIEW_REQUIRED
from interlock.apps.contracts.review import blind_sample
from interlock.dashboard.confidence import grade
from interlock.dashboard.views import Block, View, ViewContext
from interlock.engine import Instance, OpenReview

MOST = 40
LONGEST = 300


@dataclass(frozen=True, slots=True)
class ContractView(View):
    """The title of a contract, why a person is asked, and the address of its review page."""

    def title(self, instance: Instance) -> str:
        return naming.called(instance.data)

    def key(self, instance: Instance) -> str:
        """Its key is a hash of the file, which says nothing to people."""
        return ""

    def review_title(self, review: OpenReview, instance: Instance) -> str:
        """A blind sample is called by its file alone: the parties are the machine's reading."""
        return naming.file_of(instance.data) if review.name == blind_sample.NAME else self.title(instance)

    def summary(self, review: OpenReview, instance: Instance) -> str:
        if review.name == blind_sample.NAME:
            return "A sample of contracts that nobody reviewed. Read it yourself; the machine's values are hidden"
        reasons = instance.data.get("reasons") or []
        sure = f"{instance.data.get('final_confidence') or 0} % sure that all required fields are right"
        return "; ".join([sure, *reasons][:3])

    def review_page(self, review: OpenReview, instance: Instance) -> str:
        if review.name == blind_sample.NAME:
            return f"/ui/contracts/{instance.id}/blind"
        return f"/ui/contracts/{instance.id}/review" if review.state == REVIEW_REQUIRED else ""

    def preview_style(self, artifact: str) -> tuple[str, str]:
        return ("comparison/comparison.css", "comparison") if artifact == "comparison.html" else ("", "")

    def links(self, instance: Instance) -> Sequence[tuple[str, str]]:
        found = []
        if instance.data.get("fields"):
            found.append(("Open document", f"/ui/contracts/{instance.id}/review"))
        if instance.data.get("comparison"):
            found.append(("Comparison", f"/ui/contracts/{instance.id}/comparison"))
        return found

    def evidence(self, context: ViewContext) -> list[Block]:
        if context.review is not None and (context.review.name, context.review.status) == (blind_sample.NAME, "open"):
            return []  # the check has a page of its own, with the file; anything else would bias the answers
        originals = [a for a in context.artifacts if a.hash == context.instance.data.get("pdf")]
        file = [Block(a.name, kind="artifact", artifact=a.name) for a in originals[-1:]]
        digest = context.instance.data.get("fields")
        fields: Mapping[str, Mapping[str, Any]] = json.loads(context.content(digest) or b"{}") if digest else {}
        read = {name: one for name, one in fields.items() if one.get("value") not in (None, "")}
        ordered = sorted(read.items(), key=lambda item: item[1].get("confidence") or 0.0)[:MOST]
        found = []
        if ordered:
            rows = [(_named(name), _short(one["value"]), 100 * (one.get("confidence") or 0.0)) for name, one in ordered]
            found.append(Block("Fields, lowest confidence first", rows=rows))
        text, marks = "", []
        for name, one in ordered:
            if quote := _short(one.get("quote") or ""):
                text += f"{_named(name)}, page {one.get('page')}: "
                sure = "sure" if grade(100 * (one.get("confidence") or 0.0)).kind == "done" else "doubtful"
                marks.append((len(text), len(text) + len(quote), sure))
                text += f"{quote}\n"
        if text:
            found.append(Block("Evidence", kind="quote", text=text, marks=marks))
        if context.instance.data.get("verdict"):
            found.append(Block("Comparison", rows=[("verdict", str(context.instance.data["verdict"]), None)]))
        return found + file


def _named(name: str) -> str:
    return name.replace("_", " ")


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"
