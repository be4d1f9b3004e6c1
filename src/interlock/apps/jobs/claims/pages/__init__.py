"""Review views of jobs and runs."""

from __future__ import annotations

from dataclasses import dataclass

from interlock.apps.jobs.claims.machine import job, run
from interlock.dashboard.views import Block, View, ViewContext, facts
from interlock.engine import Instance, OpenReview


@dataclass(frozen=True, slots=True)
class JobView(View):
    """The posting."""

    hidden: frozenset[str] = frozenset({"match_id"})

    def title(self, instance: Instance) -> str:
        return instance.data["title"] or f"job {instance.data['job_id']} on {instance.data['board']}"


@dataclass(frozen=True, slots=True)
class RunView(View):
    """The run's agent, its job, and what was sent."""

    def title(self, instance: Instance) -> str:
        data = instance.data
        return f"{data['agent'] or 'an agent'}: job {data['job_id']} on {data['board']}"

    def summary(self, review: OpenReview, instance: Instance) -> str:
        data = instance.data
        return (
            f"{data['agent'] or 'An agent'} reported that it applied for job {data['job_id']} on {data['board']}, "
            "then vanished. Nobody else can apply until you decide."
        )

    def evidence(self, context: ViewContext) -> list[Block]:
        data = context.instance.data
        named = {name: data[name] for name in ("board", "job_id", "agent", "variant_id", "error") if data.get(name)}
        found = [Block("The run", rows=facts(named))]
        if rows := facts(data["artifacts"]):
            found.append(Block("What it sent", rows=rows))
        return found


views = {job.name: JobView(), run.name: RunView()}
