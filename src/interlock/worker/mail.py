"""Mail: the channel that hands messages to an SMTP server.

A mail that is sent twice, because the outcome of the first attempt is unknown, is identical byte for byte: its
Message-ID comes from the message's id, so mail programs show it once.
"""

from __future__ import annotations

import re
import smtplib
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from typing import Any, Literal

from interlock.engine.outbox import OutboxMessage
from interlock.machine import InterlockError
from interlock.store import moment
from interlock.worker.deliverer import DeliveryFailed, DeliveryRefused

ADDRESS = re.compile(r"[^\s@<>()\[\],;:\\\"\x00-\x1f\x7f]{1,64}@(?P<domain>[\w.-]{1,253})")
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")
TEMPORARY = range(400, 500)


@dataclass(frozen=True, slots=True)
class MailServer:
    """The SMTP server and the sender."""

    host: str
    sender: str
    port: int = 587
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    security: Literal["none", "starttls", "tls"] = "starttls"
    timeout: float = 30.0
    """Seconds to wait for each response of the server."""


class Mail:
    """Sends each message as a mail to one address."""

    def __init__(self, server: MailServer, *, context: ssl.SSLContext | None = None) -> None:
        """`context` replaces the system's certificate authorities."""
        name, address = parseaddr(server.sender)
        try:
            self._from = _address(address, name)
        except ValueError as error:
            raise InterlockError(f"the sender {server.sender!r} is not a mail address: {error}") from error
        if server.security not in {"none", "starttls", "tls"}:
            raise InterlockError(f"security {server.security!r} is unknown; use none, starttls or tls")
        self._server = server
        self._context = context or (ssl.create_default_context() if server.security != "none" else None)

    def deliver(self, message: OutboxMessage) -> str:
        try:
            to = _address(message.recipient)
        except ValueError as error:
            raise DeliveryRefused(f"{message.recipient!r} is not a mail address: {error}") from error
        mail = compose(message, self._from, to)
        connection = self._connect()
        try:
            return self._hand_over(connection, mail)
        finally:
            # Errors while closing do not matter: the mail has been handed over by now, or it has not.
            with suppress(OSError, smtplib.SMTPException):
                connection.quit()
            connection.close()

    def _connect(self) -> smtplib.SMTP:
        """Connect and log in. Errors up to here say nothing about the mail, so a retry may help."""
        server, context = self._server, self._context
        connection: smtplib.SMTP | None = None
        try:
            if server.security == "tls":
                connection = smtplib.SMTP_SSL(server.host, server.port, timeout=server.timeout, context=context)
            else:
                connection = smtplib.SMTP(server.host, server.port, timeout=server.timeout)
            if server.security == "starttls":
                connection.starttls(context=context)
            if server.username is not None:
                connection.login(server.username, server.password or "")
        except (OSError, smtplib.SMTPException) as error:
            if connection is not None:
                connection.close()
            raise DeliveryFailed(f"no connection to {server.host}:{server.port}: {self._describe(error)}") from None
        return connection

    def _hand_over(self, connection: smtplib.SMTP, mail: EmailMessage) -> str:
        try:
            connection.send_message(mail)
        except smtplib.SMTPRecipientsRefused as error:
            [(code, answer)] = error.recipients.values()
            raise self._classify(code, answer) from None
        except smtplib.SMTPResponseException as error:
            raise self._classify(error.smtp_code, error.smtp_error) from None
        except smtplib.SMTPNotSupportedError as error:
            raise DeliveryRefused(f"{self._server.host} cannot accept it: {self._describe(error)}") from None
        except (OSError, smtplib.SMTPException) as error:
            raise DeliveryFailed(f"the connection to {self._server.host} broke: {self._describe(error)}") from None
        return f"accepted by {self._server.host}:{self._server.port} as {mail['Message-ID']}"

    def _classify(self, code: int, answer: bytes | str) -> DeliveryFailed | DeliveryRefused:
        text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
        said = self._hidden(f"{self._server.host} answered {code} {' '.join(text.split())[:500]}")
        # -1 means that the connection broke while the response was read.
        return DeliveryFailed(said) if code in TEMPORARY or code < 100 else DeliveryRefused(said)

    def _describe(self, error: BaseException) -> str:
        if isinstance(error, smtplib.SMTPResponseException):
            answer = error.smtp_error
            text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else str(answer)
            return self._hidden(f"{error.smtp_code} {' '.join(text.split())[:500]}")
        return self._hidden(str(error) or type(error).__name__)

    def _hidden(self, text: str) -> str:
        return text.replace(self._server.password, "***") if self._server.password else text


def compose(message: OutboxMessage, sender: Address, to: Address) -> EmailMessage:
    """Build the mail, identical at each attempt."""
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"] = sender, to
    mail["Subject"] = UNPRINTABLE.sub(" ", message.subject).strip() or f"A message from {sender.domain}"
    mail["Date"] = format_datetime(moment(message.at))
    mail["Message-ID"] = f"<{message.id}@{sender.domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    text = message.body.get("text")
    content = text if isinstance(text, str) else "\n".join(rendered(message.body))
    mail.set_content(content.encode("utf-8", "backslashreplace").decode())
    return mail


def rendered(body: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Render the body as readable lines."""
    for name, value in body.items():
        label = f"{indent}{name.replace('_', ' ')}:"
        if isinstance(value, Mapping) and value:
            yield label
            yield from rendered(value, indent + "  ")
        elif isinstance(value, list) and value:
            yield label
            for one in value:
                yield from (
                    rendered(one, indent + "  ") if isinstance(one, Mapping) and one else [f"{indent}  - {_plain(one)}"]
                )
        else:
            yield f"{label} {_plain(value)}"


def _plain(value: object) -> str:
    if value is None or value in ({}, []):
        return "(none)"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _address(text: str, name: str = "") -> Address:
    """Parse exactly one address: no list, no header, no SMTP command."""
    match = ADDRESS.fullmatch(text)
    if match is None:
        raise ValueError("write it as name@example.org, one address")
    local, _, domain = text.rpartition("@")
    try:
        return Address(UNPRINTABLE.sub(" ", name), local, domain.encode("idna").decode())
    except UnicodeError as error:
        raise ValueError(f"its domain is invalid: {error}") from error
