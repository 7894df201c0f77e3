"""Settings of ARC-AGI-3: environment variables, modes of play, and what of them a world's own process is given."""

from __future__ import annotations

import os
from dataclasses import replace

from lawbook.errors import UsageError
from lawbook.worlds.address import WorldAddress

GAMES_VARIABLE = "LAWBOOK_GAMES"
"""The environment variable that names the folder of games."""

MODES = ("offline", "normal", "online", "competition")
REMOTE_MODES = ("online", "competition")
"""Modes as the toolkit has them, and those that play on a server."""

KEY_VARIABLE, URL_VARIABLE, MODE_VARIABLE = "ARC_API_KEY", "ARC_BASE_URL", "OPERATION_MODE"
"""Environment variables of the toolkit that hold here too."""
TICKET_VARIABLE, COOKIES_VARIABLE = "LAWBOOK_ARC_TICKET", "LAWBOOK_ARC_COOKIES"
"""And ours, from the run process to the world's own: the play to take up again, and the cookies its card was opened with."""

_NETWORK_VARIABLES = (
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
)


def select_environment(address: WorldAddress, ticket: str = "") -> dict[str, str]:
    """What the process of this world is given of our environment besides the usual: keys only where it goes to a server."""
    if address.scheme != "arc" or address.options.get("mode", "offline") == "offline":
        return {}
    variables = {
        name: os.environ[name]
        for name in (KEY_VARIABLE, URL_VARIABLE, COOKIES_VARIABLE, *_NETWORK_VARIABLES)
        if os.environ.get(name)
    }
    return {**variables, TICKET_VARIABLE: ticket} if ticket else variables


def add_options(world: str, **options: str) -> str:
    """The address of a world with options added (empty ones are left out). Raises UsageError where it is no `arc:` world, or has
    other ones already."""
    address, added = WorldAddress.parse(world), {key: value for key, value in options.items() if value}
    if added and address.scheme != "arc":
        raise UsageError(f"{world} is no game of ARC-AGI-3; --mode and --card are for arc: worlds.")
    for key, value in added.items():
        if address.options.get(key, value) != value:
            raise UsageError(f"{world} says {key}={address.options[key]}, and --{key} says {value}; keep one.")
    return str(replace(address, options={**address.options, **added}))
