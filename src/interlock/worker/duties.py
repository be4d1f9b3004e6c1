"""Duties of a process besides handlers: loops that any process may run, and that do everything once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from interlock.config import Settings
from interlock.engine import Engine
from interlock.engine.outbox import OutboxMessage
from interlock.people import People
from interlock.store import SystemClock
from interlock.worker.alerter import Alerter
from interlock.worker.application_duty import ApplicationDuty
from interlock.worker.bulker import Bulker
from interlock.worker.checkpointer import Checkpointer
from interlock.worker.deliverer import Channel, Deliverer
from interlock.worker.keeper import Keeper
from interlock.worker.loop import Loop
from interlock.worker.mail import Mail, MailServer
from interlock.worker.roller import Roller
from interlock.worker.scheduler import Scheduler
from interlock.worker.webhook import Endpoint, Webhooks


class Cleaner(Loop):
    """Deletes expired sessions, login attempts and stored answers of idempotent requests."""

    name = "cleaner"
    pause = 600.0

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._people = People(engine)

    def once(self) -> bool:
        return self._people.clean_up() > 0


class Timekeeper(Loop):
    """Follows the database's clock, so that servers on several hosts agree on when a lease expires."""

    name = "timekeeper"
    pause = 5.0

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def once(self) -> bool:
        if isinstance(self._engine.clock, SystemClock):
            self._engine.clock.correct(self._engine.store.clock_offset())
        return False


class Reminders:
    """Forwards reminders of waiting instances to the recipients of alerts."""

    def __init__(self, engine: Engine, notify: Sequence[str]) -> None:
        self._engine, self._notify = engine, notify

    def deliver(self, message: OutboxMessage) -> str:
        for one in self._notify:
            channel, _, whom = one.partition(":")
            self._engine.outbox.put(
                channel,
                whom,
                message.subject,
                message.body,
                instance_id=message.instance_id,
                workspace=message.workspace,
            )
        return f"forwarded to {', '.join(self._notify)}"


class Duties:
    """Several loops, started and stopped together."""

    def __init__(self, loops: Iterable[Loop]) -> None:
        self.loops = list(loops)

    def start(self) -> Duties:
        for loop in self.loops:
            loop.start()
        return self

    def stop(self, patience: float = 10.0) -> None:
        for loop in self.loops:
            loop.stop()
        for loop in self.loops:
            loop.join(patience)
            if isinstance(loop, Checkpointer):
                loop.finish()

    def __enter__(self) -> Duties:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def channels(settings: Settings) -> dict[str, Channel]:
    """The configured channels. Nothing is sent elsewhere."""
    found: dict[str, Channel] = {}
    if settings.mail is not None:
        mail = settings.mail
        found["mail"] = Mail(
            MailServer(
                host=mail.host,
                sender=mail.sender,
                port=mail.port,
                username=mail.username,
                password=mail.password.get_secret_value() if mail.password else None,
                security=mail.security,
                timeout=mail.timeout,
            )
        )
    if settings.webhooks:
        found["webhook"] = Webhooks(
            {
                name: Endpoint(
                    url=one.url.get_secret_value(),
                    secret=one.secret.get_secret_value(),
                    timeout=one.timeout,
                    headers={key: value.get_secret_value() for key, value in one.headers.items()},
                )
                for name, one in settings.webhooks.items()
            }
        )
    return found


def serving(engine: Engine, settings: Settings) -> list[Loop]:
    """The duties of a process that serves requests. It also notices when no worker is left."""
    return [
        Timekeeper(engine),
        Roller(engine),
        Alerter(engine, settings.alerts),
        Cleaner(engine),
        Checkpointer(engine, settings),
    ]


def working(engine: Engine, settings: Settings) -> list[Loop]:
    """The duties of a process that runs handlers."""
    out = channels(settings)
    if settings.alerts.notify:
        out["reminder"] = Reminders(engine, settings.alerts.notify)
    brought = [ApplicationDuty(engine, duty) for duty in engine.registry.duties]
    delivering = [Deliverer(engine, out)] if out else []
    return [
        Scheduler(engine),
        Bulker(engine),
        Roller(engine),
        Keeper(engine, settings),
        Checkpointer(engine, settings),
        *delivering,
        *brought,
    ]
