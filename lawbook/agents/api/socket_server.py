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

from lawbook.agents.api.dispatcher import CommandDispatcher
from lawbook.agents.api.framing import (
    MAX_REQUEST,
    PEER_CREDENTIALS,
    find_server_pid,
    format_socket_address,
    is_complete,
    parse_request,
)
from lawbook.agents.api.operation import BUG, REFUSED, WRONG, CommandResult
from lawbook.agents.api.progress import ActionCounter
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.agents.api.workspace_setup import setup_workspace
from lawbook.errors import LawbookError, UsageError
from lawbook.ledger.events import EventKind
from lawbook.ledger.ledger import Event
from lawbook.runs.folder import RunFolder
from lawbook.runs.session import Session

MAX_CLIENTS = 32
"""Connections at once; the oldest that has not said what it wants gives way."""
CLIENT_TIMEOUT_S = 20.0
"""Seconds a client may take to say what it wants, and to take its answer."""
MAX_BRIDGES = 4
"""MCP clients of one workspace at once."""
PERSON_SOCKET = "door.sock"
"""In the run's folder: where `lawbook say` is heard."""


@dataclass(eq=False)
class _Client:
    """One connection. member: whose door it came through; None: the person's."""

    sock: socket.socket
    member: int | None
    deadline: float
    received: bytearray = field(default_factory=bytearray)
    unsent: bytes | None = None


