"""Reading the mailbox from time to time."""

from __future__ import annotations

import logging
from datetime import timedelta

import sqlalchemy as sa

from interlock.apps.jobs.autoapply.mail import proposals
from interlock.apps.jobs.autoapply.mail.mailboxes import Batch, MailboxError, read_batch
from interlock.apps.jobs.autoapply.mail.message import read_mail
from interlock.apps.jobs.board_tables import mail as R
from interlock.apps.jobs.board_tables import mailbox as B
from interlock.apps.jobs.finder.intake import settings_in
from interlock.apps.jobs.settings import MailSettings
from interlock.engine import Engine
from interlock.engine.application import Unit
from interlock.store import Micros, moment, span
from interlock.store.sql import upsert

REMEMBERED = span(timedelta(days=400))
"""How long a mail that was read is remembered; older ones are not looked for any more."""
log = logging.getLogger("interlock.jobs.mail")


def read_mailbox(engine: Engine) -> bool:
    """Read the next mails, if their time has come. True if there are more."""
    mail = settings_in(engine.setting("jobs")).autoapply.mail
    if mail is None:
        return False
    known = engine.read(lambda conn: _known(conn, mail))
    now = engine.clock.now()
    if known is not None and not known[2] and now - known[1] < span(timedelta(minutes=mail.every)):
        return False
    position = known[0] if known is not None else ""
    try:
        batch = read_batch(mail, position, moment(now))
    except MailboxError as error:
        said = str(error)
        log.warning("%s", said)
        engine.write(lambda unit: _remember(unit, mail, position, said, more=False), name="read_mail")
        return False
    made = engine.write(lambda unit: _take(unit, mail, batch), name="read_mail")
    if made:
        log.info("mail says something about %d applications", made)
    return batch.more


def _take(unit: Unit, mail: MailSettings, batch: Batch) -> int:
    found = [one for content in batch.mails if (one := read_mail(content)) is not None]
    made = proposals.take(unit, mail.workspace, found)
    _remember(unit, mail, batch.position, None, more=batch.more)
    unit.conn.execute(sa.delete(R).where(R.c.read_at < unit.now - REMEMBERED))
    return made


def _known(conn: sa.Connection, mail: MailSettings) -> tuple[str, Micros, bool] | None:
    """The position, when it was read, and whether there was more."""
    mine = (B.c.workspace == mail.workspace, B.c.mailbox == mail.name)
    row = conn.execute(sa.select(B.c.position, B.c.read_at).where(*mine)).first()
    if row is None:
        return None
    more, _, position = row.position.partition(" ")
    return position, row.read_at, more == MORE


MORE, ALL = "more", "all"
"""How a stored position begins: whether there were further mails."""


def _remember(unit: Unit, mail: MailSettings, position: str, error: str | None, *, more: bool) -> None:
    row = {"position": f"{MORE if more else ALL} {position}", "read_at": unit.now, "error": error}
    key = {"workspace": mail.workspace, "mailbox": mail.name}
    unit.conn.execute(
        upsert(B).values(**key, **row).on_conflict_do_update(index_elements=[B.c.workspace, B.c.mailbox], set_=row)
    )
