"""Stands between a client and PostgreSQL on the wire: passes everything on, but statements are judged first.

It never answers for the server: a refused statement becomes a call that fails in the server, so that the
state of the transaction is the server's own.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

_SSL, _GSS = 80877103, 80877104


class Proxy:
    """Listens on a free port of this machine until it is closed."""

    def __init__(self, server_port: int, judged: Callable[[str], str]) -> None:
        self._server = server_port
        self._judged = judged
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            server = socket.create_connection(("127.0.0.1", self._server))
            with server:
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                with contextlib.suppress(ConnectionError):
                    self._forward(client, server)
                # A client that was killed takes its session with it.
                with contextlib.suppress(OSError):
                    server.shutdown(socket.SHUT_RDWR)
                back.join(5)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        while (first := _start(client)) is None:
            client.sendall(b"N")
        server.sendall(first)
        while True:
            kind = _exactly(client, 1)
            size = _exactly(client, 4)
            body = _exactly(client, struct.unpack("!I", size)[0] - 4)
            if kind in b"QP":
                body = self._rewritten(kind, body)
                size = struct.pack("!I", len(body) + 4)
            server.sendall(kind + size + body)

    def _rewritten(self, kind: bytes, body: bytes) -> bytes:
        """A Query is the text; a Parse has a name before it and the types of parameters behind."""
        name, text, rest = b"", body, b""
        if kind == b"P":
            name, text = body.split(b"\0", 1)
            name += b"\0"
        text, rest = text.split(b"\0", 1)
        return name + self._judged(text.decode()).encode() + b"\0" + rest


def _start(client: socket.socket) -> bytes | None:
    """The first message of a client; None if it only asks for encryption."""
    size = _exactly(client, 4)
    body = _exactly(client, struct.unpack("!I", size)[0] - 4)
    code = struct.unpack("!I", body[:4])[0]
    return None if code in (_SSL, _GSS) else size + body


def _exactly(source: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = source.recv(count - len(found))
        if not more:
            raise ConnectionResetError("the client has gone")
        found += more
    return found


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
