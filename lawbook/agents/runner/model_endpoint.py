"""Where an agent's model answers: an address, the key to it, and what may be asked there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ModelEndpoint:
    """Where a model answers. base: URL that a path is put behind; key: the headers that hold it; paths: what may be asked there."""

    base_url: str
    key_headers: Mapping[str, str]
    paths: tuple[str, ...]
