"""The engine's doors to what the service does around instances: messages, schedules, bulk actions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from interlock.engine import bulk, halting, outbox, schedules
from interlock.engine.instance import Instance
from interlock.engine.listing import Count
from interlock.machine import Actor

if TYPE_CHECKING:
    from interlock.engine.engine import Engine


class Outbox:
    """Messages on their way to the world."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(
        self,
        channel: str,
        recipient: str,
        subject: str = "",
        body: Mapping[str, Any] | None = None,
        *,
        instance_id: UUID | None = None,
        workspace: str | None = None,
    ) -> UUID:
        """Leave a message to be delivered; its id."""
        return self._engine.write(
            lambda unit: outbox.put(
                unit, channel, recipient, subject, body, instance_id=instance_id, workspace=workspace
            ),
            name="outbox",
        )

    def get(self, message_id: UUID) -> outbox.OutboxMessage:
        return self._engine.read(lambda conn: outbox.get(conn, message_id))

    def page(
        self,
        *,
        status: str | None = None,
        channel: str | None = None,
        workspaces: Collection[str] | None = None,
        instance_id: UUID | None = None,
        after: UUID | None = None,
        limit: int = 50,
    ) -> outbox.MessagePage:
        """A page of the messages that match, the newest first."""
        return self._engine.read(
            lambda conn: outbox.page(
                conn,
                status=status,
                channel=channel,
                workspaces=workspaces,
                instance_id=instance_id,
                after=after,
                limit=limit,
            )
        )

    def deliveries(self, message_id: UUID) -> list[outbox.Delivery]:
        return self._engine.read(lambda conn: outbox.deliveries(conn, message_id))

    def counts(self, *, workspaces: Collection[str] | None = None) -> dict[str, Count]:
        return self._engine.read(lambda conn: outbox.counts(conn, workspaces=workspaces))

    def unconfigured(
        self, channels: Collection[str], *, workspaces: Collection[str] | None = None
    ) -> list[outbox.Unconfigured]:
        """What waits because its channel is none of these."""
        return self._engine.read(lambda conn: outbox.unconfigured(conn, channels, workspaces=workspaces))

    def retry(self, message_id: UUID, *, actor: Actor) -> outbox.OutboxMessage:
        return self._engine.write(lambda unit: outbox.retry(unit, message_id, actor), name="outbox")

    def discard(self, message_id: UUID, *, actor: Actor, note: str = "") -> outbox.OutboxMessage:
        return self._engine.write(lambda unit: outbox.discard(unit, message_id, actor, note), name="outbox")


class Schedules:
    """Work that starts by the calendar."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(self, spec: schedules.ScheduleSpec, *, actor: Actor) -> schedules.Schedule:
        """Create the schedule, or change the one of this name."""
        return self._engine.write(lambda unit: schedules.put(unit, spec, actor), name="schedule")

    def get(self, name: str, *, workspace: str = "default") -> schedules.Schedule:
        return self._engine.read(lambda conn: schedules.get(conn, workspace, name))

    def all(self, *, workspaces: Collection[str] | None = None) -> list[schedules.Schedule]:
        return self._engine.read(lambda conn: schedules.everything(conn, workspaces=workspaces))

    def pause(self, name: str, *, actor: Actor, workspace: str = "default") -> schedules.Schedule:
        return self._engine.write(lambda unit: schedules.pause(unit, workspace, name, actor), name="schedule")

    def resume(self, name: str, *, actor: Actor, workspace: str = "default") -> schedules.Schedule:
        return self._engine.write(lambda unit: schedules.resume(unit, workspace, name, actor), name="schedule")

    def remove(self, name: str, *, actor: Actor, workspace: str = "default") -> None:
        self._engine.write(lambda unit: schedules.remove(unit, workspace, name, actor), name="schedule")

    def run_now(self, name: str, *, actor: Actor, workspace: str = "default") -> Instance:
        """Start one now, beside the calendar."""
        return self._engine.write(lambda unit: schedules.run_now(unit, workspace, name, actor), name="schedule")

    def due(self, limit: int = 20) -> int:
        """Start what is due; the number of schedules that were."""
        return self._engine.write(lambda unit: schedules.due(unit, limit), name="due")


class Bulks:
    """One action for all that match a filter."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def preview(
        self,
        target: str,
        action: str,
        chosen: bulk.Chosen,
        *,
        arguments: Mapping[str, Any] | None = None,
        workspaces: Collection[str] | None = None,
    ) -> bulk.Preview:
        """How many it would be, and the first few."""
        now = self._engine.clock.now()
        return self._engine.read(
            lambda conn: bulk.preview(conn, now, target, action, chosen, arguments=arguments, workspaces=workspaces)
        )

    def start(
        self,
        target: str,
        action: str,
        chosen: bulk.Chosen,
        *,
        actor: Actor,
        reason: str = "",
        arguments: Mapping[str, Any] | None = None,
        workspaces: Collection[str] | None = None,
    ) -> bulk.Bulk:
        """Begin; it is done in the background."""
        return self._engine.write(
            lambda unit: bulk.start(
                unit, target, action, chosen, actor, reason=reason, arguments=arguments, workspaces=workspaces
            ),
            name="bulk_start",
        )

    def step(self, batch: int = bulk.BATCH) -> bulk.Bulk | None:
        """Do one batch of a running one; None when there is none."""
        return self._engine.write(lambda unit: bulk.step(unit, batch), name="bulk")

    def stop(self, bulk_id: UUID, *, actor: Actor) -> bulk.Bulk:
        return self._engine.write(lambda unit: bulk.stop(unit, bulk_id, actor), name="bulk_stop")

    def get(self, bulk_id: UUID) -> bulk.Bulk:
        return self._engine.read(lambda conn: bulk.get(conn, bulk_id))

    def page(
        self,
        *,
        status: str | None = None,
        workspaces: Collection[str] | None = None,
        after: UUID | None = None,
        limit: int = 50,
    ) -> bulk.BulkPage:
        return self._engine.read(
            lambda conn: bulk.page(conn, status=status, workspaces=workspaces, after=after, limit=limit)
        )


class Holds:
    """Machines whose work stands still."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def hold(self, machine: str, *, actor: Actor, reason: str = "") -> halting.Hold:
        """Start no work of this machine any more; `*` is all of them. Holding twice changes nothing."""
        return self._engine.write(lambda unit: halting.hold(unit, machine, actor, reason=reason), name="hold")

    def release(self, machine: str, *, actor: Actor, reason: str = "") -> halting.Hold:
        """Let it go on; Refused when it was not held."""
        return self._engine.write(lambda unit: halting.release(unit, machine, actor, reason=reason), name="hold")

    def all(self) -> list[halting.Hold]:
        """What stands still, the longest first."""
        return self._engine.read(halting.holds)
