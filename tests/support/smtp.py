"""Mail servers on loopback: a real one that keeps what it gets, and one that says what a test tells it to."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.support.servers import free_port

CERTIFICATE = Path(__file__).with_name("loopback.pem")


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def trusting_context() -> ssl.SSLContext:
    """Trusts the certificate of these tests and no other."""
    return ssl.create_default_context(cafile=str(CERTIFICATE))


class Mailbox:
    """What the server was given; `answers` are for the next recipients and data, before it says yes again."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.envelopes: list[Envelope] = []
        self.logins: list[tuple[str, str]] = []
        self.answers: dict[str, list[str]] = {"RCPT": [], "DATA": [], "MAIL": []}

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return self.answers["MAIL"].pop(0) if self.answers["MAIL"] else "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.answers["RCPT"]:
            return self.answers["RCPT"].pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.answers["DATA"]:
            return self.answers["DATA"].pop(0)
        assert isinstance(envelope.content, bytes)
        self.envelopes.append(envelope)
        self.mails.append(message_from_bytes(envelope.content.replace(b"\r\n", b"\n"), policy=policy.default))
        return "250 taken"

    def login(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"correct horse battery", handled=False)


class MailHost:
    """A real mail server; `tls` says how it wants to be spoken to."""

    def __init__(self, *, tls: str = "none", wants_login: bool = False) -> None:
        self.box = Mailbox()
        self.port = free_port()
        options: dict[str, Any] = {}
        if tls == "starttls":
            options["tls_context"] = server_context()
        if tls == "tls":
            options["ssl_context"] = server_context()
        if wants_login:
            options.update(authenticator=self.box.login, auth_required=True, auth_require_tls=tls == "starttls")
        self._controller = Controller(self.box, "127.0.0.1", self.port, **options)

    def __enter__(self) -> MailHost:
        self._controller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._controller.stop()


CLOSE, SILENCE = "close", "silence"
POLITE = {
    "hello": "220 loopback ESMTP",
    "EHLO": "250 loopback",
    "MAIL": "250 OK",
    "RCPT": "250 OK",
    "DATA": "354 go on",
    ".": "250 taken",
    "RSET": "250 OK",
    "QUIT": "221 bye",
}


class ScriptedHost:
    """Speaks SMTP line by line, as the script has it: a line to answer, `close`, or `silence` until the end."""

    def __init__(self, script: Mapping[str, str]) -> None:
        self._script = {**POLITE, **script}
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.heard: list[str] = []

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                self._talk(client)

    def _talk(self, client: socket.socket) -> None:
        with client.makefile("rb") as lines:
            if not self._say(client, "hello"):
                return
            in_data = False
            for line in lines:
                if in_data and line != b".\r\n":
                    continue
                verb = "." if in_data else line[:4].strip().decode("ascii", "replace").upper()
                self.heard.append(verb)
                in_data = verb == "DATA"
                if not self._say(client, verb):
                    return

    def _say(self, client: socket.socket, verb: str) -> bool:
        answer = self._script.get(verb, "500 what?")
        if answer == SILENCE:
            self._over.wait(20)
        if answer in {CLOSE, SILENCE}:
            return False
        client.sendall(f"{answer}\r\n".encode())
        return True

    def __enter__(self) -> ScriptedHost:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)
