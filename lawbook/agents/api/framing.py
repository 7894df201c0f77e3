"""One request to a door and its answer, as they cross a Unix socket; and who is behind one."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
import struct
import time
from typing import Any

from lawbook.agents.api.operation import CommandResult
from lawbook.agents.api.workspace import SOCKET, Workspace
from lawbook.errors import UsageError

MAX_REQUEST = 1_500_000
"""Bytes of one request."""
MAX_HEADER = 100_000
"""Bytes of its first line, where lengths follow."""

PEER_CREDENTIALS = struct.Struct("3i")
"""Process, user and group behind a socket, as the kernel tells them."""


def send_request(
    workspace: Workspace, socket_name: str, request: dict[str, Any], timeout: float = 600.0, keeper_pid: int | None = None
) -> CommandResult:
    """One request to a door that is served, from a process of ours; keeper_pid: see `reach`. Raises UsageError when nobody
    answers."""
    try:
        with open_connection(workspace, socket_name, timeout, keeper_pid) as sock:
            sock.sendall(json.dumps(request).encode() + b"\n")
            response = b"".join(iter(lambda: sock.recv(65536), b""))
    except OSError as error:
        raise UsageError(f"Nobody answers behind {workspace.path} ({error.strerror or error}); is the run being driven?") from error
    code, _, text = response.partition(b"\n")
    if not code.isdigit():
        raise UsageError(f"Nobody answers behind {workspace.path}; is the run being driven?")
    return CommandResult(text.decode("utf-8", "replace"), int(code))


def find_server_pid(workspace: Workspace, socket_name: str = SOCKET) -> int | None:
    """Process id of whoever serves this door; None when nobody does."""
    try:
        with open_connection(workspace, socket_name, 5) as sock:
            return _read_peer_credentials(sock)[0]
    except OSError:
        return None


def open_connection(workspace: Workspace, socket_name: str, timeout: float | None, keeper_pid: int | None = None) -> socket.socket:
    """A connection to a door, to which nothing has been said yet. Raises OSError.

    An agent can put anything in the socket's place and so make us speak to others in our name. So a link is not followed, and
    whoever listens must be a process of this user (root may speak to any), and `keeper` where it is known who keeps the run.
    timeout: the limit on every wait, None for none.
    """
    socket_fd = os.open(socket_name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=workspace.descriptor)
    try:
        if not stat.S_ISSOCK(os.fstat(socket_fd).st_mode):
            raise OSError(errno.ENOTSOCK, f"{socket_name} is no socket")
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(timeout)
            _connect(sock, f"/proc/self/fd/{socket_fd}")
            pid, uid = _read_peer_credentials(sock)
            if os.geteuid() not in (0, uid) or keeper_pid not in (None, pid):
                raise OSError(errno.ECONNREFUSED, f"{socket_name} is the socket of somebody else")
        except BaseException:
            sock.close()
            raise
        return sock
    finally:
        os.close(socket_fd)


def _read_peer_credentials(sock: socket.socket) -> tuple[int, int]:
    """(process, user) that listens at the other end, as the kernel tells them."""
    pid, uid, _ = PEER_CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER_CREDENTIALS.size))
    return int(pid), int(uid)


def _connect(sock: socket.socket, path: str) -> None:
    """Unix sockets with a timeout do not wait while a queue is full; this does, for as long."""
    deadline = time.monotonic() + (sock.gettimeout() or 0.0)
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def parse_request(data: bytes) -> dict[str, Any]:
    """A request: an object of JSON on one line; or, from ./law, which is to start fast, `words 6 2 stdin 3` and that many bytes of
    each. Raises ValueError or RecursionError for anything else."""
    line, _, payload = data.partition(b"\n")
    if not line.startswith(b"words"):
        request = json.loads(line)
        if not isinstance(request, dict):
            raise ValueError("no object")
        return request
    lengths, stdin = _parse_lengths(line)
    parts, offset = [], 0
    for length in (*lengths, *([] if stdin is None else [stdin])):
        parts.append(payload[offset : offset + length].decode("utf-8", "replace"))
        offset += length
    return {"argv": parts[: len(lengths)], **({} if stdin is None else {"stdin": parts[-1]})}


def is_complete(data: bytearray) -> bool:
    """Whether all of a request has been heard; one that is none is whole with its first line."""
    line, newline, _ = bytes(data[:MAX_HEADER]).partition(b"\n")
    if not newline:
        return b"\n" in data
    if not line.startswith(b"words"):
        return True
    try:
        lengths, stdin = _parse_lengths(line)
    except ValueError:
        return True
    return len(data) - len(line) - 1 >= sum(lengths) + (stdin or 0)


def _parse_lengths(line: bytes) -> tuple[list[int], int | None]:
    """Of the words, and of what came on stdin, from the first line of a request. Raises ValueError."""
    lengths, has_stdin, stdin = line.partition(b" stdin ")
    parts = lengths.split(b" ")[1:]
    if not all(part.isdigit() and len(part) < 9 for part in (*parts, *([stdin] if has_stdin else []))):
        raise ValueError("no lengths")
    return [int(part) for part in parts], int(stdin) if has_stdin else None


def format_socket_address(workspace: Workspace, socket_name: str) -> str:
    """Of a socket in a folder, through its descriptor: a path may be too long for one."""
    return f"/proc/self/fd/{workspace.descriptor}/{socket_name}"
