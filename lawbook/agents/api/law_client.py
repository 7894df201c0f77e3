"""The command `./law` of a workspace: one request through the socket beside it, one answer. Imports next to nothing; starts fast.

This file is copied into workspaces and run there by whatever Python is at hand (3.8 or newer); nothing imports it.
"""

import os
import sys
from _socket import AF_INET, AF_UNIX, SHUT_WR, SOCK_STREAM
from _socket import socket as Socket  # noqa: N812 - the socket module and what it imports take longer than all the rest

SOCKET, PORT = ".law.sock", ".law.port"
MOST = 1000000


def main(words: "list[str]") -> int:
    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - the name of a socket may only be short
    try:
        door = reach()
    except (OSError, ValueError):
        return closed()
    if words == ["mcp"]:
        return bridge(door)
    parts = [os.fsencode(word) for word in words]
    head = "words" + "".join(f" {len(part)}" for part in parts)
    if "-" in words:
        parts.append(sys.stdin.buffer.read(MOST))
        head += f" stdin {len(parts[-1])}"
    return ask(door, head.encode() + b"\n" + b"".join(parts))


def reach() -> Socket:
    """A connection to the door: its socket; or, for an agent that is allowed no such sockets (coder/doorway.py), the port that a
    file beside it names, with the word to say first."""
    try:
        file = os.open(PORT, os.O_RDONLY)
    except OSError:
        door = Socket(AF_UNIX, SOCK_STREAM)
        door.connect(SOCKET)
        return door
    port, word = os.read(file, 99).split()
    os.close(file)
    door = Socket(AF_INET, SOCK_STREAM)
    door.connect(("127.0.0.1", int(port)))
    door.sendall(word + b"\n")
    return door


def ask(door: Socket, request: bytes) -> int:
    """Send one request, print the answer, return its exit code."""
    answer = b""
    try:
        door.sendall(request)
    except OSError:  # refused unread; the answer says why
        answer = b""
    try:
        while True:
            piece = door.recv(65536)
            if not piece:
                break
            answer += piece
    except OSError:
        pass
    code, line, text = answer.partition(b"\n")
    if not line:
        return closed()
    sys.stdout.buffer.write(text + b"\n")
    sys.stdout.buffer.flush()
    return int(code)


def bridge(door: Socket) -> int:
    """Let an MCP client on our stdin and stdout talk to the server behind the socket."""
    import select

    door.sendall(b'{"mcp": true}\n')
    head = b""
    while not head.endswith(b"\n"):
        piece = door.recv(1)
        if not piece:
            return closed()
        head += piece
    if head != b"0\n":
        text = b""
        while True:
            piece = door.recv(65536)
            if not piece:
                break
            text += piece
        sys.stderr.buffer.write(text + b"\n")
        return int(head)
    sources = [0, door.fileno()]
    while True:
        for source in select.select(sources, [], [])[0]:
            if source == 0:
                piece = os.read(0, 65536)
                if piece:
                    door.sendall(piece)
                else:
                    sources.remove(0)
                    door.shutdown(SHUT_WR)
            else:
                piece = door.recv(65536)
                if not piece:
                    return 0
                while piece:
                    piece = piece[os.write(1, piece) :]


def closed() -> int:
    try:
        with open(".ended", encoding="utf-8") as said:  # noqa: PTH123
            text = said.read(500)
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
