"""A door served on a Unix socket in each workspace: one loop, one command at a time, whatever clients do."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lawbook.agents.api.dispatcher import Door
from lawbook.agents.api.framing import CREDENTIALS, MAX_REQUEST, address, is_whole, request_in, serving
from lawbook.agents.api.operation import BUG, REFUSED, WRONG, Reply
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.agents.api.workspace_setup import furnish
from lawbook.errors import LawbookError, RefusedError, UsageError
from lawbook.ledger.ledger import Kind
from lawbook.runs.folder import RunFolder
from lawbook.runs.session import Session

MAX_CLIENTS = 32
"""Connections at once; the oldest that has not said what it wants gives way."""
PATIENCE = 20.0
"""Seconds a client may take to say what it wants, and to take its answer."""
MAX_BRIDGES = 4
"""MCP clients of one workspace at once."""
PERSON = "door.sock"
"""In the run's folder: where `lawbook say` is heard."""


@dataclass(eq=False)
class _Client:
    """One connection. member: whose door it came through; None: the person's."""

    sock: socket.socket
    member: int | None
    deadline: float
    heard: bytearray = field(default_factory=bytearray)
    answer: bytes | None = None


class Server:
    """Listens in every workspace, and in the run's folder for a person. `turn` does what there is to do; not for two threads at
    once. `lock` is held while a command is answered: take it to use the session from another thread."""

    def __init__(self, door: Door, folder: RunFolder | None = None) -> None:
        self.door = door
        self.lock = threading.RLock()
        self.heard = time.monotonic()
        """When the last command came (time.monotonic)."""
        self._ways = selectors.DefaultSelector()
        self._listening: list[tuple[socket.socket, int | None, Callable[[], None]]] = []
        self._clients: list[_Client] = []
        self._ready: deque[_Client] = deque()
        self._bridges: list[tuple[int, subprocess.Popen[bytes]]] = []
        try:
            for member, workspace in enumerate(door.workspaces):
                self._listen(workspace, SOCKET, member)
            if folder is not None:
                self._person = Workspace(folder.path)
                self._listen(self._person, PERSON, None)
        except BaseException:
            self.close()
            raise

    def _listen(self, folder: Workspace, name: str, member: int | None) -> None:
        if serving(folder, name) is not None:
            raise UsageError(
                f"{folder.path} is being served already; end that with `lawbook drive --stop`, or name another folder."
            )
        folder.remove(name)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        before = os.umask(0o177)
        try:
            sock.bind(address(folder, name))
        except OSError as error:
            sock.close()
            raise UsageError(f"No door can be opened in {folder.path} ({error.strerror}); name another folder.") from error
        finally:
            os.umask(before)
        sock.listen(MAX_CLIENTS)
        self._ways.register(sock, selectors.EVENT_READ)
        self._listening.append((sock, member, lambda: folder.remove(name)))

    # -- the loop ----------------------------------------------------------------------------------------------------------------

    def turn(self, seconds: float = 0.2) -> bool:
        """Wait up to so long for something to do, and do it: at most one command. Says whether there was one."""
        for key, _ in self._ways.select(0 if self._ready else seconds):
            with contextlib.suppress(OSError):
                self._attend(key.fileobj)
        self._tidy()
        while self._ready:
            client = self._ready.popleft()
            if client not in self._clients or _hung_up(client.sock):
                self._drop(client)  # nobody waits for the answer: what was asked is not done
                continue
            self.heard = time.monotonic()
            with self.lock:
                self._serve(client)
            return True
        return False

    def _attend(self, sock: Any) -> None:
        member, listens = next(((m, True) for s, m, _ in self._listening if s is sock), (None, False))
        if listens:
            self._accept(sock, member)
            return
        client = next((one for one in self._clients if one.sock is sock), None)
        if client is None:
            return
        if client.answer is not None:
            self._say(client)
        else:
            self._read(client)

    def _accept(self, listening: socket.socket, member: int | None) -> None:
        sock, _ = listening.accept()
        sock.setblocking(False)
        _, uid, _ = CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
        if uid not in (0, os.geteuid()):
            sock.close()
            return
        if len(self._clients) >= MAX_CLIENTS:
            waiting = [one for one in self._clients if one not in self._ready]
            if not waiting:
                sock.close()
                return
            self._drop(waiting[0])
        client = _Client(sock, member, time.monotonic() + PATIENCE)
        self._clients.append(client)
        self._ways.register(sock, selectors.EVENT_READ)

    def _read(self, client: _Client) -> None:
        try:
            piece = client.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._drop(client)
            return
        client.heard += piece
        if len(client.heard) > MAX_REQUEST:
            self._answer(client, Reply(f"A request is at most {MAX_REQUEST:,} bytes; say less at a time.", WRONG))
        elif is_whole(client.heard):
            self._ways.unregister(client.sock)
            self._ready.append(client)

    def _serve(self, client: _Client) -> None:
        try:
            request = request_in(bytes(client.heard))
        except (ValueError, RecursionError):
            self._answer(client, Reply("That is no request; use ./law.", WRONG), waiting=False)
            return
        if client.member is None:
            self._answer(client, self._heed(request), waiting=False)
        elif request.get("mcp") is True:
            self._bridge(client)
        else:
            self._answer(client, self._asked(client.member, request), waiting=False)

    def _asked(self, member: int, request: dict[str, Any]) -> Reply:
        argv, stdin = request.get("argv"), request.get("stdin", "")
        if isinstance(argv, list) and all(isinstance(word, str) for word in argv) and isinstance(stdin, str):
            return self.door.answer(member, argv, stdin)
        name, fields = request.get("tool"), request.get("arguments", {})
        if isinstance(name, str) and isinstance(fields, dict):
            return self.door.tool(member, name, fields)
        return Reply("That is no request; use ./law.", WRONG)

    def _heed(self, request: dict[str, Any]) -> Reply:
        """A person's words, for whoever plays: they reach every member at its next command."""
        text = request.get("say")
        if not isinstance(text, str):
            return Reply("That is no request; use lawbook say.", WRONG)
        try:
            say(self.door.session, text)
        except LawbookError as error:
            return Reply(str(error), REFUSED)
        except Exception as error:
            return Reply(f"That failed ({type(error).__name__}).", BUG)
        return Reply("said; it is told at the agent's next command, and the run counts as assisted")

    # -- answers -----------------------------------------------------------------------------------------------------------------

    def _answer(self, client: _Client, reply: Reply, *, waiting: bool = True) -> None:
        """waiting: it is still being listened to."""
        client.answer = f"{int(reply.code)}\n{reply.text}".encode("utf-8", "replace")
        client.deadline = time.monotonic() + PATIENCE
        if waiting:
            self._ways.modify(client.sock, selectors.EVENT_WRITE)
        else:
            self._ways.register(client.sock, selectors.EVENT_WRITE)
        with contextlib.suppress(OSError):
            self._say(client)

    def _say(self, client: _Client) -> None:
        assert client.answer is not None
        try:
            client.answer = client.answer[client.sock.send(client.answer) :]
        except BlockingIOError:
            return
        except OSError:
            client.answer = b""
        if not client.answer:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._ways.unregister(client.sock)
        client.sock.close()
        if client in self._clients:
            self._clients.remove(client)

    def _tidy(self) -> None:
        """Let go of clients that take too long, and of bridges that have ended."""
        now = time.monotonic()
        for client in [one for one in self._clients if one.deadline < now and one not in self._ready]:
            self._drop(client)
        self._bridges = [(member, process) for member, process in self._bridges if process.poll() is None]

    # -- MCP ---------------------------------------------------------------------------------------------------------------------

    def _bridge(self, client: _Client) -> None:
        """Hand the connection to an MCP server of its own, which asks through the same door as everybody."""
        from importlib.util import find_spec

        assert client.member is not None
        if find_spec("mcp") is None:
            self._answer(client, Reply("MCP needs the package mcp: pip install 'lawbook[mcp]'.", WRONG), waiting=False)
            return
        if sum(member == client.member for member, _ in self._bridges) >= MAX_BRIDGES:
            self._answer(client, Reply(f"There are {MAX_BRIDGES} MCP clients here already; end one.", REFUSED), waiting=False)
            return
        client.sock.setblocking(True)
        client.sock.sendall(b"0\n")
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH")}
        folder = self.door.workspaces[client.member].descriptor  # not its path: somebody may have put another there
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "lawbook.agents.api.mcp_server", "--descriptor", str(folder), str(os.getpid())],
            stdin=client.sock.fileno(),
            stdout=client.sock.fileno(),
            stderr=subprocess.DEVNULL,
            env=kept,
            cwd="/",
            pass_fds=[folder],
            start_new_session=True,
        )
        self._bridges.append((client.member, process))
        self._drop(client)

    def close(self) -> None:
        """Close every door and take the sockets away. The session is left as it is."""
        for client in list(self._clients):
            self._drop(client)
        for sock, _, remove in self._listening:
            sock.close()
            with contextlib.suppress(LawbookError, OSError):
                remove()
        self._listening.clear()
        for _, process in self._bridges:
            process.kill()
            process.wait()
        self._bridges.clear()
        self._ways.close()
        if hasattr(self, "_person"):
            self._person.close()


