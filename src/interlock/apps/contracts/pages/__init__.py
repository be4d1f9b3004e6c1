"""How contracts look to people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import APIRouter

from interlock.dashboard.views import Block, Looking, View
from interlock.engine import Instance, OpenReview

routers: Sequence[APIRouter] = ()


@dataclass(frozen=True, slots=True)
class ContractView(View):
    """What the contract is called, and why a person is asked."""

    def title(self, instance: Instance) -> str:
        return str(instance.data.get("filename") or View.title(self, instance))

    def summary(self, review: OpenReview, instance: Instance) -> str:
        reasons = instance.data.get("reasons") or []
        sure = f"{instance.data.get('final_confidence', 0)} % sure that all required fields are right"
        return "; ".join([sure, *reasons][:3])

    def evidence(self, looking: Looking) -> list[Block]:
        data = looking.instance.data
        rows = [(name.replace("_", " "), str(value), None) for name, value in (data.get("values") or {}).items()]
        return [Block("Required fields", rows=rows)] if rows else []
