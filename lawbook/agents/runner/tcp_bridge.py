"""The door of a workspace over loopback TCP, for agents that are allowed no Unix sockets at all (host.agent: rung `landlock`)."""

from __future__ import annotations

import os
import secrets
import socket
import time
from contextlib import suppress
from threading import BoundedSemaphore, Thread

from lawbook.agents.api.framing import open_connection
from lawbook.agents.api.workspace import SOCKET, Workspace

PORT_FILE = ".law.port"
"""In the workspace: the port, and the word to say first. ./law goes this way where it finds it."""
HANDSHAKE_TIMEOUT_SECONDS = 10.0
MAX_CONNECTIONS = 32
"""Connections at once; one more is closed."""


class TCPBridge:
    """Listens on loopback and passes on to the workspace's own socket whoever knows the word. Ends with `close`.

    The socket's name is the agent's to give to anything, and this thread is not confined: so no link is followed, and nothing is
    said unless this very process listens there. A socket of its own making the agent has not (it is allowed none), and one from
    another folder it cannot bring (Landlock lets no file be linked or moved between folders of which one is not its own).
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._password = workspace, secrets.token_hex(16)
        self._connection_slots = BoundedSemaphore(MAX_CONNECTIONS)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        workspace.write(PORT_FILE, f"{self.port} {self._password}\n")
        Thread(target=self._accept_clients, name="doorway", daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        self._workspace.remove(PORT_FILE)

    def _accept_clients(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._connection_slots.acquire(blocking=False):
                Thread(target=self._serve_client, args=(client,), name="doorway", daemon=True).start()
            else:
                client.close()

    def _serve_client(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError):
                if self._is_authenticated(client):
                    with open_connection(self._workspace, SOCKET, None, os.getpid()) as server:
                        _relay(client, server)
        finally:
            self._connection_slots.release()

    def _is_authenticated(self, client: socket.socket) -> bool:
        line, deadline = b"", time.monotonic() + HANDSHAKE_TIMEOUT_SECONDS
        while not line.endswith(b"\n") and len(line) < 99:
            client.settimeout(max(0.001, deadline - time.monotonic()))  # for the whole word, however it dribbles in
            if not (chunk := client.recv(1)):
                break
            line += chunk
        client.settimeout(None)
        return secrets.compare_digest(line.strip(), self._password.encode())


def _relay(client: socket.socket, server: socket.socket) -> None:
    upload = Thread(target=_copy_stream, args=(client, server, socket.SHUT_RDWR), name="doorway", daemon=True)
    upload.start()
    _copy_stream(server, client, socket.SHUT_WR)
    upload.join(HANDSHAKE_TIMEOUT_SECONDS)


def _copy_stream(source: socket.socket, target: socket.socket, how: int) -> None:
    """Everything that one says, to the other, and then its silence. A client's means that it has gone (./law never says just that
    it will say no more): what a door has not begun for it is not done."""
    with suppress(OSError):
        while chunk := source.recv(1 << 16):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(how)