class SocketServer:
    """Listens in every workspace, and in the run's folder for a person. `turn` does what there is to do; not for two threads at
    once. `lock` is held while a command is answered: take it to use the session from another thread."""

    def __init__(self, dispatcher: CommandDispatcher, folder: RunFolder | None = None) -> None:
        self.dispatcher = dispatcher
        self.lock = threading.RLock()
        self.last_command_at = time.monotonic()
        """When the last command came (time.monotonic)."""
        self._selector = selectors.DefaultSelector()
        self._listeners: list[tuple[socket.socket, int | None, Callable[[], None]]] = []
        self._clients: list[_Client] = []
        self._ready: deque[_Client] = deque()
        self._bridges: list[tuple[int, subprocess.Popen[bytes]]] = []
        self._counter = ActionCounter()
        self._event_listener: Callable[[Event], None] = self._count_action
        dispatcher.session.event_log.listeners.append(self._event_listener)
        try:
            for member, workspace in enumerate(dispatcher.workspaces):
                self._listen(workspace, SOCKET, member)
            if folder is not None:
                self._person = Workspace(folder.path)
                self._listen(self._person, PERSON_SOCKET, None)
        except BaseException:
            self.close()
            raise

    def _count_action(self, event: Event) -> None:
        if event.kind is EventKind.OBSERVE:
            self._counter.write(self.dispatcher.session.state.n_actions)

    def _listen(self, workspace: Workspace, socket_name: str, member: int | None) -> None:
        if find_server_pid(workspace, socket_name) is not None:
            raise UsageError(
                f"{workspace.path} is being served already; end that with `lawbook drive --stop`, or name another folder."
            )
        workspace.remove(socket_name)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
        previous_umask = os.umask(0o177)
        try:
            sock.bind(format_socket_address(workspace, socket_name))
        except OSError as error:
            sock.close()
            raise UsageError(f"No door can be opened in {workspace.path} ({error.strerror}); name another folder.") from error
        finally:
            os.umask(previous_umask)
        sock.listen(MAX_CLIENTS)
        self._selector.register(sock, selectors.EVENT_READ)
        self._listeners.append((sock, member, lambda: workspace.remove(socket_name)))

    # -- the loop ----------------------------------------------------------------------------------------------------------------

    def run_once(self, seconds: float = 0.2) -> bool:
        """Wait up to so long for something to do, and do it: at most one command. Says whether there was one."""
        for key, _ in self._selector.select(0 if self._ready else seconds):
            with contextlib.suppress(OSError):
                self._handle_event(key.fileobj)
        self._drop_stale()
        while self._ready:
            client = self._ready.popleft()
            if client not in self._clients or _has_hung_up(client.sock):
                self._drop(client)  # nobody waits for the answer: what was asked is not done
                continue
            self.last_command_at = time.monotonic()
            with self.lock:
                self._handle_request(client)
            return True
        return False

    def _handle_event(self, sock: Any) -> None:
        member, is_listener = next(((m, True) for s, m, _ in self._listeners if s is sock), (None, False))
        if is_listener:
            self._accept(sock, member)
            return
        client = next((one for one in self._clients if one.sock is sock), None)
        if client is None:
            return
        if client.unsent is not None:
            self._send_pending(client)
        else:
            self._read(client)

    def _accept(self, listener: socket.socket, member: int | None) -> None:
        sock, _ = listener.accept()
        sock.setblocking(False)
        _, uid, _ = PEER_CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER_CREDENTIALS.size))
        if uid not in (0, os.geteuid()):
            sock.close()
            return
        if len(self._clients) >= MAX_CLIENTS:
            idle_clients = [one for one in self._clients if one not in self._ready]
            if not idle_clients:
                sock.close()
                return
            self._drop(idle_clients[0])
        client = _Client(sock, member, time.monotonic() + CLIENT_TIMEOUT_S)
        self._clients.append(client)
        self._selector.register(sock, selectors.EVENT_READ)

    def _read(self, client: _Client) -> None:
        try:
            chunk = client.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._drop(client)
            return
        client.received += chunk
        if len(client.received) > MAX_REQUEST:
            self._start_reply(client, CommandResult(f"A request is at most {MAX_REQUEST:,} bytes; say less at a time.", WRONG))
        elif is_complete(client.received):
            self._selector.unregister(client.sock)
            self._ready.append(client)

    def _handle_request(self, client: _Client) -> None:
        try:
            request = parse_request(bytes(client.received))
        except (ValueError, RecursionError):
            self._start_reply(client, CommandResult("That is no request; use ./law.", WRONG), is_registered=False)
            return
        if client.member is None:
            self._start_reply(client, self._handle_person_message(request), is_registered=False)
        elif request.get("mcp") is True:
            self._start_mcp_bridge(client)
        else:
            self._start_reply(client, self._dispatch(client.member, request), is_registered=False)

    def _dispatch(self, member: int, request: dict[str, Any]) -> CommandResult:
        argv, stdin = request.get("argv"), request.get("stdin", "")
        if isinstance(argv, list) and all(isinstance(word, str) for word in argv) and isinstance(stdin, str):
            return self.dispatcher.run_command(member, argv, stdin)
        name, fields = request.get("tool"), request.get("arguments", {})
        if isinstance(name, str) and isinstance(fields, dict):
            return self.dispatcher.call_tool(member, name, fields)
        return CommandResult("That is no request; use ./law.", WRONG)

    def _handle_person_message(self, request: dict[str, Any]) -> CommandResult:
        """A person's words, for whoever plays: they reach every member at its next command."""
        text = request.get("say")
        if not isinstance(text, str):
            return CommandResult("That is no request; use lawbook say.", WRONG)
        try:
            self.dispatcher.session.add_person_message(text)
        except LawbookError as error:
            return CommandResult(str(error), REFUSED)
        except Exception as error:
            return CommandResult(f"That failed ({type(error).__name__}).", BUG)
        return CommandResult("said; it is told at the agent's next command, and the run counts as assisted")

    # -- answers -----------------------------------------------------------------------------------------------------------------

    def _start_reply(self, client: _Client, result: CommandResult, *, is_registered: bool = True) -> None:
        """is_registered: it is still being listened to."""
        client.unsent = f"{int(result.code)}\n{result.text}".encode("utf-8", "replace")
        client.deadline = time.monotonic() + CLIENT_TIMEOUT_S
        if is_registered:
            self._selector.modify(client.sock, selectors.EVENT_WRITE)
        else:
            self._selector.register(client.sock, selectors.EVENT_WRITE)
        with contextlib.suppress(OSError):
            self._send_pending(client)

    def _send_pending(self, client: _Client) -> None:
        assert client.unsent is not None
        try:
            client.unsent = client.unsent[client.sock.send(client.unsent) :]
        except BlockingIOError:
            return
        except OSError:
            client.unsent = b""
        if not client.unsent:
            self._drop(client)

    def _drop(self, client: _Client) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.sock)
        client.sock.close()
        if client in self._clients:
            self._clients.remove(client)

    def _drop_stale(self) -> None:
        """Let go of clients that take too long, and of bridges that have ended."""
        now = time.monotonic()
        for client in [one for one in self._clients if one.deadline < now and one not in self._ready]:
            self._drop(client)
        self._bridges = [(member, process) for member, process in self._bridges if process.poll() is None]

    # -- MCP ---------------------------------------------------------------------------------------------------------------------

    def _start_mcp_bridge(self, client: _Client) -> None:
        """Hand the connection to an MCP server of its own, which asks through the same door as everybody."""
        from importlib.util import find_spec

        assert client.member is not None
        if find_spec("mcp") is None:
            self._start_reply(
                client, CommandResult("MCP needs the package mcp: pip install 'lawbook[mcp]'.", WRONG), is_registered=False
            )
            return
        if sum(member == client.member for member, _ in self._bridges) >= MAX_BRIDGES:
            self._start_reply(
                client, CommandResult(f"There are {MAX_BRIDGES} MCP clients here already; end one.", REFUSED), is_registered=False
            )
            return
        client.sock.setblocking(True)
        client.sock.sendall(b"0\n")
        environment = {
            name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH")
        }
        folder_fd = self.dispatcher.workspaces[client.member].descriptor  # not its path: somebody may have put another there
        counter_fd = self._counter.descriptor
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "lawbook.agents.api.mcp_server",
                "--descriptor",
                str(folder_fd),
                str(os.getpid()),
                str(counter_fd),
            ],
            stdin=client.sock.fileno(),
            stdout=client.sock.fileno(),
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            pass_fds=[folder_fd, counter_fd],
            start_new_session=True,
        )
        self._bridges.append((client.member, process))
        self._drop(client)

    def close(self) -> None:
        """Close every door and take the sockets away. The session is left as it is."""
        for client in list(self._clients):
            self._drop(client)
        for sock, _, remove in self._listeners:
            sock.close()
            with contextlib.suppress(LawbookError, OSError):
                remove()
        self._listeners.clear()
        for _, process in self._bridges:
            process.kill()
            process.wait()
        self._bridges.clear()
        self._selector.close()
        if self._event_listener in self.dispatcher.session.event_log.listeners:
            self.dispatcher.session.event_log.listeners.remove(self._event_listener)
            self._counter.close()
        if hasattr(self, "_person"):
            self._person.close()