@contextmanager
def serve(session: Session, workspaces: Sequence[Path], *, folder: RunFolder | None = None) -> Iterator[Server]:
    """Furnish the workspaces, one a member, and answer their commands in a thread until the block is left.

    folder: of the run, where `lawbook say` is to be heard. A command that is being answered is waited for. Use the session itself
    only with `server.lock` held. Raises UsageError when a workspace cannot be used.
    """
    with opened(session, workspaces, folder) as server:
        leaving = threading.Event()

        def live() -> None:
            while not leaving.is_set():
                server.turn(0.1)

        thread = threading.Thread(target=live, name="door", daemon=True)
        thread.start()
        try:
            yield server
        finally:
            leaving.set()
            thread.join()


@contextmanager
def opened(session: Session, workspaces: Sequence[Path], folder: RunFolder | None) -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(Workspace(path)) for path in workspaces]
        for member, workspace in enumerate(opened):
            furnish(workspace, session, member)
        door = Door(session, opened)
        stack.callback(door.close)
        server = Server(door, folder)
        stack.callback(server.close)
        yield server


def say(session: Session, text: str) -> None:
    """A person's words into the ledger: they reach the agents at their next command, and the run counts as assisted."""
    session.journal.append(Kind.NOTE, {"text": words_of(text, session.ended), "by": "person"})
    session.journal.commit()


def words_of(text: str, ended: object) -> str:
    """What a person may say. Raises RefusedError."""
    words = text.strip()
    if not words or len(words) > 2000:
        raise RefusedError("Say something, in at most 2,000 characters.")
    if ended:
        raise RefusedError(f"The run has ended ({ended}); nobody can hear it any more.")
    return words


def _hung_up(sock: socket.socket) -> bool:
    """Whether the other end is closed. One that has only said all it wants to say (SHUT_WR) still listens."""
    ways = select.poll()
    ways.register(sock, 0)  # what is told unasked: POLLHUP and POLLERR
    return bool(ways.poll(0))
