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


class BrokenConnectionError(Exception):
    """The other side hung up, was too late, or sent something that is no message."""


def send(sock: socket.socket, header: dict[str, Any], blobs: Sequence[bytes | memoryview] = ()) -> None:
    """Send one message. `header` must be JSON and not use the key `blobs`. Raises BrokenConnectionError when nobody listens."""
    sizes = [len(blob) for blob in blobs]
    text = json.dumps({**header, "blobs": sizes} if sizes else header, separators=(",", ":")).encode()
    try:
        sock.sendall(b"".join([_PREFIX.pack(_MAGIC, len(text), sum(sizes)), text, *blobs]))
    except OSError as error:
        raise BrokenConnectionError(f"cannot send: {error}") from error


def receive(
    sock: socket.socket,
    *,
    seconds: float | None = None,
    max_header: int = MAX_HEADER,
    max_blobs: int = MAX_BLOBS,
) -> tuple[dict[str, Any], list[bytes]]:
    """Receive one message as (header, blobs). The whole message must arrive within `seconds` (None: no limit).

    Raises BrokenConnectionError for silence past the limit (message starts with "timeout"), end of stream, or anything malformed.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    magic, header_size, blob_size = _PREFIX.unpack(_receive_exactly(sock, _PREFIX.size, deadline))
    if magic != _MAGIC or header_size > max_header or blob_size > max_blobs:
        raise BrokenConnectionError("malformed message")
    try:
        header = json.loads(bytes(_receive_exactly(sock, header_size, deadline)))
    except (ValueError, RecursionError) as error:
        raise BrokenConnectionError("malformed message header") from error
    if not isinstance(header, dict):
        raise BrokenConnectionError("malformed message header")
    sizes = header.pop("blobs", [])
    if (
        not isinstance(sizes, list)
        or not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes)
        or sum(sizes) != blob_size
    ):
        raise BrokenConnectionError("malformed message sizes")
    body = memoryview(_receive_exactly(sock, blob_size, deadline))
    blobs, offset = [], 0
    for size in sizes:
        blobs.append(bytes(body[offset : offset + size]))
        offset += size
    return header, blobs


def _receive_exactly(sock: socket.socket, size: int, deadline: float | None) -> bytearray:
    buffer = bytearray(size)
    view, offset = memoryview(buffer), 0
    while offset < size:
        if deadline is None:
            sock.settimeout(None)
        else:
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                raise BrokenConnectionError("timeout")
            sock.settimeout(seconds_left)
        try:
            n_received = sock.recv_into(view[offset:])
        except TimeoutError as error:
            raise BrokenConnectionError("timeout") from error
        except OSError as error:
            raise BrokenConnectionError(f"cannot receive: {error}") from error
        if n_received == 0:
            raise BrokenConnectionError("the other side hung up")
        offset += n_received
    return buffer
