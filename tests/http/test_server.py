"""The socket of the server."""

from __future__ import annotations

import socket

from interlock.http.server import listen


def test_the_socket_names_its_protocol_so_that_answers_are_not_delayed() -> None:
    with listen("127.0.0.1", 0) as made:
        # asyncio sets TCP_NODELAY on connections only where the protocol is named.
        assert made.proto == socket.IPPROTO_TCP