@contextmanager
def serve(session: Session, workspaces: Sequence[Path], *, folder: RunFolder | None = None) -> Iterator[SocketServer]:
    """Furnish the workspaces, one a member, and answer their commands in a thread until the block is left.

    folder: of the run, where `lawbook say` is to be heard. A command that is being answered is waited for. Use the session itself
    only with `server.lock` held. Raises UsageError when a workspace cannot be used.
    """
    with open_server(session, workspaces, folder) as server:
        stopping = threading.Event()

        def run_loop() -> None:
            while not stopping.is_set():
                server.run_once(0.1)

        thread = threading.Thread(target=run_loop, name="door", daemon=True)
        thread.start()
        try:
            yield server
        finally:
            stopping.set()
            thread.join()


@contextmanager
def open_server(session: Session, workspaces: Sequence[Path], folder: RunFolder | None) -> Iterator[SocketServer]:
    with contextlib.ExitStack() as stack:
        open_workspaces = [stack.enter_context(Workspace(path)) for path in workspaces]
        for member, workspace in enumerate(open_workspaces):
            setup_workspace(workspace, session, member)
        dispatcher = CommandDispatcher(session, open_workspaces)
        stack.callback(dispatcher.close)
        server = SocketServer(dispatcher, folder)
        stack.callback(server.close)
        yield server


def _has_hung_up(sock: socket.socket) -> bool:
    """Whether the other end is closed. One that has only said all it wants to say (SHUT_WR) still listens."""
    poller = select.poll()
    poller.register(sock, 0)  # what is told unasked: POLLHUP and POLLERR
    return bool(poller.poll(0))
