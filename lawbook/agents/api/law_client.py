"""The command `./law` of a workspace: one request through the socket beside it, one answer. Imports next to nothing; starts fast.

This file is copied into workspaces and run there by whatever Python is at hand (3.8 or newer); nothing imports it.
"""

import os
import sys
from _socket import AF_INET, AF_UNIX, SHUT_WR, SOCK_STREAM
from _socket import socket as Socket  # noqa: N812 - the socket module and what it imports take longer than all the rest

SOCKET, PORT = ".law.sock", ".law.port"
MAX_STDIN = 1000000


def main(words: "list[str]") -> int:
    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - the name of a socket may only be short
    try:
        connection = open_connection()
    except (OSError, ValueError):
        return print_closed()
    if words == ["mcp"]:
        return bridge_mcp(connection)
    parts = [os.fsencode(word) for word in words]
    header = "words" + "".join(f" {len(part)}" for part in parts)
    if "-" in words:
        parts.append(sys.stdin.buffer.read(MAX_STDIN))
        header += f" stdin {len(parts[-1])}"
    return send_request(connection, header.encode() + b"\n" + b"".join(parts))


def open_connection() -> Socket:
    """A connection to the door: its socket; or, for an agent that is allowed no such sockets (agents/runner/tcp_bridge.py), the
    port that a file beside it names, with the word to say first."""
    try:
        port_fd = os.open(PORT, os.O_RDONLY)
    except OSError:
        connection = Socket(AF_UNIX, SOCK_STREAM)
        connection.connect(SOCKET)
        return connection
    port, token = os.read(port_fd, 99).split()
    os.close(port_fd)
    connection = Socket(AF_INET, SOCK_STREAM)
    connection.connect(("127.0.0.1", int(port)))
    connection.sendall(token + b"\n")
    return connection


def send_request(connection: Socket, request: bytes) -> int:
    """Send one request, print the answer, return its exit code."""
    response = b""
    try:
        connection.sendall(request)
    except OSError:  # refused unread; the answer says why
        response = b""
    try:
        while True:
            chunk = connection.recv(65536)
            if not chunk:
                break
            response += chunk
    except OSError:
        pass
    code, newline, text = response.partition(b"\n")
    if not newline:
        return print_closed()
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()
    return int(code)


def bridge_mcp(connection: Socket) -> int:
    """Let an MCP client on our stdin and stdout talk to the server behind the socket."""
    import select

    connection.sendall(b'{"mcp": true}\n')
    status_line = b""
    while not status_line.endswith(b"\n"):
        chunk = connection.recv(1)
        if not chunk:
            return print_closed()
        status_line += chunk
    if status_line != b"0\n":
        text = b""
        while True:
            chunk = connection.recv(65536)
            if not chunk:
                break
            text += chunk
        sys.stderr.buffer.write(text + b"\n")
        return int(status_line)
    sources = [0, connection.fileno()]
    while True:
        for source in select.select(sources, [], [])[0]:
            if source == 0:
                chunk = os.read(0, 65536)
                if chunk:
                    connection.sendall(chunk)
                else:
                    sources.remove(0)
                    connection.shutdown(SHUT_WR)
            else:
                chunk = connection.recv(65536)
                if not chunk:
                    return 0
                while chunk:
                    chunk = chunk[os.write(1, chunk) :]


def print_closed() -> int:
    try:
        with open(".ended", encoding="utf-8") as stream:  # noqa: PTH123
            text = stream.read(500)
    except (OSError, ValueError):
        text = "Nobody is behind this door: the run was stopped. Whoever started it can go on with `lawbook drive --resume`."
    print(text.strip())
    return 3


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
