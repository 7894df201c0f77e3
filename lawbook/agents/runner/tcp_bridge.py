"""The door of a workspace over loopback TCP, for agents that are allowed no Unix sockets at all (host.agent: rung `landlock`)."""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from threading import BoundedSemaphore, Thread

from lawbook.agents.api.framing import reach
from lawbook.agents.api.workspace import SOCKET, Workspace

FILE = ".law.port"
"""In the workspace: the port, and the word to say first. ./law goes this way where it finds it."""
PATIENCE = 10.0
MOST = 32
"""Connections at once; one more is closed."""


class Doorway:
    """Listens on loopback and passes on to the workspace's own socket whoever knows the word. Ends with `close`.

    The socket's name is the agent's to give to anything, and this thread is not confined: so no link is followed, and nothing is
    said unless this very process listens there. A socket of its own making the agent has not (it is allowed none), and one from
    another folder it cannot bring (Landlock lets no file be linked or moved between folders of which one is not its own).
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._word = workspace, secrets.token_hex(16)
        self._room = BoundedSemaphore(MOST)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        workspace.write(FILE, f"{self.port} {self._word}\n")
        Thread(target=self._listen, name="doorway", daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listening.close()
        self._workspace.remove(FILE)

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self._room.acquire(blocking=False):
                Thread(target=self._admit, args=(client,), name="doorway", daemon=True).start()
            else:
                client.close()

    def _admit(self, client: socket.socket) -> None:
        try:
            with client, suppress(OSError):
                if self._knows(client):
                    with reach(self._workspace, SOCKET, None, os.getpid()) as door:
                        _lead(client, door)
        finally:
            self._room.release()

    def _knows(self, client: socket.socket) -> bool:
        client.settimeout(PATIENCE)
        said = b""
        while not said.endswith(b"\n") and len(said) < 99 and (piece := client.recv(1)):
            said += piece
        client.settimeout(None)
        return secrets.compare_digest(said.strip(), self._word.encode())


def _lead(client: socket.socket, door: socket.socket) -> None:
    there = Thread(target=_pour, args=(client, door, socket.SHUT_RDWR), name="doorway", daemon=True)
    there.start()
    _pour(door, client, socket.SHUT_WR)
    there.join(PATIENCE)


def _pour(one: socket.socket, other: socket.socket, how: int) -> None:
    """Everything that one says, to the other, and then its silence. A client's means that it has gone (./law never says just that
    it will say no more): what a door has not begun for it is not done."""
    with suppress(OSError):
        while piece := one.recv(1 << 16):
            other.sendall(piece)
    with suppress(OSError):
        other.shutdown(how)
