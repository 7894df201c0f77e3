"""Length-prefixed messages over a stream socket: a JSON header and raw blobs. Safe to read from somebody hostile."""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

_PREFIX = struct.Struct("<4sII")
_MAGIC = b"LAW1"
MAX_HEADER = 16 << 20
MAX_BLOBS = 256 << 20


class BrokenWireError(Exception):
    """The other side hung up, was too late, or sent something that is no message."""


def send(sock: socket.socket, header: dict[str, Any], blobs: Sequence[bytes | memoryview] = ()) -> None:
    """Send one message. `header` must be JSON and not use the key `blobs`. Raises BrokenWireError when nobody listens."""
    sizes = [len(blob) for blob in blobs]
    text = json.dumps({**header, "blobs": sizes} if sizes else header, separators=(",", ":")).encode()
    try:
        sock.sendall(b"".join([_PREFIX.pack(_MAGIC, len(text), sum(sizes)), text, *blobs]))
    except OSError as error:
        raise BrokenWireError(f"cannot send: {error}") from error


def receive(
    sock: socket.socket,
    *,
    seconds: float | None = None,
    max_header: int = MAX_HEADER,
    max_blobs: int = MAX_BLOBS,
) -> tuple[dict[str, Any], list[bytes]]:
    """Receive one message as (header, blobs). The whole message must arrive within `seconds` (None: no limit).

    Raises BrokenWireError for silence past the limit (message starts with "timeout"), end of stream, or anything malformed.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    magic, header_size, blob_size = _PREFIX.unpack(_exactly(sock, _PREFIX.size, deadline))
    if magic != _MAGIC or header_size > max_header or blob_size > max_blobs:
        raise BrokenWireError("malformed message")
    try:
        header = json.loads(bytes(_exactly(sock, header_size, deadline)))
    except (ValueError, RecursionError) as error:
        raise BrokenWireError("malformed message header") from error
    if not isinstance(header, dict):
        raise BrokenWireError("malformed message header")
    sizes = header.pop("blobs", [])
    if (
        not isinstance(sizes, list)
        or not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
        or sum(sizes) != blob_size
    ):
        raise BrokenWireError("malformed message sizes")
    body = memoryview(_exactly(sock, blob_size, deadline))
    blobs, at = [], 0
    for size in sizes:
        blobs.append(bytes(body[at : at + size]))
        at += size
    return header, blobs


def _exactly(sock: socket.socket, size: int, deadline: float | None) -> bytearray:
    buffer = bytearray(size)
    view, at = memoryview(buffer), 0
    while at < size:
        if deadline is None:
            sock.settimeout(None)
        else:
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrokenWireError("timeout")
            sock.settimeout(left)
        try:
            got = sock.recv_into(view[at:])
        except TimeoutError as error:
            raise BrokenWireError("timeout") from error
        except OSError as error:
            raise BrokenWireError(f"cannot receive: {error}") from error
        if got == 0:
            raise BrokenWireError("the other side hung up")
        at += got
    return buffer
