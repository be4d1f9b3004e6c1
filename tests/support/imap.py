"""An IMAP server with TLS on loopback: one folder, as many commands as reading takes, and faults on demand."""

from __future__ import annotations

import re
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.support.smtp import CERTIFICATE

USER, PASSWORD = "mika", "hunter2-of-mika"


@dataclass
class Imap:
    """The server's mails by their number, and what it was asked."""

    port: int = 0
    validity: int = 7
    mails: dict[int, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fault: str = ""
    """`literal` announces more than is read, `cut` ends in the middle of a mail."""

    def answer(self, tag: str, command: str) -> Iterator[bytes]:
        """The answer to one command."""
        self.asked.append(command)
        name = command.split(" ", 1)[0].upper()
        if name == "UID":
            name = command.split(" ", 2)[1].upper()
        if name == "LOGIN" and PASSWORD not in command:
            yield f"{tag} NO wrong password {command}\r\n".encode()
            return
        match name:
            case "CAPABILITY":
                yield b"* CAPABILITY IMAP4rev1\r\n"
            case "EXAMINE":
                if '"INBOX"' not in command:
                    yield f"{tag} NO no such folder\r\n".encode()
                    return
                yield f"* {len(self.mails)} EXISTS\r\n* OK [UIDVALIDITY {self.validity}] valid\r\n".encode()
            case "SEARCH":
                first = int(re.findall(r"UID (\d+):\*", command)[0])
                # As the protocol says, the last mail is in every range that ends with *.
                found = [one for one in self.mails if one >= first or one == max(self.mails)]
                yield f"* SEARCH {' '.join(map(str, found))}\r\n".encode()
            case "FETCH":
                number = int(command.split(" ")[2])
                mail = self.mails[number]
                size = 10**12 if self.fault == "literal" else len(mail)
                yield f"* 1 FETCH (UID {number} BODY[]<0> {{{size}}}\r\n".encode()
                if self.fault == "cut":
                    raise ConnectionAbortedError
                yield mail + b")\r\n"
            case "LOGOUT":
                yield b"* BYE bye\r\n"
        yield f"{tag} OK done\r\n".encode()


@contextmanager
def imap_server() -> Iterator[Imap]:
    """A running server."""
    made = Imap()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)

    class Handler(socketserver.StreamRequestHandler):
        def setup(self) -> None:
            self.request: Any = context.wrap_socket(self.request, server_side=True)
            super().setup()

        def handle(self) -> None:
            self.wfile.write(b"* OK ready\r\n")
            while line := self.rfile.readline(10_000):
                tag, _, command = line.decode().strip().partition(" ")
                try:
                    for piece in made.answer(tag, command):
                        self.wfile.write(piece)
                except ConnectionAbortedError:
                    return
                if command.upper() == "LOGOUT":
                    return

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()
            self.request.close()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that refuse the certificate are part of the tests."""

    with Server(("127.0.0.1", 0), Handler) as server:
        made.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
